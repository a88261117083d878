"""A KL penalty beside a clip, for one sample: the slope of its objective over the ratio.

The loss is the engine's own, on a batch of tokens that stand in rows of their own; the reference is the old policy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from rlcore.kl import K1, K2, K3, Estimator, KlInLoss, Pair, kl_loss_term
from rlcore.ratios import TokenRatio
from rlcore.records import Array, freeze
from rlcore.surrogates import PpoClip, SurrogateSlot, Unclipped


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
    found = {"clip": _slope(clip, None, advantage, ratio)}
    for name in names:
        kl = KlInLoss(kl_beta=kl_beta, estimator=ESTIMATORS[name])
        found[name] = _slope(Unclipped(), kl, advantage, ratio)
    return found


def _slope(surrogate: SurrogateSlot, kl: KlInLoss | None, advantage: float, at: Array) -> PenaltyCurve:
    logp = torch.as_tensor(at, dtype=torch.float64).log().unsqueeze(-1).requires_grad_()
    old, mask = torch.zeros_like(logp), torch.ones_like(logp, dtype=torch.bool)
    ratio = TokenRatio()(logp, old, mask)
    objective = surrogate(ratio, torch.full_like(logp, advantage), logp, mask).objective
    if kl is not None:
        objective = objective - kl.kl_beta * kl_loss_term(kl, Pair(logp, old), ratio, mask)
    slope = torch.autograd.grad(objective.sum(), logp)[0].squeeze(-1)
    return PenaltyCurve(advantage, freeze(torch.as_tensor(at)), freeze(slope), _rest(at, slope.numpy(), advantage))


def _rest(ratio: Array, slope: Array, advantage: float) -> float | None:
    pushed = ratio > 1 if advantage > 0 else ratio < 1
    turned = ratio[pushed & (np.sign(slope) == -np.sign(advantage))]
    if not turned.size:
        return None
    return float(turned.min() if advantage > 0 else turned.max())
