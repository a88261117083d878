"""Slopes: what the loss asks of every token's log-probability, entropy and value, before any network is involved.

An update needs d loss / d theta. It is taken in two halves: these slopes, and the policy's way back from them to its
parameters (`policies.scored`). `by_autograd` differentiates the house equation as it stands, whatever its slots hold;
`in_closed_form` states the same for the slots met most, at a third of the cost. Tests hold one against the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages
from rlcore.algorithm import Algorithm, LossTerms, PolicyOutput, policy_loss
from rlcore.critic import NoCritic, ValueClipMax, ValueMse, value_clipped
from rlcore.kl import K3, AsWritten, KlInLoss
from rlcore.ratios import SequenceProduct, SequenceRatio, SequenceTokenRatio, TokenRatio
from rlcore.rollout import Rollout
from rlcore.surrogates import Cispo, PpoClip, Sapo, ScoreFunction, Surrogate, Unclipped


@dataclass(frozen=True)
class Slopes:
    """d loss / d (logp, entropy, value, dist), each of that tensor's shape; None where the loss does not look."""

    logp: Tensor | None
    entropy: Tensor | None = None
    value: Tensor | None = None
    dist: Tensor | None = None


Judge = Callable[[Algorithm, PolicyOutput, Rollout, Advantages, float], tuple[LossTerms, Slopes]]
"""As `policy_loss`, with the slopes of its loss."""


def judge(algorithm: Algorithm) -> Judge:
    """The cheaper of the two ways that knows this algorithm."""
    return in_closed_form if _is_closed(algorithm) else by_autograd


def by_autograd(
    algorithm: Algorithm, now: PolicyOutput, rollout: Rollout, advantages: Advantages, kl_beta: float
) -> tuple[LossTerms, Slopes]:
    """The loss and its slopes, by differentiating it: knows every algorithm."""
    with torch.inference_mode(False):
        leaves = {name: x.detach().clone().requires_grad_() for name, x in vars(now).items() if x is not None}
        terms = policy_loss(algorithm, PolicyOutput(**leaves), rollout, advantages, kl_beta)
        grads = torch.autograd.grad(terms.loss, list(leaves.values()), allow_unused=True)
    return terms, Slopes(**dict(zip(leaves, grads, strict=True)))


def in_closed_form(
    algorithm: Algorithm, now: PolicyOutput, rollout: Rollout, advantages: Advantages, kl_beta: float
) -> tuple[LossTerms, Slopes]:
    """The loss and its slopes, written out:

        d loss / d logp_it = - back( w_it c_it psi'_it ) + beta w_it (1 - ref / pi)
        d loss / d H_it    = - eta w_it,      d loss / d V_it = 2 c_v half (V_it - R_it) / N

    psi' is the surrogate's slope in log rho; `back` is the identity for a token's ratio, and for a sequence's hands every
    token the row's mean (its sum, for the product of ratios).
    """
    terms = policy_loss(algorithm, now, rollout, advantages, kl_beta)
    mask, weight = rollout.mask, terms.weight
    pushed = weight if terms.correction is None else weight * terms.correction
    logp = -_to_tokens(algorithm, pushed * _in_log_ratio(terms.surrogate), mask)
    if isinstance(algorithm.kl, KlInLoss):
        toward = 1 - masked.fill(rollout.logp_ref - now.logp, mask).exp()
        logp = torch.addcmul(logp, weight, toward, value=kl_beta)
    entropy = None
    if algorithm.entropy_coef > 0:
        spread = algorithm.entropy_aggregate
        entropy = -algorithm.entropy_coef * (weight if spread is None else spread(mask, now.logp))
    return terms, Slopes(logp, entropy, _in_value(algorithm, now.value, rollout, advantages.returns, terms.token_weight))


def _in_value(algorithm: Algorithm, value: Tensor, rollout: Rollout, returns: Tensor, weight: Tensor) -> Tensor | None:
    """The critic's slope in V, 0 where a clip holds the error; None without a critic's loss. [..., B, T]"""
    critic = algorithm.critic
    if isinstance(critic, ValueMse):
        return 2 * critic.coef * critic.half * masked.fill(value - returns, rollout.mask) * weight
    if isinstance(critic, ValueClipMax):
        free = ~value_clipped(value, rollout.value_old, returns, eps_value=critic.eps_value)
        return critic.coef * masked.fill(value - returns, rollout.mask & free) * weight
    return None


def _in_log_ratio(s: Surrogate) -> Tensor:
    """psi' per token: the slope in log rho, or in log pi where the ratio carries no gradient. [..., B, T]"""
    rule, ratio = s.rule, s.ratio.ratio
    if isinstance(rule, ScoreFunction):
        return s.advantages
    if isinstance(rule, Cispo):
        return ratio.clamp(1 - rule.eps_low, 1 + rule.eps_high) * s.advantages
    if isinstance(rule, Sapo):
        tau = torch.where(s.advantages > 0, ratio.new_tensor(rule.tau_pos), ratio.new_tensor(rule.tau_neg))
        gate = torch.sigmoid(tau * (ratio - 1))
        return 4 * gate * (1 - gate) * ratio * s.advantages
    gain = s.unclipped
    return gain if isinstance(rule, Unclipped) else gain.masked_fill(s.objective < gain, 0.0)  # flat where the clip bites


def _to_tokens(algorithm: Algorithm, slope: Tensor, mask: Tensor) -> Tensor:
    """From slopes in log rho to slopes in logp."""
    if isinstance(algorithm.surrogate, Cispo | ScoreFunction):
        return slope
    if isinstance(algorithm.ratio, SequenceRatio):
        return masked.spread(masked.row_mean(slope, mask), mask)
    if isinstance(algorithm.ratio, SequenceProduct):
        return masked.spread(masked.row_sum(slope, mask), mask)
    return slope


def _is_closed(algorithm: Algorithm) -> bool:
    """True where every slot holds a value that `in_closed_form` knows."""
    ratio, kl = algorithm.ratio, algorithm.kl
    clamped = isinstance(ratio, TokenRatio | SequenceTokenRatio) and ratio.clamp is not None
    plain_kl = not isinstance(kl, KlInLoss) or (kl.estimator == K3() and isinstance(kl.gradient, AsWritten))
    rule = isinstance(algorithm.surrogate, PpoClip | Cispo | Sapo | ScoreFunction | Unclipped)
    critic = isinstance(algorithm.critic, NoCritic | ValueMse | ValueClipMax)
    return rule and plain_kl and critic and not clamped
