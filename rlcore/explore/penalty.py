"""A KL penalty beside a clip: the slope of one sample's objective over the ratio, and recorded tokens under each.

The loss is the engine's own, on a batch of tokens that stand in rows of their own; the reference is the old policy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from rlcore.kl import K1, K2, K3, Estimator, KlInLoss, Pair, kl_loss_term
from rlcore.ratios import TokenRatio
from rlcore.records import Array, UpdateTrace, freeze
from rlcore.surrogates import PpoClip, Rule, Unclipped


@dataclass(frozen=True)
class PenaltyCurve:
    """Slope [N] of `psi - beta k` with respect to log pi, over ratios [N].

    rest  the first drawn ratio beyond 1, on the side A pushes to, at which the slope has turned against A; None: never
    """

    advantage: float
    ratio: Array
    slope: Array
    rest: float | None


ESTIMATORS: dict[str, Estimator] = {"k1": K1(), "k2": K2(), "k3": K3()}


def penalty_curves(
    names: tuple[str, ...], *, advantage: float, kl_beta: float, eps_low: float, eps_high: float, ratio: Array
) -> dict[str, PenaltyCurve]:
    """The clip's slope, then that of rho A - beta k for each named estimator. Raises KeyError for an unknown one."""
    clip = PpoClip(eps_low=eps_low, eps_high=eps_high)
    found = {"clip": _curve(clip, None, advantage, ratio)}
    for name in names:
        kl = KlInLoss(kl_beta=kl_beta, estimator=ESTIMATORS[name])
        found[name] = _curve(Unclipped(), kl, advantage, ratio)
    return found


@dataclass(frozen=True)
class Judged:
    """What becomes of recorded tokens with A != 0: still pushed the way A asks, silent, or pulled back against it."""

    pushed: int
    silent: int
    pulled: int


def judged(
    names: tuple[str, ...], update: UpdateTrace, *, kl_beta: float, eps_low: float, eps_high: float
) -> dict[str, Judged]:
    """The recorded tokens of an update under the clip, and under each penalty instead of it."""
    valid = update.mask & (update.advantages != 0)
    ratio, advantage = np.exp(update.log_ratio[valid].astype(np.float64)), update.advantages[valid].astype(np.float64)
    slots: list[tuple[Rule, KlInLoss | None]] = [(PpoClip(eps_low=eps_low, eps_high=eps_high), None)]
    slots += [(Unclipped(), KlInLoss(kl_beta=kl_beta, estimator=ESTIMATORS[name])) for name in names]
    found = {}
    for name, (surrogate, kl) in zip(("clip", *names), slots, strict=True):
        way = np.sign(_slope(surrogate, kl, advantage, ratio)) * np.sign(advantage)
        found[name] = Judged(int((way > 0).sum()), int((way == 0).sum()), int((way < 0).sum()))
    return found


def _curve(surrogate: Rule, kl: KlInLoss | None, advantage: float, at: Array) -> PenaltyCurve:
    slope = _slope(surrogate, kl, np.full(at.shape, advantage), at)
    return PenaltyCurve(advantage, freeze(torch.as_tensor(at)), slope, _rest(at, slope, advantage))


def _slope(surrogate: Rule, kl: KlInLoss | None, advantage: Array, at: Array) -> Array:
    """d (psi - beta k) / d log pi, [N], of tokens in rows of their own; log pi_old = log pi_ref = 0."""
    logp = torch.as_tensor(at, dtype=torch.float64).log().unsqueeze(-1).requires_grad_()
    old, mask = torch.zeros_like(logp), torch.ones_like(logp, dtype=torch.bool)
    ratio = TokenRatio()(logp, old, mask)
    objective = surrogate(ratio, torch.as_tensor(advantage).unsqueeze(-1), logp, mask).objective
    if kl is not None:
        objective = objective - kl.kl_beta * kl_loss_term(kl, Pair(logp, old), ratio, mask)
    return freeze(torch.autograd.grad(objective.sum(), logp)[0].squeeze(-1))


def _rest(ratio: Array, slope: Array, advantage: float) -> float | None:
    pushed = ratio > 1 if advantage > 0 else ratio < 1
    turned = ratio[pushed & (np.sign(slope) == -np.sign(advantage))]
    if not turned.size:
        return None
    return float(turned.min() if advantage > 0 else turned.max())
