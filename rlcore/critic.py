"""The critic's loss: how the value head is fitted to the returns, with each library's own form of value clipping.

Values map `(value_new, value_old, returns, weight)` to a scalar; `weight` [..., B, T] sums to 1 (a token mean). What stands
in value_old where the weight is 0 is never read; value_new and returns must be clean there. The coefficient `c_v` is part of the value; the policy loss adds the result as it is.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob


def clipped_value(value_new: Tensor, value_old: Tensor, *, eps_value: float) -> Tensor:
    """V kept within eps_value of V_old; inside the band it is V to the last bit, outside its gradient is 0. [..., B, T]"""
    return value_new.clamp(value_old - eps_value, value_old + eps_value)


def value_clipped(value_new: Tensor, value_old: Tensor, returns: Tensor, *, eps_value: float) -> Tensor:
    """True where the clipped error is the larger one, so that its maximum stops the gradient: [..., B, T] bool.

    Its share of tokens is what verl and TRL 1.12 log as `vf_clipfrac`.
    """
    clipped = clipped_value(value_new, value_old, eps_value=eps_value)
    return (clipped - returns).square() > (value_new - returns).square()


class NoCritic(Value):
    """No value function: GRPO, GSPO, RLOO, REINFORCE++ and relatives."""

    kind: Literal["no_critic"] = "no_critic"
    coef: Literal[0] = 0

    def __call__(self, value_new: Tensor, value_old: Tensor, returns: Tensor, weight: Tensor) -> Tensor:
        return torch.zeros_like(weight[..., 0, 0])


class ValueMse(Value):
    """coef * half * mean (V - returns)^2. half 0.5: CleanRL without clipping; 1: SB3 without clipping.

    Source: PPO, arXiv:1707.06347, eq. 9; CleanRL `ppo.py`; SB3 2.9.2 `ppo.py`.
    """

    kind: Literal["value_mse"] = "value_mse"
    coef: float = knob(0.5, "c_v", 0, 100, "weight of the critic's loss", suggested=(0, 2))
    half: float = knob(0.5, "½", 0.5, 1, "0.5 (CleanRL) or 1 (SB3) in front of the square")

    def __call__(self, value_new: Tensor, value_old: Tensor, returns: Tensor, weight: Tensor) -> Tensor:
        return self.coef * self.half * masked.weighted((value_new - returns).square(), weight)


class ValueClipMax(Value):
    """coef * 1/2 * mean max( (V - R)^2, (V_clip - R)^2 ),  V_clip = V_old + clip(V - V_old, +-eps_value).

    Source: CleanRL `ppo.py` (uses the policy's eps), verl 0.9.1, OpenRLHF 0.11.2, TRL 1.12. Not in the PPO paper.
    Trap: the gradient is 0 wherever the clipped error is the larger one and V is outside its band.
    """

    kind: Literal["value_clip_max"] = "value_clip_max"
    coef: float = knob(0.5, "c_v", 0, 100, "weight of the critic's loss", suggested=(0, 2))
    eps_value: float = knob(0.2, "ε_v", 0, 1e6, "band of the value around its old self", suggested=(0.01, 5))

    def __call__(self, value_new: Tensor, value_old: Tensor, returns: Tensor, weight: Tensor) -> Tensor:
        clipped = clipped_value(value_new, masked.fill(value_old, weight != 0), eps_value=self.eps_value)
        error = torch.maximum((value_new - returns).square(), (clipped - returns).square())
        return self.coef * 0.5 * masked.weighted(error, weight)


class ValueClipOnly(Value):
    """coef * mean (V_clip - R)^2: the clipped prediction alone, no maximum and no half (SB3's clip_range_vf).

    Source: SB3 2.9.2 `ppo.py`. Trap: outside the band the gradient is 0 even where moving back would help.
    """

    kind: Literal["value_clip_only"] = "value_clip_only"
    coef: float = knob(0.5, "c_v", 0, 100, "weight of the critic's loss", suggested=(0, 2))
    eps_value: float = knob(0.2, "ε_v", 0, 1e6, "band of the value around its old self", suggested=(0.01, 5))

    def __call__(self, value_new: Tensor, value_old: Tensor, returns: Tensor, weight: Tensor) -> Tensor:
        clipped = clipped_value(value_new, masked.fill(value_old, weight != 0), eps_value=self.eps_value)
        return self.coef * masked.weighted((clipped - returns).square(), weight)


CriticSlot = Annotated[NoCritic | ValueMse | ValueClipMax | ValueClipOnly, Field(discriminator="kind")]
