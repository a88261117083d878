"""The surrogate as a curve over the ratio, its slope by autograd, and recorded tokens placed on it.

One token, one row: objective and slope are those of the slot's own value. This module knows no clip formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from rlcore.explore.setting import Setting
from rlcore.knobs import knob
from rlcore.ratios import Ratio, TokenRatio
from rlcore.records import Array, UpdateTrace, freeze
from rlcore.surrogates import Clipping, PpoClip, Rule, SurrogateSlot, Unclipped, band


class ClipWithoutMin(Rule):
    """clip(rho, 1 - eps_low, 1 + eps_high) * A, no min: not an algorithm, but what the min protects from.

    A token that has moved the wrong way past the band gets no gradient back.
    """

    kind: Literal["clip_without_min"] = "clip_without_min"
    eps_low: float = 0.2
    eps_high: float = 0.2

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        return ratio.ratio.clamp(1 - self.eps_low, 1 + self.eps_high) * advantages

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        found = band(ratio.ratio, advantages, mask, low=1 - self.eps_low, high=1 + self.eps_high)
        below, above = mask & (ratio.ratio < 1 - self.eps_low), mask & (ratio.ratio > 1 + self.eps_high)
        return replace(found, dead_low=below, dead_high=above)


Curved = SurrogateSlot | ClipWithoutMin


@dataclass(frozen=True)
class Curve:
    """A surrogate over ratios [N], for one advantage.

    objective  psi, to be maximised; where the slot reads log pi (CISPO, score function) for log pi_old = 0
    slope      d psi / d log pi: what one token asks of its own log-probability
    outside, dead   bool: outside the band; gradient removed by a bound
    """

    surrogate: Curved
    advantage: float
    ratio: Array
    objective: Array
    slope: Array
    outside: Array
    dead: Array


def curve(surrogate: Curved, *, advantage: float, ratio: Array) -> Curve:
    """Evaluate a surrogate slot at the given ratios [N], each as a row of one token."""
    found = _evaluate(surrogate, torch.as_tensor(ratio, dtype=torch.float64).log(), torch.tensor(advantage).double())
    return Curve(surrogate, advantage, freeze(torch.as_tensor(ratio)), *found)


def ratio_window(*, eps_low: float, eps_high: float, far: float = 2.0) -> tuple[float, float]:
    """The range worth drawing: narrow around a narrow band (GSPO's 3e-4), else from near 0 to `far` or beyond the band."""
    width = max(eps_low, eps_high)
    if width < 0.05:
        return 1 - 6 * width, 1 + 6 * width
    return 0.02, max(far, 1 + 1.6 * eps_high)


def ratio_grid(*, low: float, high: float, kinks: tuple[float, ...], points: int = 121) -> Array:
    """Ratios to draw at: evenly spaced, and just before and just after each kink so that a jump is drawn upright."""
    beside = [kink * (1 + side) for kink in kinks for side in (-1e-9, 1e-9) if low < kink < high]
    return np.union1d(np.linspace(low, high, points), np.array(beside))


class Token(Setting):
    """One token to take apart: how far it has moved, and what its advantage asks for."""

    ratio: float = knob(1.35, "ρ", 1e-6, 20, "how much likelier the new policy makes this token", suggested=(0.05, 4))
    advantage: float = knob(1.0, "A", -10, 10, "how much better than expected it did", suggested=(-3, 3))


@dataclass(frozen=True)
class Probe:
    """One token under PPO's clip, term by term: `rho * A`, `clip(rho) * A`, which of the two the min took.

    slope is d objective / d log pi; dead says that a bound removed it, outside that the ratio left the band.
    """

    ratio: float
    advantage: float
    clipped_ratio: float
    unclipped: float
    clipped: float
    objective: float
    slope: float
    outside: bool
    dead: bool


def probe(token: Token, *, eps_low: float, eps_high: float) -> Probe:
    """Take one token apart."""
    ratio, advantage = token.ratio, token.advantage
    at = np.array([ratio])
    clip, band = PpoClip(eps_low=eps_low, eps_high=eps_high), ClipWithoutMin(eps_low=eps_low, eps_high=eps_high)
    whole, raw, inside, unit = (
        curve(slot, advantage=a, ratio=at)
        for slot, a in ((clip, advantage), (Unclipped(), advantage), (band, advantage), (band, 1.0))
    )
    return Probe(
        ratio, advantage, float(unit.objective[0]), float(raw.objective[0]), float(inside.objective[0]),
        float(whole.objective[0]), float(whole.slope[0]), bool(whole.outside[0]), bool(whole.dead[0]),
    )  # fmt: skip


def _evaluate(surrogate: Curved, log_ratio: Tensor, advantage: Tensor) -> tuple[Array, Array, Array, Array]:
    """(objective, slope, outside, dead), each [N], of tokens that stand in rows of their own; log pi_old = 0."""
    logp = log_ratio.unsqueeze(-1).requires_grad_()
    mask = torch.ones_like(logp, dtype=torch.bool)
    ratio = TokenRatio()(logp, torch.zeros_like(logp), mask)
    found = surrogate(ratio, advantage.expand(log_ratio.shape).unsqueeze(-1), logp, mask)
    slope = torch.autograd.grad(found.objective.sum(), logp)[0]
    return (
        freeze(found.objective.squeeze(-1)), freeze(slope.squeeze(-1)), freeze(found.outside.squeeze(-1)),
        freeze(found.dead.squeeze(-1)),
    )  # fmt: skip


@dataclass(frozen=True)
class Samples:
    """Recorded tokens [N] under a surrogate that need not be the one they were trained with.

    row, position   where they stand in the update · ratio at the run's own level · advantage as used in its loss
    objective, slope, outside, dead   as in `Curve`
    """

    row: Array
    position: Array
    ratio: Array
    advantage: Array
    objective: Array
    slope: Array
    outside: Array
    dead: Array

    @property
    def count(self) -> int:
        return int(self.ratio.size)

    @property
    def outside_fraction(self) -> float:
        """Share of tokens outside the band: `clip_fraction` of CleanRL and SB3."""
        return float(self.outside.mean())

    @property
    def dead_fraction(self) -> float:
        """Share of tokens whose gradient a bound removed: `clip_fraction` of TRL, verl and OpenRLHF."""
        return float(self.dead.mean())


def samples(surrogate: Curved, update: UpdateTrace) -> Samples:
    """The valid tokens of one recorded update, judged by `surrogate` at their recorded ratio and advantage."""
    row, position = update.mask.nonzero()
    log_ratio = torch.from_numpy(update.log_ratio[row, position].astype(np.float64))
    advantage = torch.from_numpy(update.advantages[row, position].astype(np.float64))
    found = _evaluate(surrogate, log_ratio, advantage)
    return Samples(update.rows[row], position, freeze(log_ratio.exp()), freeze(advantage), *found)
