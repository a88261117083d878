"""Surrogates: the per-token gain psi(rho, A, log pi) that an update raises.

Each value maps `(ratio, advantages, logp_new, mask)` to a `Surrogate`; `objective` is to be *maximised*. Advantages are
constants here and are not detached by this module. Weights, KL and entropy belong to other slots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob
from rlcore.ratios import Ratio


@dataclass(frozen=True)
class Surrogate:
    """What the surrogate did to every token. All [..., B, T].

    objective   the gain, to be maximised
    unclipped   rho * A, what it would be without a bound
    outside     bool, the ratio is outside its band, whatever the sign of A (what CleanRL and SB3 call clip fraction)
    dead_low    bool, the lower bound removed the gradient: rho < 1 - eps_low and A < 0
    dead_high   bool, the upper bound removed the gradient: rho > 1 + eps_high and A > 0 (what TRL, verl, OpenRLHF count)
    dead_dual   bool, the second bound for A < 0 (dual clip, delta) removed the gradient
    """

    objective: Tensor
    unclipped: Tensor
    outside: Tensor
    dead_low: Tensor
    dead_high: Tensor
    dead_dual: Tensor

    @property
    def dead(self) -> Tensor:
        """True where a bound removed the token's gradient, [..., B, T]."""
        return self.dead_low | self.dead_high | self.dead_dual


def clipped_objective(ratio: Tensor, advantages: Tensor, *, eps_low: float, eps_high: float) -> Tensor:
    """PPO's pessimistic bound: never profit from leaving the band.

        psi = min( rho * A,  clip(rho, 1 - eps_low, 1 + eps_high) * A )

    ratio, advantages [..., T], broadcastable. Result likewise, to be maximised.

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 7; separate bounds: DAPO, arXiv:2503.14476.
    Trap: it bites on one side only (A > 0 above, A < 0 below) and bounds the objective, not the ratio.
    """
    return torch.minimum(ratio * advantages, ratio.clamp(1 - eps_low, 1 + eps_high) * advantages)


def _band(
    ratio: Tensor, advantages: Tensor, mask: Tensor, *, eps_low: float, eps_high: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(outside, dead_low, dead_high) of a clip to [1 - eps_low, 1 + eps_high]."""
    below, above = mask & (ratio < 1 - eps_low), mask & (ratio > 1 + eps_high)
    return below | above, below & (advantages < 0), above & (advantages > 0)


class PpoClip(Value):
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

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        rho = ratio.ratio
        objective = clipped_objective(rho, advantages, eps_low=self.eps_low, eps_high=self.eps_high)
        outside, low, high = _band(rho, advantages, mask, eps_low=self.eps_low, eps_high=self.eps_high)
        return Surrogate(objective, rho * advantages, outside, low, high, torch.zeros_like(outside))


class DualClip(Value):
    """PPO clip, and for A < 0 never worse than c * A: bounds the loss when the ratio explodes.

        psi = max( min(rho A, clip(rho) A), c A )   where A < 0

    Source: Ye et al. 2019, arXiv:1912.09729; on by default in verl 0.9.1 (c = 3).
    """

    kind: Literal["dual_clip"] = "dual_clip"
    eps_low: float = knob(0.2, "ε_low", 0, 1, "lower clip", suggested=(1e-4, 0.9), scale="log")
    eps_high: float = knob(0.2, "ε_high", 0, 1e6, "upper clip", suggested=(1e-4, 1.0), scale="log")
    c: float = knob(3.0, "c", 1, 1e6, "bound on the ratio for A < 0", suggested=(1.1, 10), source="arXiv:1912.09729")

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        rho = ratio.ratio
        once = clipped_objective(rho, advantages, eps_low=self.eps_low, eps_high=self.eps_high)
        objective = torch.where(advantages < 0, torch.maximum(once, self.c * advantages), once)
        outside, low, high = _band(rho, advantages, mask, eps_low=self.eps_low, eps_high=self.eps_high)
        dual = mask & (advantages < 0) & (once < self.c * advantages)
        return Surrogate(objective, rho * advantages, outside, low, high, dual)


class TwoSidedClip(Value):
    """PPO clip on a ratio that is itself capped at delta: min( min(rho, delta) A, clip(rho) A ).

    For A < 0 it acts as dual clip with c = delta. Source: INTELLECT-2, arXiv:2505.07291, sec. 4.1; TRL 1.16 `delta`.
    """

    kind: Literal["two_sided_clip"] = "two_sided_clip"
    eps_low: float = knob(0.2, "ε_low", 0, 1, "lower clip", suggested=(1e-4, 0.9), scale="log")
    eps_high: float = knob(0.2, "ε_high", 0, 1e6, "upper clip", suggested=(1e-4, 1.0), scale="log")
    delta: float = knob(4.0, "δ", 1, 1e6, "cap on the raw ratio", suggested=(1.3, 10), source="arXiv:2505.07291")

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        capped = ratio.ratio.clamp(max=self.delta)
        clipped = ratio.ratio.clamp(1 - self.eps_low, 1 + self.eps_high)
        objective = torch.minimum(capped * advantages, clipped * advantages)
        outside, low, high = _band(capped, advantages, mask, eps_low=self.eps_low, eps_high=self.eps_high)
        dual = mask & (advantages != 0) & (ratio.ratio > self.delta) & ~high
        return Surrogate(objective, ratio.ratio * advantages, outside, low, high, dual)


class Cispo(Value):
    """sg[ clip(rho, 1 - eps_low, 1 + eps_high) ] * A * log pi: the *weight* is clipped, every token keeps a gradient.

    eps_low = 1 leaves no lower bound (the ratio is positive anyway), as in TRL, whose `epsilon_high` is 1 + eps_high.
    Source: MiniMax-M1, arXiv:2506.13585, eq. 4.
    Trap: the value of the objective means nothing; only its gradient does.
    """

    kind: Literal["cispo"] = "cispo"
    eps_low: float = knob(1.0, "ε_low", 0, 1, "lower bound of the weight is 1 - ε_low", source="arXiv:2506.13585")
    eps_high: float = knob(4.0, "ε_high", 0, 1e6, "upper bound of the weight is 1 + ε_high", suggested=(0.05, 5))

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        weight = ratio.ratio.clamp(1 - self.eps_low, 1 + self.eps_high).detach()
        objective = weight * advantages * masked.fill(logp_new, mask)
        outside, _, _ = _band(ratio.ratio, advantages, mask, eps_low=self.eps_low, eps_high=self.eps_high)
        none = torch.zeros_like(outside)
        return Surrogate(objective, ratio.ratio * advantages, outside, none, none, none)


class Sapo(Value):
    """A soft gate in place of the clip: A * (4 / tau) * sigmoid( tau * (rho - 1) ), tau by the sign of A.

    The gradient fades smoothly with distance; at rho = 1 it is A. Nothing is ever dead.
    Source: Gao et al. 2025, arXiv:2511.20347; tau 1.0 for A > 0, 1.05 for A <= 0 in TRL 1.16 and verl 0.9.1.
    """

    kind: Literal["sapo"] = "sapo"
    tau_pos: float = knob(1.0, "τ₊", 1e-3, 1e3, "gate temperature for A > 0", suggested=(0.1, 10), scale="log")
    tau_neg: float = knob(1.05, "τ₋", 1e-3, 1e3, "gate temperature for A <= 0", suggested=(0.1, 10), scale="log")

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        rho = ratio.ratio
        tau = torch.where(advantages > 0, rho.new_tensor(self.tau_pos), rho.new_tensor(self.tau_neg))
        objective = advantages * (4 / tau) * torch.sigmoid(tau * (rho - 1))
        none = torch.zeros_like(mask)
        return Surrogate(objective, rho * advantages, none, none, none, none)


class Gmpo(Value):
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

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        token = ratio.token_log_ratio
        sided = torch.where(advantages > 0, token.clamp(max=self.eps_high), token.clamp(min=-self.eps_low))
        sided = masked.fill(sided, advantages != 0)
        mean = masked.row_sum(sided, mask) / (masked.lengths(mask).clamp(min=1).to(sided.dtype) + self.eps)
        of_row = masked.spread(mean.exp(), mask)
        below, above = mask & (token < -self.eps_low), mask & (token > self.eps_high)
        low, high = below & (advantages < 0), above & (advantages > 0)
        return Surrogate(of_row * advantages, token.exp() * advantages, below | above, low, high, torch.zeros_like(low))


class Vespo(Value):
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

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        of_row = masked.row_sum(ratio.token_log_ratio.detach().clamp(-20, 20), mask)
        phi = self.phi(of_row.unsqueeze(-1), advantages)
        none = torch.zeros_like(mask)
        return Surrogate(
            phi * advantages * masked.fill(logp_new, mask), ratio.ratio * advantages, none, none, none, none
        )

    def phi(self, log_weight: Tensor, advantages: Tensor) -> Tensor:
        """The gate of rows with log W `log_weight`, broadcast against `advantages`."""
        gain = advantages >= 0
        log_w = log_weight.clamp(math.log(1e-8), 20.0)
        k = torch.where(gain, log_w.new_tensor(self.k_pos), log_w.new_tensor(self.k_neg))
        lam = torch.where(gain, log_w.new_tensor(self.lam_pos), log_w.new_tensor(self.lam_neg))
        return torch.exp(lam + k * log_w - lam * log_w.exp())


class ScoreFunction(Value):
    """A * log pi: plain REINFORCE, no ratio and no bound.

    Source: Williams 1992; Sutton et al. 2000. Right on policy; silently wrong once data are reused.
    """

    kind: Literal["score_function"] = "score_function"

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        none = torch.zeros_like(mask)
        objective = advantages * masked.fill(logp_new, mask)
        return Surrogate(objective, ratio.ratio * advantages, none, none, none, none)


class Unclipped(Value):
    """rho * A, the importance-weighted surrogate with no bound.

    Source: Schulman et al. 2017, arXiv:1707.06347, eq. 6 (L^CPI).
    """

    kind: Literal["unclipped"] = "unclipped"

    def __call__(self, ratio: Ratio, advantages: Tensor, logp_new: Tensor, mask: Tensor) -> Surrogate:
        none = torch.zeros_like(mask)
        gain = ratio.ratio * advantages
        return Surrogate(gain, gain, none, none, none, none)


SurrogateSlot = Annotated[
    PpoClip | DualClip | TwoSidedClip | Cispo | Sapo | Gmpo | Vespo | ScoreFunction | Unclipped,
    Field(discriminator="kind"),
]
