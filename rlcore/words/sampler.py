"""What replies are sampled from, where it is not the trainer's own weights: rounded, or some updates old.

A sampler maps (the trainer's parameters, what it carried) to (the weights to sample from or None for the trainer's
own, what it carries on). Training always happens in float32.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore.envs.protocol import Carry
from rlcore.knobs import Value, knob
from rlcore.policies import Params


class SameSampler(Value):
    """The trainer's own weights: ratio 1 before the first update."""

    kind: Literal["same"] = "same"

    def __call__(self, params: Params, carry: Carry) -> tuple[Params | None, Carry]:
        return None, None


class Bf16Sampler(Value):
    """Weights rounded to bfloat16, arithmetic in float32."""

    kind: Literal["bf16"] = "bf16"

    def __call__(self, params: Params, carry: Carry) -> tuple[Params | None, Carry]:
        return {name: x.to(torch.bfloat16).float() for name, x in params.items()}, None


class IntSampler(Value):
    """Weights rounded to signed integers of `bits` bits with one scale a row (symmetric, round to nearest)."""

    kind: Literal["int"] = "int"
    bits: int = knob(8, "bits", 2, 16, "width of a weight", suggested=(3, 8), unit="bits")

    def __call__(self, params: Params, carry: Carry) -> tuple[Params | None, Carry]:
        return {name: rounded(x, bits=self.bits) for name, x in params.items()}, None


class StaleSampler(Value):
    """The weights of `updates` training steps ago (the oldest there are, in the beginning)."""

    kind: Literal["stale"] = "stale"
    updates: int = knob(1, "k", 1, 64, "training steps the sampler lags behind", suggested=(1, 8), unit="steps")

    def __call__(self, params: Params, carry: Carry) -> tuple[Params | None, Carry]:
        kept: tuple[Params, ...] = ((carry or ()) + (params,))[-(self.updates + 1) :]
        return (None if len(kept) == 1 else kept[0]), kept


def rounded(weight: Tensor, *, bits: int) -> Tensor:
    """The nearest of 2^bits - 1 evenly spaced values, scaled by each row's largest magnitude: [..., n] -> [..., n]."""
    steps: int = 2 ** (bits - 1) - 1
    scale = weight.abs().amax(-1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny) / steps
    return (weight / scale).round() * scale


SamplerSlot = Annotated[SameSampler | Bf16Sampler | IntSampler | StaleSampler, Field(discriminator="kind")]
