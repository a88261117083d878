"""What several libraries do alike, or are compared on: controllers, length penalties, group filters, one batch for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rlcore.aggregation import AggregateSlot, SequenceMean, TokenMean
from rlcore.conformance import openrlhf, verl
from rlcore.conformance.compose import algorithm, batch, gradient, update
from rlcore.conformance.report import Got
from rlcore.conformance.trl_batch import zero_std
from rlcore.conformance.vector import Vector
from rlcore.kl import AdaptiveBeta
from rlcore.ratios import RatioSlot, SequenceRatio, SequenceTokenRatio, TokenRatio
from rlcore.shaping import DropZeroStd, KeepMeanBetween, soft_overlong
from rlcore.surrogates import DualClip, PpoClip, SurrogateSlot


def adaptive_controller(vector: Vector) -> dict[str, Any]:
    config = vector.config
    controller = AdaptiveBeta(target=config["target_kl"], horizon=config["horizon"])
    beta, betas = float(config["init_kl_coef"]), []
    rows = config["n_steps"]
    for step, measured in enumerate(vector.tensor("current_kl").tolist()):
        beta = controller(beta, measured, rows[step] if isinstance(rows, list) else rows)
        betas.append(beta)
    return {"kl_coef_after_each_update": torch.tensor(betas, dtype=torch.float64)}


def overlong_penalty(vector: Vector) -> dict[str, Any]:
    """TRL knows no factor; verl cannot meet a row beyond the maximum, so its null there is not compared."""
    config, length = vector.config, vector.tensor("lengths")
    factor = next((value for key, value in config.items() if key.startswith("penalty_factor")), 1.0)

    def penalty(scale: float) -> Tensor:
        return soft_overlong(length, max_length=config["max_len"], cache=config["cache_len"], factor=scale)

    within = length <= config["max_len"]
    return {"trl": penalty(1.0), "openrlhf": penalty(factor), "verl": Got(penalty(factor), where=within)}


def zero_variance_filter(vector: Vector) -> dict[str, Any]:
    low, high = vector.config.get("openrlhf_dynamic_filtering_range", (0.0, 1.0))
    return {"per_group": [_filters(group, low, high) for group in vector.rows("groups")]}


def _filters(score: Tensor, low: float, high: float) -> dict[str, bool]:
    group = torch.zeros(len(score), dtype=torch.int64)
    return {
        "verl_dropped": not bool(DropZeroStd()(score, group)[0]),
        "openrlhf_dropped": not bool(KeepMeanBetween(low=low, high=high)(score, group)[0]),
        "trl_flag_zero_std": bool(zero_std(score, group)[0]),
    }


# ---------------------------------------------------------------- one batch through every library


def cross_library(vector: Vector) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for label, libraries in vector.outputs.items():
        if label != "spread":
            found[label] = {name: _one(vector, label, name) for name in libraries}
    spread = {label: _spread(list(of_libraries.values())) for label, of_libraries in found.items()}
    return found | {"spread": spread}


def _one(vector: Vector, label: str, library: str) -> dict[str, Any]:
    logp, mask = vector.leaf("log_prob"), vector.mask("response_mask")
    objective, _, reduction = label.partition("|")
    ratio, surrogate, weight = _slots(vector, objective, reduction, library)
    slots = algorithm(ratio=ratio, surrogate=surrogate, aggregate=weight)
    old = vector.tensor("old_log_prob")
    done = update(slots, batch(mask, logp_old=old), logp, vector.tensor("sequence_advantages"))
    return {"loss": done.terms.loss, "grad": gradient(done.terms.loss, logp)}


def _slots(
    vector: Vector, objective: str, reduction: str, library: str
) -> tuple[RatioSlot, SurrogateSlot, AggregateSlot]:
    """Each library's own way to the same objective."""
    low, high = vector.config["gspo_eps_low_high" if objective == "gspo" else "ppo_eps_low_high"]
    clip: SurrogateSlot = PpoClip(eps_low=low, eps_high=high)
    per_token = reduction == "token_mean"
    weight: AggregateSlot = TokenMean() if per_token else SequenceMean()
    ratio: RatioSlot = SequenceRatio() if objective == "gspo" else TokenRatio()
    if library.startswith("verl"):
        weight = verl.aggregate("token-mean" if per_token else "seq-mean-token-mean", {})
        ratio = SequenceTokenRatio(clamp=10) if objective == "gspo" else TokenRatio(clamp=20)
        clip = clip if objective == "gspo" else DualClip(eps_low=low, eps_high=high, c=1e6)
    if library.startswith("OpenRLHF"):
        weight = openrlhf.aggregate(per_token, {})
        ratio = ratio if objective == "gspo" else TokenRatio(clamp=20)
    return ratio, clip, weight


def _spread(results: list[dict[str, Any]]) -> dict[str, float]:
    def largest(name: str) -> float:
        each = torch.stack([r[name].detach() for r in results])
        return float((each.amax(0) - each.amin(0)).max())

    return {"max_loss_difference": largest("loss"), "max_grad_difference": largest("grad")}


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "kl_controller.adaptive": adaptive_controller,
    "overlong_penalty": overlong_penalty,
    "zero_variance_filter": zero_variance_filter,
    "cross_library": cross_library,
}
