"""Metrics: one name a quantity, each a scalar of one update or one rollout.

`glossary` says what each library calls them. Nothing here carries a gradient, reads a clock or leaves torch (no
`.item()`: the whole dictionary crosses to numpy once, at the record). This module never changes what is optimised.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlcore import masked
from rlcore.algorithm import LossTerms, PolicyOutput
from rlcore.groups import group_is_flat, group_sum
from rlcore.kl import exact_kl, k3
from rlcore.rollout import Rollout

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
    "kl_loss", "entropy_bonus", "value_loss", "grad_norm", "update_norm",
)  # fmt: skip
"""What every optimiser step measures; `kl_ref_exact` besides, where all actions can be listed."""


@torch.no_grad()
def update_metrics(terms: LossTerms, now: PolicyOutput, rollout: Rollout) -> dict[str, Tensor]:
    """Scalars [...] of one optimiser step, all token means over the mask unless the name says otherwise.

    clip_fraction           tokens whose gradient a bound removed (TRL, verl, OpenRLHF)
    clip_fraction_low       ... by the lower bound (A < 0);  clip_fraction_high: by the upper one (A > 0)
    clip_fraction_dual      ... by the second bound for A < 0 (dual clip, delta)
    clip_fraction_outside   tokens outside the band whatever the sign of A (CleanRL, SB3)
    approx_kl               k3 of KL(old || new);  approx_kl_k1: mean(logp_old - logp_new), noisy, may be negative
    kl_ref                  k3 of KL(new || ref) on the rollout's tokens;  kl_ref_exact: from full distributions
    ratio_mean|min|max      at the ratio slot's level: token or sequence
    """
    mask, s, log_ratio = rollout.mask, terms.surrogate, terms.ratio.token_log_ratio
    logp, logp_ref, entropy = (masked.fill(x, mask) for x in (now.logp, rollout.logp_ref, now.entropy))
    per_token = {
        "clip_fraction": s.dead, "clip_fraction_low": s.dead_low, "clip_fraction_high": s.dead_high,
        "clip_fraction_dual": s.dead_dual, "clip_fraction_outside": s.outside,
        "approx_kl": approx_kl_tokens(log_ratio), "approx_kl_k1": -log_ratio, "kl_ref": k3(logp, logp_ref),
        "entropy": entropy, "ratio_mean": terms.ratio.ratio,
    }  # fmt: skip
    if now.dist is not None and rollout.dist_ref is not None:
        per_token["kl_ref_exact"] = masked.fill(exact_kl(now.dist, rollout.dist_ref), mask)
    stacked = torch.stack([x.to(logp.dtype) for x in per_token.values()])
    found = dict(zip(per_token, masked.weighted(stacked, terms.token_weight).unbind(), strict=True))
    found |= {n: getattr(terms, n).detach() for n in ("loss", "policy_loss", "kl_loss", "entropy_bonus", "value_loss")}
    found["ratio_min"] = masked.fill(terms.ratio.ratio, mask, torch.inf).amin(dim=(-2, -1))
    found["ratio_max"] = masked.fill(terms.ratio.ratio, mask, -torch.inf).amax(dim=(-2, -1))
    return found


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
