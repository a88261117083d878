"""KL to the reference policy: estimators, where the penalty is placed, and how its coefficient moves.

Direction by name: `kl(logp_new, logp_ref)` is KL(pi || pi_ref), sampled from pi. The estimator's *value* and its
*gradient as a loss* are two different things; both are stated with each estimator. The distance to the old policy is
a metric, not a slot, and lives in `metrics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore import masked
from rlcore.knobs import Value, knob
from rlcore.ratios import Ratio

# ---------------------------------------------------------------- estimators


def k1(logp_new: Tensor, logp_ref: Tensor) -> Tensor:
    """log pi - log ref. Unbiased, noisy, often negative. As a loss its expected gradient is 0. [..., B, T]"""
    return logp_new - logp_ref


def k2(logp_new: Tensor, logp_ref: Tensor) -> Tensor:
    """(log pi - log ref)^2 / 2. Biased value; as a loss its expected gradient is exactly that of KL(pi || ref)."""
    return 0.5 * (logp_new - logp_ref).square()


def k3(logp_new: Tensor, logp_ref: Tensor) -> Tensor:
    """ref/pi - 1 - log(ref/pi). Unbiased, never negative; as a loss its expected gradient is that of KL(ref || pi).

    Source: Schulman 2020, "Approximating KL divergence"; GRPO, arXiv:2402.03300, eq. 4; gradients: arXiv:2510.01555.
    """
    log_ratio = logp_ref - logp_new
    return log_ratio.exp() - log_ratio - 1


def exact_kl(dist_new: Tensor, dist_ref: Tensor) -> Tensor:
    """sum_a pi(a) (log pi(a) - log ref(a)) from full log-probabilities: [..., B, T, A] -> [..., B, T]."""
    return (dist_new.exp() * (dist_new - dist_ref)).sum(-1)


@dataclass(frozen=True)
class Pair:
    """What an estimator may look at: logp_new, logp_ref [..., B, T]; dist_new, dist_ref [..., B, T, A] or None."""

    logp_new: Tensor
    logp_ref: Tensor
    dist_new: Tensor | None = None
    dist_ref: Tensor | None = None


def _bounded(value: Tensor, bound: float | None) -> Tensor:
    return value if bound is None else value.clamp(-bound, bound)


class K1(Value):
    """The plain log-ratio. Trap: as a loss term its expected gradient is zero; use it in the reward.

    value_clamp bounds the value to [-value_clamp, value_clamp], gradient 0 beyond (OpenRLHF: 10; None: no bound).
    """

    kind: Literal["k1"] = "k1"
    value_clamp: float | None = None

    def __call__(self, pair: Pair) -> Tensor:
        return _bounded(k1(pair.logp_new, pair.logp_ref), self.value_clamp)


class K2(Value):
    """Half the squared log-ratio: biased value, right gradient. value_clamp as for k1."""

    kind: Literal["k2"] = "k2"
    value_clamp: float | None = None

    def __call__(self, pair: Pair) -> Tensor:
        return _bounded(k2(pair.logp_new, pair.logp_ref), self.value_clamp)


class K3(Value):
    """Schulman's non-negative estimator. value_clamp as for k1 (verl, OpenRLHF: 10).

    log_clamp bounds log(ref / pi) from above before exp, so that it cannot overflow (verl: 20, OpenRLHF: 10).
    """

    kind: Literal["k3"] = "k3"
    log_clamp: float | None = None
    value_clamp: float | None = None

    def __call__(self, pair: Pair) -> Tensor:
        log_ratio = pair.logp_ref - pair.logp_new
        log_ratio = log_ratio if self.log_clamp is None else log_ratio.clamp(max=self.log_clamp)
        return _bounded(log_ratio.exp() - log_ratio - 1, self.value_clamp)


class AbsLogRatio(Value):
    """|log pi - log ref|: verl's `abs`; a distance, not an estimate of the KL."""

    kind: Literal["abs"] = "abs"

    def __call__(self, pair: Pair) -> Tensor:
        return k1(pair.logp_new, pair.logp_ref).abs()


class ExactKl(Value):
    """The KL of the whole action distribution at each visited state; needs an enumerable action set."""

    kind: Literal["exact"] = "exact"

    def __call__(self, pair: Pair) -> Tensor:
        if pair.dist_new is None or pair.dist_ref is None:
            raise ValueError("ExactKl needs every action's log-probability; use K1, K2 or K3 for this policy")
        return exact_kl(pair.dist_new, pair.dist_ref)


Estimator = Annotated[K1 | K2 | K3 | AbsLogRatio | ExactKl, Field(discriminator="kind")]

# ---------------------------------------------------------------- gradient of the estimate


class AsWritten(Value):
    """Differentiate the estimator's own formula (GRPO's paper; TRL with use_bias_correction_kl=False; verl's k3)."""

    kind: Literal["as_written"] = "as_written"

    def __call__(self, estimate: Tensor, pair: Pair, ratio: Ratio) -> Tensor:
        return estimate


class RatioCorrected(Value):
    """Multiply by the differentiable ratio: expected gradient exactly that of KL(pi || ref), for k1 and k3 alike.

    Source: DeepSeek-V3.2, arXiv:2512.02556; TRL 1.16 default (`use_bias_correction_kl=True`).
    """

    kind: Literal["ratio_corrected"] = "ratio_corrected"

    def __call__(self, estimate: Tensor, pair: Pair, ratio: Ratio) -> Tensor:
        return ratio.ratio * estimate


class GradientOfK2(Value):
    """Keep the value, take k2's gradient (verl's "+" suffix, straight-through)."""

    kind: Literal["gradient_of_k2"] = "gradient_of_k2"

    def __call__(self, estimate: Tensor, pair: Pair, ratio: Ratio) -> Tensor:
        through = k2(pair.logp_new, pair.logp_ref)
        return through - through.detach() + estimate.detach()


class RatioWeightedK2(Value):
    """Keep the value, take min(rho, cap) times k2's gradient: that of KL(pi || ref) from samples of the old policy.

    The weight carries no gradient. Source: OpenRLHF 0.11.2 `compute_approx_kl(unbiased_gradient=True)`, cap 10.
    """

    kind: Literal["ratio_weighted_k2"] = "ratio_weighted_k2"
    cap: float = knob(10.0, "ρ_max", 1, 1e6, "upper bound of the weight", suggested=(1, 20), source="OpenRLHF 0.11.2")

    def __call__(self, estimate: Tensor, pair: Pair, ratio: Ratio) -> Tensor:
        through = ratio.ratio.detach().clamp(max=self.cap) * k2(pair.logp_new, pair.logp_ref)
        return through - through.detach() + estimate.detach()


KlGradient = Annotated[AsWritten | RatioCorrected | GradientOfK2 | RatioWeightedK2, Field(discriminator="kind")]

# ---------------------------------------------------------------- controllers of beta


class FixedBeta(Value):
    """beta stays what it is set to (InstructGPT, GRPO)."""

    kind: Literal["fixed"] = "fixed"

    def __call__(self, beta: float, measured_kl: float, rows: int) -> float:
        return beta


class AdaptiveBeta(Value):
    """beta <- beta * (1 + clip(KL / target - 1, -0.2, 0.2) * rows / horizon).

    Source: Ziegler et al. 2019, arXiv:1909.08593, sec. 2.2; verl 0.9.1 and OpenRLHF 0.11.2 `AdaptiveKLController`.
    """

    kind: Literal["adaptive"] = "adaptive"
    target: float = knob(0.1, "KL_target", 1e-6, 1e3, "the KL to hold", suggested=(0.01, 10), scale="log", unit="nats")
    horizon: float = knob(10_000, "K", 1, 1e9, "rows until the controller has its full say", scale="log")

    def __call__(self, beta: float, measured_kl: float, rows: int) -> float:
        error = min(max(measured_kl / self.target - 1, -0.2), 0.2)
        return beta * (1 + error * rows / self.horizon)


class PenaltyBeta(Value):
    """Halve beta below target / 1.5, double it above target * 1.5: the PPO paper's KL-penalty variant.

    Source: Schulman et al. 2017, arXiv:1707.06347, sec. 4. None of the five libraries compared here has it.
    """

    kind: Literal["penalty"] = "penalty"
    target: float = knob(0.01, "d_targ", 1e-6, 1e3, "the KL to hold", suggested=(0.001, 1), scale="log", unit="nats")

    def __call__(self, beta: float, measured_kl: float, rows: int) -> float:
        if measured_kl < self.target / 1.5:
            return beta / 2
        return beta * 2 if measured_kl > self.target * 1.5 else beta


Controller = Annotated[FixedBeta | AdaptiveBeta | PenaltyBeta, Field(discriminator="kind")]

# ---------------------------------------------------------------- the slot's values

_BETA = "β: price of a nat of distance to the reference policy"


class NoKl(Value):
    """No reference penalty (DAPO, Dr. GRPO, GSPO; TRL's default beta = 0)."""

    kind: Literal["no_kl"] = "no_kl"
    place: Literal["nowhere"] = "nowhere"
    kl_beta: Literal[0] = 0


class KlInLoss(Value):
    """objective - beta * k, added beside the surrogate; meets no advantage, clip or baseline.

    Source: GRPO, arXiv:2402.03300, eq. 3 (k3, beta 0.04).
    """

    kind: Literal["kl_in_loss"] = "kl_in_loss"
    place: Literal["loss"] = "loss"
    kl_beta: float = knob(0.04, "β", 0, 1e4, _BETA, suggested=(0, 2), source="arXiv:2402.03300", unit="reward/nat")
    estimator: Estimator = K3()
    gradient: KlGradient = AsWritten()
    controller: Controller = FixedBeta()


class KlInReward(Value):
    """reward_t - beta * k_t, taken from the *old* policy, without gradient; passes through returns and advantages.

    Source: Ziegler et al. 2019, arXiv:1909.08593; OpenRLHF's default; verl `use_kl_in_reward`; TRL RLOO.
    """

    kind: Literal["kl_in_reward"] = "kl_in_reward"
    place: Literal["reward"] = "reward"
    kl_beta: float = knob(0.05, "β", 0, 1e4, _BETA, suggested=(0, 2), source="arXiv:1909.08593", unit="reward/nat")
    estimator: Estimator = K1()
    controller: Controller = FixedBeta()


KlSlot = Annotated[NoKl | KlInLoss | KlInReward, Field(discriminator="kind")]


def _clean(pair: Pair, mask: Tensor) -> Pair:
    """The pair with zeros under the mask, so that nothing there reaches a value or a gradient."""
    whole = mask[..., None]
    new = None if pair.dist_new is None else masked.fill(pair.dist_new, whole)
    ref = None if pair.dist_ref is None else masked.fill(pair.dist_ref, whole)
    return Pair(masked.fill(pair.logp_new, mask), masked.fill(pair.logp_ref, mask), new, ref)


def kl_loss_term(kl: KlInLoss, pair: Pair, ratio: Ratio, mask: Tensor) -> Tensor:
    """k per token for the loss, without beta: [..., B, T], 0 under the mask."""
    clean = _clean(pair, mask)
    return masked.fill(kl.gradient(kl.estimator(clean), clean, ratio), mask)


def kl_reward_term(kl: KlInReward, pair: Pair, mask: Tensor) -> Tensor:
    """k per token for the reward, from the old policy, without beta and without gradient: [..., B, T]."""
    clean = _clean(pair, mask)
    with torch.no_grad():
        return masked.fill(kl.estimator(clean), mask)
