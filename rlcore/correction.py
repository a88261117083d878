"""Correction for a rollout engine that is not the trainer: weights from rho = pi_old(trainer) / pi_rollout(sampler).

The weight multiplies the surrogate only, never the KL term, and carries no gradient. Where sampler and trainer agree
every weight is 1; a token that the sampler could not score (NaN) counts as agreeing.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.aggregation import AggregateSlot
from rlcore.knobs import Value, knob

Level = Literal["token", "sequence", "sequence_mean"]


def log_mismatch(logp_old: Tensor, logp_rollout: Tensor, mask: Tensor, clamp: float | None = None) -> Tensor:
    """log rho = logp_old - logp_rollout on valid, scored tokens, 0 elsewhere, within [-clamp, clamp]: [..., B, T]."""
    token = masked.fill(logp_old - logp_rollout, mask & ~logp_rollout.isnan())
    return token if clamp is None else token.clamp(-clamp, clamp)


def mismatch(
    logp_old: Tensor, logp_rollout: Tensor, mask: Tensor, level: Level, clamp: float | None = None
) -> Tensor:
    """rho per token, of the row's sum, or of the row's mean (geometric), spread over the row: [..., B, T].

    `clamp` bounds what is exponentiated (verl: 20). 1 under the mask.
    """
    token = log_mismatch(logp_old, logp_rollout, mask)
    if level != "token":
        row = masked.row_sum(token, mask) if level == "sequence" else masked.row_mean(token, mask)
        token = masked.spread(row, mask)
    return (token if clamp is None else token.clamp(-clamp, clamp)).exp()


def over_mean(weight: Tensor, mask: Tensor, average: AggregateSlot | None) -> Tensor:
    """Weights divided by their batch average, so that they are 1 on average; None leaves them. [..., B, T]"""
    if average is None:
        return weight
    mean = masked.weighted(masked.fill(weight, mask), average(mask, weight))[..., None, None]
    return torch.where(mean > 1e-8, weight / mean, weight)


class NoCorrection(Value):
    """Trust the sampler's log-probabilities to be the trainer's."""

    kind: Literal["no_correction"] = "no_correction"

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        return torch.ones_like(logp_old)


class PlainIs(Value):
    """rho itself: unbiased, with a variance that nothing bounds."""

    kind: Literal["plain_is"] = "plain_is"
    level: Level = "token"

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        return mismatch(logp_old, logp_rollout, mask, self.level).detach()


class TruncatedIs(Value):
    """TIS: min(rho, cap), low variance at the price of bias.

    `average` divides by the batch's average weight, taken over tokens or rows (verl `rollout_is_batch_normalize`).
    Source: Yao et al. 2025 (truncated importance sampling for off-policy rollouts); verl `rollout_is` with a single
    threshold (2.0; clamp 20); TRL `token_truncate` / `sequence_truncate`; OpenRLHF token "clip".
    """

    kind: Literal["truncated_is"] = "truncated_is"
    level: Level = "token"
    low: float = knob(0.0, "ρ_min", 0, 1e6, "lower bound of the weight", suggested=(0, 1))
    cap: float = knob(2.0, "C", 0, 1e300, "upper bound of the weight", suggested=(1, 10))
    clamp: float | None = None
    average: AggregateSlot | None = None

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        rho = mismatch(logp_old, logp_rollout, mask, self.level, self.clamp).clamp(self.low, self.cap).detach()
        return over_mean(rho, mask, self.average)


class MaskedIs(Value):
    """Masked importance sampling (IcePop): rho inside [low, high], 0 outside; tokens or whole rows are dropped.

    `average` as for TruncatedIs.
    Source: verl 0.9.1 `rollout_is` with a band; TRL 1.16 `token_mask` / `sequence_mask` (default, high 3).
    """

    kind: Literal["masked_is"] = "masked_is"
    level: Level = "token"
    low: float = knob(0.5, "ρ_min", 0, 1e6, "below it the weight is 0", suggested=(0, 1))
    high: float = knob(2.0, "ρ_max", 0, 1e300, "above it the weight is 0", suggested=(1, 10))
    clamp: float | None = None
    average: AggregateSlot | None = None

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        rho = mismatch(logp_old, logp_rollout, mask, self.level, self.clamp)
        kept = torch.where((rho >= self.low) & (rho <= self.high), rho, 0.0).detach()
        return over_mean(kept, mask, self.average)


Statistic = Literal["k1", "k2", "k3", "binary_kl", "tv"]
Unit = Literal["token", "sequence_sum", "sequence_mean", "sequence_max"]


def divergence(
    logp_old: Tensor, logp_rollout: Tensor, mask: Tensor, statistic: Statistic, clamp: float | None = None
) -> Tensor:
    """How far apart sampler and trainer are on each token, 0 where they agree: [..., B, T].

    k1 = -log rho, k2 = (log rho)^2 / 2, k3 = rho - 1 - log rho; binary_kl and tv compare the two probabilities of the
    sampled token against the rest (OpenRLHF 0.11.2, probabilities kept within [1e-6, 1 - 1e-6]).
    """
    log_rho = log_mismatch(logp_old, logp_rollout, mask, clamp)
    if statistic == "k1":
        return -log_rho
    if statistic == "k2":
        return 0.5 * log_rho.square()
    if statistic == "k3":
        return log_rho.exp() - 1 - log_rho
    p, q = (x.exp().clamp(1e-6, 1 - 1e-6) for x in (logp_rollout, logp_old))
    if statistic == "tv":
        return masked.fill((p - q).abs(), mask)
    return masked.fill(p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log(), mask)


class GatedIs(Value):
    """0 where a divergence of token or row leaves [low, high]; inside, the token's own rho ("rho") or 1 ("one").

    Source: verl 0.9.1 `rollout_rs` ("one", clamp 20; a band lo_hi of pi_rollout / pi is [log lo, log hi] of k1);
    OpenRLHF 0.11.2 `is_correction_gating` ("rho"; a band of rho is k1 within [-log hi, -log lo]).
    Trap: verl takes rejected tokens out of the mask, so that its means are over what is left; here they weigh 0.
    """

    kind: Literal["gated_is"] = "gated_is"
    statistic: Statistic = "k3"
    unit: Unit = "token"
    low: float | None = None
    high: float | None = 0.1
    inside: Literal["rho", "one"] = "rho"
    clamp: float | None = None

    def __call__(self, logp_old: Tensor, logp_rollout: Tensor, mask: Tensor) -> Tensor:
        amount = self._of_unit(divergence(logp_old, logp_rollout, mask, self.statistic, self.clamp), mask)
        keep = torch.ones_like(mask) if self.low is None else amount >= self.low
        keep = keep if self.high is None else keep & (amount <= self.high)
        rho = mismatch(logp_old, logp_rollout, mask, "token") if self.inside == "rho" else torch.ones_like(logp_old)
        return torch.where(keep, rho, 0.0).detach()

    def _of_unit(self, token: Tensor, mask: Tensor) -> Tensor:
        if self.unit == "token":
            return token
        if self.unit == "sequence_sum":
            return masked.row_sum(token, mask).unsqueeze(-1)
        if self.unit == "sequence_mean":
            return masked.row_mean(token, mask).unsqueeze(-1)
        return masked.fill(token, mask, -torch.inf).amax(-1, keepdim=True)


CorrectionSlot = Annotated[
    NoCorrection | PlainIs | TruncatedIs | MaskedIs | GatedIs, Field(discriminator="kind")
]
