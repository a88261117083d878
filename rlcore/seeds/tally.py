"""Tokens that a table cannot tell apart, counted instead of repeated.

In a finite world with a table, log-probability, ratio, entropy and KL of a token depend on its state and action alone.
A token-level surrogate is linear in |A| on either side of 0. So tokens of one seed with the same state, action and sign of
A can be one: weight W = sum w, advantage = sum w A / W. The sums of the house equation are the same; there are fewer terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rlcore.advantages import Advantages
from rlcore.algorithm import TOKEN_MEAN, Algorithm
from rlcore.config import RunConfig
from rlcore.critic import NoCritic
from rlcore.gates import AllTokens
from rlcore.kl import ExactKl, KlInReward
from rlcore.policies import Shape
from rlcore.ratios import TokenRatio
from rlcore.rollout import Rollout
from rlcore.surrogates import Cispo, DualClip, PpoClip, Sapo, ScoreFunction, TwoSidedClip, Unclipped

BY_SIGN = (PpoClip, DualClip, TwoSidedClip, Cispo, Sapo, ScoreFunction, Unclipped)
SIGNS = 3  # A = 0, A > 0, A < 0


def can_be_tallied(config: RunConfig, tokens: Tensor) -> bool:
    """True where every term of a token depends on its state, action and sign of A, linearly in |A|, nothing asks for
    whole distributions, and there are many more tokens [N, B, T] than kinds of them.
    """
    algorithm, shape = config.algorithm, config.env.shape()
    kinds = (shape.states or 0) * (shape.actions or 0) * SIGNS
    if tokens[0].numel() < 4 * kinds or (isinstance(algorithm.kl, KlInReward) and isinstance(algorithm.kl.estimator, ExactKl)):
        return False
    by_token = isinstance(algorithm.ratio, TokenRatio) and isinstance(algorithm.surrogate, BY_SIGN)
    return by_token and isinstance(algorithm.gate, AllTokens)


@dataclass(frozen=True)
class Given:
    """An aggregation whose weights are known already: [N, 1, K]."""

    weight: Tensor

    def __call__(self, mask: Tensor, like: Tensor) -> Tensor:
        return self.weight.to(like.dtype)


@dataclass(frozen=True)
class Tally:
    """A rollout of K kinds of token a seed, [N, 1, K], and the algorithm with their weights in place of its aggregation.

    The critic is left out: its error is not linear in the returns. token_weight sums to 1 over a seed's kinds.
    """

    rollout: Rollout
    advantages: Advantages
    algorithm: Algorithm
    token_weight: Tensor


def tally(
    algorithm: Algorithm, rollout: Rollout, advantages: Advantages, shape: Shape, *, packed_tight: bool
) -> Tally:
    """rollout, advantages [N, B, T], states counted through all seeds; shape of one seed's world.

    packed_tight  leave out kinds that no seed has; otherwise every tally of a step is equally wide
    """
    assert shape.states is not None and shape.actions is not None
    n, mask, gain = rollout.mask.shape[0], rollout.mask, advantages.advantages
    kinds = ((rollout.obs * shape.actions + rollout.action) * SIGNS + (gain > 0) + 2 * (gain < 0)).reshape(-1)
    size = n * shape.states * shape.actions * SIGNS

    def summed(x: Tensor) -> Tensor:
        return torch.bincount(kinds, x.reshape(-1).double(), size).view(n, -1)

    def weights(slot: Any) -> tuple[Tensor, Tensor]:
        each = slot(mask, rollout.logp_old)
        return each, summed(each)

    of_token, token_weight = weights(TOKEN_MEAN)
    each, weight = (of_token, token_weight) if algorithm.aggregate == TOKEN_MEAN else weights(algorithm.aggregate)
    mean = summed(each * gain) / weight.clamp(min=torch.finfo(torch.float64).tiny)
    seen = token_weight > 0
    order = seen.to(torch.int8).argsort(dim=-1, descending=True, stable=True)
    order = order[:, : max(1, int(seen.sum(-1).max()))] if packed_tight else order

    def packed(x: Tensor) -> Tensor:
        return x.gather(1, order)[:, None].float()

    changed: dict[str, Any] = {"aggregate": Given(packed(weight)), "critic": NoCritic()}
    if algorithm.entropy_aggregate is not None:
        changed["entropy_aggregate"] = Given(packed(weights(algorithm.entropy_aggregate)[1]))
    table = order + torch.arange(n)[:, None] * (shape.states * shape.actions * SIGNS)
    place = (table // SIGNS)[:, None]
    first = Kinds(rollout, place // shape.actions, place % shape.actions, packed(seen.double()) > 0)
    gains = packed(mean)
    return Tally(
        first.rollout(), Advantages(gains, torch.zeros_like(gains), torch.ones_like(gains), gains),
        algorithm.model_copy(update=changed), packed(token_weight),
    )  # fmt: skip


@dataclass(frozen=True)
class Kinds:
    """Where each kind of token stands: state through all islands, action, and whether the seed has any of it."""

    source: Rollout
    obs: Tensor
    action: Tensor
    mask: Tensor

    def rollout(self) -> Rollout:
        """Nothing but what a loss reads; log-probabilities are filled in by whoever has the tables."""
        nothing = torch.zeros_like(self.mask, dtype=torch.float32)
        none = torch.zeros_like(self.mask)
        return replace(
            self.source, obs=self.obs, action=self.action, mask=self.mask, reward=nothing, logp_old=nothing,
            logp_ref=nothing, terminal=none, truncated=none, value_old=nothing, value_next=nothing,
            group=torch.zeros(1, dtype=torch.int64), dist_old=None, dist_ref=None,
        )  # fmt: skip
