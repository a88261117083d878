"""A run as it happened: its settings from step to step and its numbers; and the same run once more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File

import numpy as np

from rlcore.algorithms import recognise
from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.envs import GymEnv
from rlcore.exports.changes import Path, config_at, path_of
from rlcore.exports.tables import lines
from rlcore.knobs import SettingError
from rlcore.records import StepRecord
from rlcore.store import read_config, read_metrics, read_versions, versions
from rlcore.timeline import Node
from rlcore.words.env import Words

CLOCK = "seconds"
"""The one column that a replay does not repeat: wall time."""


@dataclass(frozen=True)
class Recorded:
    """path, the settings from each step on · columns, [steps] each: step, seconds, samples and every metric by its
    glossary name, NaN where undefined · versions, what the numbers were made with.
    """

    path: Path
    columns: Mapping[str, np.ndarray]
    versions: Mapping[str, str]

    @property
    def steps(self) -> int:
        return len(self.columns["step"])

    @property
    def config(self) -> RunConfig:
        """The settings the run began with."""
        return self.path[0][1]

    @property
    def name(self) -> str:
        """What it is, for file names: recipe, world, seed."""
        found = recognise(self.config.algorithm)
        recipe = found.recipe.key if found.named else f"{found.recipe.key}-mix"
        return f"{recipe}-{world(self.config)}-seed{self.config.seed}".replace("/", "-")

    @property
    def title(self) -> str:
        """The same in words."""
        changes = len(self.path) - 1
        changed = f", settings changed {changes} time{'s' if changes != 1 else ''}" if changes else ""
        return (
            f"{recognise(self.config.algorithm)} on {world(self.config)}, seed {self.config.seed}, "
            f"{self.steps} training steps{changed}"
        )


def world(config: RunConfig) -> str:
    """The environment's short name."""
    env = config.env
    if isinstance(env, GymEnv):
        return env.id
    return env.task.kind if isinstance(env, Words) else env.kind


def recorded(nodes: Sequence[Node]) -> Recorded:
    """A branch of a timeline from its root (`Timeline.path`). Raises SettingError before the first step."""
    records = [node.record for node in nodes if node.record is not None]
    if not records:
        raise SettingError("run: has made no step yet, so there is nothing to export")
    return Recorded(path_of(record.config for record in records), columns_of(records), versions())


def columns_of(records: Sequence[StepRecord]) -> dict[str, np.ndarray]:
    """Every number of every step by column; a metric that appears later is NaN before."""
    names = list(dict.fromkeys(name for record in records for name in record.metrics))
    found = {
        "step": np.array([record.step for record in records], dtype=np.float64),
        CLOCK: np.array([record.seconds for record in records]),
        "samples": np.array([record.samples for record in records], dtype=np.float64),
    }
    return found | {n: np.array([record.metrics.get(n, np.nan) for record in records]) for n in names}


def from_folder(path: File) -> Recorded:
    """A run that `train --out` wrote. Raises SettingError."""
    config, columns = read_config(path), read_metrics(path)
    if not columns or not len(columns["step"]):
        raise SettingError(f"{path}: holds no step yet")
    return Recorded(((0, config),), columns, read_versions(path))


def replayed(path: Path, steps: int, *, watch: Callable[[StepRecord], None] = lambda record: None) -> Recorded:
    """The run once more, from nothing: the same settings at the same steps."""
    records = []
    for record in _replay(path, steps):
        watch(record)
        records.append(record)
    return Recorded(path, columns_of(records), versions())


def _replay(path: Path, steps: int) -> Iterator[StepRecord]:
    state = init(path[0][1])
    for number in range(steps):
        state, record = step(state, config_at(path, number))
        yield record


def digest(columns: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of all numbers but wall time, as their CSV lines: equal exactly where every bit is."""
    names = [name for name in columns if name != CLOCK]
    found = hashlib.sha256()
    for line in lines(columns, names):
        found.update(f"{line}\n".encode())
    return found.hexdigest()


@dataclass(frozen=True)
class Difference:
    """A column that came out otherwise: in how many steps, from which one, and by how much at most."""

    column: str
    steps: int
    first: int
    largest: float


def compared(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> tuple[Difference, ...]:
    """Columns that differ in any bit, wall time aside; a column that only one has counts as NaN in the other."""
    found = []
    empty = np.full(len(old["step"]), np.nan)
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name, empty), new.get(name, empty)
        differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        if name != CLOCK and differ.any():
            gap = np.abs(a - b)[differ]
            largest = float(np.nanmax(gap)) if not np.isnan(gap).all() else float("nan")
            found.append(Difference(name, int(differ.sum()), int(differ.argmax()), largest))
    return tuple(found)
