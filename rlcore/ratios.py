"""Ratios: how much likelier the new policy makes what was sampled, per token or per sequence.

Direction is fixed by name: `log_ratio = logp_new - logp_old`. This module never clips for the objective's sake; the
clamps here are numerical guards that some libraries apply before exponentiating.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value


@dataclass(frozen=True)
class Ratio:
    """log_ratio, ratio: [..., B, T], at the slot's level, spread over the row for sequence levels; 1 under the mask.

    token_log_ratio [..., B, T] is always the plain token quantity. `level` says what one clip decision covers.
    """

    log_ratio: Tensor
    ratio: Tensor
    token_log_ratio: Tensor
    level: Literal["token", "sequence"]


def token_log_ratio(logp_new: Tensor, logp_old: Tensor, mask: Tensor) -> Tensor:
    """logp_new - logp_old on valid tokens, 0 elsewhere: [..., B, T]."""
    return masked.fill(logp_new - logp_old, mask)


class TokenRatio(Value):
    """rho_it = pi(a_it) / pi_old(a_it), one ratio per token (PPO, GRPO, DAPO).

    `clamp` bounds the log-ratio to [-clamp, clamp] before exp (verl and OpenRLHF: 20; the papers, TRL, CleanRL and SB3:
    none). Beyond it the gradient is 0.
    Source: Schulman et al. 2017, arXiv:1707.06347, sec. 3.
    """

    kind: Literal["token"] = "token"
    clamp: float | None = None

    def __call__(self, logp_new: Tensor, logp_old: Tensor, mask: Tensor) -> Ratio:
        token = token_log_ratio(logp_new, logp_old, mask)
        log_ratio = token if self.clamp is None else token.clamp(-self.clamp, self.clamp)
        return Ratio(log_ratio, log_ratio.exp(), token, "token")


class SequenceRatio(Value):
    """s_i = exp( mean_t log rho_it ): the geometric mean of a row's token ratios (GSPO); the gradient goes through s.

    Source: Zheng et al. 2025, arXiv:2507.18071, eq. 7.
    Trap: length-normalised, so it is *not* the importance weight of the sequence; that is `SequenceProduct`.
    """

    kind: Literal["sequence"] = "sequence"

    def __call__(self, logp_new: Tensor, logp_old: Tensor, mask: Tensor) -> Ratio:
        token = token_log_ratio(logp_new, logp_old, mask)
        log_ratio = masked.spread(masked.row_mean(token, mask), mask)
        return Ratio(log_ratio, log_ratio.exp(), token, "sequence")


class SequenceTokenRatio(Value):
    """s_it = sg[s_i] * pi / sg[pi]: GSPO's value in every token, the token's own gradient (GSPO-token; verl's gspo).

    Same gradient as `SequenceRatio` while advantages are constant along a row; meant for when they are not.
    `clamp` bounds log s from above only (verl: 10).
    Source: Zheng et al. 2025, arXiv:2507.18071, eq. 14.
    """

    kind: Literal["sequence_token"] = "sequence_token"
    clamp: float | None = None

    def __call__(self, logp_new: Tensor, logp_old: Tensor, mask: Tensor) -> Ratio:
        token = token_log_ratio(logp_new, logp_old, mask)
        of_row = masked.spread(masked.row_mean(token, mask), mask).detach()
        log_ratio = of_row + masked.fill(logp_new, mask) - masked.fill(logp_new, mask).detach()
        log_ratio = log_ratio if self.clamp is None else log_ratio.clamp(max=self.clamp)
        return Ratio(log_ratio, log_ratio.exp(), token, "sequence")


class SequenceProduct(Value):
    """rho_i = prod_t rho_it: the true importance weight of the sequence, not length-normalised (TRL's RLOO).

    Source: TRL 1.16 `rloo_trainer.py`; Ahmadian et al. 2024, arXiv:2402.14740 treats the whole answer as one action.
    Trap: it spreads exponentially with length.
    """

    kind: Literal["sequence_product"] = "sequence_product"

    def __call__(self, logp_new: Tensor, logp_old: Tensor, mask: Tensor) -> Ratio:
        token = token_log_ratio(logp_new, logp_old, mask)
        log_ratio = masked.spread(masked.row_sum(token, mask), mask)
        return Ratio(log_ratio, log_ratio.exp(), token, "sequence")


RatioSlot = Annotated[
    TokenRatio | SequenceRatio | SequenceTokenRatio | SequenceProduct, Field(discriminator="kind")
]


def effective_sample_size(weight: Tensor, mask: Tensor) -> Tensor:
    """(sum w)^2 / (n * sum w^2) over valid tokens, in (0, 1]; 1 when all weights agree: [..., B, T] -> [...].

    Source: Kish 1965; logged by verl 0.9.1 as `rollout_is_eff_sample_size`.
    """
    square = masked.total(weight.square(), mask)
    return masked.total(weight, mask).square() / (masked.count(mask) * square).clamp(min=torch.finfo(weight.dtype).tiny)
