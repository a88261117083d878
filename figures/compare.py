"""Arms over seeds: mean with its interval and single runs, paired differences against the first arm, where each ended.

Reads `Lines`, already smoothed and on one axis; nothing here averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from figures.drawing import SHADES, Drawing
from figures.plate import Plate
from figures.theme import Dash, Look, Marker, Mode

MOST_RUNS = 16  # faint lines of an arm; more would be one gray area, and slow
MOST_POINTS = 220
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot", "dashdot", "longdash", "dash")
MARKERS: tuple[Marker, ...] = ("circle", "square", "diamond", "triangle-up", "x", "star")


@dataclass(frozen=True)
class Line:
    """One arm: mean, low and high [G] at x [G]; single runs [G, seeds] smoothed; raw [G], the mean before smoothing.

    n  seeds that are still there, [G]
    """

    label: str
    look: Look
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    runs: np.ndarray
    raw: np.ndarray


@dataclass(frozen=True)
class Axes:
    """Names: of the metric (its glossary name and what stands at the axis) and of the x axis."""

    metric: str
    title: str
    x: str
    smoothing: float


def shade(place: int, label: str) -> Look:
    """How the place-th value of one setting is drawn."""
    light, dark = (SHADES[mode][place % 6] for mode in ("light", "dark"))
    return Look(f"value{place}", label, light, dark, DASHES[place % 6], MARKERS[place % 6])


def curves(lines: Sequence[Line], axes: Axes, *, single: bool) -> Plate:
    """Mean with 95 % interval; with `single`, some runs faint behind; where smoothed, the raw mean thin."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for line in lines:
            at, paint = _thin(line.x), line.look.color(mode)
            if single and line.runs.shape[1] > 1:
                x, y = _strung(line.x[at], line.runs[at][:, : _shown(line)])
                d.line(x, y, f"{line.label}, single runs", color=paint, width=0.8, opacity=0.28, legend=False, group=line.label)
            if not np.isnan(line.low[at]).all():
                good = at[~np.isnan(line.low[at])]
                d.ribbon(line.x[good], line.low[good], line.high[good], line.label, color=paint)
            if axes.smoothing > 0:
                d.line(line.x[at], line.raw[at], f"{line.label}, raw", color=paint, width=0.9, opacity=0.5, legend=False, group=line.label)
        for line in lines:
            at = _thin(line.x)
            hover = f"{line.label}: %{{y:.4g}} at %{{x:.4g}}"
            d.line(line.x[at], line.mean[at], line.label, look=line.look, hover=hover)
            few = at[np.linspace(0, len(at) - 1, 7).round().astype(int)[1:]]
            d.marks(line.x[few], line.mean[few], line.label, color=line.look.color(mode), symbol=line.look.marker, size=7, legend=False, group=line.label, hover=hover)
        d.y(axes.title)
        d.x(axes.x)
        return d.figure(height=440)

    return Plate("comparison", f"{axes.title}: {', '.join(line.label for line in lines)}", draw, _said(lines, axes), _table(lines, axes))


def differences(first: str, lines: Sequence[Line], axes: Axes) -> Plate:
    """Each other arm minus the first, seed by seed: mean with 95 % interval around a line at 0."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.across(0.0, along="y", dash="dash")
        for line in lines:
            at, paint = _thin(line.x), line.look.color(mode)
            good = at[~np.isnan(line.low[at])]
            if good.size:
                d.ribbon(line.x[good], line.low[good], line.high[good], line.label, color=paint)
            label = f"{line.label} − {first}"
            d.line(line.x[at], line.mean[at], label, look=line.look, hover=f"{label}: %{{y:+.4g}} at %{{x:.4g}}")
        d.y(f"difference of {axes.title}")
        d.x(axes.x)
        return d.figure(height=340)

    said = []
    for line in lines:
        mean, low, high = line.mean[-1], line.low[-1], line.high[-1]
        sure = "no interval with one seed" if np.isnan(low) else f"95 % interval {low:+.4g} to {high:+.4g}, which {'excludes' if low > 0 or high < 0 else 'includes'} 0"
        said.append(f"{line.label} minus {first} at the end: {mean:+.4g} ({sure})")
    title = f"Difference of {axes.title} from {first}"
    return Plate("comparison-differences", title, draw, f"{'; '.join(said)}.", _table(lines, axes))


def _said(lines: Sequence[Line], axes: Axes) -> str:
    parts = []
    for line in lines:
        half = (line.high[-1] - line.low[-1]) / 2
        sure = "" if np.isnan(half) else f" ± {half:.2g}"
        parts.append(f"{line.label} {line.mean[-1]:.4g}{sure} ({int(line.n[-1])} seed{'s' if line.n[-1] != 1 else ''})")
    return f"{axes.title} at the end, mean and 95 % interval: {'; '.join(parts)}."


def _table(lines: Sequence[Line], axes: Axes) -> dict[str, np.ndarray | list[str]]:
    names = [line.label for line in lines for _ in line.x]
    columns = {
        axes.x: [line.x for line in lines], "mean": [line.mean for line in lines], "low 95 %": [line.low for line in lines],
        "high 95 %": [line.high for line in lines], "raw mean": [line.raw for line in lines], "seeds": [line.n for line in lines],
    }  # fmt: skip
    return {"arm": names} | {name: np.concatenate(parts) for name, parts in columns.items()}


def _thin(x: np.ndarray) -> np.ndarray:
    """Indices of at most MOST_POINTS points, evenly spread, both ends among them."""
    return np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))


def _shown(line: Line) -> int:
    return min(MOST_RUNS, int(line.runs.shape[1]))


def _strung(x: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Several curves as one trace: a gap (NaN) after each."""
    gap = np.full((1, runs.shape[1]), np.nan)
    return np.tile(np.append(x, np.nan), runs.shape[1]), np.concatenate([runs, gap]).T.reshape(-1)
