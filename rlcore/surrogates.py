"""Surrogates: the per-token gain psi(rho, A, log pi) that an update raises.

Each value maps `(ratio, advantages, logp_new, mask)` to a `Surrogate`, whose `objective` is to be *maximised*. Advantages are
constants here and are not detached by this module. Weights, KL and entropy belong to other slots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob
from rlcore.ratios import Ratio


@dataclass(frozen=True)
class Clipping:
    """What the bounds did to every token. All bool [..., B, T], False under the mask.

    outside     the ratio is outside its band, whatever the sign of A (what CleanRL and SB3 call clip fraction)
    dead_low    the lower bound removed the gradient: rho < 1 - eps_low and A < 0
    dead_high   the upper bound removed the gradient: rho > 1 + eps_high and A > 0 (what TRL, verl, OpenRLHF count)
    dead_dual   a second bound (dual clip, delta) removed the gradient
    """

    outside: Tensor
    dead_low: Tensor
    dead_high: Tensor
    dead_dual: Tensor

    @property
    def dead(self) -> Tensor:
        """True where any bound removed the token's gradient."""
        return self.dead_low | self.dead_high | self.dead_dual


class Rule(Value):
    """A surrogate: `objective` is psi, what the update raises; `clipping` says what its bounds did, for the eye only."""

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        """psi per token, to be maximised: [..., B, T]."""
        raise NotImplementedError

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        """Which tokens the bounds touched; here: no bounds, none."""
        none = torch.zeros_like(mask)
        return Clipping(none, none, none, none)

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        return Surrogate(self, self.objective(ratio, advantages, logp_new, mask), ratio, advantages, mask)


@dataclass(frozen=True)
class Surrogate:
    """The gain of every token and, worked out when asked for, what the bounds did to it. All [..., B, T]."""

    rule: Rule
    objective: Tensor
    ratio: Ratio
    advantages: Tensor
    mask: Tensor

    @cached_property
    def clipping(self) -> Clipping:
        with torch.no_grad():
            return self.rule.clipping(self.ratio, self.advantages, self.mask)

    @property
    def unclipped(self) -> Tensor:
        """rho * A, what the gain would be without any bound."""
        return self.ratio.ratio * self.advantages

    @property
    def outside(self) -> Tensor:
        return self.clipping.outside

    @property
    def dead_low(self) -> Tensor:
        return self.clipping.dead_low

    @property
    def dead_high(self) -> Tensor:
        return self.clipping.dead_high

    @property
    def dead_dual(self) -> Tensor:
        return self.clipping.dead_dual

    @property
    def dead(self) -> Tensor:
        return self.clipping.dead


def clipped_objective(ratio: Tensor, advantages: Tensor, *, eps_low: float, eps_high: float) -> Tensor:
    """PPO's pessimistic bound: never profit from leaving the band.

        psi = min( rho * A,  clip(rho, 1 - eps_low, 1 + eps_high) * A )

    ratio, advantages [..., T], broadcastable. Result likewise, to be maximised.

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 7; separate bounds: DAPO, arXiv:2503.14476.
    Trap: it bites on one side only (A > 0 above, A < 0 below) and bounds the objective, not the ratio.
    """
    return torch.minimum(ratio * advantages, ratio.clamp(1 - eps_low, 1 + eps_high) * advantages)


def band(x: Tensor, advantages: Tensor, mask: Tensor, *, low: float, high: float) -> Clipping:
    """What a clip of `x` to [low, high] does under the sign of A: outside on either side, dead only where A pushes on."""
    below, above = mask & (x < low), mask & (x > high)
    return Clipping(below | above, below & (advantages < 0), above & (advantages > 0), torch.zeros_like(below))


class PpoClip(Rule):
    """min( rho A, clip(rho, 1 - eps_low, 1 + eps_high) A ).

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 7; eps_high > eps_low ("clip-higher"): DAPO, arXiv:2503.14476.
    Trap: GSPO's ratio lives on another scale; its paper uses 3e-4 and 4e-4 (arXiv:2507.18071, sec. 5.1).
    """

    kind: Literal["ppo_clip"] = "ppo_clip"
    eps_low: float = knob(
        0.2, "ε_low", 0, 1, "how far the ratio may fall before its gradient stops (A < 0)",
        suggested=(1e-4, 0.9), scale="log", source="arXiv:1707.06347 eq. 7",
    )  # fmt: skip
    eps_high: float = knob(
        0.2, "ε_high", 0, 1e6, "how far the ratio may rise before its gradient stops (A > 0)",
        suggested=(1e-4, 1.0), scale="log", source="arXiv:1707.06347 eq. 7; arXiv:2503.14476",
    )  # fmt: skip

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        return clipped_objective(ratio.ratio, advantages, eps_low=self.eps_low, eps_high=self.eps_high)

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        return band(ratio.ratio, advantages, mask, low=1 - self.eps_low, high=1 + self.eps_high)


class DualClip(Rule):
    """PPO clip, and for A < 0 never worse than c * A: bounds the loss when the ratio explodes.

        psi = max( min(rho A, clip(rho) A), c A )   where A < 0

    Source: Ye et al. 2019, arXiv:1912.09729; on by default in verl 0.9.1 (c = 3).
    """

    kind: Literal["dual_clip"] = "dual_clip"
    eps_low: float = knob(0.2, "ε_low", 0, 1, "lower clip", suggested=(1e-4, 0.9), scale="log")
    eps_high: float = knob(0.2, "ε_high", 0, 1e6, "upper clip", suggested=(1e-4, 1.0), scale="log")
    c: float = knob(3.0, "c", 1, 1e6, "bound on the ratio for A < 0", suggested=(1.1, 10), source="arXiv:1912.09729")

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        once = clipped_objective(ratio.ratio, advantages, eps_low=self.eps_low, eps_high=self.eps_high)
        return torch.where(advantages < 0, torch.maximum(once, self.c * advantages), once)

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        rho = ratio.ratio
        once = clipped_objective(rho, advantages, eps_low=self.eps_low, eps_high=self.eps_high)
        dual = mask & (advantages < 0) & (once < self.c * advantages)
        return replace(band(rho, advantages, mask, low=1 - self.eps_low, high=1 + self.eps_high), dead_dual=dual)


class TwoSidedClip(Rule):
    """PPO clip on a ratio that is itself capped at delta: min( min(rho, delta) A, clip(rho) A ).

    For A < 0 it acts as dual clip with c = delta. Source: INTELLECT-2, arXiv:2505.07291, sec. 4.1; TRL 1.16 `delta`.
    """

    kind: Literal["two_sided_clip"] = "two_sided_clip"
    eps_low: float = knob(0.2, "ε_low", 0, 1, "lower clip", suggested=(1e-4, 0.9), scale="log")
    eps_high: float = knob(0.2, "ε_high", 0, 1e6, "upper clip", suggested=(1e-4, 1.0), scale="log")
    delta: float = knob(4.0, "δ", 1, 1e6, "cap on the raw ratio", suggested=(1.3, 10), source="arXiv:2505.07291")

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        clipped = ratio.ratio.clamp(1 - self.eps_low, 1 + self.eps_high)
        return torch.minimum(ratio.ratio.clamp(max=self.delta) * advantages, clipped * advantages)

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        capped = ratio.ratio.clamp(max=self.delta)
        once = band(capped, advantages, mask, low=1 - self.eps_low, high=1 + self.eps_high)
        # For A < 0 the larger of the two counts: below 1 + eps_high that is the clipped ratio, which still moves.
        bound = torch.where(advantages < 0, max(self.delta, 1 + self.eps_high), self.delta)
        dual = mask & (advantages != 0) & (ratio.ratio > bound) & ~once.dead_high
        return replace(once, dead_dual=dual)


class Cispo(Rule):
    """sg[ clip(rho, 1 - eps_low, 1 + eps_high) ] * A * log pi: the *weight* is clipped, every token keeps a gradient.

    eps_low = 1 leaves no lower bound (the ratio is positive anyway), as in TRL, whose `epsilon_high` is 1 + eps_high.
    Source: MiniMax-M1, arXiv:2506.13585, eq. 4.
    Trap: the value of the objective means nothing; only its gradient does.
    """

    kind: Literal["cispo"] = "cispo"
    eps_low: float = knob(1.0, "ε_low", 0, 1, "lower bound of the weight is 1 - ε_low", source="arXiv:2506.13585")
    eps_high: float = knob(4.0, "ε_high", 0, 1e6, "upper bound of the weight is 1 + ε_high", suggested=(0.05, 5))

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        weight = ratio.ratio.clamp(1 - self.eps_low, 1 + self.eps_high).detach()
        return weight * advantages * masked.fill(logp_new, mask)

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        outside = band(ratio.ratio, advantages, mask, low=1 - self.eps_low, high=1 + self.eps_high).outside
        return replace(super().clipping(ratio, advantages, mask), outside=outside)


class Sapo(Rule):
    """A soft gate in place of the clip: A * (4 / tau) * sigmoid( tau * (rho - 1) ), tau by the sign of A.

    The gradient fades smoothly with distance; at rho = 1 it is A. Nothing is ever dead.
    Source: Gao et al. 2025, arXiv:2511.20347; tau 1.0 for A > 0, 1.05 for A <= 0 in TRL 1.16 and verl 0.9.1.
    """

    kind: Literal["sapo"] = "sapo"
    tau_pos: float = knob(1.0, "τ₊", 1e-3, 1e3, "gate temperature for A > 0", suggested=(0.1, 10), scale="log")
    tau_neg: float = knob(1.05, "τ₋", 1e-3, 1e3, "gate temperature for A <= 0", suggested=(0.1, 10), scale="log")

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        rho = ratio.ratio
        tau = torch.where(advantages > 0, rho.new_tensor(self.tau_pos), rho.new_tensor(self.tau_neg))
        return advantages * (4 / tau) * torch.sigmoid(tau * (rho - 1))


class Gmpo(Rule):
    """GMPO: clip every token's *log*-ratio on the side A pushes to, then the row's geometric mean, times A.

        psi_i = A_i * exp( mean_t clip_sided(log rho_it) ),    A > 0: at most eps_high,  A < 0: at least -eps_low

    A must be constant along a row. `eps` is added to the token count of the mean (verl: 1e-8).
    Source: Zhao et al. 2025, arXiv:2507.20673; verl 0.9.1 `geo_mean`; TRL 1.16 `experimental/gmpo`.
    Trap: eps_low and eps_high bound the log-ratio here (0.4 in the paper), not the ratio.
    """

    kind: Literal["gmpo"] = "gmpo"
    eps_low: float = knob(0.4, "ε_low", 0, 20, "bound on falling log-ratios (A < 0)", suggested=(0.01, 2), scale="log")
    eps_high: float = knob(0.4, "ε_high", 0, 20, "bound on rising log-ratios (A > 0)", suggested=(0.01, 2), scale="log")
    eps: float = knob(0.0, "ε_L", 0, 1, "added to a row's token count")

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        token = ratio.token_log_ratio
        sided = torch.where(advantages > 0, token.clamp(max=self.eps_high), token.clamp(min=-self.eps_low))
        sided = masked.fill(sided, advantages != 0)
        mean = masked.row_sum(sided, mask) / (masked.lengths(mask).clamp(min=1).to(sided.dtype) + self.eps)
        return masked.spread(mean.exp(), mask) * advantages

    def clipping(self, ratio: Ratio, advantages: Tensor, mask: Tensor) -> Clipping:
        return band(ratio.token_log_ratio, advantages, mask, low=-self.eps_low, high=self.eps_high)


class Vespo(Rule):
    """A * sg[phi(W)] * log pi with W the row's whole importance weight: a soft gate, small on either side of W = 1.

        phi(W) = exp( lam + k log W - lam W ),    W = exp( sum_t log rho_it ),    (k, lam) by the sign of A

    log W is kept within [log 1e-8, 20] and every token's share within [-20, 20]. phi(1) = 1; nothing is ever dead.
    Source: VESPO, arXiv:2602.10693; TRL 1.16 `loss_type="vespo"`, whose defaults these are.
    Trap: the value of the objective means nothing; only its gradient does. The ratio slot must be the token's.
    """

    kind: Literal["vespo"] = "vespo"
    k_pos: float = knob(2.0, "k₊", 0, 100, "power of W for A >= 0", suggested=(0, 5))
    lam_pos: float = knob(3.0, "λ₊", 1e-4, 100, "decay in W for A >= 0", suggested=(0.1, 5))
    k_neg: float = knob(3.0, "k₋", 0, 100, "power of W for A < 0", suggested=(0, 5))
    lam_neg: float = knob(2.0, "λ₋", 1e-4, 100, "decay in W for A < 0", suggested=(0.1, 5))

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        of_row = masked.row_sum(ratio.token_log_ratio.detach().clamp(-20, 20), mask)
        return self.phi(of_row.unsqueeze(-1), advantages) * advantages * masked.fill(logp_new, mask)

    def phi(self, log_weight: Tensor, advantages: Tensor) -> Tensor:
        """The gate of rows with log W `log_weight`, broadcast against `advantages`."""
        gain = advantages >= 0
        log_w = log_weight.clamp(math.log(1e-8), 20.0)
        k = torch.where(gain, log_w.new_tensor(self.k_pos), log_w.new_tensor(self.k_neg))
        lam = torch.where(gain, log_w.new_tensor(self.lam_pos), log_w.new_tensor(self.lam_neg))
        return torch.exp(lam + k * log_w - lam * log_w.exp())


class ScoreFunction(Rule):
    """A * log pi: plain REINFORCE, no ratio and no bound.

    Source: Williams 1992; Sutton et al. 2000. Right on policy; silently wrong once data are reused.
    """

    kind: Literal["score_function"] = "score_function"

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        return advantages * masked.fill(logp_new, mask)


class Unclipped(Rule):
    """rho * A, the importance-weighted surrogate with no bound.

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 6 (L^CPI).
    """

    kind: Literal["unclipped"] = "unclipped"

    def objective(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Tensor:
        return ratio.ratio * advantages


SurrogateSlot = Annotated[
    PpoClip | DualClip | TwoSidedClip | Cispo | Sapo | Gmpo | Vespo | ScoreFunction | Unclipped,
    Field(discriminator="kind"),
]
