"""verl 0.9.1 out of the house's slots: losses, aggregation, critic, KL estimators, entropy.

verl divides every metric and statistic by a token count + 1e-8 and leaves empty rows out of means over rows; both are
options of the slots used here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rlcore import masked
from rlcore.aggregation import AggregateSlot, ConstantLength, SequenceMean, SequenceSum, TokenMean
from rlcore.conformance.compose import INDICATOR_RTOL, Update, algorithm, batch, gradient, sampler, update
from rlcore.conformance.report import Got
from rlcore.conformance.vector import Vector
from rlcore.correction import PlainIs
from rlcore.critic import ValueClipMax, value_clipped
from rlcore.kl import (
    K1,
    K2,
    K3,
    AbsLogRatio,
    AsWritten,
    Estimator,
    GradientOfK2,
    Pair,
)
from rlcore.policies.heads import categorical
from rlcore.ratios import RatioSlot, SequenceTokenRatio, TokenRatio
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, Sapo, SurrogateSlot

TOKENS = TokenMean(eps=1e-8)
ROWS = SequenceMean(count_empty=False, eps=1e-8)
ALL_ROWS = SequenceMean(count_empty=True, eps=1e-8)


def mean(x: Tensor, mask: Tensor) -> Tensor:
    """verl's masked mean: over the token count + 1e-8."""
    x = x if x.is_floating_point() else x.float()
    return masked.weighted(masked.fill(x, mask), TOKENS(mask, x))


def aggregate(mode: str, settings: dict[str, Any]) -> AggregateSlot:
    """verl's `loss_agg_mode` and `global_batch_info` as weights; a worker's share of the whole is whole / dp_size."""
    workers = settings.get("dp_size") or 1
    tokens, rows = settings.get("batch_num_tokens"), settings.get("global_batch_size")
    share = None if rows is None else rows / workers
    if mode == "token-mean":
        return TokenMean(tokens=None if tokens is None else tokens / workers)
    if mode == "token-sum":
        return TokenMean(tokens=1 / workers)
    if mode == "seq-mean-token-sum":
        return SequenceSum(count_empty=False, rows=share)
    if mode == "seq-mean-token-mean":
        return SequenceMean(count_empty=False, eps=1e-8, rows=share)
    if mode == "seq-mean-token-sum-norm":
        length = settings.get("loss_scale_factor") or settings.get("scale")
        return ConstantLength(length=length, count_empty=False, rows=share)
    raise ValueError(f"loss_agg_mode: verl has no {mode!r}")


def _labelled(label: str) -> tuple[str, dict[str, Any]]:
    """"token-mean(dp_size=2,batch_num_tokens=40)" -> ("token-mean", {"dp_size": 2.0, ...})."""
    mode, _, inside = label.partition("(")
    pairs = re.findall(r"(\w+)\s*=\s*([\w.+-]+)", inside)
    return mode.strip(), {k: None if v == "None" else float(v) for k, v in pairs}


# ---------------------------------------------------------------- policy losses


def _slots(mode: str, config: dict[str, Any]) -> tuple[RatioSlot, SurrogateSlot]:
    both = config.get("clip_ratio", 0.2)
    low, high = (both if config.get(k) is None else config[k] for k in ("clip_ratio_low", "clip_ratio_high"))
    eps = {"eps_low": min(low, 1.0), "eps_high": high}  # a lower bound below 0 is no bound: ratios are positive
    clamped = TokenRatio(clamp=20)
    if mode == "vanilla":
        return clamped, DualClip(**eps, c=config.get("clip_ratio_c", 3.0))
    if mode == "gspo":
        return SequenceTokenRatio(clamp=10), PpoClip(**eps)
    if mode == "cispo":
        return clamped, Cispo(**eps)
    if mode == "sapo":
        return clamped, Sapo(tau_pos=config.get("tau_pos", 1.0), tau_neg=config.get("tau_neg", 1.05))
    return TokenRatio(), Gmpo(eps_low=low, eps_high=high, eps=1e-8)


def _policy_loss(mode: str) -> Callable[[Vector], dict[str, Any]]:
    def recompute(vector: Vector) -> dict[str, Any]:
        config = vector.config | (vector.config.get("global_batch_info") or {})
        mask, logp, old = vector.mask("response_mask"), vector.leaf("log_prob"), vector.tensor("old_log_prob")
        ratio, surrogate = _slots(mode, config)
        weight = aggregate(config.get("loss_agg_mode", "token-mean"), config)
        weight = {"sapo": aggregate("seq-mean-token-mean", config), "geo_mean": ALL_ROWS}.get(mode, weight)
        rollout, slots = batch(mask, logp_old=old), {}
        if vector.has("rollout_is_weights"):
            slots = {"correction": PlainIs(level="sequence_mean" if mode == "geo_mean" else "token")}
            rollout = batch(mask, logp_old=old, logp_rollout=_sampler(vector, old, mask, mode))
        done = update(
            algorithm(ratio=ratio, surrogate=surrogate, aggregate=weight, **slots),
            rollout, logp, vector.tensor("advantages"),
        )  # fmt: skip
        return {
            "loss": done.terms.loss,
            "grad_log_prob": gradient(done.terms.loss, logp),
            "metrics": _policy_metrics(mode, done),
        }

    return recompute


def _sampler(vector: Vector, old: Tensor, mask: Tensor, mode: str) -> Tensor:
    weights = vector.tensor("rollout_is_weights").expand_as(old)
    if mode != "geo_mean":
        return sampler(old, weights)
    length = masked.lengths(mask).double().unsqueeze(-1)  # the geometric mean's divisor is L + 1e-8
    return old - (weights + 1e-10).log() * (length / (length + 1e-8))


def _policy_metrics(mode: str, done: Update) -> dict[str, Any]:
    mask, surrogate, advantages = done.rollout.mask, done.terms.surrogate, done.terms.advantages
    ratio = done.terms.ratio
    dead, lower = surrogate.dead_low | surrogate.dead_high, surrogate.dead_dual
    if mode == "geo_mean":
        dead, lower = surrogate.outside & (advantages > 0), surrogate.outside & (advantages < 0)
    if mode == "cispo":
        dead = surrogate.outside
    moved = ratio.token_log_ratio if mode in ("gspo", "geo_mean") else ratio.log_ratio
    return {
        "actor/pg_clipfrac": Got(mean(dead, mask), rtol=INDICATOR_RTOL),
        "actor/ppo_kl": mean(-moved, mask),
        "actor/pg_clipfrac_lower": Got(mean(lower, mask), rtol=INDICATOR_RTOL),
    }


def agg_loss(vector: Vector) -> dict[str, Any]:
    mask, found = vector.mask("loss_mask"), {}
    for label in vector.outputs:
        mode, settings = _labelled(label)
        terms = vector.leaf("loss_mat")
        loss = masked.weighted(masked.fill(terms, mask), aggregate(mode, vector.config | settings)(mask, terms))
        found[label] = {"loss": loss, "grad": gradient(loss, terms)}
    return found


# ---------------------------------------------------------------- critic, KL, entropy


def value_loss(vector: Vector) -> dict[str, Any]:
    mask = vector.mask("response_mask")
    old, returns = (masked.fill(vector.tensor(name), mask) for name in ("values_old", "returns"))
    critic, found = ValueClipMax(coef=1.0, eps_value=vector.config["cliprange_value"]), {}
    for label in vector.outputs:
        mode, settings = _labelled(label)
        value = vector.leaf("vpreds")
        weight = aggregate(mode, vector.config | settings)(mask, value)
        loss = critic(masked.fill(value, mask), old, returns, weight)
        clipped = value_clipped(value, old, returns, eps_value=critic.eps_value)
        found[label] = {
            "vf_loss": loss,
            "vf_clipfrac": Got(mean(clipped, mask), rtol=INDICATOR_RTOL),
            "grad_vpreds": gradient(loss, value),
        }
    return found


ESTIMATORS: dict[str, Estimator] = {
    "kl": K1(), "k1": K1(), "abs": AbsLogRatio(), "mse": K2(), "k2": K2(),
    "low_var_kl": K3(log_clamp=20, value_clamp=10), "k3": K3(log_clamp=20, value_clamp=10),
}  # fmt: skip


def kl_penalty(vector: Vector) -> dict[str, Any]:
    mask, found = vector.mask("response_mask"), {}
    for label in vector.outputs:
        logp = vector.leaf("logprob")
        pair = Pair(logp, vector.tensor("ref_logprob"))
        through = GradientOfK2() if label.endswith("+") else AsWritten()
        ratio = TokenRatio()(logp, logp.detach(), torch.ones_like(mask))
        token = through(ESTIMATORS[label.removesuffix("+")](pair), pair, ratio)
        loss = masked.weighted(masked.fill(token, mask), TokenMean()(mask, logp))
        found[label] = {"per_token": token, "token_mean": loss, "grad": gradient(loss, logp)}
    return found


def entropy(vector: Vector) -> dict[str, Any]:
    mask, logits = vector.mask("response_mask"), vector.leaf("logits")
    of_token = categorical(logits).entropy()
    loss = masked.weighted(masked.fill(of_token, mask), TokenMean()(mask, of_token))
    return {"entropy": of_token, "entropy_token_mean": loss, "grad_logits": gradient(loss, logits)}


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "verl.policy_loss.vanilla": _policy_loss("vanilla"),
    "verl.policy_loss.gspo": _policy_loss("gspo"),
    "verl.policy_loss.cispo": _policy_loss("cispo"),
    "verl.policy_loss.sapo": _policy_loss("sapo"),
    "verl.policy_loss.geo_mean": _policy_loss("geo_mean"),
    "verl.agg_loss": agg_loss,
    "verl.value_loss": value_loss,
    "verl.kl_penalty": kl_penalty,
    "verl.entropy": entropy,
}
