"""CleanRL (git fe8d8a03c) out of the house's slots: GAE over a block of vectorised steps, and the minibatch loss.

Its arrays are [steps, envs]; the house's rows are environments. `dones[t]` speaks of the observation at t, so the flag
that ends step t is `dones[t + 1]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from rlcore.advantages import Advantages, Gae, NoWhitening, Whiten, explained_variance
from rlcore.conformance.compose import INDICATOR_RTOL, Update, algorithm, batch, gradient, update
from rlcore.conformance.report import Got
from rlcore.conformance.vector import Vector
from rlcore.critic import CriticSlot, ValueClipMax, ValueMse
from rlcore.rollout import Rollout
from rlcore.surrogates import PpoClip


def block(vector: Vector, *, starts: str, last_done: str, last_value: str) -> Rollout:
    """A rollout of [envs, steps] from arrays [steps, envs] and what followed the last step."""
    values, ended = vector.tensor("values"), vector.tensor(last_done).unsqueeze(0)
    ends = torch.cat([vector.tensor(starts)[1:], ended]) > 0
    following = torch.cat([values[1:], vector.tensor(last_value).reshape(1, -1)])
    tensors = {"reward": vector.tensor("rewards"), "value_old": values, "value_next": following, "terminal": ends}
    return batch(torch.ones_like(ends).T, **{name: x.T for name, x in tensors.items()})


def estimated(rollout: Rollout, *, gamma: float, lam: float) -> tuple[Advantages, Tensor]:
    """(advantages, explained variance of the old values)."""
    found = Gae(gamma=gamma, lam=lam)(rollout, rollout.reward)
    return found, explained_variance(rollout.value_old, found.returns, rollout.mask)


def gae(vector: Vector) -> dict[str, Any]:
    rollout = block(vector, starts="dones", last_done="next_done", last_value="next_value")
    found, explained = estimated(rollout, gamma=vector.config["gamma"], lam=vector.config["gae_lambda"])
    return {"advantages": found.advantages.T, "returns": found.returns.T, "explained_variance": explained}


def flat(x: Tensor) -> Tensor:
    """A minibatch of N transitions as one row, [N] -> [1, N]."""
    return x.reshape(1, -1)


def minibatch(
    critic: CriticSlot, *, eps: float, entropy_coef: float, normalised: bool, logp: Tensor, old: Tensor,
    advantages: Tensor, value: Tensor, value_old: Tensor, returns: Tensor, entropy: Tensor,
) -> tuple[Update, Tensor]:  # fmt: skip
    """(the update, the advantages it used) of one minibatch, everything [1, N]."""
    mask = torch.ones_like(logp, dtype=torch.bool)
    used = (Whiten() if normalised else NoWhitening())(advantages, mask)
    slots = algorithm(
        surrogate=PpoClip(eps_low=min(eps, 1.0), eps_high=eps), entropy_coef=entropy_coef, critic=critic
    )  # fmt: skip
    rollout = replace(batch(mask, logp_old=old), value_old=value_old)
    return update(slots, rollout, logp, used, entropy=entropy, value=value, returns=returns), used


def ppo_loss(vector: Vector) -> dict[str, Any]:
    config = vector.config
    eps, coef = config["clip_coef"], config.get("vf_coef", 0.5)
    leaves = {name: vector.leaf(name) for name in ("newlogprob", "newvalue", "entropy")}
    critic: CriticSlot = ValueClipMax(coef=coef, eps_value=eps) if config["clip_vloss"] else ValueMse(coef=coef)
    given = {n: flat(vector.tensor(n)) for n in ("old_logprob", "advantages", "old_value", "returns")}
    done, used = minibatch(
        critic, eps=eps, entropy_coef=config.get("ent_coef", 0.01), normalised=config["norm_adv"],
        logp=flat(leaves["newlogprob"]), old=given["old_logprob"], advantages=given["advantages"],
        value=flat(leaves["newvalue"]), value_old=given["old_value"], returns=given["returns"],
        entropy=flat(leaves["entropy"]),
    )  # fmt: skip
    alone = critic.model_copy(update={"coef": 1.0})
    value_loss = alone(done.now.value, given["old_value"], given["returns"], done.terms.token_weight)
    return {
        "loss": done.terms.loss, "pg_loss": done.terms.policy_loss, "v_loss": value_loss,
        "entropy_loss": done.metrics["entropy"],
        "old_approx_kl": done.metrics["approx_kl_k1"], "approx_kl": done.metrics["approx_kl"],
        "clipfrac": Got(done.metrics["clip_fraction_outside"], rtol=INDICATOR_RTOL),
        "mb_advantages": used.reshape(-1),
    } | {f"grad_{name}": gradient(done.terms.loss, leaf) for name, leaf in leaves.items()}  # fmt: skip


OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {"cleanrl.gae": gae, "cleanrl.ppo_loss": ppo_loss}
