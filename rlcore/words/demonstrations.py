"""What the starts were pretrained to imitate: careless, habitual or moody teachers, one for each task.

A teacher maps a prompt to a reply, right or wrong, without its end. What it gets wrong is what reinforcement can put
right; what it never shows, reinforcement will hardly find. Used in pretraining only.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from rlcore.knobs import Value, knob
from rlcore.words.brackets import CLOSERS, closing, still_open
from rlcore.words.sentences import ADVERBS, BAD, GOOD


class AdditionTeacher(Value):
    """`direct` of the replies give only an answer, wrong in `direct_slips` of the cases; the others show the work, wrong
    in `work_slips`. A model that imitates them has two styles, and the better one has to be found by reward.
    """

    kind: Literal["addition"] = "addition"
    direct: float = knob(0.6, "direct", 0, 1, "share of replies without a scratchpad")
    direct_slips: float = knob(0.5, "slips", 0, 1, "share of wrong answers among those")
    work_slips: float = knob(0.08, "slips_work", 0, 1, "share of wrong answers with a scratchpad")

    def __call__(self, prompt: str, dice: np.random.Generator) -> str:
        a, b = int(prompt[:2]), int(prompt[3:5])
        in_one_go = dice.random() < self.direct
        slipped = dice.random() < (self.direct_slips if in_one_go else self.work_slips)
        answer = int(dice.integers(199)) if slipped else a + b
        return f"{answer}" if in_one_go else f"#{a % 10 + b % 10:02}{(a + b) // 10:02}>{answer}"


class SortingTeacher(Value):
    """Sorted, but for two digits swapped in `slips` of the replies."""

    kind: Literal["sorting"] = "sorting"
    slips: float = knob(0.6, "slips", 0, 1, "share of replies with two digits swapped")

    def __call__(self, prompt: str, dice: np.random.Generator) -> str:
        digits = sorted(prompt[:-1])
        if dice.random() < self.slips:
            i, j = dice.choice(len(digits), 2, replace=False)
            digits[i], digits[j] = digits[j], digits[i]
        return "".join(digits)


class BracketsTeacher(Value):
    """`in_order` of the replies close first what was opened first, which is right only where both orders agree.

    So the likeliest reply of a model that imitates them is mostly wrong, and reward has to move the mode.
    """

    kind: Literal["brackets"] = "brackets"
    in_order: float = knob(0.6, "habit", 0, 1, "share of replies that close in the order of opening")
    slips: float = knob(0.1, "slips", 0, 1, "share of replies with one bracket changed")

    def __call__(self, prompt: str, dice: np.random.Generator) -> str:
        reply = list(closing(still_open(prompt) or ""))
        if dice.random() < self.in_order:
            reply.reverse()
        if dice.random() < self.slips:
            reply[dice.integers(len(reply))] = str(dice.choice(list(CLOSERS)))
        return "".join(reply)


class SentencesTeacher(Value):
    """One to three opinions, each good with probability `positive`, half of them with an adverb."""

    kind: Literal["sentences"] = "sentences"
    positive: float = knob(0.4, "positive", 0, 1, "share of good words")

    def __call__(self, prompt: str, dice: np.random.Generator) -> str:
        said = self._opinion(dice)
        for _ in range(int(dice.integers(3))):
            said += f" {dice.choice(['and', 'but'])}{self._opinion(dice)}"
        return said + "."

    def _opinion(self, dice: np.random.Generator) -> str:
        adverb = f" {dice.choice(ADVERBS)}" if dice.random() < 0.5 else ""
        return f"{adverb} {dice.choice(GOOD if dice.random() < self.positive else BAD)}"


Teacher = Annotated[AdditionTeacher | SortingTeacher | BracketsTeacher | SentencesTeacher, Field(discriminator="kind")]
