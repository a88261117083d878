"""A figure being written: lines, marks, bars, heat-maps and bands in the house's look, as plain dictionaries.

Plotly's own object interface costs a hundred milliseconds for a figure of ten traces; these dictionaries cost one, and
the result is a `go.Figure` all the same. Backgrounds are transparent, so a figure sits on the page in either theme.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from figures.theme import CUSTOM, LOOKS, MEANING, Dash, Look, Meaning, Mode

INK: dict[Mode, str] = {"light": "#22262B", "dark": "#E4E7EB"}
FONT = '"Source Sans", "Source Sans 3", sans-serif'
SCALE: dict[Mode, tuple[str, str, str]] = {
    "light": ("#F0E5C8", "#948E78", "#00224E"), "dark": ("#35456C", "#948E77", "#F0E442"),
}  # fmt: skip
"""From little to much: few colors, even in lightness, so that the weak fades into the page in either theme."""
SHADES: dict[Mode, tuple[str, ...]] = {
    "light": ("#3B4CC0", "#1F8A9E", "#4C8C2B", "#B07D00", "#C1521F", "#8E1B4C"),
    "dark": ("#8FA2FF", "#5CC9DC", "#93D36B", "#EBC24A", "#FF9864", "#EE7FB0"),
}
"""From the first to the sixth of several values of one setting: an order, not algorithms."""
GAP = 0.07  # between panels, as a share of the height
Values = Sequence[Any] | np.ndarray


class Drawing:
    """Add traces, then ask for the `figure`. Rows are panels on top of each other that share their x axis.

    heights  share of each panel, from the top; they need not add up to 1
    gap      between panels, as a share of the height
    """

    def __init__(self, mode: Mode, *, heights: Sequence[float] = (1.0,), gap: float = GAP) -> None:
        self.mode = mode
        self.gap = gap
        self.rows = len(heights)
        self.traces: list[dict[str, Any]] = []
        self.shapes: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}
        self._stack(heights)

    # ------------------------------------------------------------ colors

    @property
    def ink(self) -> str:
        """The color of text and neutral lines."""
        return INK[self.mode]

    @property
    def color(self) -> Meaning:
        """Colors that mean something by themselves: better, worse, dead, mark."""
        return MEANING[self.mode]

    # ------------------------------------------------------------ traces

    def line(
        self, x: Values, y: Values, name: str, *, look: Look | None = None, color: str = "", dash: Dash = "solid",
        width: float = 2.4, hover: str = "", row: int = 1, marks: bool = False, opacity: float = 1.0, group: str = "",
        legend: bool = True, step: bool = False, data: Values | None = None,
    ) -> None:  # fmt: skip
        """A line in an algorithm's look, or in a color and dash of its own; `marks` adds the look's marker."""
        paint = look.color(self.mode) if look else color or self.ink
        trace: dict[str, Any] = {
            "mode": "lines+markers" if marks else "lines", "x": x, "y": y, "opacity": opacity,
            "line": {"color": paint, "dash": look.dash if look else dash, "width": width},
        }  # fmt: skip
        if step:
            trace["line"]["shape"] = "hv"
        if marks:
            trace["marker"] = {"symbol": look.marker if look else "circle", "size": 7, "color": paint}
        self._add(trace, "scatter", name, hover, row, group, legend, data)

    def marks(
        self, x: Values, y: Values, name: str, *, color: str = "", symbol: str = "circle", size: float | np.ndarray = 8,
        opacity: float = 0.75, hover: str = "", row: int = 1, group: str = "", legend: bool = True,
        data: Values | None = None, text: Values | None = None,
    ) -> None:  # fmt: skip
        """Points. Shape as well as color tells kinds apart."""
        paint = color or self.ink
        marker = {
            "symbol": symbol,
            "color": paint,
            "size": size,
            "opacity": opacity,
            "line": {"width": 1.4, "color": paint},
        }
        trace: dict[str, Any] = {"mode": "markers", "x": x, "y": y, "marker": marker}
        if text is not None:
            trace |= {"mode": "markers+text", "text": text, "textposition": "top center"}
        self._add(trace, "scatter", name, hover, row, group, legend, data)

    def ribbon(
        self, x: np.ndarray, low: np.ndarray, high: np.ndarray, name: str, *, color: str, opacity: float = 0.18, row: int = 1
    ) -> None:  # fmt: skip
        """Shade what lies between two curves; it says nothing on hover and stands in no legend."""
        trace: dict[str, Any] = {
            "mode": "lines", "x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]), "fill": "toself",
            "fillcolor": color, "opacity": opacity, "line": {"width": 0, "color": color}, "hoverinfo": "skip",
        }  # fmt: skip
        self._add(trace, "scatter", name, "", row, name, False, None)
        del trace["hovertemplate"]

    def bars(
        self, x: Values, y: Values, name: str, *, look: Look | None = None, color: str | Sequence[str] = "",
        hatch: str = "", hover: str = "", row: int = 1, group: str = "", legend: bool = True, data: Values | None = None,
        opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """Bars side by side with other bars at the same x; `hatch` ("/", "x", …) tells them apart without color."""
        paint = look.color(self.mode) if look else color or self.ink
        marker: dict[str, Any] = {"color": paint}
        if hatch:
            marker["pattern"] = {"shape": hatch, "size": 6, "solidity": 0.35}
        self._add({"x": x, "y": y, "marker": marker, "opacity": opacity}, "bar", name, hover, row, group, legend, data)

    def heat(
        self, z: np.ndarray, *, x: Values, y: Values, title: str, hover: str = "", row: int = 1, low: float | None = None,
        high: float | None = None, scale: Sequence[Sequence[Any]] | None = None, text: Values | None = None,
    ) -> None:  # fmt: skip
        """A table of numbers as colors, first row on top."""
        trace: dict[str, Any] = {
            "z": z, "x": x, "y": y, "zmin": low, "zmax": high, "xgap": 1, "ygap": 1,
            "colorscale": scale or [[0, self.color.heat[0]], [1, self.color.heat[1]]],
            "colorbar": {
                "title": {"text": title, "side": "top", "font": {"color": self.ink}}, "orientation": "h", "y": -0.2,
                "yanchor": "top", "thickness": 10, "tickfont": {"color": self.ink},
            },
        }  # fmt: skip
        if text is not None:
            trace |= {"text": text, "texttemplate": "%{text}"}
        self._add(trace, "heatmap", title, hover, row, "", False, None)
        self.layout[f"yaxis{_number(row)}"]["autorange"] = "reversed"

    def _add(
        self, trace: dict[str, Any], kind: str, name: str, hover: str, row: int, group: str, legend: bool,
        data: Values | None,
    ) -> None:  # fmt: skip
        trace |= {"type": kind, "name": name, "xaxis": f"x{_number(row)}", "yaxis": f"y{_number(row)}"}
        trace["hovertemplate"] = f"{hover or name}<extra></extra>"
        if kind != "heatmap":
            trace |= {"showlegend": legend, "legendgroup": group or name}
        if data is not None:
            trace["customdata"] = data
        self.traces.append(trace)

    # ------------------------------------------------------------ bands, lines across, notes

    def band(self, low: float, high: float, *, along: str = "x", rows: Sequence[int] | None = None) -> None:
        """Shade what lies between two values of an axis ("x" or "y") and dot its edges."""
        for row in rows or range(1, self.rows + 1):
            self.area(low, high, along=along, row=row)
            for edge in (low, high):
                self.across(edge, along=along, row=row, color=self.color.mark, dash="dot", width=1)

    def area(
        self, low: float, high: float, *, along: str = "x", row: int = 1, color: str = "", opacity: float = 0.12
    ) -> None:
        """Shade a strip over the whole panel."""
        ends = {f"{along}0": low, f"{along}1": high, f"{_other(along)}0": 0, f"{_other(along)}1": 1}
        fill = {"fillcolor": color or self.color.mark, "opacity": opacity, "line": {"width": 0}, "layer": "below"}
        self.shapes.append({"type": "rect", **self._refs(along, row), **ends, **fill})

    def box(
        self, x0: float, x1: float, y0: float, y1: float, *, color: str, opacity: float = 0.14, row: int = 1
    ) -> None:
        """Shade a rectangle given in data units."""
        place = {"xref": f"x{_number(row)}", "yref": f"y{_number(row)}", "x0": x0, "x1": x1, "y0": y0, "y1": y1}
        self.shapes.append(
            {"type": "rect", **place, "fillcolor": color, "opacity": opacity, "line": {"width": 0}, "layer": "below"}
        )

    def across(
        self, at: float, *, along: str = "x", row: int = 1, color: str = "", dash: Dash = "solid", width: float = 1
    ) -> None:
        """A line over the whole panel at one value of an axis: along "x" it stands upright, along "y" it lies."""
        ends = {f"{along}0": at, f"{along}1": at, f"{_other(along)}0": 0, f"{_other(along)}1": 1}
        line = {"color": color or self.ink, "dash": dash, "width": width}
        self.shapes.append({"type": "line", **self._refs(along, row), **ends, "line": line})

    def note(
        self,
        x: Any,
        y: Any,
        text: str,
        *,
        row: int = 1,
        xanchor: str = "center",
        yanchor: str = "bottom",
        color: str = "",
    ) -> None:
        """A few words at a place given in data units, also on a logarithmic axis."""
        self.notes.append({
            "x": x, "y": y, "xref": f"x{_number(row)}", "yref": f"y{_number(row)}", "text": text, "showarrow": False,
            "xanchor": xanchor, "yanchor": yanchor, "font": {"color": color or self.ink, "size": 12},
        })  # fmt: skip

    # ------------------------------------------------------------ axes and the end

    def x(self, title: str, **more: Any) -> None:
        """The shared x axis: its title stands under the lowest panel; `more` goes to every panel's axis."""
        for row in range(1, self.rows + 1):
            self.layout[f"xaxis{_number(row)}"] |= more
        self.layout[f"xaxis{_number(self.rows)}"]["title"] = self._title(title)

    def y(self, title: str, *, row: int = 1, **more: Any) -> None:
        """A panel's y axis."""
        self.layout[f"yaxis{_number(row)}"] |= {"title": self._title(title), **more}

    def figure(self, *, height: int, title: str = "", legend: bool = True, **more: Any) -> go.Figure:
        """The figure. `height` in pixels is fixed, so that a redraw moves nothing on the page."""
        layout = {
            "template": {}, "height": height, "uirevision": "kept", "hovermode": "closest", "showlegend": legend, "bargap": 0.25,
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "font": {"color": self.ink, "size": 13, "family": FONT},
            "margin": {"l": 62, "r": 12, "t": 36 if title else 14, "b": 46}, "hoverlabel": {"font": {"size": 13}},
            "legend": {"orientation": "h", "y": -46 / height - 0.06, "yanchor": "top", "x": 0,
                "itemsizing": "constant", "font": {"size": 12, "color": self.ink},
            },
            **self.layout, "shapes": self.shapes, "annotations": [self._placed(note) for note in self.notes], **more,
        }  # fmt: skip
        if title:
            layout["title"] = {"text": title, "x": 0, "font": {"size": 14, "color": self.ink}}
        return go.Figure({"data": self.traces, "layout": layout}, _validate=False)

    def _placed(self, note: dict[str, Any]) -> dict[str, Any]:
        """Plotly wants a note's place on a logarithmic axis as a logarithm, and only a note's."""
        for name in ("x", "y"):
            axis = self.layout[note[f"{name}ref"].replace(name, f"{name}axis")]
            if axis.get("type") == "log":
                note = note | {name: math.log10(note[name])}
        return note

    def _title(self, text: str) -> dict[str, Any]:
        return {"text": text, "standoff": 12, "font": {"size": 13, "color": self.ink}}

    def _refs(self, along: str, row: int) -> dict[str, str]:
        n = _number(row)
        return {"xref": f"x{n}", "yref": f"y{n} domain"} if along == "x" else {"xref": f"x{n} domain", "yref": f"y{n}"}

    def _stack(self, heights: Sequence[float]) -> None:
        free = 1 - self.gap * (len(heights) - 1)
        top = 1.0
        for row, height in enumerate(heights, start=1):
            share = free * height / sum(heights)
            n = _number(row)
            last = row == self.rows
            x = {"anchor": f"y{n}", "domain": [0, 1], "showticklabels": last}
            self.layout[f"xaxis{n}"] = self._axis() | x | ({} if last else {"matches": f"x{_number(self.rows)}"})
            self.layout[f"yaxis{n}"] = self._axis() | {"anchor": f"x{n}", "domain": [max(0.0, top - share), top]}
            top -= share + self.gap

    def _axis(self) -> dict[str, Any]:
        return {
            "gridcolor": self.color.grid, "zerolinecolor": self.color.mark, "zerolinewidth": 1,
            "linecolor": self.color.mark, "showline": True, "ticks": "outside", "tickcolor": self.color.mark,
            "tickfont": {"size": 12, "color": self.ink},
        }  # fmt: skip


def _number(row: int) -> str:
    return "" if row == 1 else str(row)


def _other(along: str) -> str:
    return "y" if along == "x" else "x"


def dark_of() -> dict[str, str]:
    """Every color that stands for something on a light page, and what stands for it on a dark one.

    The browser swaps them when the theme changes, so a figure need not be sent again.
    """
    pairs = {each.light: each.dark for each in (*LOOKS, CUSTOM)} | {INK["light"]: INK["dark"]}
    light, dark = asdict(MEANING["light"]), asdict(MEANING["dark"])
    for name, color in light.items():
        both = ((color, dark[name]),) if isinstance(color, str) else zip(color, dark[name], strict=True)
        pairs |= dict(both)
    pairs |= dict(zip(SHADES["light"], SHADES["dark"], strict=True))
    return pairs | dict(zip(SCALE["light"], SCALE["dark"], strict=True))


def dashed(look: Look, dash: Dash) -> Look:
    """The same look with another dash, for a figure in which solid lines would differ by color alone."""
    return replace(look, dash=dash)


def spec(figure: go.Figure) -> str:
    """The figure as JSON for Plotly in the browser: numbers as base64 in the precision a screen can show."""
    whole = {"data": list(figure._data), "layout": figure._layout}
    return json.dumps(whole, default=_plain, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f":
            return value.tolist()
        packed = {"dtype": "f4", "bdata": base64.b64encode(value.astype("<f4").tobytes()).decode()}
        return packed if value.ndim == 1 else packed | {"shape": ", ".join(map(str, value.shape))}
    return value.item() if isinstance(value, np.generic) else list(value)


def clustered(x: np.ndarray, y: np.ndarray, *, cells: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """(one index for each occupied cell of a grid, how many points are in it): dots that would cover each other.

    cells  width and height of a cell, in data units
    """
    places = np.stack([np.round(x / cells[0]), np.round(y / cells[1])], axis=-1)
    _, first, count = np.unique(places, axis=0, return_index=True, return_counts=True)
    return first, count


def sizes(count: np.ndarray) -> np.ndarray:
    """Marker sizes in pixels for dots that stand for `count` points each."""
    return np.asarray(np.minimum(5.5 + 1.3 * np.log2(count), 13))


def thinned(index: np.ndarray, most: int = 150) -> np.ndarray:
    """At most `most` of the indices, evenly spread, the first and the last among them; more would cover each other."""
    if index.size <= most:
        return index
    return np.asarray(index[np.linspace(0, index.size - 1, most).round().astype(int)])
