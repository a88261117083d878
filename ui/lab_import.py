"""From an exported run to a run of the lab: its recipe, world, seed, settings and changes, as the lab would ask for them.

A run that the lab cannot ask for is not bent until it fits: what does not fit is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from live import engine, menu
from live.contract import Request, Setting
from rlcore.algorithms import recognise
from rlcore.config import RunConfig
from rlcore.envs import GymEnv
from rlcore.exports import unpack
from rlcore.knobs import SettingError
from rlcore.presets import ENVS, WORDS, preset
from rlcore.words.env import Words
from ui.state import MAX_CHANGES, MAX_STEP, RECIPES


@dataclass(frozen=True)
class Found:
    """What a file holds: a request for the lab, or why there is none; and what was ignored or may come out otherwise."""

    title: str = ""
    request: Request | None = None
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read(content: bytes) -> Found:
    """A capsule's run, as the lab asks for it."""
    try:
        opened = unpack(content)
    except SettingError as error:
        return Found(refused=(str(error),))
    run = opened.run
    try:
        request = asked(run.path, run.steps)
    except SettingError as error:
        told = f"{error}. Compare and the shell (`python -m rlcore replay FILE`) play it as it is."
        return Found(run.title, None, (told,), opened.notes)
    return Found(run.title, request, (), opened.notes)


def asked(path: tuple[tuple[int, RunConfig], ...], steps: int) -> Request:
    """The request whose run makes these steps again and pauses at the last. Raises SettingError where there is none."""
    first = path[0][1]
    if steps > MAX_STEP or len(path) - 1 > MAX_CHANGES:
        raise SettingError(f"capsule: the lab opens at most {MAX_STEP} steps and {MAX_CHANGES} changes of settings")
    request = Request(_recipe(first), _world(first), first.seed)
    plain = preset(request.recipe, request.env, request.seed)
    settings = _fresh(plain, first) | {name: new for name, (_, new) in menu.difference(plain, first).items()}
    ordered = tuple(sorted(settings.items(), key=lambda pair: not isinstance(pair[1], str)))
    request = replace(request, settings=ordered)
    _must_be(engine.configured(request), first, "the settings it began with")
    then = []
    for (_, old), (step, new) in zip(path, path[1:], strict=False):
        values = {name: value for name, (_, value) in menu.difference(old, new).items()}
        _must_be(menu.with_settings(old, values), new, f"the change at step {step + 1}")
        then.append((step + 1, tuple(values.items())))
    return replace(request, then=tuple(then), stop=steps)


def _recipe(config: RunConfig) -> str:
    key: str = recognise(config.algorithm).recipe.key
    if key not in RECIPES:
        raise SettingError(f"capsule: the lab has no recipe {key!r}")
    return key


def _world(config: RunConfig) -> str:
    env = config.env
    if isinstance(env, Words):
        return next(name for name, (each, _, _) in WORDS.items() if each.task.kind == env.task.kind)
    if isinstance(env, GymEnv):
        return env.id
    exact = [name for name, each in ENVS.items() if each == env]
    return exact[0] if exact else env.kind


def _fresh(plain: RunConfig, config: RunConfig) -> dict[str, Setting]:
    """Knobs that a run keeps for life and that differ from the preset's."""
    old, new = ({each["name"]: each["value"] for each in menu.fresh_as_json(c)} for c in (plain, config))
    return {name: value for name, value in new.items() if name in old and old[name] != value}


def _must_be(made: Any, wanted: RunConfig, what: str) -> None:
    if made != wanted:
        raise SettingError(f"capsule: the lab has no controls for all of {what}")
