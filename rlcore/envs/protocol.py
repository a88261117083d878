"""What the engine asks of an environment, whatever it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from rlcore.policies import Params, Shape
from rlcore.rng import Stream
from rlcore.rollout import Rollout

Carry = Any
"""An immutable value that a segment hands to the next step (where each row stands); None before the first."""


class Dice(Protocol):
    """The step's randomness by stream: `dice("actions")`, see `rlcore.rng.generator`."""

    def __call__(self, stream: Stream, index: int = 0) -> np.random.Generator: ...


@dataclass(frozen=True)
class Plan:
    """How much to collect: `prompts` starts, each played by `group_size` rows that share it.

    segment  None: rows are whole episodes from their start, truncated at the horizon. A number: rows are streams of
             so many steps that continue from step to step and restart by themselves after an episode's end.
    critic   whether values are wanted.
    """

    prompts: int
    group_size: int
    segment: int | None
    critic: bool

    @property
    def rows(self) -> int:
        return self.prompts * self.group_size

    def groups(self) -> torch.Tensor:
        """Group id of each row, [B] int64: consecutive blocks of group_size."""
        return torch.arange(self.prompts).repeat_interleave(self.group_size)


@dataclass(frozen=True)
class Collected:
    """A rollout, what the next segment needs, and visits per state [S] where states are finite."""

    rollout: Rollout
    carry: Carry
    visits: np.ndarray | None


class Env(Protocol):
    """A frozen configuration that can be played."""

    def shape(self) -> Shape:
        """What a policy for it must look like. Raises SettingError where the environment is not supported."""
        ...

    def collect(
        self, policy: Any, params: Params, params_ref: Params, plan: Plan, carry: Carry, dice: Dice
    ) -> Collected:
        """Play `plan.rows` rows with `params`; the carry given is left untouched, a new one is returned."""
        ...
