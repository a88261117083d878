"""What happens to rewards and rows before advantages: overlong shaping and the selection of groups."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from rlcore import masked
from rlcore.groups import group_is_flat, group_sum
from rlcore.knobs import Value, knob
from rlcore.rollout import Rollout


def soft_overlong(length: Tensor, *, max_length: float, cache: float, factor: float) -> Tensor:
    """0 up to max_length - cache, then falling linearly, -factor from max_length on: [..., B] -> [..., B].

    Source: DAPO, arXiv:2503.14476, eq. 13; floor as in TRL 1.16 (factor 1) and OpenRLHF 0.11.2. cache 0: a step.
    """
    over = length - (max_length - cache)
    return torch.where(over > 0, -factor * (over / cache).clamp(max=1), 0.0)


class PlainReward(Value):
    """Rewards as the environment gave them."""

    kind: Literal["plain"] = "plain"

    def __call__(self, rollout: Rollout, reward: Tensor) -> Tensor:
        return reward


class SoftOverlong(Value):
    """DAPO's soft punishment of length, added to the row's last step. Source: arXiv:2503.14476, eq. 13."""

    kind: Literal["soft_overlong"] = "soft_overlong"
    max_length: int = knob(16, "L_max", 1, 100_000, "length from which the whole penalty applies", unit="tokens")
    cache: int = knob(4, "L_cache", 1, 100_000, "width of the band in which it grows", unit="tokens")
    factor: float = knob(1.0, "f", 0, 100, "the whole penalty", suggested=(0, 2))

    @model_validator(mode="after")
    def _band_fits(self) -> SoftOverlong:
        if self.cache > self.max_length:
            raise ValueError(f"cache must be at most max_length ({self.max_length}), got {self.cache}")
        return self

    def __call__(self, rollout: Rollout, reward: Tensor) -> Tensor:
        length = masked.lengths(rollout.mask)
        penalty = soft_overlong(length.to(reward.dtype), max_length=self.max_length, cache=self.cache, factor=self.factor)
        position = torch.arange(rollout.mask.shape[-1])
        return reward + penalty[..., None] * (position == length[..., None] - 1)


class ClipReward(Value):
    """Every step's reward kept within [low, high]. Source: TRL 1.16 RLOO `reward_clip_range`; Mnih et al. 2015 ([-1, 1]).

    Trap: an outcome reward and zeros share a row; with 0 outside the band every step is paid.
    """

    kind: Literal["clip_reward"] = "clip_reward"
    low: float = knob(-10.0, "r_min", -1e6, 1e6, "smallest reward of a step", suggested=(-10, 0))
    high: float = knob(10.0, "r_max", -1e6, 1e6, "largest reward of a step", suggested=(0, 10))

    @model_validator(mode="after")
    def _ordered(self) -> ClipReward:
        if self.low > self.high:
            raise ValueError(f"low must be at most high ({self.high}), got {self.low}")
        return self

    def __call__(self, rollout: Rollout, reward: Tensor) -> Tensor:
        return masked.fill(reward.clamp(self.low, self.high), rollout.mask)


ShapingSlot = Annotated[PlainReward | SoftOverlong | ClipReward, Field(discriminator="kind")]


class KeepAll(Value):
    """Every row goes into the update."""

    kind: Literal["keep_all"] = "keep_all"

    def __call__(self, score: Tensor, group: Tensor) -> Tensor:
        return torch.ones_like(score, dtype=torch.bool)


class DropFlatGroups(Value):
    """DAPO's dynamic sampling without the resampling: groups whose scores do not differ leave the batch.

    tolerance  groups with no score further than tolerance / 2 from their mean are dropped; 0: all scores equal
    Source: DAPO, arXiv:2503.14476, sec. 3.2, which resamples until the batch is full; here the batch shrinks, so token
    counts and means are taken over what is left. TRL never drops, it only counts.
    """

    kind: Literal["drop_flat_groups"] = "drop_flat_groups"
    tolerance: float = knob(0.0, "tol", 0, 1e6, "largest spread that still counts as flat", suggested=(0, 0.1))

    def __call__(self, score: Tensor, group: Tensor) -> Tensor:
        if self.tolerance == 0:
            return ~group_is_flat(score, group)
        mean = group_sum(score, group) / group_sum(torch.ones_like(score), group)
        far = ((score - mean).abs() > self.tolerance / 2).to(score.dtype)
        return group_sum(far, group) > 0


class DropZeroStd(Value):
    """verl's filter: groups of more than one row whose numpy standard deviation is exactly 0 leave the batch.

    Source: verl 0.9.1 `filter_groups`. Trap: three scores of 0.1 have a standard deviation of 1.4e-17 and stay.
    """

    kind: Literal["drop_zero_std"] = "drop_zero_std"

    def __call__(self, score: Tensor, group: Tensor) -> Tensor:
        keep = torch.ones_like(score, dtype=torch.bool)
        for number in range(int(group.max()) + 1):
            member = group == number
            spread = np.std(score[..., member].numpy(), axis=-1)
            keep[..., member] = torch.from_numpy(np.asarray(spread != 0))[..., None] | (member.sum() < 2)
        return keep


class KeepMeanBetween(Value):
    """OpenRLHF's filter: groups whose mean score is not strictly between low and high leave the batch.

    Source: OpenRLHF 0.11.2 `dynamic_filtering_range`, default (0, 1).
    Trap: a group of equal scores of 0.5 stays, a varied one with a mean of 0 goes.
    """

    kind: Literal["keep_mean_between"] = "keep_mean_between"
    low: float = knob(0.0, "R_min", -1e6, 1e6, "a group's mean must be above it", suggested=(-1, 1))
    high: float = knob(1.0, "R_max", -1e6, 1e6, "a group's mean must be below it", suggested=(0, 2))

    def __call__(self, score: Tensor, group: Tensor) -> Tensor:
        mean = group_sum(score, group) / group_sum(torch.ones_like(score), group)
        return (mean > self.low) & (mean < self.high)


SelectSlot = Annotated[
    KeepAll | DropFlatGroups | DropZeroStd | KeepMeanBetween, Field(discriminator="kind")
]
