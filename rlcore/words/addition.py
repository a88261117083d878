"""Two-digit addition, answered at once or after a worked scratchpad."""

from __future__ import annotations

import re
from typing import Literal

from rlcore.knobs import knob
from rlcore.words.task import Task, split_prompts

_REPLY = re.compile(r"(?:#(\d\d)(\d\d)>)?(\d{1,3})")


class Addition(Task):
    """`47+85=` wants `132`, or with the work shown `#1213>132`: units 7+5 = 12, tens 4+8+1 = 13, then the answer.

    exact    finished, of the right form, and the answer is the sum (whatever the scratchpad says)
    partial  share of the sum's digits that the answer has, counted from the units
    format   finished and of the right form
    work     the scratchpad is there and right
    """

    kind: Literal["addition"] = "addition"
    work: float = knob(0.0, "w_work", -10, 10, "weight of a right scratchpad (a process reward)", suggested=(0, 2))

    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All 10 000 sums of two two-digit numbers, zero-padded; 512 of them held out."""
        return split_prompts([f"{a:02}+{b:02}=" for a in range(100) for b in range(100)], heldout=512, seed=1)

    def grade(self, prompt: str, reply: str, finished: bool) -> dict[str, float]:
        a, b = int(prompt[:2]), int(prompt[3:5])
        form = _REPLY.fullmatch(reply)
        if form is None:
            return {"exact": 0.0, "partial": 0.0, "format": 0.0, "work": 0.0}
        units, tens, answer = form.groups()
        right, given = str(a + b)[::-1], answer[::-1]
        same = sum(x == y for x, y in zip(right, given, strict=False))
        worked = units is not None and (int(units), int(tens)) == (a % 10 + b % 10, (a + b) // 10)
        return {
            "exact": float(finished and answer == str(a + b)),
            "partial": same / max(len(right), len(given)),
            "format": float(finished),
            "work": float(worked),
        }
