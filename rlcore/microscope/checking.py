"""Checking what a person typed or predicted. A hint names a mistake only if making it gives the typed number."""

from __future__ import annotations

from dataclasses import dataclass

from rlcore.microscope.phase import RELATIVE, SMALLEST, Blank, Question


@dataclass(frozen=True)
class Verdict:
    """right or not; `said` is what to tell the person."""

    right: bool
    said: str


def judge(blank: Blank, typed: float) -> Verdict:
    """A typed number against its blank: right within the allowance, else the mistake that gives this very number."""
    allowed = blank.allowance()
    if abs(typed - blank.answer) <= allowed:
        return Verdict(True, f"Right: {blank.answer:.6g}.")
    told = [m for m in blank.mistakes if abs(m.value - blank.answer) > allowed]
    near = [m for m in told if abs(typed - m.value) <= (blank.tolerance or max(RELATIVE * abs(m.value), SMALLEST))]
    if near:
        return Verdict(False, min(near, key=lambda m: abs(typed - m.value)).hint)
    if blank.answer and abs(typed + blank.answer) <= allowed:
        return Verdict(False, "The sign is wrong.")
    if abs(typed - blank.answer) <= 6 * allowed:
        return Verdict(False, "Close: probably rounding. Keep more digits on the way.")
    return Verdict(False, "Not that, and no common mistake gives this number. Look at the formula once more.")


def judge_prediction(question: Question, guess: str | float | frozenset[int]) -> Verdict:
    """A prediction against what happened."""
    if question.kind == "number":
        assert isinstance(guess, float) and isinstance(question.answer, float)
        right = abs(guess - question.answer) <= max(question.tolerance, 1e-9)
    else:
        right = guess == question.answer
    return Verdict(right, ("Right. " if right else "Not so. ") + question.why)
