"""TRL 1.16.0 out of the house's slots, what is computed once a batch: advantages, vLLM weights, log-probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import GroupRelative
from rlcore.conformance.compose import INDICATOR_RTOL, gradient
from rlcore.conformance.report import Got
from rlcore.conformance.trl import loss_mask
from rlcore.conformance.vector import Vector, as_tensor
from rlcore.correction import CorrectionSlot, MaskedIs, TruncatedIs
from rlcore.groups import group_sum
from rlcore.policies.heads import categorical

# ---------------------------------------------------------------- advantages


def group_advantages(vector: Vector) -> dict[str, Any]:
    rewards = vector.tensor("rewards")
    rewards = rewards if rewards.dim() > 1 else rewards.unsqueeze(-1)
    group = torch.arange(len(rewards)) // vector.config["num_generations"]
    return vector.each_case(lambda _, config: _advantage_case(rewards, vector.inputs, config, group))


def weighted_rewards(rewards: Tensor, weights: Any) -> Tensor:
    """Sum over reward functions [B, F] -> [B], NaN left out; NaN for a row that none scored. Weights are float32."""
    weight = torch.ones(rewards.shape[-1]) if weights is None else as_tensor(weights, torch.float32)
    return (rewards * weight).nansum(-1).masked_fill(rewards.isnan().all(-1), torch.nan)


SCALES: dict[Any, Literal["std", "batch", "none"]] = {
    "group": "std", True: "std", "batch": "batch", "none": "none", False: "none"
}  # fmt: skip


def _advantage_case(rewards: Tensor, inputs: dict[str, Any], config: dict[str, Any], group: Tensor) -> dict[str, Any]:
    weights = config.get("reward_weights") or inputs.get("reward_weights")
    score, everybody = weighted_rewards(rewards, weights), torch.zeros_like(group)
    scaled: dict[str, Any] = {"eps": config.get("epsilon_std", 1e-4), "ddof": 1, "flat": "as_written"}
    scale = SCALES[config.get("scale_rewards", "group")]
    spread_over = everybody if scale == "batch" else group
    if config.get("multi_objective_aggregation") == "normalize_then_sum":
        each = [GroupRelative(**scaled).of_scores(column, group)[2] for column in rewards.unbind(-1)]
        total = weighted_rewards(torch.stack(each, dim=-1), weights).masked_fill(score.isnan(), torch.nan)
        advantages, spread_over, checked = GroupRelative(**scaled).of_scores(total, everybody)[2], everybody, total
    else:
        advantages, checked = GroupRelative(**scaled, scale=scale).of_scores(score, group)[2], score
    return {
        "advantages": advantages,
        "frac_reward_zero_std": Got(zero_std(checked, spread_over).double().mean(), rtol=INDICATOR_RTOL),
        "reward": score.nanmean(),
        "reward_std": nan_std(score),
    }


def nan_std(score: Tensor) -> Tensor:
    """Standard deviation (ddof 1) of the scored rows; NaN for fewer than two."""
    return score[~score.isnan()].std()


def zero_std(score: Tensor, group: Tensor) -> Tensor:
    """TRL's flag for rows of groups that teach nothing: std within 1e-8 of 0, or a group of one.

    Unset where all but one of several rows are unscorable: their std is NaN there.
    """
    scale = GroupRelative(eps=0.0, flat="as_written").of_scores(score, group)[1]
    size, scored = (group_sum(x.double(), group) for x in (torch.ones_like(score), ~score.isnan()))
    return (scale <= 1e-8) & ((scored > 1) | (size == 1))


# ---------------------------------------------------------------- the sampler's weights, log-probabilities


def vllm_importance_sampling(vector: Vector) -> dict[str, Any]:
    return vector.each_case(_sampling_case)


def _sampling_case(vector: Vector, config: dict[str, Any]) -> dict[str, Any]:
    train, rollout, mask = vector.tensor("train_old_logps"), vector.tensor("sampling_logps"), loss_mask(vector)
    level, _, action = config["mode"].partition("_")
    low, high = config.get("min") or 0.0, config.get("max", 3.0)
    high = 1e300 if high is None else high
    slot: CorrectionSlot = TruncatedIs(level=level, low=low, cap=high)
    slot = slot if action == "truncate" else MaskedIs(level=level, low=low, high=high)
    weights = slot(train, rollout, mask)
    if level == "sequence":
        weights = weights.gather(-1, mask.long().argmax(-1, keepdim=True))
    used = weights.flatten() if level == "sequence" else weights[mask]
    gap = (train - rollout).abs()[mask & ~rollout.isnan()]
    names = ("sampling_logp_difference/mean", "sampling_logp_difference/max", *(
        f"importance_sampling_ratio/{n}" for n in ("min", "mean", "max")
    ))  # fmt: skip
    values = [f(x) if len(x) else 0.0 for x, f in (
        (gap, torch.mean), (gap, torch.max), (used, torch.min), (used, torch.mean), (used, torch.max)
    )]  # fmt: skip
    metrics = {f"sampling/{name}": value for name, value in zip(names, values, strict=True)}
    return {"importance_sampling_ratio": weights, "metrics": metrics}


def logps_entropy(vector: Vector) -> dict[str, Any]:
    logits, ids = vector.leaf("logits"), torch.tensor(vector.inputs["ids"])
    policy = categorical(logits / vector.config.get("temperature", 1.0))
    logp, entropy = policy.log_prob(ids), policy.entropy()
    if vector.has("row_mask"):
        logp, entropy = (masked.fill(x, vector.mask("row_mask")) for x in (logp, entropy))
    return {
        "logps": logp,
        "entropy": entropy,
        "grad_logits_of_sum_logps": gradient(logp.sum(), logits),
        "grad_logits_of_sum_entropy": gradient(entropy.sum(), logits),
    }


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "trl.group_advantages": group_advantages,
    "trl.vllm_importance_sampling": vllm_importance_sampling,
    "trl.logps_entropy": logps_entropy,
}
