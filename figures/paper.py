"""A figure for a paper: the same traces drawn by matplotlib, so that PDF, SVG and PNG need no browser.

Understands what this app's figures use: lines, markers, error bars, bars, heat-maps, bands, lines across and notes, on
one or several axes. A trace of another kind is refused by name instead of being left out silently.
"""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

LINES = {
    "solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 3)), None: "-",
}  # fmt: skip
MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "cross": "P", "x": "X",
    "star": "*", "line-ew-open": "_", "circle-open": "o", "diamond-open": "D", "square-open": "s", "x-thin": "x", "line-ns": "|", None: "o",
}  # fmt: skip
GRAY = "#6B7078"


def render(figure: go.Figure, kind: str, *, title: str, width_cm: float, height_cm: float) -> bytes:
    """The figure as "pdf", "svg" or "png" (300 dpi) of the given size, on white. Raises ValueError."""
    spec = _decoded(figure.to_plotly_json())
    layout = spec["layout"]
    drawn = Figure(figsize=(width_cm / 2.54, height_cm / 2.54), layout="constrained")
    FigureCanvasAgg(drawn)
    axes = _axes(drawn, layout)
    bars = Counter(trace.get("xaxis", "x") for trace in spec["data"] if trace["type"] == "bar")
    for ax_name, ax in axes.items():
        ax.surrogate_slots = iter(_slots(bars[ax_name], layout.get("barmode")))  # type: ignore[attr-defined]
    for trace in spec["data"]:
        _trace(axes[trace.get("xaxis", "x")], trace)
    for shape in layout.get("shapes", ()):
        _shape(axes, shape)
    _annotations(axes, layout.get("annotations", ()))
    _legend(drawn, axes)
    if title:
        drawn.suptitle(_plain(title), fontsize=10)
    out = io.BytesIO()
    drawn.savefig(out, format=kind, dpi=300)
    return out.getvalue()


def _decoded(value: Any) -> Any:
    """Plotly's JSON with its base64 arrays as numpy again."""
    if isinstance(value, dict):
        if "bdata" in value:
            flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
            return flat.reshape([int(n) for n in value["shape"].split(",")]) if "shape" in value else flat
        return {name: _decoded(each) for name, each in value.items()}
    return [_decoded(each) for each in value] if isinstance(value, list | tuple) else value


def page(figure: go.Figure, title: str) -> bytes:
    """A stand-alone interactive HTML page that works offline."""
    figure.update_layout(title=title, paper_bgcolor="white", plot_bgcolor="white")
    text: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return text.encode()


# ---------------------------------------------------------------- axes


def _axes(drawn: Figure, layout: dict[str, Any]) -> dict[str, Axes]:
    """One matplotlib axes for each plotly x axis, placed on a grid by its domain."""
    names = sorted((n for n in layout if re.fullmatch(r"xaxis\d*", n)), key=lambda n: int(n[5:] or 1)) or ["xaxis"]
    places = {}
    for name in names:
        x, number = layout.get(name, {}), name[5:]
        y = layout.get("yaxis" + number, {})
        places[name] = (x.get("domain", (0, 1)), y.get("domain", (0, 1)))
    lefts = sorted({round(x[0], 3) for x, _ in places.values()})
    tops = sorted({round(y[1], 3) for _, y in places.values()}, reverse=True)
    heights = [max(y[1] - y[0] for _, y in places.values() if round(y[1], 3) == top) for top in tops]
    grid = drawn.add_gridspec(len(tops), len(lefts), height_ratios=heights)
    found = {}
    for name, (x, y) in places.items():
        ax = drawn.add_subplot(grid[tops.index(round(y[1], 3)), lefts.index(round(x[0], 3))])
        _dress(ax, layout.get(name, {}), layout.get("yaxis" + name[5:], {}))
        found["x" + name[5:]] = ax
    return found


def _dress(ax: Axes, x: dict[str, Any], y: dict[str, Any]) -> None:
    ax.grid(color="#E4E4DD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_xlabel(_plain(x.get("title", {}).get("text", "")), fontsize=8.5)
    ax.set_ylabel(_plain(y.get("title", {}).get("text", "")), fontsize=8.5)
    for axis, scale, limit, ticks, labels in (
        (x, ax.set_xscale, ax.set_xlim, ax.set_xticks, ax.set_xticklabels),
        (y, ax.set_yscale, ax.set_ylim, ax.set_yticks, ax.set_yticklabels),
    ):
        log = axis.get("type") == "log"
        if log:
            scale("log")
        if axis.get("tickvals") is not None:
            ticks(list(axis["tickvals"]))
            labels([_plain(str(t)) for t in axis.get("ticktext", axis["tickvals"])])
        if axis.get("range") is not None:
            limit(*(10.0**v if log else v for v in axis["range"]))
    if y.get("autorange") == "reversed":
        ax.invert_yaxis()


# ---------------------------------------------------------------- traces


def _trace(ax: Axes, trace: dict[str, Any]) -> None:
    if trace.get("visible") in (False, "legendonly"):
        return
    draw = {"scatter": _scatter, "scattergl": _scatter, "bar": _bar, "heatmap": _heatmap}.get(
        trace.get("type", "scatter")
    )
    if draw is None:
        raise ValueError(f"trace: a publication figure has no {trace['type']!r}")
    draw(ax, trace)


def _label(trace: dict[str, Any]) -> str:
    return "_none" if trace.get("showlegend") is False or not trace.get("name") else _plain(trace["name"])


def _scatter(ax: Axes, trace: dict[str, Any]) -> None:
    x, y = _positions(ax, np.asarray(trace["x"]), False), _positions(ax, np.asarray(trace["y"]), True)
    mode, line, marker = trace.get("mode", "lines"), trace.get("line", {}), trace.get("marker", {})
    color = line.get("color") or marker.get("color") or GRAY
    if trace.get("fill") in ("tonexty", "toself"):
        ax.fill(x, y, color=_solid(trace.get("fillcolor", color)), alpha=0.2, linewidth=0)
    if "lines" in mode and line.get("width", 2) > 0:
        step = "steps-post" if line.get("shape") == "hv" else "default"
        ax.plot(
            x, y, color=color, linewidth=0.7 * line.get("width", 2), linestyle=LINES[line.get("dash")], drawstyle=step,
            label=_label(trace), alpha=trace.get("opacity", 1),
        )  # fmt: skip
    if "markers" in mode:
        shape = MARKERS.get(marker.get("symbol"), "o")
        hollow = "open" in str(marker.get("symbol")) and shape != "_"
        paint = marker.get("color", color)
        paint = paint if isinstance(paint, str) else GRAY
        ax.scatter(
            x, y, s=(0.55 * np.asarray(marker.get("size", 6), dtype=float)) ** 2, marker=shape,
            facecolors="none" if hollow else paint, edgecolors=paint if hollow else None,
            linewidths=2 if shape == "_" else 0.8, alpha=marker.get("opacity", trace.get("opacity", 1)), zorder=3,
            label="_none" if "lines" in mode else _label(trace),
        )  # fmt: skip
    if trace.get("error_y", {}).get("array") is not None:
        ax.errorbar(x, y, yerr=trace["error_y"]["array"], fmt="none", ecolor=GRAY, linewidth=0.8, capsize=2)
    if "text" in mode:
        for xi, yi, text in zip(x, y, np.broadcast_to(trace["text"], x.shape), strict=True):
            ax.annotate(_plain(str(text)), (xi, yi), fontsize=7, ha="center", va="bottom")


def _slots(count: int, barmode: str | None) -> list[tuple[float, float]]:
    """(shift, width) of each of `count` bar traces around their place: side by side, or on top of each other."""
    if barmode in ("overlay", "stack", "relative"):
        return [(0.0, 0.8)] * count
    return [((i - (count - 1) / 2) * 0.8 / count, 0.8 / count) for i in range(count)]


def _bar(ax: Axes, trace: dict[str, Any]) -> None:
    flat = trace.get("orientation") == "h"
    place, size = (trace["y"], trace["x"]) if flat else (trace["x"], trace["y"])
    marker = trace.get("marker", {})
    color = marker.get("color", GRAY)
    at = _positions(ax, np.asarray(place), flat)
    shift, width = next(ax.surrogate_slots)  # type: ignore[attr-defined]
    step = float(np.diff(np.unique(at)).min()) if np.unique(at).size > 1 else 1.0
    (ax.barh if flat else ax.bar)(
        at + shift * step, np.asarray(size, dtype=float), width * step,
        color=color if isinstance(color, str) else list(color), edgecolor="white" if _hatch(marker) else "none",
        linewidth=0, label=_label(trace), hatch=_hatch(marker), alpha=trace.get("opacity", 1),
    )  # fmt: skip


def _hatch(marker: dict[str, Any]) -> str | None:
    return {"/": "///", "\\": "\\\\\\", "x": "xxx", ".": "...", "-": "---", "|": "|||"}.get(
        marker.get("pattern", {}).get("shape", "")
    )


def _positions(ax: Axes, names: np.ndarray, flat: bool) -> np.ndarray:
    """Numbers as they are; names at 0, 1, … in order of appearance, written on the axis."""
    if names.dtype.kind not in "OUS" or not any(isinstance(name, str) for name in names.tolist()):
        return names.astype(float)
    known: list[str] = list(getattr(ax, "surrogate_names", []))
    known += [n for n in map(str, names) if n not in known]
    ax.surrogate_names = known  # type: ignore[attr-defined]
    (ax.set_yticks if flat else ax.set_xticks)(range(len(known)), [_plain(n) for n in known])
    return np.array([known.index(str(n)) for n in names], dtype=float)


def _heatmap(ax: Axes, trace: dict[str, Any]) -> None:
    z = np.asarray(trace["z"], dtype=float)
    scale = trace.get("colorscale")
    colors = [c for _, c in scale] if isinstance(scale, Sequence) and not isinstance(scale, str) else None
    from matplotlib.colors import LinearSegmentedColormap

    cmap = LinearSegmentedColormap.from_list("house", colors) if colors else "cividis"
    image = ax.imshow(
        z, aspect="auto", cmap=cmap, vmin=trace.get("zmin"), vmax=trace.get("zmax"), interpolation="nearest"
    )
    for (row, column), text in np.ndenumerate(np.asarray(trace["text"] if trace.get("text") is not None else np.empty((0, 0)))):
        back: Any = image.norm(z[row, column]) if np.isfinite(z[row, column]) else 0.0
        ax.annotate(_plain(str(text)), (column, row), fontsize=8, ha="center", va="center", color=_over(cmap, float(back)))
    ax.grid(False)
    for names, ticks in ((trace.get("x"), ax.set_xticks), (trace.get("y"), ax.set_yticks)):
        if names is not None:
            every = max(1, len(names) // 12)
            ticks(range(0, len(names), every), [_plain(str(n)) for n in names[::every]])
    if trace.get("showscale") is not False:
        bar = ax.figure.colorbar(image, ax=ax)
        bar.ax.tick_params(labelsize=7)
        bar.set_label(_plain(trace.get("colorbar", {}).get("title", {}).get("text", "")), fontsize=8)


def _over(cmap: Any, value: float) -> str:
    """Black or white, whichever is seen on a color of the map."""
    from matplotlib import colormaps

    red, green, blue, _ = (colormaps[cmap] if isinstance(cmap, str) else cmap)(value)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


# ---------------------------------------------------------------- shapes, notes, legend


def _shape(axes: dict[str, Axes], shape: dict[str, Any]) -> None:
    ax = axes["x" + re.sub(r"\D", "", str(shape["xref"]))]
    x0, x1, y0, y1 = (shape[n] for n in ("x0", "x1", "y0", "y1"))
    tall, wide = "domain" in str(shape["yref"]), "domain" in str(shape["xref"])
    if shape["type"] == "line":
        line = shape.get("line", {})
        style = {"color": line.get("color", GRAY), "linewidth": 0.8, "linestyle": LINES[line.get("dash")]}
        if tall:
            ax.axvline(x0, **style)
        elif wide:
            ax.axhline(y0, **style)
        else:
            ax.plot([x0, x1], [y0, y1], **style)
    elif shape["type"] == "rect":
        color, opacity = _solid(shape.get("fillcolor", GRAY)), shape.get("opacity", 1)
        fill = {"color": color, "alpha": opacity, "linewidth": 0, "zorder": 0}
        if tall:
            ax.axvspan(x0, x1, **fill)
        elif wide:
            ax.axhspan(y0, y1, **fill)
        else:
            ax.fill([x0, x1, x1, x0], [y0, y0, y1, y1], **fill)


def _annotations(axes: dict[str, Axes], notes: Sequence[dict[str, Any]]) -> None:
    for note in notes:
        ax = axes[str(note["xref"])]
        place = {"ha": note.get("xanchor", "center"), "va": note.get("yanchor", "bottom").replace("middle", "center")}
        at = (_unlog(note["x"], ax.get_xscale()), _unlog(note["y"], ax.get_yscale()))
        ax.annotate(_plain(note["text"]), at, fontsize=7, **place)


def _unlog(value: Any, scale: str) -> Any:
    """A note's place in data units: Plotly keeps it as a logarithm on a logarithmic axis."""
    return 10.0**value if scale == "log" else value


def _legend(drawn: Figure, axes: dict[str, Axes]) -> None:
    named: dict[str, Any] = {}
    for ax in axes.values():
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if named:
        drawn.legend(
            list(named.values()),
            list(named),
            loc="outside lower center",
            ncols=min(4, len(named)),
            fontsize=7.5,
            frameon=False,
        )


def _plain(text: str) -> str:
    return re.sub(r"<[^>]+>", "", str(text).replace("<br>", "\n")).replace("$", r"\$")


def _solid(color: str) -> str | tuple[float, float, float]:
    """rgba(…) without its alpha, other colors as they are."""
    found = re.match(r"rgba?\((\d+),\s*(\d+),\s*(\d+)", color)
    return (int(found[1]) / 255, int(found[2]) / 255, int(found[3]) / 255) if found else color
