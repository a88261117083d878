"""What is painted on a world, as text among a run's settings: a grid's map, its cells' rewards, where the wind blows.

The engine reads and checks the texts; here it is said which there are, and which worlds nobody could learn anything on.
"""

from __future__ import annotations

from rlcore.config import RunConfig, needs_new_run
from rlcore.envs import Gridworld
from rlcore.envs.maps import problem, rewards_as_text, rows_as_text
from rlcore.knobs import SettingError

TEXTS = ("layout", "extra", "wind_direction")


def texts(config: RunConfig) -> dict[str, str]:
    """The painted settings of this run's world; {} where nothing can be painted."""
    env = config.env
    if not isinstance(env, Gridworld):
        return {}
    return {
        "layout": rows_as_text(env.layout), "extra": rewards_as_text(env.extra), "wind_direction": env.wind_direction,
    }  # fmt: skip


def is_text(config: RunConfig, name: str) -> bool:
    return name.rpartition(".")[2] in TEXTS and isinstance(config.env, Gridworld)


def sensible(config: RunConfig) -> RunConfig:
    """The config, unless nobody could learn anything on its world. Raises SettingError."""
    found = problem(config.env) if isinstance(config.env, Gridworld) else None
    if found:
        raise SettingError(found)
    return config


def same_run(before: RunConfig, after: RunConfig) -> RunConfig:
    """`after`, unless a run with `before` cannot go on with it. Raises SettingError."""
    if "env" in needs_new_run(before, after):
        raise SettingError("layout: another size needs a new run; nothing was changed")
    return after
