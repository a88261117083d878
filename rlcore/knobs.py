"""Knobs: every number a person may turn, declared once.

One declaration gives the default, the range, the symbol, the help, the source and whether a change applies to a
running run. The validator, sliders, URLs, the command line, the glossary and the exporters all read it.
This module draws no widget and knows no algorithm.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

Scale = Literal["linear", "log"]

MOST_FINDINGS = 12
SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 60
SHORT.maxlevel = 2


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
    at_least, at_most = low if math.isfinite(low) else None, high if math.isfinite(high) else None
    field: Any = Field(default, description=help, ge=at_least, le=at_most)
    field.metadata += [about, BeforeValidator(_not_a_truth_value)]
    return field


def _not_a_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")  # noqa: TRY004  pydantic reports ValueErrors
    return value


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


def explain(error: ValidationError, tree: Any = None) -> SettingError:
    """Pydantic's findings in the house's words, one line a finding: field, rule, value. At most a dozen lines.

    tree  what was validated; with it a field is named as `--set` names it, without the kinds on the way.
    """
    findings = error.errors(include_url=False)
    lines = [_explain_one(finding, tree) for finding in findings[:MOST_FINDINGS]]
    rest = [f"and {len(findings) - MOST_FINDINGS} more"] if len(findings) > MOST_FINDINGS else []
    return SettingError("\n".join(lines + rest))


def _explain_one(finding: Any, tree: Any) -> str:
    field, kind, context = _named(finding["loc"], tree), finding["type"], finding.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{field}: there is no such setting{_nearest(finding['loc'], tree)}"
    if kind == "missing":
        return f"{field}: is required"
    if kind == "union_tag_not_found":
        return f"{field}: must name its kind"
    if kind == "union_tag_invalid":
        return f"{field}: {_suggested(context['tag'], context['expected_tags'])}"
    rule = finding["msg"].removeprefix("Value error, ")
    rule = f"must be {rule.removeprefix('Input should be ')}" if rule.startswith("Input should be ") else rule
    return f"{field}{': ' if field else ''}{rule}{_got(finding['input'])}"


def _named(where: tuple[int | str, ...], tree: Any) -> str:
    path = []
    for part in where:
        if isinstance(tree, dict) and part not in tree and tree.get("kind") == part:
            continue
        path.append(str(part))
        tree = tree.get(part) if isinstance(tree, dict) else None
    return ".".join(path)


def _nearest(where: tuple[int | str, ...], tree: Any) -> str:
    """The nearest names among the settings of the value in which an unknown one was given."""
    for part in where[:-1]:
        tree = tree.get(part, tree) if isinstance(tree, dict) else None
    kind = tree.get("kind", "run") if isinstance(tree, dict) else None
    near = difflib.get_close_matches(str(where[-1]), _settings_of_kind(kind, Value), n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _settings_of_kind(kind: Any, base: type[BaseModel]) -> set[str]:
    own = base.model_fields.get("kind")
    found = set(base.model_fields) if own is not None and own.default == kind else set()
    return found.union(*(_settings_of_kind(kind, each) for each in base.__subclasses__()))


def _suggested(tag: str, expected: str) -> str:
    known = expected.replace("'", "").split(", ")
    near = difflib.get_close_matches(tag, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "known:"
    return f"there is no kind {tag!r}; {hint} ({', '.join(known)})"


def _got(value: Any) -> str:
    """What was given, cut to a length a person reads; nothing for a whole model or tree."""
    if isinstance(value, dict | BaseModel):
        return ""
    try:
        return f", got {SHORT.repr(value)}"
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f", got {type(value).__name__} beyond any range"
