"""Knobs: every number a person may turn, declared once.

One declaration gives the default, the range, the symbol, the help, the source and whether a change applies to a
running run. The validator, sliders, URLs, the command line, the glossary and the exporters all read it.
This module draws no widget and knows no algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Knob:
    """What is known about one number: `low` to `high` is what is *legal*, `suggested` what a slider offers."""

    symbol: str
    help: str
    low: float
    high: float
    suggested: tuple[float, float]
    scale: Scale
    live: bool
    source: str
    unit: str


def knob(
    default: Any,
    symbol: str,
    low: float,
    high: float,
    help: str,
    *,
    suggested: tuple[float, float] | None = None,
    scale: Scale = "linear",
    live: bool = True,
    source: str = "",
    unit: str = "",
) -> Any:
    """Declare a model field that is a number within [low, high]; `live` says whether a running run may change it."""
    about = Knob(symbol, help, low, high, suggested or (low, high), scale, live, source, unit)
    bounds = {"ge": low if math.isfinite(low) else None, "le": high if math.isfinite(high) else None}
    field = Field(default, description=help, **bounds)
    field.metadata.append(about)
    return field


class Value(BaseModel):
    """A frozen, validated, printable, hashable, serialisable value: the base of every slot and every config.

    Unknown fields, infinities and NaN are refused. Raises pydantic's ValidationError (a ValueError).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    def __repr_args__(self) -> Any:
        return [(name, value) for name, value in super().__repr_args__() if name != "kind"]

    def __str__(self) -> str:
        return repr(self)


def knobs_of(model: type[BaseModel]) -> dict[str, Knob]:
    """The knobs a model declares, by field name, in order of declaration."""
    found = {name: next((m for m in f.metadata if isinstance(m, Knob)), None) for name, f in model.model_fields.items()}
    return {name: about for name, about in found.items() if about is not None}


class SettingError(ValueError):
    """A setting was refused. The message names the field, the rule and the value, and what would be right."""


def explain(error: ValidationError) -> SettingError:
    """Pydantic's findings in the house's words, one line a finding: field, rule, value."""
    return SettingError("\n".join(_explain_one(error.title, finding) for finding in error.errors()))


def _explain_one(title: str, finding: Any) -> str:
    field = ".".join(str(part) for part in finding["loc"]) or title
    rule = finding["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    rule = f"must be {rule}" if finding["msg"].startswith("Input should be ") else rule
    if finding["type"] == "extra_forbidden":
        return f"{field}: there is no such setting"
    if finding["type"] == "missing":
        return f"{field}: is required"
    return f"{field}: {rule}, got {finding['input']!r}" if not isinstance(finding["input"], dict) else f"{field}: {rule}"
