"""A word task as an environment of the engine: prompts are starts, replies are rows, EOS is the end of an episode."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from rlcore.envs.protocol import Carry, Collected, Dice, Plan
from rlcore.knobs import Value, knob
from rlcore.policies import Params, Shape
from rlcore.words.addition import Addition
from rlcore.words.brackets import Brackets
from rlcore.words.collect import collect_words
from rlcore.words.sampler import SameSampler, SamplerSlot
from rlcore.words.sentences import Sentences
from rlcore.words.sorting import Sorting

TaskSlot = Annotated[Addition | Sorting | Brackets | Sentences, Field(discriminator="kind")]


class Words(Value):
    """`task` says what is asked and how replies are graded; `sampler` what the replies are sampled from.

    temperature  of the sampler; the policy that is trained and scored has temperature 1.
    """

    kind: Literal["words"] = "words"
    task: TaskSlot = Addition()
    temperature: float = knob(1.0, "T", 0.05, 10, "temperature of the sampler", suggested=(0.2, 2))
    sampler: SamplerSlot = SameSampler()

    @property
    def horizon(self) -> int:
        """Reply tokens after which a row is cut."""
        return self.task.max_length

    def shape(self) -> Shape:
        """Tokens in, tokens out."""
        return self.task.shape()

    def collect(self, policy: Any, params: Params, params_ref: Params, plan: Plan, carry: Carry, dice: Dice) -> Collected:
        """Ask, sample, grade and score `plan.rows` replies; see `envs.protocol`. Carries what a stale sampler needs."""
        weights, after = self.sampler(params, carry)
        rollout = collect_words(
            policy, params, params_ref, self.task, prompts=plan.prompts, group_size=plan.group_size,
            dice_starts=dice("starts"), dice_actions=dice("actions"), temperature=self.temperature,
            params_rollout=weights,
        )  # fmt: skip
        return Collected(rollout, after, None)
