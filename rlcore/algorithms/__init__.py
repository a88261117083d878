"""The recipes, as a written catalogue, and what one asks of an algorithm: name, differences, oddities.

A recipe is added by writing its page and its name below; nothing registers itself on import.
"""

from __future__ import annotations

from rlcore.algorithm import Algorithm
from rlcore.algorithms.cautions import Caution, cautions
from rlcore.algorithms.cispo import CISPO
from rlcore.algorithms.compare import Recognition, SlotChange, brief, diff, find, recognise_among
from rlcore.algorithms.dapo import DAPO
from rlcore.algorithms.dr_grpo import DR_GRPO
from rlcore.algorithms.gmpo import GMPO
from rlcore.algorithms.grpo import GRPO
from rlcore.algorithms.gspo import GSPO
from rlcore.algorithms.gspo_token import GSPO_TOKEN
from rlcore.algorithms.ppo import PPO
from rlcore.algorithms.ppo_rlhf import PPO_RLHF
from rlcore.algorithms.recipe import Recipe
from rlcore.algorithms.reinforce_pp import REINFORCE_PP
from rlcore.algorithms.rloo import RLOO
from rlcore.algorithms.sapo import SAPO

CATALOG: tuple[Recipe, ...] = (
    PPO, PPO_RLHF, GRPO, DR_GRPO, DAPO, RLOO, REINFORCE_PP, GSPO, GSPO_TOKEN, CISPO, SAPO, GMPO,
)  # fmt: skip


def by_key(name: str) -> Recipe:
    """The recipe called `name`: "grpo", "Dr. GRPO", "dr-grpo", "REINFORCE++" … Raises SettingError with "
    "the nearest."""
    return find(CATALOG, name)


def recognise(algorithm: Algorithm) -> Recognition:
    """What a person has just built: a recipe, a recipe with other settings, or the nearest recipe and what "
    "differs."""
    return recognise_among(CATALOG, algorithm)


__all__ = [
    "CATALOG", "CISPO", "DAPO", "DR_GRPO", "GMPO", "GRPO", "GSPO", "GSPO_TOKEN", "PPO", "PPO_RLHF",
    "REINFORCE_PP", "RLOO", "SAPO", "Caution", "Recipe", "Recognition", "SlotChange", "brief", "by_key",
    "cautions", "diff", "recognise",
]  # fmt: skip
