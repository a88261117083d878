"""The same work for us and for Stable-Baselines3: one environment, network, batch and optimiser, two engines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3 import PPO as Sb3Ppo
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

import rlcore.envs.registered  # noqa: F401  (makes our gridworld known to Gymnasium)
from rlcore.advantages import Gae, Whiten
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm
from rlcore.config import Batch, RunConfig
from rlcore.critic import ValueMse
from rlcore.engine import init, step
from rlcore.envs import Gridworld, GymEnv
from rlcore.optim import Adam
from rlcore.policies import Mlp
from rlcore.ratios import TokenRatio
from rlcore.surrogates import PpoClip


@dataclass(frozen=True)
class Work:
    """envs rows of `steps` steps each, 4 epochs of 4 minibatches, 64-64 tanh actor and critic, Adam `lr`."""

    name: str
    gym_id: str
    env: Gridworld | GymEnv
    envs: int
    steps: int
    lr: float

    @property
    def samples(self) -> int:
        return self.envs * self.steps


CARTPOLE = Work("CartPole-v1", "CartPole-v1", GymEnv(id="CartPole-v1", horizon=500), 8, 128, 1e-3)
GRIDWORLD = Work("Gridworld 6 x 6", "surrogate/Gridworld-v0", Gridworld(), 64, 32, 1e-3)


def ours(work: Work, seed: int) -> RunConfig:
    """SB3's PPO in our slots: token ratio, clip 0.2, minibatch-whitened GAE, value MSE without the half, no entropy."""
    algorithm = Algorithm(
        advantage=Gae(gamma=0.99, lam=0.95), whiten=Whiten(), ratio=TokenRatio(), surrogate=PpoClip(),
        aggregate=TokenMean(), critic=ValueMse(coef=0.5, half=1.0),
    )  # fmt: skip
    batch = Batch(
        prompts=work.envs, group_size=1, segment=work.steps, epochs=4, minibatches=4, shuffled="transitions"
    )
    return RunConfig(
        seed=seed, env=work.env, policy=Mlp(), algorithm=algorithm, batch=batch, optim=Adam(lr=work.lr)
    )


def sb3(work: Work, seed: int) -> Sb3Ppo:
    """The same as an SB3 model."""
    env = make_vec_env(work.gym_id, n_envs=work.envs, seed=seed)
    return Sb3Ppo(
        "MlpPolicy", env, n_steps=work.steps, batch_size=work.samples // 4, n_epochs=4, learning_rate=work.lr,
        gamma=0.99, gae_lambda=0.95, clip_range=0.2, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5, seed=seed,
        device="cpu",
    )  # fmt: skip


# ---------------------------------------------------------------- speed


def seconds_ours(work: Work, updates: int) -> float:
    """CPU seconds for so many rollouts with their updates, after one to warm up."""
    config = ours(work, 0)
    state, _ = step(init(config), config)
    began = time.process_time()
    for _ in range(updates):
        state, _ = step(state, config)
    return time.process_time() - began


def seconds_sb3(work: Work, updates: int) -> float:
    """CPU seconds for so many rollouts with their updates, after one to warm up."""
    model = sb3(work, 0)
    model.learn(work.samples)
    began = time.process_time()
    model.learn(work.samples * updates, reset_num_timesteps=False)
    return time.process_time() - began


# ---------------------------------------------------------------- learning


class _Returns(BaseCallback):
    """Mean return of the episodes that ended in each rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.per_rollout: list[float] = []
        self._ended: list[float] = []

    def _on_step(self) -> bool:
        infos: Any = self.locals["infos"]
        self._ended += [info["episode"]["r"] for info in infos if "episode" in info]
        return True

    def _on_rollout_end(self) -> None:
        self.per_rollout.append(float(np.mean(self._ended)) if self._ended else np.nan)
        self._ended = []


def curve_sb3(work: Work, seed: int, updates: int) -> np.ndarray:
    """Mean training return of each rollout's finished episodes, [updates]."""
    seen = _Returns()
    sb3(work, seed).learn(work.samples * updates, callback=seen)
    return np.array(seen.per_rollout)


def curve_ours(work: Work, seed: int, updates: int) -> np.ndarray:
    """The same from our engine, [updates]."""
    return np.array(list(_returns(ours(work, seed), updates)))


def _returns(config: RunConfig, updates: int) -> Iterator[float]:
    state = init(config)
    for _ in range(updates):
        state, record = step(state, config)
        yield record.metrics["episode_return"]
