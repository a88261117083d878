"""verl 0.9.1 out of the slots, what is computed once a batch: advantages, KL in the reward, rollout correction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Gae, GroupRelative, LeaveOneOut, OptimalBaseline, Returns, Whiten, value_of_next
from rlcore.aggregation import AggregateSlot
from rlcore.algorithm import shaped_reward
from rlcore.conformance.compose import algorithm, batch
from rlcore.conformance.report import Got
from rlcore.conformance.vector import Vector
from rlcore.conformance.verl import ALL_ROWS, ESTIMATORS, ROWS, TOKENS, mean
from rlcore.correction import GatedIs, MaskedIs, TruncatedIs, Unit, divergence, log_mismatch
from rlcore.kl import (
    AdaptiveBeta,
    FixedBeta,
    KlInReward,
    Pair,
    kl_reward_term,
)

WHITEN = Whiten(scope="batch", form="inside", ddof=1, eps=1e-8, count_eps=1e-8)


# ---------------------------------------------------------------- advantages


def advantages(vector: Vector) -> dict[str, Any]:
    """verl scores a row by all its token rewards, also under the mask; hence `of_scores` and not the rollout."""
    mask, rewards, group = vector.mask("response_mask"), vector.tensor("token_level_rewards"), vector.ids("index")
    config, score = vector.config, rewards.sum(-1)
    kept: dict[str, Any] = {
        "eps": config.get("epsilon", 1e-6), "ddof": config.get("std_ddof", 1), "singleton": "keep", "flat": "as_written"
    }  # fmt: skip
    centred = masked.spread(GroupRelative(**kept, scale="none").of_scores(score, group)[2], mask)
    base, scale, _ = GroupRelative(**kept).of_scores(score.float(), group)
    togo = Returns(gamma=config.get("gamma", 1.0))(batch(mask, reward=rewards), rewards)
    rows = {
        "grpo_std": GroupRelative(**kept).of_scores(score, group)[2],
        "grpo_vectorized_float32_std": (score - base) / scale,
        "rloo": LeaveOneOut(singleton="keep").of_scores(score, group)[1],
        "rloo_vectorized": LeaveOneOut(singleton="zero").of_scores(score, group)[1],
        "opo": OptimalBaseline().of_scores(score, masked.lengths(mask), group)[1],
    }
    found: dict[str, Any] = {name: masked.spread(row.to(score.dtype), mask) for name, row in rows.items()}
    loose = Got(found["grpo_vectorized_float32_std"], rtol=2e-4, atol=2e-4)
    return found | {
        "grpo_vectorized_float32_std": loose,
        "grpo_nostd": centred,
        "reinforce_plus_plus": WHITEN(togo.advantages, mask),
        "reinforce_plus_plus_returns": togo.returns,
        "reinforce_plus_plus_baseline": WHITEN(centred, mask),
    }


def gae(vector: Vector) -> dict[str, Any]:
    """At masked positions verl leaves numbers behind; the house writes 0, so valid tokens are compared."""
    mask, values = vector.mask("response_mask"), vector.tensor("values")
    rollout = batch(mask, value_old=values, value_next=value_of_next(values, mask))
    estimate = Gae(gamma=vector.config["gamma"], lam=vector.config["lam"])
    found = estimate(rollout, vector.tensor("token_level_rewards"))
    return {
        "advantages_whitened": Got(WHITEN(found.advantages, mask), where=mask),
        "advantages": Got(WHITEN(found.advantages, mask), where=mask),
        "returns": Got(found.returns, where=mask),
    }


# ---------------------------------------------------------------- KL in the reward


def kl_in_reward(vector: Vector) -> dict[str, Any]:
    config, mask = vector.config, vector.mask("response_mask")
    beta = config.get("init_kl_coef", config.get("kl_coef", 0.0))
    adaptive = config.get("type", "adaptive") == "adaptive"
    controller = AdaptiveBeta(target=config["target_kl"], horizon=config["horizon"]) if adaptive else FixedBeta()
    estimator = ESTIMATORS[config.get("kl_penalty", "kl").removesuffix("+")]
    kl = KlInReward(kl_beta=beta, estimator=estimator, controller=controller)
    rollout = batch(
        mask, logp_old=vector.tensor("old_log_probs"), logp_ref=vector.tensor("ref_log_prob"),
        reward=vector.tensor("token_level_scores"),
    )  # fmt: skip
    token = kl_reward_term(kl, Pair(rollout.logp_old, rollout.logp_ref), mask)
    measured = masked.weighted(token, ALL_ROWS(mask, token))
    return {
        "token_level_rewards": Got(shaped_reward(algorithm(kl=kl), rollout, beta), where=mask),
        "metrics": {"actor/reward_kl_penalty": measured, "actor/reward_kl_penalty_coeff": beta},
        "kl_coef_after": controller(beta, float(measured), len(mask)),
    }


# ---------------------------------------------------------------- rollout correction


def rollout_correction(vector: Vector) -> dict[str, Any]:
    train, rollout = vector.tensor("train_log_prob"), vector.tensor("rollout_log_prob")
    mask = vector.mask("response_mask")
    found: dict[str, Any] = {}
    for label in vector.outputs:
        kind, *rest = label.split("|")
        if kind == "reject":
            found[label] = _rejected(rest[0], rest[1], train, rollout, mask)
        elif kind == "offpolicy_metrics":
            found[label] = _off_policy(train, rollout, mask)
        else:
            settings = dict(part.split("=") for part in rest)
            found[label] = _weights(kind, settings, train, rollout, mask)
    return found


def _weights(level: str, settings: dict[str, str], train: Tensor, rollout: Tensor, mask: Tensor) -> dict[str, Any]:
    low, _, high = settings["threshold"].rpartition("_")
    average = None if settings.get("batch_normalize") != "True" else TOKENS if level == "token" else ROWS

    def weights(average: AggregateSlot | None) -> Tensor:
        common: dict[str, Any] = {"level": level, "clamp": 20.0, "average": average}
        slot = MaskedIs(low=float(low), high=float(high), **common) if low else TruncatedIs(cap=float(high), **common)
        return masked.fill(slot(train, rollout, mask), mask)

    raw = weights(None)
    return {
        "weights": weights(average),
        "rollout_is_mean": mean(raw, mask),
        "rollout_is_eff_sample_size": 1 / mean((raw / (mean(raw, mask) + 1e-8)).square(), mask),
    }


_UNITS: dict[str, Unit] = {
    "token": "token", "seq_sum": "sequence_sum", "seq_mean": "sequence_mean", "seq_max": "sequence_max"
}  # fmt: skip


def _rejected(options: str, thresholds: str, train: Tensor, rollout: Tensor, mask: Tensor) -> dict[str, Any]:
    names, bounds = options.split(","), thresholds.split(",")
    keep = torch.ones_like(train)
    for name, bound in zip(names, bounds * (len(names) if len(bounds) == 1 else 1), strict=True):
        unit, _, statistic = name.strip().rpartition("_")
        low, high = _band(statistic, bound)
        gate: dict[str, Any] = {"statistic": statistic, "unit": _UNITS[unit], "low": low, "high": high}
        keep = keep * GatedIs(**gate, inside="one", clamp=20.0)(train, rollout, mask)
    return {"mask": masked.fill(keep, mask), "rollout_rs_masked_fraction": mean(1 - keep, mask)}


def _band(statistic: str, bound: str) -> tuple[float | None, float]:
    """k1 is bounded on both sides, by the logarithms of two ratios, or of one and its inverse; the others above."""
    low, _, high = bound.rpartition("_")
    if statistic != "k1":
        return None, float(high)
    return math.log(float(low) if low else 1 / float(high)), math.log(float(high))


def _off_policy(train: Tensor, rollout: Tensor, mask: Tensor) -> dict[str, Any]:
    lengths = masked.lengths(mask).double() + 1e-8
    of_train, of_rollout = (-masked.row_sum(x, mask) / lengths for x in (train, rollout))
    log_rho, gap = log_mismatch(train, rollout, mask), of_train - of_rollout
    token = log_rho.clamp(-20, 20)
    return {
        "training_ppl": of_train.exp().mean(), "training_log_ppl": of_train.mean(),
        "rollout_ppl": of_rollout.exp().mean(), "rollout_log_ppl": of_rollout.mean(),
        "kl": mean(-log_rho, mask), "k3_kl": mean(divergence(train, rollout, mask, "k3"), mask),
        "log_ppl_diff": gap.mean(), "log_ppl_abs_diff": gap.abs().mean(),
        "log_ppl_diff_max": gap.max(), "log_ppl_diff_min": gap.min(), "ppl_ratio": gap.exp().mean(),
        "chi2_token": mean((2 * token).exp(), mask) - 1,
        "chi2_seq": (2 * masked.row_sum(log_rho, mask).clamp(-20, 20)).exp().mean() - 1,
    }  # fmt: skip


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    "verl.advantages": advantages,
    "verl.gae": gae,
    "verl.kl_in_reward": kl_in_reward,
    "verl.rollout_correction": rollout_correction,
}
