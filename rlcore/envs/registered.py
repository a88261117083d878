"""Our finite environments as ordinary Gymnasium environments, so that any other library can play them.

Importing this module registers `surrogate/Bandit-v0`, `surrogate/ContextualBandit-v0` and `surrogate/Gridworld-v0`;
keyword arguments of `gymnasium.make` are the fields of the configuration, e.g. `make("surrogate/Gridworld-v0", wind=0.1)`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from rlcore.envs.bandit import Bandit, ContextualBandit
from rlcore.envs.finite import FiniteEnv, tables
from rlcore.envs.gridworld import Gridworld

KINDS: dict[str, type[FiniteEnv]] = {
    "surrogate/Bandit-v0": Bandit,
    "surrogate/ContextualBandit-v0": ContextualBandit,
    "surrogate/Gridworld-v0": Gridworld,
}


class FiniteGym(gymnasium.Env[np.int64, np.int64]):
    """One finite environment behind Gymnasium's API. Observation: the state's index. Truncates at the horizon."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, env: FiniteEnv, render_mode: str | None = None) -> None:
        self.env = env
        self.render_mode = render_mode
        self._mdp = tables(env)
        self.observation_space = Discrete(self._mdp.states)
        self.action_space = Discrete(self._mdp.actions)
        self._state, self._age = 0, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        self._state = int(self.np_random.choice(self._mdp.states, p=self._mdp.start))
        self._age = 0
        return np.int64(self._state), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        here, mdp = (self._state, int(action)), self._mdp
        outcome = int(self.np_random.choice(mdp.outcomes, p=mdp.probability[here])) if mdp.outcomes > 1 else 0
        reward = float(mdp.reward[here][outcome])
        if mdp.noise[here] > 0:
            reward += float(mdp.noise[here] * self.np_random.standard_normal())
        terminal = bool(mdp.terminal[here][outcome])
        self._state, self._age = int(mdp.following[here][outcome]), self._age + 1
        return np.int64(self._state), reward, terminal, not terminal and self._age >= mdp.horizon, {}


def _maker(kind: type[FiniteEnv]) -> Any:
    def make(render_mode: str | None = None, **settings: Any) -> FiniteGym:
        return FiniteGym(kind(**settings), render_mode)

    return make


for _name, _kind in KINDS.items():
    if _name not in gymnasium.registry:
        gymnasium.register(_name, entry_point=_maker(_kind))
