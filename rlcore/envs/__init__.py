"""Environments: bandits, contextual bandits and gridworlds as tables, and any Gymnasium environment by id."""

from rlcore.envs.bandit import Bandit, ContextualBandit
from rlcore.envs.finite import FiniteEnv, Mdp, tables
from rlcore.envs.gridworld import CellReward, Gridworld
from rlcore.envs.gym import GymEnv
from rlcore.envs.picture import picture
from rlcore.envs.protocol import Collected, Dice, Plan

__all__ = [
    "Bandit", "CellReward", "Collected", "ContextualBandit", "Dice", "FiniteEnv", "Gridworld", "GymEnv",
    "Mdp", "Plan", "picture", "tables",
]  # fmt: skip
