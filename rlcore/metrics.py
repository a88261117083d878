"""Metrics: one name a quantity, each a scalar of one update or one rollout.

`glossary` says what each library calls them. Nothing here carries a gradient, reads a clock or leaves torch (no
`.item()`: the whole dictionary crosses to numpy once, at the record). This module never changes what is optimised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rlcore import masked
from rlcore.algorithm import LossTerms, PolicyOutput
from rlcore.groups import group_is_flat, group_sum
from rlcore.kl import exact_kl, k3
from rlcore.ratios import Ratio
from rlcore.rollout import Rollout
from rlcore.surrogates import Rule

# ---------------------------------------------------------------- one quantity each


def approx_kl_tokens(log_ratio: Tensor) -> Tensor:
    """ratio - 1 - log_ratio per token: k3 of KL(old || new), sampled from old, never negative. [..., B, T]

    Source: Schulman 2020, "Approximating KL divergence"; what CleanRL and SB3 log as `approx_kl`.
    """
    return torch.expm1(log_ratio) - log_ratio


def dead_group_fraction(score: Tensor, group: Tensor) -> Tensor:
    """Share of groups whose rows all got the same score, so nothing can be learned: [..., B], [B] -> [...].

    TRL's `frac_reward_zero_std` (which allows 1e-8). A group of one is dead.
    """
    share = 1 / group_sum(torch.ones_like(score), group)
    return (share * group_is_flat(score, group)).sum(-1) / share.sum(-1)


# ---------------------------------------------------------------- all of an update, all of a rollout

OF_AN_UPDATE = (
    "clip_fraction", "clip_fraction_low", "clip_fraction_high", "clip_fraction_dual", "clip_fraction_outside",
    "approx_kl", "approx_kl_k1", "kl_ref", "entropy", "ratio_mean", "ratio_min", "ratio_max", "loss", "policy_loss",
    "kl_loss", "entropy_bonus", "value_loss", "grad_norm",
)  # fmt: skip
"""What every optimiser step measures; `kl_ref_exact` besides, where all actions can be listed."""


@dataclass(frozen=True)
class Seen:
    """What the token metrics of an optimiser step are made from, without gradient: [..., B, T]; dists [..., B, T, A].

    Steps of one training step are joined row by row before anything is computed: many small tensors cost much more
    than one large one.
    """

    ratio: Ratio
    advantages: Tensor
    logp_new: Tensor
    logp_ref: Tensor
    entropy: Tensor
    mask: Tensor
    token_weight: Tensor
    dist_new: Tensor | None
    dist_ref: Tensor | None


def seen(terms: LossTerms, now: PolicyOutput, rollout: Rollout) -> Seen:
    """One optimiser step's facts, cut off from the graph where there is one."""
    r = terms.ratio
    ratio = Ratio(r.log_ratio.detach(), r.ratio.detach(), r.token_log_ratio.detach(), r.level) if r.ratio.requires_grad else r
    dist = None if now.dist is None else now.dist.detach()
    return Seen(
        ratio, terms.advantages, now.logp.detach(), rollout.logp_ref, now.entropy.detach(), rollout.mask,
        terms.token_weight, dist, rollout.dist_ref,
    )  # fmt: skip


def joined(steps: Sequence[Seen]) -> Seen:
    """Several optimiser steps as one, each with the same say: token weights are divided by their number."""
    if len(steps) == 1:
        return steps[0]

    def rows(part: Callable[[Seen], Tensor]) -> Tensor:
        return torch.cat([part(step) for step in steps], dim=-2)

    def dists(part: Callable[[Seen], Tensor | None]) -> Tensor | None:
        found = [x for x in map(part, steps) if x is not None]
        return torch.cat(found, dim=-3) if len(found) == len(steps) else None

    ratio = Ratio(
        rows(lambda s: s.ratio.log_ratio), rows(lambda s: s.ratio.ratio), rows(lambda s: s.ratio.token_log_ratio),
        steps[0].ratio.level,
    )  # fmt: skip
    return Seen(
        ratio, rows(lambda s: s.advantages), rows(lambda s: s.logp_new), rows(lambda s: s.logp_ref),
        rows(lambda s: s.entropy), rows(lambda s: s.mask), rows(lambda s: s.token_weight) / len(steps),
        dists(lambda s: s.dist_new), dists(lambda s: s.dist_ref),
    )  # fmt: skip


def clip_metrics(rule: Rule, s: Seen) -> dict[str, Tensor]:
    """What the bounds did and how far the ratio went, scalars [...].

    clip_fraction           tokens whose gradient a bound removed (TRL, verl, OpenRLHF)
    clip_fraction_low       ... by the lower bound (A < 0);  clip_fraction_high: by the upper one (A > 0)
    clip_fraction_dual      ... by the second bound for A < 0 (dual clip, delta)
    clip_fraction_outside   tokens outside the band whatever the sign of A (CleanRL, SB3)
    ratio_min|max           at the ratio slot's level: token or sequence
    """
    found = rule.clipping(s.ratio, s.advantages, s.mask)
    shares = {
        "clip_fraction": found.dead, "clip_fraction_low": found.dead_low, "clip_fraction_high": found.dead_high,
        "clip_fraction_dual": found.dead_dual, "clip_fraction_outside": found.outside,
    }  # fmt: skip
    return _token_means(shares, s.token_weight) | {
        "ratio_min": masked.fill(s.ratio.ratio, s.mask, torch.inf).amin(dim=(-2, -1)),
        "ratio_max": masked.fill(s.ratio.ratio, s.mask, -torch.inf).amax(dim=(-2, -1)),
    }


def drift_metrics(s: Seen) -> dict[str, Tensor]:
    """Where the policy stands, scalars [...], token means.

    approx_kl      k3 of KL(old || new);  approx_kl_k1: mean(logp_old - logp_new), noisy, may be negative
    kl_ref         k3 of KL(new || ref) on the rollout's tokens;  kl_ref_exact: from full distributions
    entropy, nats  ratio_mean at the ratio slot's level
    """
    logp, logp_ref, entropy = (masked.fill(x, s.mask) for x in (s.logp_new, s.logp_ref, s.entropy))
    log_ratio = s.ratio.token_log_ratio
    means = {
        "approx_kl": approx_kl_tokens(log_ratio), "approx_kl_k1": -log_ratio, "kl_ref": k3(logp, logp_ref),
        "entropy": entropy, "ratio_mean": s.ratio.ratio,
    }  # fmt: skip
    if s.dist_new is not None and s.dist_ref is not None:
        means["kl_ref_exact"] = masked.fill(exact_kl(s.dist_new, s.dist_ref), s.mask)
    return _token_means(means, s.token_weight)


def _token_means(per_token: Mapping[str, Tensor], weight: Tensor) -> dict[str, Tensor]:
    stacked = torch.stack(list(per_token.values())).to(weight.dtype)
    return dict(zip(per_token, masked.weighted(stacked, weight).unbind(), strict=True))


LOSSES = ("loss", "policy_loss", "kl_loss", "entropy_bonus", "value_loss")


@torch.no_grad()
def update_metrics(terms: LossTerms, now: PolicyOutput, rollout: Rollout) -> dict[str, Tensor]:
    """All scalars [...] of one optimiser step: its losses, `clip_metrics` and `drift_metrics`."""
    facts = seen(terms, now, rollout)
    losses = {name: getattr(terms, name).detach() for name in LOSSES}
    return losses | clip_metrics(terms.surrogate.rule, facts) | drift_metrics(facts)


@torch.no_grad()
def rollout_metrics(rollout: Rollout, score: Tensor) -> dict[str, Tensor]:
    """Scalars [...] of one rollout, before any update; `score` [..., B] is each row's undiscounted return.

    reward_mean, reward_std (all rows, ddof 1) · length_mean, valid steps a row · dead_group_fraction.
    """
    found = {
        "reward_mean": score.mean(-1),
        "reward_std": score.std(-1) if score.shape[-1] > 1 else torch.zeros_like(score[..., 0]),
        "length_mean": masked.lengths(rollout.mask).to(score.dtype).mean(-1),
        "dead_group_fraction": dead_group_fraction(score, rollout.group),
    }
    return found
