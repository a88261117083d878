"""Seeds one after the other: for worlds and settings whose seeds cannot share tensors."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rlcore import engine
from rlcore.config import RunConfig
from rlcore.records import StepRecord
from rlcore.seeds.record import SeedsRecord
from rlcore.state import Diverged, TrainState


@dataclass(frozen=True)
class InTurn:
    """A state a seed; what stopped the seeds that diverged, by place."""

    step: int
    seeds: tuple[int, ...]
    states: tuple[TrainState, ...]
    diverged: dict[int, str] = field(default_factory=dict)


def start(config: RunConfig, seeds: Sequence[int]) -> InTurn:
    """Each seed's own first state."""
    return InTurn(0, tuple(seeds), tuple(engine.init(_with(config, seed)) for seed in seeds))


def step_slices(state: InTurn, config: RunConfig) -> Generator[object, None, tuple[InTurn, SeedsRecord]]:
    """A step of every seed that still runs."""
    states, diverged = list(state.states), dict(state.diverged)
    records: list[StepRecord | None] = [None] * len(states)
    for place, seed in enumerate(state.seeds):
        if place in diverged:
            continue
        try:
            states[place], records[place] = yield from engine.step_slices(states[place], _with(config, seed))
        except Diverged as error:
            diverged[place] = str(error)
        yield None
    after = InTurn(state.step + 1, state.seeds, tuple(states), diverged)
    return after, _joined(state.step, records, diverged)


def _with(config: RunConfig, seed: int) -> RunConfig:
    return config.model_copy(update={"seed": seed})


def _joined(step: int, records: Sequence[StepRecord | None], diverged: dict[int, str]) -> SeedsRecord:
    names = dict.fromkeys(name for record in records if record for name in record.metrics)
    metrics = {n: np.array([r.metrics.get(n, np.nan) if r else np.nan for r in records]) for n in names}
    samples = np.array([float(r.samples) if r else np.nan for r in records])
    seconds = np.array([r.seconds if r else np.nan for r in records])
    return SeedsRecord(step, metrics, samples, seconds, diverged)
