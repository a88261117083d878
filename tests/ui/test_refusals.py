"""What somebody typed is quoted, never obeyed: Markdown shows it letter by letter."""

import pytest

from ui.refusals import literal


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("got '![x](http://evil.org/x.png)'", r"got '!\[x\](http\://evil.org/x.png)'"),
        ("5~lr~0.1", r"5\~lr\~0.1"),
        ("<b>$x$</b> **y** `z` :red[w] www.evil.org", r"\<b\>\$x\$\</b\> \*\*y\*\* \`z\` :red\[w\] www\.evil.org"),
        ("eps_low: must be between 0 and 1, got 3.5", "eps_low: must be between 0 and 1, got 3.5"),
    ],
)
def test_what_markdown_would_take_for_a_mark_is_shown_as_it_is(typed, shown):
    assert literal(typed).replace("\\\\", "\\") == shown
