"""Opening: the state before any step of a run, by the shortest way from a state that is still kept.

A few states are kept between calls, bounded in number and shared by everybody; a state is a value, so sharing is safe.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any

from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.knobs import SettingError
from rlcore.microscope.scene import teaches
from rlcore.microscope.witness import Witnessed, witness
from rlcore.presets import preset
from rlcore.state import TrainState

MOST_STEPS = 500
MOST_PASSES = 500_000
"""Samples that one step may go through, epochs counted, before it is too heavy to be looked at."""
SPACING = 10
KEPT = 48
_kept: OrderedDict[tuple[RunConfig, int], TrainState] = OrderedDict()
_lock = Lock()


def config_of(recipe: str, env: str, seed: int = 0, settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The preset of recipe, world and seed with some settings changed. Raises SettingError."""
    return preset(recipe, env, seed).with_settings(settings or {})


def state_before(config: RunConfig, number: int, *, patience: float = math.inf) -> TrainState:
    """The state that step `number` (from 1) starts from; bit-equal to the run's own.

    patience  seconds after which it gives up, between two steps; what was reached is kept, and the next call goes on there
    Raises SettingError outside 1 to MOST_STEPS and when patience ends, and Diverged where the run does not get that far.
    """
    if not 1 <= number <= MOST_STEPS:
        raise SettingError(f"step: must be between 1 and {MOST_STEPS}, got {number}")
    done, until = number - 1, monotonic() + patience
    state, at = _nearest(config, done)
    while at < done:
        if monotonic() > until:
            _keep(config, at, state)
            raise SettingError(
                f"step: {at} of {done} steps before it are done, and the rest takes too long at once; ask again to go on from "
                "there, or choose an earlier step"
            )
        state, _ = step(state, config)
        at += 1
        if at % SPACING == 0 or at == done:
            _keep(config, at, state)
    return state


@lru_cache(maxsize=16)
def open_step(config: RunConfig, number: int, *, patience: float = math.inf) -> Witnessed:
    """Step `number` (from 1) of a run from its start, under the microscope. Raises what `state_before` does."""
    return witness(state_before(config, number, patience=patience), config)


def next_teaching(config: RunConfig, number: int, *, most: int = 60, patience: float = math.inf) -> int | None:
    """The first step after `number` in which a row has an advantage; None within `most` steps or `patience` seconds."""
    until = monotonic() + patience
    for n in range(number + 1, min(number + most, MOST_STEPS) + 1):
        if monotonic() > until:
            return None
        if teaches(witness(state_before(config, n), config)):
            return n
    return None


def light(config: RunConfig) -> RunConfig:
    """The config, unless one step of it is too heavy to be looked at. Raises SettingError."""
    batch = config.batch
    samples = batch.rows * (batch.segment or getattr(config.env, "horizon", None) or 1)
    if samples * batch.epochs > MOST_PASSES:
        raise SettingError(
            f"batch.epochs: under the microscope at most {MOST_PASSES // samples} with {samples} samples a step, got {batch.epochs}"
        )
    return config


def _nearest(config: RunConfig, done: int) -> tuple[TrainState, int]:
    with _lock:
        at = max((n for of, n in _kept if n <= done and of == config), default=-1)
        if at >= 0:
            _kept.move_to_end((config, at))
            return _kept[config, at], at
    return init(config), 0


def _keep(config: RunConfig, at: int, state: TrainState) -> None:
    with _lock:
        _kept[config, at] = state
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
