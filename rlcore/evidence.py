"""Evidence: values measured on this engine over seeds, and what they say about one claim.

Stored are the values, a number per arm and seed, and the command that made them. Means, intervals and the verdict are
worked out from the values whenever they are read. This module runs nothing, and takes nobody's word for a verdict.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, StringConstraints, ValidationError, model_validator
from scipy.special import stdtrit

from rlcore.knobs import SettingError, Value, explain

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "evidence"
LEVEL = 0.95
NOTHING = 0.01  # of the larger of two means: what lies closer to 0 is practically nothing

Verdict = Literal["supported", "not shown", "contradicted"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class Setup(Value):
    """How one arm was run: a preset by recipe and environment, what was changed in it, and for how many steps.

    overrides  dotted settings as `--set` and the lab's URL take them, or a whole slot's value; empty: the preset itself
    """

    recipe: str
    env: str
    steps: int = Field(0, ge=0, description="training steps; 0: the start of the run")
    overrides: dict[str, float | str | None | dict[str, float | str]] = Field(default_factory=dict)


class Comparison(Value):
    """`arm` minus `minus`, seed by seed, and where the claim says the difference lies.

    direction  above: greater than 0 · below: less than 0 · within: no farther from 0 than `margin`
    says       what this comparison is about, where it is not the claim itself
    """

    arm: Label
    minus: Label
    direction: Literal["above", "below", "within"] = "above"
    margin: float = Field(0.0, ge=0)
    says: str = ""

    @model_validator(mode="after")
    def _has_a_margin(self) -> Comparison:
        if (self.direction == "within") != (self.margin > 0):
            raise ValueError("margin goes with direction 'within', and with no other")
        return self

    @property
    def rule(self) -> str:
        """When the verdict is which, in words."""
        return (
            f"the 95 % interval of the paired difference lies within ±{self.margin:g}"
            if self.direction == "within"
            else f"the 95 % interval of the paired difference lies {self.direction} 0"
        )


@dataclass(frozen=True)
class Interval:
    """Mean of n values and its 95 % t-interval; low = high = mean where all values are equal."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


class Evidence(Value):
    """One claim and the values measured for it.

    measure   what the number of a seed is, in one sentence · unit  its unit, "" for a bare number
    arms      a value a seed, in the order of `seeds` · settings  how each arm was run
    comparison  the one that decides the claim; none: the values only describe · further  others worth reading
    caveat    what these runs cannot show
    """

    name: Name
    claim: Sentence
    measure: Sentence
    unit: str = Field("", max_length=40)
    command: str = Field(min_length=1, max_length=200)
    versions: dict[str, str] = Field(min_length=1)
    settings: dict[Label, Setup]
    seeds: tuple[int, ...] = Field(min_length=1)
    arms: dict[Label, tuple[float, ...]] = Field(min_length=1)
    comparison: Comparison | None = None
    further: tuple[Comparison, ...] = ()
    caveat: str = Field("", max_length=400)

    @model_validator(mode="after")
    def _fits_together(self) -> Evidence:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("seeds: each may stand once")
        if set(self.settings) != set(self.arms):
            raise ValueError(f"settings: must name the arms {', '.join(self.arms)}, got {', '.join(self.settings)}")
        for arm, values in self.arms.items():
            if len(values) != len(self.seeds):
                raise ValueError(f"arms.{arm}: must hold one value a seed ({len(self.seeds)}), got {len(values)}")
        for each in self.comparisons:
            for side in (each.arm, each.minus):
                if side not in self.arms:
                    raise ValueError(f"comparison: there is no arm {side!r}; arms: {', '.join(self.arms)}")
        if self.comparisons and len(self.seeds) < 2:
            raise ValueError("seeds: a comparison needs at least two")
        return self

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The deciding one first."""
        return (*((self.comparison,) if self.comparison else ()), *self.further)

    def mean(self, arm: str) -> Interval:
        """An arm's mean over seeds with its interval."""
        return interval(self.arms[arm])

    def difference(self, comparison: Comparison) -> Interval:
        """Mean paired difference over seeds with its interval."""
        pairs = zip(self.arms[comparison.arm], self.arms[comparison.minus], strict=True)
        return interval(tuple(a - b for a, b in pairs))

    def practically_nothing(self, comparison: Comparison) -> bool:
        """Whether the whole interval of the difference is smaller than 1 % of the larger of both means.

        A sure sign may belong to a difference that nobody would notice; a verdict alone does not tell.
        """
        found = self.difference(comparison)
        largest = max(abs(self.mean(comparison.arm).mean), abs(self.mean(comparison.minus).mean))
        return max(abs(found.low), abs(found.high)) < NOTHING * largest

    @property
    def verdict(self) -> Verdict | None:
        """What the deciding comparison says about the claim; none where nothing is compared."""
        return None if self.comparison is None else judge(self.comparison, self.difference(self.comparison))


def interval(values: tuple[float, ...]) -> Interval:
    """Mean and 95 % t-interval, `mean ± t(0.975, n - 1) * std(ddof=1) / sqrt(n)`. One value has no interval: NaN."""
    at, n = float(np.mean(values)), len(values)
    if n < 2:
        return Interval(at, math.nan, math.nan, n)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return Interval(at, at - half, at + half, n)


def judge(comparison: Comparison, found: Interval) -> Verdict:
    """The verdict by rule.

    above and below  supported: the interval excludes 0 on the claimed side · contradicted: on the other side
    within           supported: the whole interval lies within the margin · contradicted: it lies outside of it
    else             not shown
    """
    if comparison.direction == "within":
        if -comparison.margin <= found.low and found.high <= comparison.margin:
            return "supported"
        return "contradicted" if found.low > comparison.margin or found.high < -comparison.margin else "not shown"
    sign = 1 if comparison.direction == "above" else -1
    low, high = sorted((sign * found.low, sign * found.high))
    return "supported" if low > 0 else "contradicted" if high < 0 else "not shown"


def measured_with() -> Mapping[str, str]:
    """Versions of what determines the numbers."""
    return {"python": platform.python_version()} | {name: version(name) for name in ("torch", "numpy", "gymnasium")}


def names(folder: Path = FOLDER) -> tuple[str, ...]:
    """All evidence there is, by name."""
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


def load(name: str, folder: Path = FOLDER) -> Evidence:
    """Read and validate one file. Raises SettingError naming the field, the rule and the value."""
    path = folder / f"{name}.json"
    if name not in names(folder):
        raise SettingError(f"evidence: there is no {name!r}; there is {', '.join(names(folder)) or 'none'}")
    try:
        found = Evidence.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise explain(error) from error
    if found.name != name:
        raise SettingError(f"name: must be the file's, {name}, got {found.name}")
    return found


def save(evidence: Evidence, folder: Path = FOLDER) -> Path:
    """Write `<name>.json`; what is derived from the values is not stored."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{evidence.name}.json"
    path.write_text(evidence.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path
