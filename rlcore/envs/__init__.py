"""Environments: bandits, contextual bandits and gridworlds as tables, and any Gymnasium environment by id."""

from typing import Annotated

from pydantic import Field

from rlcore.envs.bandit import Bandit, ContextualBandit
from rlcore.envs.finite import FiniteEnv, Mdp, tables
from rlcore.envs.gridworld import CellReward, Gridworld
from rlcore.envs.gym import GymEnv
from rlcore.envs.picture import picture
from rlcore.envs.protocol import Collected, Dice, Plan

EnvSlot = Annotated[Bandit | ContextualBandit | Gridworld | GymEnv, Field(discriminator="kind")]

__all__ = [
    "Bandit", "CellReward", "Collected", "ContextualBandit", "Dice", "EnvSlot", "FiniteEnv", "Gridworld", "GymEnv",
    "Mdp", "Plan", "picture", "tables",
]  # fmt: skip
