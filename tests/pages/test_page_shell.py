"""What the explaining pages share: lessons, controls, refusals, and that one page leaves nothing behind in the next."""

import math

import pytest

from rlcore.knobs import Knob
from tests.pages.opened import opened, words
from ui import controls
from ui.lesson import LESSONS, lesson, parse

EXPLAINERS = ("surrogate", "advantages", "ratios")


@pytest.mark.parametrize("first", EXPLAINERS)
@pytest.mark.parametrize("second", EXPLAINERS)
def test_going_from_page_to_page_opens_each_as_it_is(first: str, second: str) -> None:
    app = opened(first, show=lesson(first).sections[-1].key)
    app.query_params.clear()
    app.switch_page(f"pages/{second}.py").run()
    assert not app.exception and not app.error


def test_a_refusal_does_not_follow_to_another_page() -> None:
    app = opened("surrogate", show="gradient", step="many")
    assert app.error
    app.query_params.clear()
    app.switch_page("pages/ratios.py").run()
    assert not app.error and not app.exception


@pytest.mark.parametrize("name", EXPLAINERS)
def test_every_section_of_a_lesson_is_a_section_of_its_page(name: str) -> None:
    for section in lesson(name).sections:
        app = opened(name, show=section.key)
        assert section.text.split("\n")[0] in words(app)
        assert {question for question, _ in section.questions} <= {e.label for e in app.expander}


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.md")), ids=lambda path: path.stem)
def test_every_lesson_says_what_to_try_and_what_to_notice(path) -> None:
    found = lesson(path.stem)
    assert found.title and found.try_first.endswith((".", "?")) and found.notice.endswith(".")
    assert len({section.key for section in found.sections}) == len(found.sections)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no title", "needs a title"),
        ("# T\nNotice: n.", "'Try first: …'"),
        ("# T\nTry first: t.", "'Notice: …'"),
        ("# T\nTry first: t.\nNotice: n.\n## only a key\nx", "'## key · Label', got 'only a key'"),
    ],
)
def test_a_malformed_lesson_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.split("'")[0].strip() or "lesson"):
        parse(text)


def test_a_lesson_is_read_as_written() -> None:
    found = parse("# T\nTry first: t.\nNotice: n.\nTerms: a, b\n\n## k · Label\nText.\n\n### Why?\nSo.\n")
    assert found.terms == ("a", "b")
    assert found.section("k").text == "Text." and found.section("k").questions == (("Why?", "So."),)


def about(low: float, high: float, suggested: tuple[float, float], scale: str = "linear") -> Knob:
    return Knob("x", "help", low, high, suggested, scale, True, "", "")


@pytest.mark.parametrize(
    ("knob", "whole", "some"),
    [
        (about(0, 1, (0, 1)), False, (0, 0.25, 1)),
        (about(0, 20, (0.05, 4)), False, (0.05, 1.35, 4)),
        (about(0, 1, (1e-4, 0.9), "log"), False, (1e-4, 3e-4, 4e-4, 0.2, 0.9)),
        (about(1, 4000, (2, 2000), "log"), True, (2, 10, 100, 1000, 2000)),
        (about(2, 64, (2, 64)), True, (2, 8, 16, 64)),
        (about(-10, 10, (-2, 2)), False, (-2, 0, 2)),
    ],
)
def test_a_slider_stands_on_round_numbers_within_the_suggested_range(knob: Knob, whole: bool, some: tuple) -> None:
    ticks = controls._ticks(knob, None, whole)
    assert ticks == sorted(set(ticks))
    assert (ticks[0], ticks[-1]) == knob.suggested
    assert all(any(math.isclose(tick, wanted, abs_tol=1e-12) for tick in ticks) for wanted in some)
    assert not whole or all(tick == int(tick) for tick in ticks)
    assert len(ticks) <= 202


@pytest.mark.parametrize(
    ("text", "numbers", "problem"),
    [
        ("1, 2;3 4", (1, 2, 3, 4), ""),
        ("1e-3", (0.001,), ""),
        ("1,,2", (1, 2), ""),
        ("", (), "must be 1 to 5 numbers, got 0"),
        ("1,b", (), "number 2 must be a number, got 'b'"),
        ("inf", (), "number 1 must be between -10 and 10, got inf"),
        ("1 1 1 1 1 1", (), "must be 1 to 5 numbers, got 6"),
    ],
)
def test_typed_numbers(text: str, numbers: tuple[float, ...], problem: str) -> None:
    assert controls.read_numbers(text, low=-10, high=10, least=1, most=5) == (numbers, problem)
