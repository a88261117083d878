"""A story: a claim about training, a prediction to make, and a check read off the run's own numbers when it gets there.

A check is data: outcomes with conditions on means, maxima and minima of metric columns. It is evaluated on whatever the
run measured, so a changed setting changes the outcome. This module runs nothing and stores no result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, StringConstraints, model_validator

from rlcore.config import RunConfig
from rlcore.knobs import SettingError, Value
from rlcore.presets import preset

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]
Columns = Mapping[str, Any]
"""Metric columns by name, one value a step, in order."""

OFTEN = 0.8
"""A claim holds where each arm came out as it says in at least this share of the seeds."""


class Measure(Value):
    """One number of a run: mean, largest or smallest of a column over its first, last or all steps."""

    column: str
    over: Literal["first", "last", "all"] = "last"
    steps: int = Field(10, ge=1, le=1000)
    take: Literal["mean", "largest", "smallest"] = "mean"

    def __call__(self, columns: Columns) -> float:
        """NaN where the column is missing or has no finite value there."""
        values = np.asarray(columns.get(self.column, ()), dtype=float)
        part = {"first": values[: self.steps], "last": values[-self.steps :], "all": values}[self.over]
        part = part[np.isfinite(part)]
        if not part.size:
            return math.nan
        return float({"mean": part.mean(), "largest": part.max(), "smallest": part.min()}[self.take])

    @property
    def words(self) -> str:
        """"reward mean over the last 10 updates"."""
        name = self.column.replace("_", " ")
        where = "all updates" if self.over == "all" else f"the {self.over} {self.steps} updates"
        return f"{name} over {where}" if self.take == "mean" else f"{self.take} {name} of {where}"


class Condition(Value):
    """The measure lies at or above one bound, below another; with `minus`, its difference to another measure does."""

    measure: Measure
    minus: Measure | None = None
    at_least: float | None = None
    below: float | None = None

    def value(self, columns: Columns) -> float:
        return self.measure(columns) - (self.minus(columns) if self.minus is not None else 0.0)

    def holds(self, columns: Columns) -> bool:
        value = self.value(columns)
        above = self.at_least is None or value >= self.at_least
        return math.isfinite(value) and above and (self.below is None or value < self.below)

    def told(self, columns: Columns) -> str:
        """The measured number and the bounds it was held against."""
        bounds = [f"at least {self.at_least:g}"] if self.at_least is not None else []
        bounds += [f"below {self.below:g}"] if self.below is not None else []
        words = self.measure.words if self.minus is None else f"{self.measure.words} minus {self.minus.words}"
        return f"{words}: {self.value(columns):.3g} ({' and '.join(bounds)})"


class Outcome(Value):
    """One way the run can end, as a choice to predict; the first outcome whose conditions all hold is what happened."""

    key: Name
    says: str
    when: tuple[Condition, ...] = ()


class Arm(Value):
    """The run with some settings of its own, the outcome the claim expects of it, and in which share of the seeds."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    expects: Name
    share: float = Field(OFTEN, gt=0, le=1)


class Story(Value):
    """name in the address; claim; question; `because` is told after the check. `arms[0]` is the run that opens.

    settings  by dotted or short name, for every arm · steps  when the check is due · rate  updates a second to watch
    """

    name: Name
    title: str
    recipe: str
    env: str
    seed: int = 0
    settings: dict[str, Any] = Field(default_factory=dict)
    steps: int = Field(ge=10, le=1000)
    rate: float = Field(10.0, gt=0, le=1000)
    claim: str
    question: str
    outcomes: tuple[Outcome, ...] = Field(min_length=2)
    arms: tuple[Arm, ...] = Field(min_length=1)
    because: str
    source: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Story:
        if self.outcomes[-1].when:
            raise ValueError(f"{self.name}: the last outcome must be what happens otherwise, without conditions")
        keys = {outcome.key for outcome in self.outcomes}
        missing = [arm.expects for arm in self.arms if arm.expects not in keys]
        if missing:
            raise ValueError(f"{self.name}: no outcome is called {missing[0]!r}")
        return self

    def arm(self, name: str = "") -> Arm:
        """The arm by name, the first by default. Raises SettingError."""
        for arm in self.arms:
            if name in ("", arm.name):
                return arm
        raise SettingError(f"arm: must be one of {', '.join(arm.name for arm in self.arms)}, got {name[:60]!r}")

    def config(self, arm: str = "", *, seed: int | None = None) -> RunConfig:
        """The run of one arm."""
        wanted = self.settings | self.arm(arm).settings
        return preset(self.recipe, self.env, self.seed if seed is None else seed).with_settings(wanted)

    def check(self, columns: Columns) -> Ending:
        """What happened, judged by the columns alone."""
        for outcome in self.outcomes[:-1]:
            if all(condition.holds(columns) for condition in outcome.when):
                return Ending(outcome, "; ".join(c.told(columns) for c in outcome.when))
        looked = dict.fromkeys(c.told(columns) for outcome in self.outcomes for c in outcome.when)
        return Ending(self.outcomes[-1], "; ".join(looked))


@dataclass(frozen=True)
class Ending:
    """The outcome and the numbers that decided it."""

    outcome: Outcome
    evidence: str


def last(column: str, steps: int = 10) -> Measure:
    """Mean over the last steps."""
    return Measure(column=column, steps=steps)


def first(column: str, steps: int = 5) -> Measure:
    """Mean over the first steps."""
    return Measure(column=column, over="first", steps=steps)


def largest(column: str) -> Measure:
    """The largest value of the whole run."""
    return Measure(column=column, over="all", take="largest")


def overall(column: str) -> Measure:
    """The mean of the whole run."""
    return Measure(column=column, over="all")


def at_least(measure: Measure, bound: float, *, minus: Measure | None = None) -> Condition:
    return Condition(measure=measure, minus=minus, at_least=bound)


def below(measure: Measure, bound: float, *, minus: Measure | None = None) -> Condition:
    return Condition(measure=measure, minus=minus, below=bound)
