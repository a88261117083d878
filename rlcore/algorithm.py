"""The one equation: an algorithm is a value per slot, and every recipe is this sum with other values.

    loss = - sum_it w_it [ g_it c_it psi(rho_it, A_it, log pi_it) - beta k_it + eta H_it ]  +  L_V
        aggregate   gate correction  surrogate(ratio, advantage)      kl      entropy      critic

What does not fit this sum (an extra likelihood term, sequence search) stays out; it would need a slot of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages, AdvantageSlot, Gae, NoWhitening, WhitenSlot
from rlcore.aggregation import AggregateSlot, TokenMean
from rlcore.correction import CorrectionSlot, NoCorrection
from rlcore.critic import CriticSlot, NoCritic
from rlcore.gates import AllTokens, GateSlot
from rlcore.kl import KlInLoss, KlInReward, KlSlot, NoKl, Pair, kl_loss_term, kl_reward_term
from rlcore.knobs import Value, knob
from rlcore.ratios import Ratio, RatioSlot
from rlcore.rollout import Rollout
from rlcore.shaping import KeepAll, PlainReward, SelectSlot, ShapingSlot
from rlcore.surrogates import Surrogate, SurrogateSlot

TOKEN_MEAN = TokenMean()


class Algorithm(Value):
    """One value per slot. Prints, compares, hashes, serialises; says nothing about data, model or optimiser.

    entropy_aggregate None: the bonus is weighted as the loss is (verl); TRL, CleanRL and SB3 take the token mean.
    """

    advantage: AdvantageSlot
    ratio: RatioSlot
    surrogate: SurrogateSlot
    aggregate: AggregateSlot
    kl: KlSlot = NoKl()
    entropy_coef: float = knob(
        0.0, "η", 0, 100, "weight of the entropy bonus", suggested=(0, 0.1), source="arXiv:1707.06347 eq. 9"
    )
    entropy_aggregate: AggregateSlot | None = None
    critic: CriticSlot = NoCritic()
    whiten: WhitenSlot = NoWhitening()
    shaping: ShapingSlot = PlainReward()
    select: SelectSlot = KeepAll()
    correction: CorrectionSlot = NoCorrection()
    gate: GateSlot = AllTokens()

    @property
    def needs_critic(self) -> bool:
        """True where the advantage or the loss reads a value function."""
        return isinstance(self.advantage, Gae) or not isinstance(self.critic, NoCritic)


@dataclass(frozen=True)
class PolicyOutput:
    """The policy's view of a rollout's rows, differentiable.

    logp [..., B, T] of the taken actions · entropy [..., B, T], nats · value [..., B, T] (0 without a critic) ·
    dist [..., B, T, A] log-probabilities of every action, or None.
    """

    logp: Tensor
    entropy: Tensor
    value: Tensor
    dist: Tensor | None = None


@dataclass(frozen=True)
class LossTerms:
    """Every intermediate of one loss: scalars are [...], the rest [..., B, T].

    loss = policy_loss + kl_loss - entropy_bonus + value_loss, each already weighted. `weight` is w; `token_weight` is
    1 / N on valid tokens, what the critic and the metrics are averaged with; `correction` is g * c, None where it is 1
    everywhere; `kl` is k without beta, None without a KL in the loss.
    """

    loss: Tensor
    policy_loss: Tensor
    kl_loss: Tensor
    entropy_bonus: Tensor
    value_loss: Tensor
    ratio: Ratio
    surrogate: Surrogate
    advantages: Tensor
    weight: Tensor
    token_weight: Tensor
    correction: Tensor | None
    kl: Tensor | None


def shaped_reward(algorithm: Algorithm, rollout: Rollout, kl_beta: float) -> Tensor:
    """The reward that advantages are made of: environment, shaping, and a KL placed in the reward. [..., B, T]"""
    reward = algorithm.shaping(rollout, masked.fill(rollout.reward, rollout.mask))
    if not isinstance(algorithm.kl, KlInReward):
        return reward
    pair = Pair(rollout.logp_old, rollout.logp_ref, rollout.dist_old, rollout.dist_ref)
    return reward - kl_beta * kl_reward_term(algorithm.kl, pair, rollout.mask)


def policy_loss(
    algorithm: Algorithm, now: PolicyOutput, rollout: Rollout, advantages: Advantages, kl_beta: float
) -> LossTerms:
    """The house equation. Everything is a gain to maximise until `loss`, where the sign turns once.

    now, rollout, advantages: [..., B, T] each, of the same rows. kl_beta: the coefficient in force, which a controller
    may have moved away from `algorithm.kl.kl_beta`. Returns all terms; `terms.loss` is to be minimised.
    """
    mask, beta, eta = rollout.mask, kl_beta, algorithm.entropy_coef
    logp, gain = now.logp, masked.fill(advantages.advantages, mask)
    weight = algorithm.aggregate(mask, logp)
    token_weight = weight if algorithm.aggregate == TOKEN_MEAN else TOKEN_MEAN(mask, logp)
    ratio = algorithm.ratio(logp, rollout.logp_old, mask)
    surrogate = algorithm.surrogate(ratio, gain, logp, mask)
    correction = _correction(algorithm, logp, now.entropy, gain, rollout)
    pushed = weight if correction is None else weight * correction
    loss = policy = -masked.weighted(surrogate.objective, pushed)
    kl_loss = entropy_bonus = value_loss = torch.zeros_like(policy)
    kl = None
    if isinstance(algorithm.kl, KlInLoss):
        pair = Pair(logp, rollout.logp_ref, now.dist, rollout.dist_ref)
        kl = kl_loss_term(algorithm.kl, pair, ratio, mask)
        kl_loss = beta * masked.weighted(kl, weight)
        loss = loss + kl_loss
    if eta > 0:
        spread = weight if algorithm.entropy_aggregate is None else algorithm.entropy_aggregate(mask, logp)
        entropy_bonus = eta * masked.weighted(masked.fill(now.entropy, mask), spread)
        loss = loss - entropy_bonus
    if not isinstance(algorithm.critic, NoCritic):
        value_new, returns = masked.fill(now.value, mask), masked.fill(advantages.returns, mask)
        value_loss = algorithm.critic(value_new, rollout.value_old, returns, token_weight)
        loss = loss + value_loss
    return LossTerms(
        loss, policy, kl_loss, entropy_bonus, value_loss, ratio, surrogate, gain, weight, token_weight, correction, kl
    )


def _correction(
    algorithm: Algorithm, logp: Tensor, entropy: Tensor, advantages: Tensor, rollout: Rollout
) -> Tensor | None:
    """g * c per token, without gradient: who may push, and by how much the sampler's mismatch is corrected.

    None where both are 1 everywhere.
    """
    trusted = isinstance(algorithm.correction, NoCorrection) or rollout.logp_rollout is None
    if trusted and isinstance(algorithm.gate, AllTokens):
        return None
    mask = rollout.mask
    old = masked.fill(rollout.logp_old, mask)
    sampler = old if rollout.logp_rollout is None else masked.fill(rollout.logp_rollout, mask)
    gate = algorithm.gate(logp, sampler, entropy, advantages, mask)
    return (gate * algorithm.correction(old, sampler, mask)).detach()
