"""TRL's other two trainers out of the house's slots: RLOO (1.16.0) and PPO for language models (1.12.0, its last).

RLOO treats the whole answer as one action: here a row of one step, whose log-probability is the sum over tokens. So a
row without tokens counts, with ratio 1, as it does there. PPO's critic sees one position more than its policy does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Gae, LeaveOneOut, Whiten
from rlcore.aggregation import SequenceSum, TokenMean
from rlcore.algorithm import shaped_reward
from rlcore.conformance.compose import INDICATOR_RTOL, algorithm, batch, gradient, update
from rlcore.conformance.report import Got
from rlcore.conformance.trl_batch import nan_std, weighted_rewards, zero_std
from rlcore.conformance.vector import Vector
from rlcore.critic import ValueClipMax, value_clipped
from rlcore.groups import group_sum
from rlcore.kl import K1, K3, KlInReward, k2
from rlcore.ratios import TokenRatio
from rlcore.shaping import ClipReward, PlainReward, ShapingSlot
from rlcore.surrogates import PpoClip

# ---------------------------------------------------------------- RLOO


def rloo(vector: Vector) -> dict[str, Any]:
    config, mask = vector.config, vector.mask("completion_mask")
    tokens = vector.leaf("per_token_logps")
    logp, old, ref = (masked.row_sum(x, mask).unsqueeze(-1) for x in (
        tokens, vector.tensor("old_per_token_logps"), vector.tensor("ref_per_token_logps")
    ))  # fmt: skip
    rewards = vector.tensor("rewards")
    raw = weighted_rewards(rewards if rewards.dim() > 1 else rewards.unsqueeze(-1), vector.inputs.get("reward_weights"))
    one = torch.ones_like(old, dtype=torch.bool)
    group = torch.arange(len(raw)) // config.get("num_generations", 2)
    score = _score(config, batch(one, logp_old=old, logp_ref=ref, reward=raw.unsqueeze(-1))).squeeze(-1)
    advantages = _rloo_advantages(config, score, group)

    low, high = config.get("epsilon_low", config.get("epsilon", 0.2)), config.get("epsilon_high")
    clip = PpoClip(eps_low=min(low, 1.0), eps_high=low if high is None else high)
    slots = algorithm(ratio=TokenRatio(), surrogate=clip, aggregate=SequenceSum())
    done = update(slots, batch(one, logp_old=old), logp, advantages)
    gap = vector.tensor("old_per_token_logps") - vector.tensor("ref_per_token_logps")
    return {
        "advantages": advantages,
        "old_logps_sum": old.squeeze(-1),
        "loss": done.terms.loss,
        "grad_log_probs": gradient(done.terms.loss, tokens),
        "metrics_generation": {
            "kl": masked.mean(gap, mask) if config.get("beta", 0.05) else None,
            "reward": raw.nanmean(),
            "reward_std": nan_std(raw),
            "frac_reward_zero_std": Got(zero_std(score, group).double().mean(), rtol=INDICATOR_RTOL),
        },
        "metrics_loss": _row_votes(done.terms.surrogate.dead_low, done.terms.surrogate.dead_high),
    }


def _score(config: dict[str, Any], rollout: Any) -> Tensor:
    """Rewards clipped, then minus beta times the row's log-ratio to the reference."""
    band, beta = config.get("reward_clip_range"), config.get("beta", 0.05)
    shaping: ShapingSlot = ClipReward(low=band[0], high=band[1]) if band else PlainReward()
    return shaped_reward(algorithm(shaping=shaping, kl=KlInReward(kl_beta=beta, estimator=K1())), rollout, beta)


def _rloo_advantages(config: dict[str, Any], score: Tensor, group: Tensor) -> Tensor:
    advantages = LeaveOneOut().of_scores(score, group)[1].to(score.dtype)
    if not config.get("normalize_advantages"):
        return advantages
    scored = (~score.isnan() & (group_sum((~score.isnan()).double(), group) > 1)).unsqueeze(-1)
    whiten = Whiten(scope="batch", form="outside", ddof=1, eps=1e-4)
    return whiten(advantages.unsqueeze(-1), scored).squeeze(-1)


def _row_votes(low: Tensor, high: Tensor) -> dict[str, Got]:
    low, high = low.double(), high.double()
    found = {
        "low_mean": low.mean(), "low_min": low.min(), "high_mean": high.mean(), "high_max": high.max(),
        "region_mean": (low + high).mean(),
    }  # fmt: skip
    return {f"clip_ratio/{name}": Got(x, rtol=INDICATOR_RTOL) for name, x in found.items()}


# ---------------------------------------------------------------- PPO of 1.12


def ppo_step(vector: Vector) -> dict[str, Any]:
    config = vector.config
    last = torch.tensor(vector.inputs["sequence_lengths_index_of_last_token"]).unsqueeze(-1)
    old, raw = vector.tensor("logprobs"), vector.tensor("values_raw")
    position = torch.arange(old.shape[-1])
    spoken, valued = position <= last, position <= last + 1  # the critic also sees the step after the last token
    value_old = masked.fill(raw, valued)
    rewards = _rewards(vector, spoken, valued, last)
    following = torch.cat([value_old[:, 1:], torch.zeros_like(value_old[:, :1])], dim=-1)
    steps = batch(valued, value_old=value_old, value_next=following)
    found = Gae(gamma=config["gamma"], lam=config["lam"])(steps, rewards)
    advantages = Whiten(scope="batch", form="inside", ddof=1, eps=1e-8)(found.advantages, spoken)

    logp, value = vector.leaf("new_logprobs"), vector.leaf("vpred")
    eps, seen = config["cliprange"], masked.fill(value, valued)
    done = update(
        algorithm(surrogate=PpoClip(eps_low=min(eps, 1.0), eps_high=eps)), batch(spoken, logp_old=old), logp, advantages
    )
    critic = ValueClipMax(coef=1.0, eps_value=config["cliprange_value"])
    value_loss = critic(seen, value_old, found.returns, TokenMean()(valued, seen))
    loss = done.terms.policy_loss + config["vf_coef"] * value_loss
    stopped = value_clipped(seen, value_old, found.returns, eps_value=critic.eps_value)
    distance = k2(masked.fill(logp, spoken), masked.fill(old, spoken))
    return {
        "padding_mask": (~spoken).double(), "padding_mask_p1": (~valued).double(), "rewards": rewards,
        "advantages": advantages, "returns": found.returns,
        "pg_loss": done.terms.policy_loss, "vf_loss": value_loss, "loss": loss,
        "vf_clipfrac": Got(masked.mean(stopped.double(), valued), rtol=INDICATOR_RTOL),
        "pg_clipfrac": Got(done.metrics["clip_fraction"], rtol=INDICATOR_RTOL),
        "approxkl": distance.mean(),
        "grad_new_logprobs": gradient(loss, logp), "grad_vpred": gradient(loss, value),
    }  # fmt: skip


def _rewards(vector: Vector, spoken: Tensor, valued: Tensor, last: Tensor) -> Tensor:
    """The score stands one step after the last token where there is room; whitened, mean kept, where asked for."""
    config, old, scores = vector.config, vector.tensor("logprobs"), vector.tensor("scores")
    position = torch.arange(old.shape[-1])
    end = torch.where(last + 1 < old.shape[-1], last + 1, last)
    placed = scores.unsqueeze(-1) * (position == end)
    estimator = K1() if config.get("kl_estimator", "k1") == "k1" else K3()
    kl = KlInReward(kl_beta=config["kl_coef"], estimator=estimator)
    unspoken = {"logp_old": masked.fill(old, spoken), "logp_ref": masked.fill(vector.tensor("ref_logprobs"), spoken)}
    rewards = shaped_reward(algorithm(kl=kl), batch(valued, reward=placed, **unspoken), config["kl_coef"])
    if not config.get("whiten_rewards"):
        return rewards
    whiten = Whiten(scope="batch", form="inside", ddof=1, eps=1e-8)
    return masked.fill(whiten(rewards, valued) + masked.mean(rewards, valued), valued)


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {"trl.rloo": rloo, "trl_ppo.step": ppo_step}
