"""Tiny Gymnasium environments whose every observation and reward is known in advance. Importing registers them."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit


class Count(gymnasium.Env[np.ndarray, np.int64]):
    """Observes [episode, step of the episode]; pays 10 * episode + step. Episodes end after `lengths` in turn.

    Even episodes end terminally, odd ones would go on and are truncated by the environment itself.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, render_mode: str | None = None, lengths: str = "3,2,4", base: int = 0) -> None:
        self.observation_space = Box(-1000, 1000, (2,), np.float32)
        self.action_space = Discrete(2)
        self.render_mode = render_mode
        self._lengths = [int(n) for n in lengths.split(",")]
        self._episode, self._step = base - 1, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._episode, self._step = self._episode + 1, 0
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._step += 1
        over = self._step >= self._lengths[self._episode % len(self._lengths)]
        ends = over and self._episode % 2 == 0
        return self._seen(), float(10 * self._episode + self._step), ends, over and not ends, {}

    def _seen(self) -> np.ndarray:
        return np.array([self._episode, self._step], dtype=np.float32)


class Shifted(gymnasium.Env[np.int64, np.int64]):
    """Observations and actions that start at 5: state 5 + n, action 5 + m; pays 1 for the action equal to the state."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = Discrete(3, start=5), Discrete(3, start=5)
        self.render_mode, self._state = render_mode, 5

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        self._state = int(self.np_random.integers(5, 8))
        return np.int64(self._state), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(int(action)), f"{action} is no action of this environment"
        paid = float(int(action) == self._state)
        self._state = 5 + (self._state - 4) % 3
        return np.int64(self._state), paid, False, False, {}


class Push(gymnasium.Env[np.ndarray, np.ndarray]):
    """Box actions within [-0.5, 0.5]; pays the action it was really given and remembers nothing else."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, render_mode: str | None = None, paid: str = "action") -> None:
        self.observation_space = Box(-1, 1, (1,), np.float32)
        self.action_space = Box(np.float32(-0.5), np.float32(0.5), (2,), np.float32)
        self.render_mode, self._paid, self._age = render_mode, paid, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._age = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(np.asarray(action, dtype=np.float32)), f"{action} lies outside the Box"
        self._age += 1
        reward = float(action.sum()) if self._paid == "action" else float(self._paid)
        return np.zeros(1, np.float32), reward, False, self._age >= 4, {}


class Uncopyable(Count):
    """Holds something that cannot be deep-copied, as environments around a simulator do."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Uncopyable:
        raise TypeError("a simulator handle cannot be copied")


class Eager(SyncVectorEnv):
    """A vector environment that resets within the step that ends an episode, so its last observation is gone."""

    def __init__(self, num_envs: int = 1, max_episode_steps: int = 10, **options: Any) -> None:
        made = [lambda: TimeLimit(Count(**options), max_episode_steps)] * num_envs
        super().__init__(made, autoreset_mode=AutoresetMode.SAME_STEP)


if "tests/Eager-v0" not in gymnasium.registry:
    gymnasium.register("tests/Eager-v0", entry_point=Count, vector_entry_point=Eager, disable_env_checker=True)

for _name, _kind in {"Count": Count, "Shifted": Shifted, "Push": Push, "Uncopyable": Uncopyable}.items():
    if f"tests/{_name}-v0" not in gymnasium.registry:
        gymnasium.register(f"tests/{_name}-v0", entry_point=_kind, disable_env_checker=True)
