"""Recorded steps to look at: a preset's run, played to one step and traced; and batches written by hand.

Everything is the engine's own; results are shared between viewers, since records are frozen.
"""

from __future__ import annotations

from functools import lru_cache

from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.presets import preset
from rlcore.records import StepRecord, UpdateTrace
from rlcore.rollout import Rollout
from rlcore.state import TrainState
from rlcore.updates import Updates, prepare, whole


@lru_cache(maxsize=32)
def state_at(config: RunConfig, steps: int) -> TrainState:
    """The state after `steps` steps of a run; replayed from the start, bit-equal to it."""
    state = init(config)
    for _ in range(steps):
        state, _ = step(state, config)
    return state


@lru_cache(maxsize=32)
def recorded(recipe: str, env: str, *, seed: int = 0, steps: int = 0, epochs: int = 10) -> StepRecord:
    """Step `steps` (from 0) of a preset's run, whole: before it the run went on with the preset's own settings.

    epochs  passes over this one batch, each a full-batch update, so that `trace.updates[k]` is the (k + 1)-th.
    Raises SettingError for names that do not exist.
    """
    config = preset(recipe, env, seed)
    state = state_at(config, steps)
    return step(state, once_over(config, epochs=epochs), trace=True)[1]


def once_over(config: RunConfig, *, epochs: int) -> RunConfig:
    """The run with `epochs` full-batch updates a step."""
    return config.with_settings({"batch.epochs": epochs, "batch.minibatches": 1})


def reuse(
    config: RunConfig, rollout: Rollout, *, epochs: int, state: TrainState | None = None
) -> tuple[UpdateTrace, ...]:
    """Full-batch updates on a rollout that was written by hand: what the engine does with it, pass by pass.

    config  environment, policy, algorithm and optimiser; its batch sizes are not read
    """
    state = init(config) if state is None else state
    batch = prepare(state, config, rollout)
    updates = Updates(state, config, batch, True)
    for epoch in range(epochs):
        updates.run(epoch, 0, whole(config, batch))
    return tuple(updates.traces)
