"""Close what is open: replies that complete a string of brackets."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rlcore.knobs import knob
from rlcore.words.task import Task, split_prompts

PAIRS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {closer: opener for opener, closer in PAIRS.items()}
OPENERS = tuple(PAIRS)
PROMPT, DEEPEST = 8, 5


def still_open(text: str) -> str | None:
    """The openers that are unclosed after `text`, outermost first; None where it is no beginning of a balanced string."""
    stack = ""
    for mark in text:
        if mark in PAIRS:
            stack += mark
        elif mark not in CLOSERS or not stack.endswith(CLOSERS[mark]):
            return None
        else:
            stack = stack[:-1]
    return stack


def closing(stack: str) -> str:
    """The shortest string that closes `stack`."""
    return "".join(PAIRS[mark] for mark in reversed(stack))


class Brackets(Task):
    """`{([]` wants `)}`, or anything else that leaves prompt and reply together balanced, e.g. `[])}`.

    exact    finished and balanced
    partial  share of the prompt's open brackets that were closed in order, until the first mistake
    format   finished, and nothing but brackets
    """

    kind: Literal["brackets"] = "brackets"
    max_length: int = knob(
        8, "T_max", 1, 64, "reply tokens, the end included, after which a reply is cut", suggested=(2, 24), live=False
    )

    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """4096 distinct beginnings with one to five brackets open, 512 of them held out."""
        dice = np.random.Generator(np.random.Philox(key=3))
        found: dict[str, None] = {}
        while len(found) < 4096:
            found[_beginning(dice)] = None
        return split_prompts(list(found), heldout=512, seed=3)

    def grade(self, prompt: str, reply: str, finished: bool) -> dict[str, float]:
        depth, lowest = len(still_open(prompt) or ""), len(still_open(prompt) or "")
        for i in range(1, len(reply) + 1):
            stack = still_open(prompt + reply[:i])
            if stack is None:
                break
            lowest = min(lowest, len(stack))
        return {
            "exact": float(finished and still_open(prompt + reply) == ""),
            "partial": (depth - lowest) / depth if depth else 1.0,
            "format": float(finished and all(mark in PAIRS or mark in CLOSERS for mark in reply)),
        }


def _beginning(dice: np.random.Generator) -> str:
    """A random beginning of a balanced string: at most `PROMPT` marks, one to `DEEPEST` of them open."""
    target, text, stack = int(dice.integers(1, PROMPT + 1)), "", ""
    while len(text) < target or not stack:
        if stack and (len(stack) == DEEPEST or dice.random() < 0.25):
            text, stack = text + PAIRS[stack[-1]], stack[:-1]
        else:
            opener = OPENERS[dice.integers(len(OPENERS))]
            text, stack = text + opener, stack + opener
    return text
