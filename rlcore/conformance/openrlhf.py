"""OpenRLHF 0.11.2 out of the house's slots: policy and value loss, KL estimators, advantages.

Its own order of things: baseline, then clipping of the reward, then the KL per token, then returns over gaps in the
mask as if they were steps. The stages below follow it, each by a slot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Gae, GroupRelative, LeaveOneOut, Returns, Whiten
from rlcore.aggregation import AggregateSlot, SequenceMean, TokenMean
from rlcore.algorithm import shaped_reward
from rlcore.conformance.compose import INDICATOR_RTOL, algorithm, batch, gradient, update
from rlcore.conformance.report import Got
from rlcore.conformance.vector import Vector
from rlcore.correction import CorrectionSlot, GatedIs, MaskedIs, TruncatedIs, log_mismatch
from rlcore.critic import ValueClipMax, ValueMse
from rlcore.kl import (
    K1,
    K2,
    K3,
    AsWritten,
    Estimator,
    GradientOfK2,
    KlGradient,
    KlInReward,
    Pair,
    RatioWeightedK2,
)
from rlcore.ratios import SequenceRatio, TokenRatio
from rlcore.shaping import ClipReward
from rlcore.surrogates import DualClip, PpoClip


def aggregate(token_level: bool, settings: dict[str, Any]) -> AggregateSlot:
    """OpenRLHF's two reductions; a worker's share of the whole batch is whole / dp_size."""
    workers = settings.get("dp_size") or 1
    tokens, rows = settings.get("batch_num_tokens"), settings.get("global_batch_size")
    if token_level:
        return TokenMean(tokens=None if tokens is None else tokens / workers)
    return SequenceMean(count_empty=False, eps=1e-8, rows=None if rows is None else rows / workers)


# ---------------------------------------------------------------- losses


def policy_loss(vector: Vector) -> dict[str, Any]:
    return vector.each_case(_policy_case)


def _policy_case(vector: Vector, kwargs: dict[str, Any]) -> dict[str, Any]:
    mask, logp, old = vector.mask("action_mask"), vector.leaf("log_probs"), vector.tensor("old_log_probs")
    rollout = vector.tensor("rollout_log_probs") if vector.has("rollout_log_probs") else old
    level, sequence = kwargs.get("is_correction_level", "off"), kwargs.get("policy_loss_type", "ppo") == "gspo"
    corrected = level != "off" and not sequence
    eps = {"eps_low": min(kwargs.get("clip_eps_low", 0.2), 1.0), "eps_high": kwargs.get("clip_eps_high", 0.2)}
    dual = kwargs.get("dual_clip")
    slots = {"correction": _correction(kwargs)} if corrected else {}
    behaviour = rollout if sequence and level != "off" else old  # GSPO then measures its ratio against the sampler
    done = update(
        algorithm(
            ratio=SequenceRatio() if sequence else TokenRatio(clamp=20),
            surrogate=PpoClip(**eps) if dual is None else DualClip(**eps, c=dual),
            aggregate=aggregate(kwargs.get("token_level_loss", True) and not sequence, vector.config | kwargs),
            **slots,
        ),
        batch(mask, logp_old=behaviour, logp_rollout=rollout), logp, vector.tensor("advantages"),
    )  # fmt: skip
    clipped = done.terms.surrogate.dead_low | done.terms.surrogate.dead_high
    return {
        "loss": done.terms.loss,
        "grad_log_probs": gradient(done.terms.loss, logp),
        "ppo_clip_ratio": Got(done.mean(clipped, TokenMean()), rtol=INDICATOR_RTOL),
        "ppo_kl": done.mean(old - logp.detach(), TokenMean()),
        "vllm_kl": done.mean(-log_mismatch(old, rollout, mask), TokenMean()) if corrected else None,
        "is_filter_ratio": _filtered(kwargs, old, rollout, mask) if corrected else None,
    }


def _correction(kwargs: dict[str, Any], *, clip: bool | None = None) -> CorrectionSlot:
    low, high = kwargs.get("is_correction_threshold", (0.5, 5.0))
    statistic = kwargs.get("is_correction_gating", "ratio")
    clip = kwargs.get("is_correction_mode", "mask") == "clip" if clip is None else clip
    if clip:
        return TruncatedIs(low=low, cap=high)
    token = kwargs.get("is_correction_level") == "token"
    if statistic != "ratio":
        return GatedIs(statistic=statistic, unit="token" if token else "sequence_mean", low=low, high=high)
    if token:
        return MaskedIs(low=low, high=high)
    lowest = -math.log(low) if low > 0 else None
    return GatedIs(statistic="k1", unit="sequence_mean", low=-math.log(high), high=lowest)  # k1 = -log ratio


def _filtered(kwargs: dict[str, Any], old: Tensor, rollout: Tensor, mask: Tensor) -> Got:
    """The share of tokens, or of rows, that the gate (or the same band, where it clips) throws out."""
    kept = (_correction(kwargs, clip=False)(old, rollout, mask) > 0) & mask
    if kwargs.get("is_correction_level") == "seq":
        return Got(1 - kept.any(-1).double().mean(), rtol=INDICATOR_RTOL)
    return Got(1 - masked.mean(kept.double(), mask), rtol=INDICATOR_RTOL, atol=1e-9)


def value_loss(vector: Vector) -> dict[str, Any]:
    mask, found = vector.mask("action_mask"), {}
    old, returns = (vector.tensor(name).masked_fill(~mask, 0) for name in ("old_values", "returns"))
    for label in vector.outputs:
        settings = dict(part.split("=") for part in label.split("|"))
        eps, value = settings.get("clip_eps", "None"), vector.leaf("values")
        critic = ValueMse(coef=1.0) if eps == "None" else ValueClipMax(coef=1.0, eps_value=float(eps))
        weight = aggregate(settings.get("token_level", "True") == "True", vector.config)(mask, value)
        loss = critic(masked.fill(value, mask), old, returns, weight)
        found[label] = {"loss": loss, "grad_values": gradient(loss, value)}
    return found


ESTIMATORS: dict[str, Estimator] = {
    "k1": K1(value_clamp=10), "k2": K2(value_clamp=10), "k3": K3(log_clamp=10, value_clamp=10)
}  # fmt: skip


def approx_kl(vector: Vector) -> dict[str, Any]:
    found = {}
    for label in vector.outputs:
        name, _, unbiased = label.partition("|unbiased_gradient=")
        logp, ref = (vector.tensor(n).float() for n in ("log_probs", "log_probs_base"))
        logp = logp.requires_grad_()
        old = vector.tensor("log_probs_old").float() if vector.has("log_probs_old") else logp.detach()
        ratio = TokenRatio()(logp, old, torch.ones_like(logp, dtype=torch.bool))
        weighted: KlGradient = RatioWeightedK2(cap=10) if vector.has("log_probs_old") else GradientOfK2()
        through = weighted if unbiased == "True" else AsWritten()
        token = through(ESTIMATORS[name](Pair(logp, ref)), Pair(logp, ref), ratio)
        found[label] = {"per_token": token, "grad_of_sum": gradient(token.sum(), logp)}
    return found


# ---------------------------------------------------------------- advantages

_WHITENED = ("gae", "reinforce", "reinforce_baseline")
_DISCOUNTED = ("gae", "reinforce")


def advantages(vector: Vector) -> dict[str, Any]:
    config, mask, kl = vector.config, vector.mask("action_mask"), vector.tensor("kl")
    estimator, values = config["estimator"], vector.tensor("values") if vector.has("values") else torch.zeros_like(kl)
    row = _baseline(estimator, vector.tensor("rewards"), config.get("n_samples_per_prompt", 1))
    if config.get("reward_clip_range"):
        low, high = config["reward_clip_range"]
        one = torch.ones_like(row, dtype=torch.bool).unsqueeze(-1)
        row = ClipReward(low=low, high=high)(batch(one, reward=row.unsqueeze(-1)), row.unsqueeze(-1)).squeeze(-1)
    beta = max(config.get("kl_coef", 0.0), 0.0)
    placed = batch(mask, reward=_on_last_token(row.to(kl.dtype), mask), logp_old=kl)
    reward = shaped_reward(algorithm(kl=KlInReward(kl_beta=beta)), placed, beta)
    steps = torch.ones_like(mask)  # a gap in the mask is a step without reward and with V = 0
    held = masked.fill(values, mask)
    following = torch.cat([held[:, 1:], torch.zeros_like(held[:, :1])], dim=-1)
    gamma = config.get("gamma", 1.0) if estimator in _DISCOUNTED else 1.0
    estimate = Gae(gamma=gamma, lam=config.get("lambd", 1.0)) if estimator == "gae" else Returns(gamma=gamma)
    found = estimate(batch(steps, value_old=held, value_next=following), reward)
    if estimator not in _WHITENED:
        return {"advantages": found.advantages, "returns": found.returns}
    form: Any = "centre" if config.get("no_std_norm") else "floor"
    whiten = Whiten(scope="batch", form=form, ddof=0, eps=1e-8, statistics="float32")
    return {"advantages": Got(whiten(found.advantages, mask), where=mask), "returns": found.returns}


def _baseline(estimator: str, reward: Tensor, group_size: int) -> Tensor:
    group = torch.arange(len(reward)) // group_size
    if estimator == "rloo":
        return LeaveOneOut().of_scores(reward, group)[1]
    if estimator == "group_norm":
        return GroupRelative(eps=1e-9, flat="as_matrix").of_scores(reward, group)[2]
    if estimator in ("reinforce_baseline", "dr_grpo"):
        return GroupRelative(scale="none", flat="as_matrix").of_scores(reward, group)[2]
    if estimator == "flash_reinforce":
        return GroupRelative(scale="none", flat="as_written").of_scores(reward, torch.zeros_like(group))[2]
    if estimator in ("gae", "reinforce"):
        return reward
    raise ValueError(f"estimator: OpenRLHF has no {estimator!r}")


def _on_last_token(row: Tensor, mask: Tensor) -> Tensor:
    position = torch.arange(mask.shape[-1])
    last = (position * mask).amax(-1, keepdim=True)
    return row.unsqueeze(-1) * ((position == last) & mask)


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "openrlhf.policy_loss": policy_loss,
    "openrlhf.value_loss": value_loss,
    "openrlhf.approx_kl": approx_kl,
    "openrlhf.advantages": advantages,
}
