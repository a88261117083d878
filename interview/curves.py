"""Curves of the "read these curves" cards: trained ahead by `python -m interview curves`, shipped, and read back here.

A file says which specification it was made from. One whose card has changed since is refused, so no card can show the
curves of another run. Reading needs no engine; `runs.card_curves` makes the numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from interview.bank import FOLDER
from interview.links import Name
from interview.schema import ReadCurves
from interview.values import Frozen, Slug

Curve = NDArray[np.float64]
CURVES = FOLDER / "curves"
COMMAND = "python -m interview curves"
DIGITS = 7  # what float32 holds

AXES: Mapping[str, str] = MappingProxyType(
    {
        "reward_mean": "mean return",
        "loss": "loss",
        "advantage_std": "advantages (std)",
        "dead_group_fraction": "dead groups (share)",
        "clip_fraction": "gradient removed (share)",
        "clip_fraction_outside": "outside the band (share)",
        "approx_kl": "KL old → new (nats)",
        "ratio_max": "largest ratio",
        "kl_ref": "KL to reference (nats)",
        "kl_ref_exact": "KL to reference (nats, exact)",
        "entropy": "entropy (nats)",
    }
)
"""What stands on a metric's axis."""


class CurvesError(ValueError):
    """A card's curves are missing, damaged, or of another specification; the message says which and what to run."""


class Stored(Frozen):
    """One card's curves: by run label, then by metric, a value after each step (None where none was reported)."""

    card: Slug
    command: Literal["python -m interview curves"]
    versions: dict[str, str]
    made_of: str
    curves: dict[str, dict[Name, tuple[float | None, ...]]] = Field(min_length=1)


def made_of(card: ReadCurves) -> str:
    """A short name for exactly these runs and metrics."""
    text = json.dumps([[run.model_dump(mode="json") for run in card.runs], card.metrics], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def path_of(card: ReadCurves, folder: Path = CURVES) -> Path:
    """Where a card's curves lie."""
    return folder / f"{card.id}.json"


def write(
    card: ReadCurves, curves: Mapping[str, Mapping[str, Iterable[float]]], *, versions: Mapping[str, str],
    folder: Path = CURVES,
) -> Path:  # fmt: skip
    """Keep a card's curves; returns the file."""
    plain = {
        label: {name: tuple(_rounded(float(x)) for x in curve) for name, curve in run.items()}
        for label, run in curves.items()
    }
    stored = Stored(
        card=card.id, command="python -m interview curves", versions=dict(versions), made_of=made_of(card), curves=plain
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(card, folder)
    path.write_text(stored.model_dump_json() + "\n", encoding="utf-8")
    return path


def read(card: ReadCurves, folder: Path = CURVES) -> Mapping[str, Mapping[str, Curve]]:
    """A card's curves, by label and metric, each [steps] with NaN where none was reported. Raises CurvesError."""
    path = path_of(card, folder)
    try:
        stored = Stored.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CurvesError(f"{path.name}: {error.strerror}; {COMMAND} {card.id} makes it") from error
    except ValidationError as error:
        raise CurvesError(f"{path.name}: not a file of curves ({error.error_count()} problems in it)") from error
    if stored.card != card.id or stored.made_of != made_of(card):
        raise CurvesError(
            f"{path.name}: made from another specification of {card.id}; {COMMAND} {card.id} makes it anew"
        )
    found = {
        label: {name: np.array([np.nan if x is None else x for x in curve]) for name, curve in run.items()}
        for label, run in stored.curves.items()
    }
    if set(found) != {run.label for run in card.runs} or any(set(run) != set(card.metrics) for run in found.values()):
        raise CurvesError(f"{path.name}: runs or metrics of {card.id} are missing in it")
    return MappingProxyType(found)


def _rounded(x: float) -> float | None:
    return float(f"{x:.{DIGITS}g}") if np.isfinite(x) else None
