"""Curves to read: one panel a metric, one line a stored run. The lines are named as the card names them, no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from figures.drawing import Drawing
from figures.plate import Plate
from figures.theme import Dash, Mode, look

Curve = NDArray[np.float64]
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot", "dashdot")
PANEL = 125  # pixels


@dataclass(frozen=True)
class Run:
    """One run as a card shows it: its label, the recipe it was trained with, and each metric after each step."""

    label: str
    recipe: str
    curves: Mapping[str, Curve]


def read_curves(
    runs: Sequence[Run], metrics: Sequence[str], names: Mapping[str, str], *, name: str, title: str
) -> Plate:
    """All metrics of a card's runs over the training step.

    names  metric -> what stands on its axis, with the unit
    Lines of the same recipe share its color and differ by dash; so do runs that a card wants told apart. Where curves
    lie on top of each other, the later one is dashed and the first wider, so both are seen.
    """

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=[1.0] * len(metrics))
        paints = _paints(runs, mode, d.ink)
        for row, metric in enumerate(metrics, start=1):
            for place, run in enumerate(runs):
                y = run.curves[metric]
                d.line(
                    np.arange(1, len(y) + 1), y, run.label, color=paints[place], dash=DASHES[place % 4], row=row,
                    width=3.4 if place == 0 and len(runs) > 1 else 2.2, legend=row == 1 and len(runs) > 1,
                    hover=f"{run.label}, after step %{{x}}<br>{names[metric]}: %{{y:.4g}}",
                )  # fmt: skip
            d.y(_two_lines(names[metric]), row=row, nticks=4, **_range(runs, metric))
        d.x("training step", rangemode="tozero")
        room = {"l": 96, "r": 12, "t": 14, "b": 46}
        return d.figure(height=PANEL * len(metrics) + 90, legend=len(runs) > 1, margin=room)

    longest = max(len(run.curves[metrics[0]]) for run in runs)
    table: dict[str, list[float]] = {"step": [float(step) for step in range(1, longest + 1)]}
    table |= {f"{run.label}: {m}": _padded(run.curves[m], longest) for run in runs for m in metrics}
    return Plate(name, title, draw, _told(runs, metrics, names), table)


def _paints(runs: Sequence[Run], mode: Mode, ink: str) -> list[str]:
    """The recipe's color for its first run; further runs of one recipe get the text color, told apart by dash."""
    several = len({run.recipe for run in runs}) > 1
    return [look(run.recipe).color(mode) if several or place == 0 else ink for place, run in enumerate(runs)]


def _range(runs: Sequence[Run], metric: str) -> dict[str, object]:
    """A flat curve gets room around it, so that rounding does not look like noise."""
    values = np.concatenate([run.curves[metric] for run in runs])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if high - low > 1e-5 * max(1.0, abs(high)):
        return {}
    return {"range": [low - 0.5, high + 0.5]}


def _two_lines(text: str) -> str:
    """An axis title with its unit on a line of its own, so that it fits a low panel."""
    return text.replace(" (", "<br>(")


def _padded(curve: Curve, length: int) -> list[float]:
    return [*map(float, curve), *[float("nan")] * (length - len(curve))]


def _told(runs: Sequence[Run], metrics: Sequence[str], names: Mapping[str, str]) -> str:
    """Start, extremes and end of every line in words: what the eye takes from it, and no explanation."""
    lines = []
    for metric in metrics:
        parts = []
        for run in runs:
            y = run.curves[metric][np.isfinite(run.curves[metric])]
            who = f"{run.label}: " if len(runs) > 1 else ""
            parts.append(
                f"{who}{_number(y[0])} at first, {_number(y[-1])} in the end, between {_number(y.min())} and {_number(y.max())}"
            )
        lines.append(f"{names[metric]}: " + "; ".join(parts))
    return ". ".join(lines) + "."


def _number(x: float) -> str:
    small = 0.0 if abs(x) < 1e-6 else float(x)
    return f"{small:.3g}".replace("-", "−")
