"""Sort three to seven digits: replies as long as their prompts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rlcore.knobs import knob
from rlcore.words.task import Task, split_prompts

SHORTEST, LONGEST = 3, 7


class Sorting(Task):
    """`30173>` wants `01337`.

    exact    finished and sorted
    partial  share of places that are right from the left, until the first mistake
    format   finished and the same digits in any order
    """

    kind: Literal["sorting"] = "sorting"
    max_length: int = knob(
        9, "T_max", 1, 64, "reply tokens, the end included, after which a reply is cut", suggested=(2, 24), live=False
    )

    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """8192 distinct prompts of random length and digits, 512 of them held out."""
        dice = np.random.Generator(np.random.Philox(key=2))
        found: dict[str, None] = {}
        while len(found) < 8192:
            digits = dice.integers(10, size=dice.integers(SHORTEST, LONGEST + 1))
            found["".join(map(str, digits)) + ">"] = None
        return split_prompts(list(found), heldout=512, seed=2)

    def grade(self, prompt: str, reply: str, finished: bool) -> dict[str, float]:
        right = "".join(sorted(prompt[:-1]))
        first_wrong = next((i for i, (x, y) in enumerate(zip(right, reply, strict=False)) if x != y), len(reply))
        return {
            "exact": float(finished and reply == right),
            "partial": min(first_wrong, len(right)) / max(len(right), len(reply)),
            "format": float(finished and sorted(reply) == list(right)),
        }
