"""Recipe: a named algorithm. Names and stories belong to recipes; an `Algorithm` is only values in slots.

A recipe's words live in its module's docstring, once; pages read them from here. No colours, no figures.
"""

from __future__ import annotations

import inspect
import re

from rlcore.algorithm import Algorithm
from rlcore.knobs import Value


class Recipe(Value):
    """A named algorithm, with what a page says about it.

    key "gspo" · name "GSPO" · equation: LaTeX, braced by slot · story, differs, watch_for: plain sentences
    """

    key: str
    name: str
    long_name: str
    paper: str
    year: int
    equation: str
    story: str
    differs: str
    watch_for: str
    algorithm: Algorithm

    def __str__(self) -> str:
        return f"{self.name}: {self.long_name} ({self.paper}, {self.year})"


def paragraph(doc: str | None, opening: str) -> str:
    """The paragraph of a docstring that begins with `opening` and a full stop, as one line without them.

    Empty where there are no docstrings (python -OO).
    """
    for block in re.split(r"\n\s*\n", inspect.cleandoc(doc or "")):
        words = " ".join(block.split())
        if words.startswith(f"{opening}. "):
            return words.removeprefix(f"{opening}. ")
    return ""
