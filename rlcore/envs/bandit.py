"""Bandits: one step, no consequences. A contextual bandit's contexts are its prompts."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from rlcore.envs.finite import FiniteEnv, Mdp
from rlcore.knobs import knob

Mean = Annotated[float, Field(ge=-1e6, le=1e6)]


class Bandit(FiniteEnv):
    """K arms, arm k pays mean k plus Gaussian noise; every episode is one pull."""

    kind: Literal["bandit"] = "bandit"
    means: tuple[Mean, ...] = Field(
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), min_length=2, max_length=64, description="mean reward per arm"
    )
    noise: float = knob(0.1, "σ", 0, 1e3, "standard deviation of an arm's reward", suggested=(0, 5))

    def mdp(self) -> Mdp:
        return _one_step(np.array([self.means]), self.noise)


class ContextualBandit(FiniteEnv):
    """C contexts, K arms; the means of each context are a row of the table. Contexts are drawn uniformly."""

    kind: Literal["contextual"] = "contextual"
    means: tuple[tuple[Mean, ...], ...] = Field(
        ((1.0, 0.0, 0.5), (0.0, 1.0, 0.5), (0.5, 0.0, 1.0), (0.2, 0.8, 0.0)),
        min_length=1, max_length=64, description="mean reward per context and arm",
    )  # fmt: skip
    noise: float = knob(0.1, "σ", 0, 1e3, "standard deviation of an arm's reward", suggested=(0, 5))

    @model_validator(mode="after")
    def _rectangular(self) -> ContextualBandit:
        arms = {len(row) for row in self.means}
        if len(arms) != 1 or not 2 <= min(arms) <= 64:
            raise ValueError(f"means: every context needs the same number of arms (2 to 64), got {sorted(arms)}")
        return self

    def mdp(self) -> Mdp:
        return _one_step(np.array(self.means), self.noise)


def _one_step(means: np.ndarray, noise: float) -> Mdp:
    contexts, arms = means.shape
    here = np.arange(contexts)[:, None, None].repeat(arms, axis=1)
    return Mdp(
        following=here,
        probability=np.ones((contexts, arms, 1)),
        reward=means[:, :, None].astype(np.float64),
        terminal=np.ones((contexts, arms, 1), dtype=bool),
        noise=np.full((contexts, arms), noise),
        start=np.full(contexts, 1 / contexts),
        horizon=1,
    )
