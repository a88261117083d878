"""The KL estimators on trial: value and gradient of each on one action distribution, by enumeration.

Nothing is approximated except where samples are asked for; each estimator and each gradient is the slot's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rlcore.explore.setting import Setting
from rlcore.kl import K1, K2, K3, AsWritten, Estimator, KlGradient, Pair, RatioCorrected, exact_kl
from rlcore.knobs import knob
from rlcore.ratios import TokenRatio
from rlcore.records import Array, freeze
from rlcore.rng import generator

TRIED: Mapping[str, tuple[Estimator, KlGradient]] = {
    "k1": (K1(), AsWritten()),
    "k2": (K2(), AsWritten()),
    "k3": (K3(), AsWritten()),
    "ρ·k3": (K3(), RatioCorrected()),
}
"""What stands on the bench, in order; the last is k3 multiplied by the differentiable ratio."""


REFERENCE = (0.0, 0.5, -0.5, 0.2)
FAR = (0.5, 0.0, 1.0, -0.8)


class Trials(Setting):
    """The bench's settings: the policy's logits go from the reference's (0) through the usual ones (1) and beyond."""

    distance: float = knob(1.0, "d", 0, 5, "how far the policy stands from the reference", suggested=(0, 3))
    samples: int = knob(64, "N", 1, 4096, "actions an estimate averages over", suggested=(1, 1024), scale="log")


def policies(setting: Trials) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Logits of policy and reference at the bench's distance."""
    moved = tuple(r + setting.distance * (f - r) for r, f in zip(REFERENCE, FAR, strict=True))
    return moved, REFERENCE


@dataclass(frozen=True)
class Trial:
    """One estimator of KL(pi || ref) on A actions sampled from pi.

    value [A]      the estimate if that action is sampled
    mean, std      of one sample's estimate; bias = mean - exact
    gradient [A]   expected gradient, with respect to the policy's logits, of the estimate used as a loss
    gives          which true gradient that is: "∇KL(π‖ref)", "∇KL(ref‖π)", "zero" or "neither"
    """

    name: str
    value: Array
    mean: float
    std: float
    bias: float
    gradient: Array
    gives: str


@dataclass(frozen=True)
class Bench:
    """Policy and reference [A] probabilities, the exact KL, its gradient in both directions, and each trial."""

    policy: Array
    reference: Array
    exact: float
    reverse: Array
    forward: Array
    trials: tuple[Trial, ...]


def bench(logits: tuple[float, ...], logits_ref: tuple[float, ...]) -> Bench:
    """Put every estimator on trial for a softmax policy against a reference, in float64.

    reverse is d KL(pi || ref) / d logits, forward d KL(ref || pi) / d logits.
    """
    leaf = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    logp, ref = torch.log_softmax(leaf, -1), torch.log_softmax(torch.tensor(logits_ref, dtype=torch.float64), -1)
    kl = exact_kl(logp, ref)
    reverse = torch.autograd.grad(kl, leaf, retain_graph=True)[0]
    forward = torch.autograd.grad(exact_kl(ref, logp), leaf, retain_graph=True)[0]
    truths = {"zero": torch.zeros_like(reverse), "∇KL(π‖ref)": reverse, "∇KL(ref‖π)": forward}
    trials = tuple(_trial(name, *how, logp, ref, leaf, kl, truths) for name, how in TRIED.items())
    return Bench(freeze(logp.exp()), freeze(ref.exp()), float(kl.detach()), freeze(reverse), freeze(forward), trials)


def _trial(
    name: str, estimator: Estimator, gradient: KlGradient, logp: Tensor, ref: Tensor, leaf: Tensor, kl: Tensor,
    truths: Mapping[str, Tensor],
) -> Trial:  # fmt: skip
    """Every action as a row of one token, weighted by its probability, which is a constant of the sampling."""
    rows, rows_ref = logp.unsqueeze(-1), ref.unsqueeze(-1)
    pair = Pair(rows, rows_ref)
    ratio = TokenRatio()(rows, rows.detach(), torch.ones_like(rows, dtype=torch.bool))
    estimate = gradient(estimator(pair), pair, ratio).squeeze(-1)
    weight = logp.detach().exp()
    mean = (weight * estimate).sum()
    std = (weight * (estimate - mean).square()).sum().sqrt()
    slope = torch.autograd.grad(mean, leaf, retain_graph=True)[0]
    gives = next((label for label, truth in truths.items() if torch.allclose(slope, truth, atol=1e-9)), "neither")
    bias = (mean - kl).detach()
    return Trial(name, freeze(estimate), float(mean.detach()), float(std.detach()), float(bias), freeze(slope), gives)


def estimates(tried: Bench, *, samples: int, repeats: int, seed: int = 0) -> Mapping[str, Array]:
    """Repeated estimates by name, [repeats] each: the mean over `samples` actions drawn from the policy."""
    dice = generator(seed, 0, "oracle")
    drawn = dice.choice(tried.policy.size, (repeats, samples), p=tried.policy / tried.policy.sum())
    return {trial.name: np.asarray(trial.value[drawn].mean(-1)) for trial in tried.trials}
