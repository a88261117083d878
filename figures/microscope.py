"""The pictures of the step-through: what `rlcore.microscope.picturing` and `mapping` hold, drawn.

Every mark's customdata is its code, so that a click selects its row and token. The selected one has a ring or a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from figures.drawing import SCALE, Drawing
from figures.plate import Plate
from figures.theme import Mode

if TYPE_CHECKING:
    from rlcore.microscope.mapping import Map
    from rlcore.microscope.picturing import AlongRow, Curve, Distribution, Group, Terms

HEIGHT = 320
MOST_LABELS = 40
DASHES: tuple[Any, ...] = ("solid", "dash", "dot")


def distribution(found: Distribution, *, title: str) -> Plate:
    """Probabilities of every action, one bar a policy."""
    places = np.arange(len(found.names))

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        paints, hatches = (d.color.better, d.color.mark, d.color.worse), ("", "/", "x")
        for n, (label, p) in enumerate(found.series):
            d.bars(places, p, label, color=paints[n], hatch=hatches[n], hover=f"{label}(%{{x}}) = %{{y:.4f}}")
        d.area(found.chosen - 0.5, found.chosen + 0.5, color=d.color.mark)
        d.note(found.chosen, max(float(p[found.chosen]) for _, p in found.series), "drawn")
        d.x("action", tickvals=places.tolist(), ticktext=list(found.names))
        d.y("probability", rangemode="tozero")
        return d.figure(height=HEIGHT, legend=len(found.series) > 1)

    drawn = found.names[found.chosen]
    told = "; ".join(f"{label} gives {drawn} {p[found.chosen]:.4f}" for label, p in found.series)
    table = {"action": list(found.names)} | {label: p.tolist() for label, p in found.series}
    return Plate("microscope-distribution", title, draw, f"Drawn was {drawn}: {told}.", table)


def group(found: Group, *, title: str) -> Plate:
    """A group's scores, and below them what became of them."""
    judged = bool(np.isfinite(found.advantages).any())
    places = np.arange(len(found.rows))

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=(0.5, 0.5) if judged else (1.0,))
        above = found.scores >= found.baseline if judged else np.ones(len(places), bool)
        paint = [d.color.better if up else d.color.worse for up in above] if judged else [d.color.mark] * len(places)
        d.bars(places, found.scores, "score", color=paint, data=found.codes, legend=False, hover="row %{text}: score %{y:.4g}")
        d.traces[-1]["text"] = (found.rows + 1).tolist()
        d.traces[-1]["textposition"] = "none"
        if judged:
            d.line(places, found.baseline, "baseline", dash="dash", width=2, hover="baseline %{y:.4g}")
            d.bars(places, found.advantages, "advantage", color=paint, data=found.codes, row=2, legend=False,
                   hover="row %{text}: A = %{y:+.4g}")  # fmt: skip
            d.traces[-1] |= {"text": (found.rows + 1).tolist(), "textposition": "none"}
            d.y("advantage", row=2)
        for row in range(1, d.rows + 1):
            d.area(found.chosen - 0.5, found.chosen + 0.5, color=d.color.mark, row=row)
        d.y("score")
        d.x("row", **_ticks(places, [str(r + 1) for r in found.rows]))
        return d.figure(height=HEIGHT + 40 * judged)

    mine = found.chosen
    told = f"Row {found.rows[mine] + 1} scored {found.scores[mine]:.4g}; the group's scores run from {found.scores.min():.4g} to {found.scores.max():.4g}."
    if judged:
        told += f" Against a baseline of {found.baseline[mine]:.4g} its advantage is {found.advantages[mine]:+.4g}."
    table = {"row": (found.rows + 1).tolist(), "score": found.scores.tolist()}
    if judged:
        table |= {"baseline": found.baseline.tolist(), "advantage": found.advantages.tolist()}
    return Plate("microscope-group", title, draw, told + " Click a bar to select its row.", table)


def along_row(found: AlongRow, *, title: str) -> Plate:
    """A row's tokens in order."""
    places, (label, height), unit = np.arange(len(found.names)), found.bars, found.unit
    numbers = [str(n) for n in found.numbers]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        paint = [d.color.better if h >= found.base else d.color.worse for h in height]
        d.bars(places, height - found.base, label, color=paint, data=found.codes, legend=False,
               hover=f"{unit} %{{x}}: {label} %{{text}}")  # fmt: skip
        d.traces[-1] |= {"base": found.base, "text": [f"{h:.5g}" for h in height], "textposition": "none"}
        for n, (name, y) in enumerate(found.lines):
            d.line(places, y, name, dash=DASHES[n % 3], width=2, hover=f"{name} %{{y:.5g}}", marks=len(places) == 1)
        if found.band:
            d.band(*found.band, along="y")
        if found.dead.any():
            d.marks(places[found.dead], height[found.dead], "no gradient", symbol="x", color=d.color.dead, size=10,
                    data=found.codes[found.dead], hover="no gradient")  # fmt: skip
        d.area(found.chosen - 0.5, found.chosen + 0.5, color=d.color.mark)
        d.y(label)
        d.x(unit, range=[-0.6, len(places) - 0.4], zeroline=False, **_ticks(places, found.names if len(places) <= MOST_LABELS and unit != "row" else numbers))
        return d.figure(height=HEIGHT, legend=bool(found.lines) or bool(found.dead.any()))

    mine = f"{height[found.chosen]:.4g}" if np.isfinite(height[found.chosen]) else "not in this update"
    told = f"{label[:1].upper()}{label[1:]} of {unit} {numbers[found.chosen]} ({found.names[found.chosen]}): {mine}."
    seen = height[np.isfinite(height)]
    if len(seen) > 1:
        told += f" All of them run from {seen.min():.4g} to {seen.max():.4g}."
    if found.dead.any():
        told += f" {int(found.dead.sum())} of {len(places)} have no gradient."
    table = {unit: found.numbers.tolist(), "name": list(found.names), label: height.tolist()}
    table |= {name: y.tolist() for name, y in found.lines}
    return Plate("microscope-row", title, draw, told + f" Click a bar to select its {unit}.", table)


def curve(found: Curve, *, title: str) -> Plate:
    """A curve and the tokens on it."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        if found.band:
            d.band(*found.band)
        for n, (label, x, y) in enumerate(found.curves):
            d.line(x, y, label, color=(d.color.better, d.color.worse)[n % 2] if len(found.curves) > 1 else d.color.mark,
                   dash=DASHES[n % 3], width=2, hover=f"{label}: %{{y:.4g}} at %{{x:.4g}}")  # fmt: skip
        for flags, symbol, color, name in (
            (~found.dead, "circle-open", d.ink, "has a gradient"), (found.dead, "x", d.color.dead, "no gradient"),
        ):  # fmt: skip
            if flags.any():
                d.marks(found.x[flags], found.y[flags], name, symbol=symbol, color=color, size=9, data=found.codes[flags],
                        legend=bool(found.dead.any()), hover=f"{found.x_title} %{{x:.5g}}<br>{found.y_title} %{{y:.5g}}")  # fmt: skip
        if found.chosen >= 0:
            n = found.chosen
            d.marks([found.x[n]], [found.y[n]], "selected", symbol="diamond", color=d.color.better if found.y[n] >= 0 else d.color.worse,
                    size=15, opacity=1, data=[int(found.codes[n])], hover="selected: %{x:.5g}, %{y:.5g}")  # fmt: skip
        d.x(found.x_title)
        d.y(found.y_title)
        return d.figure(height=HEIGHT + 20)

    told = f"{len(found.x)} marks, {int(found.dead.sum())} without a gradient."
    if found.chosen >= 0:
        told = f"The selected one is at {found.x_title} {found.x[found.chosen]:.5g}, {found.y_title} {found.y[found.chosen]:.4g}. " + told
    table = {found.x_title: found.x.tolist(), found.y_title: found.y.tolist(), "no gradient": found.dead.tolist()}
    return Plate("microscope-curve", title, draw, told + " Click a mark to select it.", table)


def terms(found: Terms, *, title: str) -> Plate:
    """The parts of the loss and their sum."""
    places = np.arange(len(found.names))

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        paint = [d.color.worse if v > 0 else d.color.better for v in found.values[:-1]] + [d.color.mark]
        d.bars(places, found.values, "part of the loss", color=paint, legend=False, hover="%{x}: %{y:+.5g}")
        d.x("", tickvals=places.tolist(), ticktext=list(found.names))
        d.y("loss")
        return d.figure(height=HEIGHT, legend=False)

    told = ", ".join(f"{name} {v:+.4g}" for name, v in zip(found.names, found.values, strict=True))
    return Plate("microscope-loss", title, draw, f"The loss and its parts: {told}.",
                 {"part": list(found.names), "value": found.values.tolist()})  # fmt: skip


def batch(found: Map, *, title: str) -> Plate:
    """The whole batch: a cell a token, colored by this phase's number; click to select."""
    values, rows = found.values, np.arange(len(found.rows))
    columns = np.arange(values.shape[1])
    low, high = _limits(values, found.middle)

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.heat(values, x=columns, y=rows, title=found.title, hover="%{text}", low=low, high=high, scale=_scale(d, found.middle))
        d.traces[-1] |= {
            "customdata": found.codes.tolist(), "text": _said(found), "hoverongaps": False,
            "xgap": 1 if len(columns) <= 64 else 0, "ygap": 1 if len(rows) <= 48 else 0,
        }  # fmt: skip
        y, x = found.chosen
        place = {"xref": "x", "yref": "y", "x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y + 0.5}
        across = place | {"x0": -0.5, "x1": columns[-1] + 0.5}
        if found.across != "place in its line":
            d.shapes.append({"type": "rect", **across, "line": {"color": d.ink, "width": 1}})
        d.shapes.append({"type": "rect", **place, "line": {"color": d.ink, "width": 2.5}})
        tall = int(min(max(190, 120 + 14 * len(rows)), 440))
        d.traces[-1]["colorbar"]["y"] = -52 / (tall - 112)
        bare = {"zeroline": False, "showgrid": False}
        d.x(found.across, range=[-0.5, columns[-1] + 0.5], **_ticks(columns, [str(c + 1) for c in columns], 16), **bare)
        d.y("row", **_ticks(rows, found.rows, 16), autorange="reversed", **bare)
        return d.figure(height=tall, legend=False, margin={"l": 62, "r": 12, "t": 14, "b": 98})

    seen = values[np.isfinite(values)]
    span = f"from {seen.min():.4g} to {seen.max():.4g}" if len(seen) else "nowhere to be had"
    told = f"{found.title[:1].upper()}{found.title[1:]} on all {len(seen)} places of the batch, {span}. Click a cell to select its row and {found.across}."
    place = np.argwhere(np.isfinite(values))
    table = {"row": [found.rows[r] for r, _ in place], found.across: (place[:, 1] + 1).tolist(), found.title: seen.tolist()}
    return Plate("microscope-batch", title, draw, told, table)


def _limits(values: np.ndarray, middle: float | None) -> tuple[float | None, float | None]:
    """Symmetric around the middle, so that the two colors mean the two sides."""
    seen = values[np.isfinite(values)]
    if middle is None or not len(seen):
        return None, None
    reach = max(float(np.abs(seen - middle).max()), 1e-9)
    return middle - reach, middle + reach


def _scale(d: Drawing, middle: float | None) -> list[list[Any]]:
    page = d.color.heat[0]
    if middle is None:
        return [[0, SCALE[d.mode][0]], [0.5, SCALE[d.mode][1]], [1, SCALE[d.mode][2]]]
    return [[0, d.color.worse], [0.5, page], [1, d.color.better]]


def _said(found: Map) -> list[list[str]]:
    return [
        [f"row {row}, {found.across} {n + 1}<br>{found.title} {v:.5g}" if np.isfinite(v) else "" for n, v in enumerate(line)]
        for row, line in zip(found.rows, found.values, strict=True)
    ]


def _ticks(places: np.ndarray, names: Sequence[str], most: int = MOST_LABELS) -> dict[str, Any]:
    """A label at every place, or at evenly spaced ones where there are many."""
    every = max(1, -(-len(places) // most))
    shown = places[::every]
    return {"tickvals": shown.tolist(), "ticktext": [names[int(n)] for n in shown]}

