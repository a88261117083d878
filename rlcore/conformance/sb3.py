"""Stable-Baselines3 2.9.2 out of the house's slots: the rollout buffer's GAE and one minibatch of PPO.train.

`episode_starts` are CleanRL's `dones`. The value loss has no half and, where it clips, no maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlcore.conformance.cleanrl import block, estimated, flat, minibatch
from rlcore.conformance.compose import INDICATOR_RTOL, gradient
from rlcore.conformance.report import Got
from rlcore.conformance.vector import Vector
from rlcore.critic import CriticSlot, ValueClipOnly, ValueMse


def ppo(vector: Vector) -> dict[str, Any]:
    config = vector.config
    rollout = block(vector, starts="episode_starts", last_done="dones", last_value="last_values")
    found, explained = estimated(rollout, gamma=config["gamma"], lam=config["gae_lambda"])
    leaves = {name: vector.leaf(name) for name in ("newlogprob", "newvalue", "entropy")}
    eps, band, coef = config["clip_range"], config.get("clip_range_vf"), config.get("vf_coef", 0.5)
    critic: CriticSlot = ValueMse(coef=coef, half=1.0) if band is None else ValueClipOnly(coef=coef, eps_value=band)
    old_value, returns = flat(vector.tensor("values")), flat(found.returns.T)
    done, _ = minibatch(
        critic, eps=eps, entropy_coef=config.get("ent_coef", 0.0), normalised=config.get("normalize_advantage", True),
        logp=flat(leaves["newlogprob"]), old=flat(vector.tensor("old_logprob")), advantages=flat(found.advantages.T),
        value=flat(leaves["newvalue"]), value_old=old_value, returns=returns, entropy=flat(leaves["entropy"]),
    )  # fmt: skip
    alone = critic.model_copy(update={"coef": 1.0})
    log = {
        "train/entropy_loss": -done.metrics["entropy"],
        "train/policy_gradient_loss": done.terms.policy_loss,
        "train/value_loss": alone(done.now.value, old_value, returns, done.terms.token_weight),
        "train/approx_kl": done.metrics["approx_kl"],
        "train/clip_fraction": Got(done.metrics["clip_fraction_outside"], rtol=INDICATOR_RTOL),
        "train/loss": done.terms.loss,
        "train/explained_variance": explained,
        "train/n_updates": 1.0,
        "train/clip_range": eps,
        "train/clip_range_vf": band,
    }
    grads = {f"grad_{name}": gradient(done.terms.loss, leaf) for name, leaf in leaves.items()}
    return {"advantages": found.advantages.T, "returns": found.returns.T, "log": log, **grads}


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {"sb3.ppo": ppo}
