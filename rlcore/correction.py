"""Correction for a rollout engine that is not the trainer: weights from rho = pi_old(trainer) / pi_rollout(sampler).

The weight multiplies the surrogate only, never the KL term, and carries no gradient. Where sampler and trainer agree
every weight is 1.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob

Level = Literal["token", "sequence", "sequence_mean"]


def mismatch(logp_old: Tensor, logp_rollout: Tensor, mask: Tensor, level: Level) -> Tensor:
    """rho = exp(logp_old - logp_rollout) per token, of the row's sum, or of the row's mean (geometric): [..., B, T]."""
    token = masked.fill(logp_old, mask) - masked.fill(logp_rollout, mask)
    if level == "token":
        return token.exp()
    row = masked.row_sum(token, mask) if level == "sequence" else masked.row_mean(token, mask)
    return masked.spread(row, mask).exp()


class NoCorrection(Value):
    """Trust the sampler's log-probabilities to be the trainer's."""

    kind: Literal["no_correction"] = "no_correction"

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        return torch.ones_like(logp_old)


class TruncatedIs(Value):
    """TIS: min(rho, cap), low variance at the price of bias.

    Source: Yao et al. 2025 (truncated importance sampling for off-policy rollouts); verl `rollout_is` with a single
    threshold (2.0); TRL `token_truncate` / `sequence_truncate`; OpenRLHF token "clip".
    """

    kind: Literal["truncated_is"] = "truncated_is"
    level: Level = "token"
    low: float = knob(0.0, "ρ_min", 0, 1, "lower bound of the weight")
    cap: float = knob(2.0, "C", 1, 1e6, "upper bound of the weight", suggested=(1, 10))

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        rho = mismatch(logp_old, logp_rollout, mask, self.level)
        return rho.clamp(self.low, self.cap).detach()


class MaskedIs(Value):
    """Masked importance sampling (IcePop): rho inside [low, high], 0 outside; tokens or whole rows are dropped.

    Source: verl 0.9.1 `rollout_is` with a band; TRL 1.16 `token_mask` / `sequence_mask` (default, high 3).
    """

    kind: Literal["masked_is"] = "masked_is"
    level: Level = "token"
    low: float = knob(0.5, "ρ_min", 0, 1, "below it the weight is 0")
    high: float = knob(2.0, "ρ_max", 1, 1e6, "above it the weight is 0", suggested=(1, 10))

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        rho = mismatch(logp_old, logp_rollout, mask, self.level)
        return torch.where((rho >= self.low) & (rho <= self.high), rho, 0.0).detach()


CorrectionSlot = Annotated[NoCorrection | TruncatedIs | MaskedIs, Field(discriminator="kind")]
