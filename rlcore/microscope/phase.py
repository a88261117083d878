"""What a phase says, as frozen records: a sentence, a formula, the formula with numbers, blanks, and a question.

A line of LaTeX holds its numbers by name, so that any of them can be left blank. Nothing is computed here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

RELATIVE = 0.01
SMALLEST = 5e-7
"""Numbers are shown with six digits; what is typed from them may be off by a hundredth, or by this much near 0."""


def shown(x: float) -> str:
    """A number as LaTeX, six significant digits, no trailing zeros."""
    if math.isnan(x) or math.isinf(x):
        return r"\text{NaN}" if math.isnan(x) else (r"\infty" if x > 0 else r"-\infty")
    if x != 0 and not 1e-4 <= abs(x) < 1e6:
        mantissa, exponent = f"{x:.5e}".split("e")
        return rf"{mantissa.rstrip('0').rstrip('.')}\times10^{{{int(exponent)}}}"
    return f"{x:.6g}" if x else "0"


@dataclass(frozen=True)
class Line:
    """One line of LaTeX with numbers by name: `@x@` as it is, `@(x)@` in brackets where it is negative."""

    template: str
    values: Mapping[str, float | str]

    def names(self) -> tuple[str, ...]:
        """The numbers this line holds, in order."""
        return tuple(re.findall(r"@\(?(\w+)\)?@", self.template))

    def latex(self, blank: Mapping[str, str]) -> str:
        """The line with its numbers; those in `blank` are boxes with their letter instead."""

        def number(found: re.Match[str]) -> str:
            name = found[1]
            if name in blank:
                return rf"\boxed{{\,{blank[name]}\,}}"
            value = self.values[name]
            text = value if isinstance(value, str) else shown(value)
            wrap = "(" in found[0] and not isinstance(value, str) and (value < 0 or r"\times" in text)
            return f"({text})" if wrap else text

        return re.sub(r"@\(?(\w+)\)?@", number, self.template)


def line(template: str, **values: float | str) -> Line:
    """A line from its template and numbers."""
    return Line(template, values)


@dataclass(frozen=True)
class Mistake:
    """What comes out if one makes a known mistake, computed by making it, and what to say to that."""

    value: float
    hint: str


@dataclass(frozen=True)
class Blank:
    """A number that a person may be asked for.

    level  1: the phase's result; 2: a number on the way to it
    """

    name: str
    symbol: str
    words: str
    answer: float
    level: int = 1
    mistakes: tuple[Mistake, ...] = ()
    tolerance: float = 0.0

    def allowance(self) -> float:
        """How far from the answer still counts as right."""
        return self.tolerance or max(RELATIVE * abs(self.answer), SMALLEST)


@dataclass(frozen=True)
class Question:
    """What may be predicted before the phase is shown.

    kind     "choice" of `options`, a "number", or which "tokens" (`answer` holds their positions from 0)
    why      what to say once it is answered, with the numbers
    """

    kind: Literal["choice", "number", "tokens"]
    text: str
    answer: str | float | frozenset[int]
    why: str
    options: tuple[str, ...] = ()
    tolerance: float = 0.0


@dataclass(frozen=True)
class Phase:
    """One phase of the update, for one row and token.

    sentence  what happens, in one sentence · formula: LaTeX, general · lines: the same with this token's numbers
    note      what else to know about this very number; may be empty
    present   False where the recipe has no such thing, or the row takes no part; then `sentence` says so
    shows     the number on every token's cell of the picture: a field of `Scene.table`
    """

    key: str
    title: str
    sentence: str
    formula: str
    lines: tuple[Line, ...] = ()
    blanks: tuple[Blank, ...] = ()
    question: Question | None = None
    note: str = ""
    present: bool = True
    shows: str = ""
