"""What a finding is, and the view of a run that every rule reads: columns, windows, how much of the reward is reached.

A rule says nothing without numbers. This module holds no rule.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rlcore.config import RunConfig, find_setting
from rlcore.diagnosis.ceiling import ceiling
from rlcore.knobs import SettingError

Array = np.ndarray
Severity = Literal["act", "look", "note"]

SHORTEST = 20
"""Fewer steps are never judged."""
RECENT = 10
"""Steps in "now": long enough that one odd batch is not a finding."""
HOLD = 0.8
"""What is said stays said until its number falls below this share of its threshold, so that a line does not flicker."""
SOLVED = 0.9
"""Share of the way from the first rewards to the best possible one from which a run counts as solved."""


@dataclass(frozen=True)
class Experiment:
    """One thing to try: settings by name with their new values, in a sentence; `at` a step worth going back to."""

    values: Mapping[str, float | int | str]
    says: str
    at: int | None = None


@dataclass(frozen=True)
class Finding:
    """severity: act on it, look at it, or a note. `evidence` quotes the numbers and the steps they were seen at."""

    name: str
    severity: Severity
    says: str
    evidence: str
    experiment: Experiment | None
    source: str


@dataclass(frozen=True, eq=False)
class View:
    """A run's columns and config as the rules see them; `said` names what was found the last time."""

    columns: Mapping[str, Any]
    config: RunConfig
    said: Collection[str] = field(default=())

    @cached_property
    def steps(self) -> Array:
        """The number of each row's step, [n]."""
        found = self.columns.get("step")
        length = len(next(iter(self.columns.values()), ()))
        return np.arange(1, length + 1) if found is None else np.asarray(found)

    def __len__(self) -> int:
        return len(self.steps)

    def get(self, name: str) -> Array:
        """A column as float64, NaN where it was not measured or is not finite."""
        found = self.columns.get(name)
        if found is None:
            return np.full(len(self), np.nan)
        values = np.asarray(found, dtype=float)
        return np.where(np.isfinite(values), values, np.nan)

    def now(self, name: str, steps: int = RECENT) -> float:
        """Mean over the last steps; NaN where there is none."""
        return mean(self.get(name)[-steps:])

    def early(self, name: str, steps: int = 5) -> float:
        return mean(self.get(name)[:steps])

    def over(self, rule: str, value: float, threshold: float) -> bool:
        """value > threshold, or nearly where the rule has spoken already. False for NaN."""
        return bool(value > threshold * (HOLD if rule in self.said else 1))

    def under(self, rule: str, value: float, threshold: float) -> bool:
        return bool(value < threshold / (HOLD if rule in self.said else 1))

    def span(self, steps: int = RECENT) -> str:
        """"steps 31 to 40", the last so many."""
        return f"steps {self.steps[-steps:][0]:.0f} to {self.steps[-1]:.0f}"

    # ------------------------------------------------------------ the reward

    @cached_property
    def reward(self) -> Array:
        """The reward that is being raised: a row's, or a finished episode's where rows are segments."""
        return self.get("reward_mean" if self.config.batch.segment is None else "episode_return")

    @cached_property
    def progress(self) -> float:
        """Share of the way from the first rewards to the best possible one; NaN where no best is known."""
        best, start, now = ceiling(self.config), mean(self.reward[:3]), mean(self.reward[-RECENT:])
        if best is None or not np.isfinite([start, now]).all():
            return float("nan")
        return 1.0 if best - start <= 0.02 * abs(best) else (now - start) / (best - start)

    @property
    def solved(self) -> bool:
        """Nearly the best there is; what rules say of a run that still learns would be wrong of one that is done."""
        return bool(self.progress >= SOLVED)

    def gain(self, steps: int) -> tuple[float, float]:
        """(change, its standard error) of the mean reward from the `steps` before the last ones to the last ones."""
        late, before = finite(self.reward[-steps:]), finite(self.reward[-2 * steps : -steps])
        if min(len(late), len(before)) < 3:
            return float("nan"), float("nan")
        error = np.sqrt(late.var(ddof=1) / len(late) + before.var(ddof=1) / len(before))
        return float(late.mean() - before.mean()), float(error)

    def flat(self, rule: str, steps: int) -> bool:
        """The reward's change over the last two windows is within two standard errors (four once said), or downwards."""
        change, error = self.gain(steps)
        return bool(change <= (4 if rule in self.said else 2) * error)

    # ------------------------------------------------------------ settings

    def setting(self, name: str) -> Any:
        """A setting's value by name, None where this run has none of that name."""
        try:
            path = find_setting(self.config, name)
        except SettingError:
            return None
        found: Any = self.config
        for part in path:
            found = getattr(found, part)
        return found

    @property
    def passes(self) -> int:
        """Optimiser steps a batch."""
        return self.config.batch.epochs * self.config.batch.minibatches

    def calmer(self, *, at: int | None = None) -> Experiment:
        """A smaller step: bounds where there are none, fewer passes where there are many, else a smaller learning rate."""
        high = self.setting("eps_high")
        if high is not None and high > 2 and self.passes > 1:
            return Experiment({"eps_low": 0.2, "eps_high": 0.2}, "bound the ratio at 1 ± 0.2", at)
        epochs = self.config.batch.epochs
        if epochs > 4:
            return Experiment({"epochs": 4}, f"use each batch 4 times instead of {epochs}", at)
        lr = float(self.setting("lr"))
        return Experiment({"lr": nice(lr / 3)}, f"lower the learning rate from {lr:g} to {nice(lr / 3):g}", at)


def nice(x: float) -> float:
    """The nearest number of one or two significant digits."""
    return float(f"{x:.2g}")


def finite(x: Array) -> Array:
    found: Array = x[np.isfinite(x)]
    return found


def mean(x: Array) -> float:
    """Mean of the finite values; NaN where there is none."""
    kept = finite(x)
    return float(kept.mean()) if kept.size else float("nan")


def highest(x: Array) -> float:
    """The largest finite value; NaN where there is none."""
    kept = finite(x)
    return float(kept.max()) if kept.size else float("nan")


def rolled(x: Array, steps: int = RECENT) -> Array:
    """Trailing means over `steps` values, NaN counted as 0: [n] -> [n]."""
    filled = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
    total = np.concatenate([[0.0], filled.cumsum()])
    low = np.maximum(np.arange(1, len(x) + 1) - steps, 0)
    high = np.arange(1, len(x) + 1)
    return np.asarray((total[high] - total[low]) / (high - low))
