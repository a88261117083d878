"""What all figures share: backgrounds, grid, fonts, margins, and that a redraw keeps zoom and hover.

Backgrounds are transparent, so that a figure sits on the page in either theme. No formula, no data.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from figures.theme import MEANING, Meaning, Mode

INK: dict[Mode, str] = {"light": "#22262B", "dark": "#E4E7EB"}
PAPER: dict[Mode, str] = {"light": "#FDFDFB", "dark": "#15181C"}


def ink(mode: Mode) -> str:
    """The color of text and of neutral lines."""
    return INK[mode]


def meaning(mode: Mode) -> Meaning:
    """Colors that mean something by themselves: better, worse, dead, mark."""
    return MEANING[mode]


def base(figure: go.Figure, mode: Mode, *, height: int, legend: bool = True, hover: str = "closest") -> go.Figure:
    """The house's look on a figure: call it once, last. `height` in pixels is fixed, so a redraw moves nothing."""
    figure.update_layout(
        height=height, uirevision="kept", hovermode=hover, showlegend=legend, bargap=0.25,
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK[mode], "size": 13}, margin={"l": 58, "r": 14, "t": 34, "b": 48},
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0, "font": {"size": 12}},
        hoverlabel={"font": {"size": 13}},
    )  # fmt: skip
    axis = {
        "gridcolor": MEANING[mode].grid, "zerolinecolor": MEANING[mode].mark, "zerolinewidth": 1, "automargin": True,
        "linecolor": MEANING[mode].mark, "showline": True, "ticks": "outside", "tickcolor": MEANING[mode].mark,
        "title": {"standoff": 8, "font": {"size": 13}},
    }  # fmt: skip
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    figure.update_annotations(font={"color": INK[mode], "size": 13})
    return figure


def band(figure: go.Figure, mode: Mode, *, low: float, high: float, **where: Any) -> None:
    """Shade a vertical band between two x values and mark its edges."""
    figure.add_vrect(x0=low, x1=high, fillcolor=MEANING[mode].mark, opacity=0.12, line_width=0, layer="below", **where)
    for edge in (low, high):
        figure.add_vline(x=edge, line={"color": MEANING[mode].mark, "width": 1, "dash": "dot"}, **where)
