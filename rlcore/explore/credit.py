"""Credit, step by step: one recorded batch under a critic's GAE, under the group's mean, under plain returns.

On a finite world the true advantage of every step can be enumerated, so each estimate is held against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from rlcore.advantages import AdvantageSlot, Gae, GroupRelative, Returns
from rlcore.config import Batch, RunConfig
from rlcore.engine import step
from rlcore.envs.finite import FiniteEnv, Mdp, tables
from rlcore.explore.recorded import state_at
from rlcore.explore.setting import Setting
from rlcore.knobs import knob
from rlcore.policies import Tabular
from rlcore.presets import preset
from rlcore.records import Array, StepTrace, freeze
from rlcore.rollout import Rollout

PROMPTS, GROUP_SIZE = 4, 16


class Episode(Setting):
    """Discount and λ of the critic's advantages, and after how many training steps the batch is taken."""

    gamma: float = knob(0.99, "γ", 0, 1, "discount per step", suggested=(0.8, 1.0), source="arXiv:1506.02438")
    lam: float = knob(0.95, "λ", 0, 1, "0 trusts the critic, 1 the sampled return", source="arXiv:1506.02438")
    step: int = knob(8, "k", 0, 30, "training steps of the PPO run before the batch")


def true_advantages(mdp: Mdp, logp: Tensor, *, gamma: float) -> Tensor:
    """Q_t(s, a) - V_t(s) of the policy [S, A] at every time of an episode, by backward induction: [T, S, A].

    The horizon makes time matter: with few steps left the same state is worth less.
    """
    reward = torch.from_numpy((mdp.probability * mdp.reward).sum(-1))
    live = torch.from_numpy(mdp.probability * ~mdp.terminal)
    following, pi = torch.from_numpy(mdp.following.copy()), logp.double().exp()
    value, found = torch.zeros(mdp.states, dtype=torch.float64), []
    for _ in range(mdp.horizon):
        q = reward + gamma * (live * value[following]).sum(-1)
        value = (pi * q).sum(-1)
        found.append(q - value.unsqueeze(-1))
    return torch.stack(found[::-1])


@dataclass(frozen=True)
class Credit:
    """One estimator on the batch: advantages [B, T], and how they agree with the truth over all valid steps.

    correlation  with the true advantages, NaN where an estimate does not vary
    noise        standard deviation of (estimate - truth)
    """

    name: str
    advantages: Array
    correlation: float
    noise: float


@dataclass(frozen=True)
class Credited:
    """A batch of whole episodes: state, action, reward, value, mask [B, T], score and group [B], truth and estimates."""

    state: Array
    action: Array
    reward: Array
    value: Array
    mask: Array
    score: Array
    group: Array
    truth: Array
    by_name: Mapping[str, Credit]

    @property
    def best(self) -> int:
        """The row with the highest return."""
        return int(self.score.argmax())


def estimators(*, gamma: float, lam: float) -> dict[str, AdvantageSlot]:
    """What is compared: GAE at (gamma, lam), its two ends, the group's mean without and with std, no baseline at all."""
    return {
        "gae": Gae(gamma=gamma, lam=lam),
        "td": Gae(gamma=gamma, lam=0),
        "monte_carlo": Gae(gamma=gamma, lam=1),
        "group_mean": GroupRelative(scale="none"),
        "group_std": GroupRelative(scale="std"),
        "returns": Returns(gamma=gamma),
    }


@lru_cache(maxsize=16)
def _batch(env: str, steps: int, seed: int) -> tuple[RunConfig, StepTrace, Tensor]:
    """A PPO run up to `steps`, then one batch in groups of whole episodes, with the policy that played it."""
    config = preset("ppo", env, seed)
    state = state_at(config, steps)
    grouped = config.model_copy(update={"batch": Batch(prompts=PROMPTS, group_size=GROUP_SIZE, epochs=1)})
    record = step(state, grouped, trace=True)[1]
    assert record.trace is not None and isinstance(config.env, FiniteEnv)
    assert isinstance(config.policy, Tabular)
    with torch.no_grad():
        logp = config.policy.act(state.params, torch.arange(tables(config.env).states)).logp
    return config, record.trace, logp


@lru_cache(maxsize=64)
def credited(env: str, *, steps: int, gamma: float, lam: float, seed: int = 0) -> Credited:
    """Judge a recorded batch by every estimator and by the truth. The world must be finite, one start."""
    config, trace, logp = _batch(env, steps, seed)
    rollout = as_rollout(trace)
    found = true_advantages(tables(config.env), logp, gamma=gamma)
    times = torch.arange(rollout.mask.shape[1]).expand(rollout.mask.shape)
    truth = torch.where(rollout.mask, found[times, rollout.obs, rollout.action], 0.0)
    valid = rollout.mask.numpy()
    judged = {
        name: _judge(name, slot(rollout, rollout.reward).advantages.double(), truth, valid)
        for name, slot in estimators(gamma=gamma, lam=lam).items()
    }
    return Credited(
        state=freeze(rollout.obs), action=freeze(rollout.action), reward=freeze(rollout.reward),
        value=freeze(rollout.value_old), mask=freeze(rollout.mask), score=freeze(rollout.score),
        group=freeze(rollout.group), truth=freeze(truth), by_name=judged,
    )  # fmt: skip


def as_rollout(trace: StepTrace) -> Rollout:
    """The recorded rollout as tensors again."""
    return Rollout(**{name: torch.from_numpy(array.copy()) for name, array in trace.rollout.items()})


def _judge(name: str, estimate: Tensor, truth: Tensor, valid: Array) -> Credit:
    a, b = estimate.numpy()[valid], truth.numpy()[valid]
    correlation = float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else float("nan")
    return Credit(name, freeze(estimate), correlation, float((a - b).std()))


def by_hand(rewards: tuple[float, ...], values: tuple[float, ...], *, gamma: float, lam: float) -> dict[str, Array]:
    """TD errors, GAE at lam and Monte Carlo minus V for one episode typed in, its last step terminal. [T] each."""
    size = (1, len(rewards))
    zero, mask = torch.zeros(size, dtype=torch.float64), torch.ones(size, dtype=torch.bool)
    reward = torch.tensor([rewards], dtype=torch.float64)
    value = torch.tensor([values], dtype=torch.float64)
    ends = torch.zeros(size, dtype=torch.bool)
    ends[0, -1] = True
    ahead = torch.cat([value[:, 1:], zero[:, :1]], 1)
    rollout = Rollout(
        obs=zero.long(), action=zero.long(), mask=mask, reward=reward, logp_old=zero, logp_ref=zero, terminal=ends,
        truncated=torch.zeros_like(ends), value_old=value, value_next=ahead, group=torch.zeros(1, dtype=torch.int64),
    )  # fmt: skip
    slots = {"td": Gae(gamma=gamma, lam=0), "gae": Gae(gamma=gamma, lam=lam), "monte_carlo": Gae(gamma=gamma, lam=1)}
    return {name: freeze(slot(rollout, reward).advantages[0]) for name, slot in slots.items()}
