"""Show a plate: the figure, its sentence, its numbers as a table, and every way to take it away.

    figure.show(plate, key="curve")

The figure is drawn by our own component (`static/figure.js`), which redraws in place; `st.plotly_chart` builds the chart
anew at every change. It is sent in the light theme's colors; the browser swaps them. Exports: SVG and PNG by the chart's own buttons (made by the browser), a publication figure as PDF,
SVG or PNG (made here by matplotlib, no browser), interactive HTML, and the numbers as CSV.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from figures import paper
from figures.drawing import dark_of, spec
from figures.plate import Plate, csv_text

FORMATS = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
STATIC = Path(__file__).resolve().parent.parent / "static"
FILES = ("figure.js", "figure/legend.js")

_LOADER = """
const DARK = __DARK__;
export default (component) => {
  let leave = null, left = false;
  const url = new URL("app/static/figure.js?v=__VERSION__", document.baseURI);
  (window.__figureModule ??= import(url)).then((module) => { if (!left) leave = module.mount(component, DARK); });
  return () => { left = true; leave?.(); };
};
"""


def _version() -> str:
    """Changes with the browser files, so that a cached older one is never used."""
    return hashlib.sha256(b"".join((STATIC / name).read_bytes() for name in FILES)).hexdigest()[:12]


_component = st.components.v2.component(
    "surrogate_figure",
    js=_LOADER.replace("__DARK__", json.dumps(dark_of())).replace("__VERSION__", _version()),
    isolate_styles=False,
)


def show(plate: Plate, *, key: str, caption: bool = True, on_pick: Callable[[int], None] | None = None) -> None:
    """Draw a plate; `key` must be unique on the page and stay the same between reruns.

    on_pick  called with a mark's whole-number customdata when somebody clicks it
    """
    drawn = plate.draw("light")
    _component(
        key=f"{key}_chart",
        data={
            "key": key, "name": plate.name, "alt": plate.alt, "height": drawn.layout.height, "spec": spec(drawn),
            "pick": on_pick is not None, "caption": caption,
        },
        on_picked_change=lambda: on_pick(st.session_state[f"{key}_chart"]["picked"]) if on_pick else None,
    )
    more = st.popover(
        "Numbers and export", type="tertiary", icon=":material/download:", key=f"{key}_more", on_change="rerun"
    )
    if more.open:
        with more:
            _table(plate)
            _exports(plate, key)


def _table(plate: Plate) -> None:
    rows = len(next(iter(plate.table.values()), ()))
    st.dataframe(dict(plate.table), hide_index=True, height=min(35 * (rows + 1) + 3, 280), alt=plate.title)


def _exports(plate: Plate, key: str) -> None:
    st.caption("The chart's own buttons save it as SVG or PNG as it is on the screen. For a paper:")
    title = st.text_input("Title", plate.title, key=f"{key}_title", max_chars=200)
    with st.container(horizontal=True):
        width = st.number_input("Width, cm", 4.0, 40.0, 14.0, 0.5, key=f"{key}_width", width=120)
        height = st.number_input("Height, cm", 3.0, 40.0, 9.0, 0.5, key=f"{key}_height", width=120)
    with st.container(horizontal=True):
        for kind, mime in FORMATS.items():
            make = partial(_paper, plate, kind, title, width, height)
            _download(kind.upper(), f"{plate.name}.{kind}", mime, key, make)
        _download("HTML", f"{plate.name}.html", "text/html", key, lambda: paper.page(plate.draw("light"), title))
        _download("CSV", f"{plate.name}.csv", "text/csv", key, lambda: csv_text(plate.table).encode())


def _paper(plate: Plate, kind: str, title: str, width: float, height: float) -> bytes:
    return paper.render(plate.draw("light"), kind, title=title, width_cm=width, height_cm=height)


def _download(label: str, name: str, mime: str, key: str, make: Callable[[], bytes]) -> None:
    """A button that makes its file when it is pressed and reruns nothing."""
    st.download_button(label, make, name, mime, key=f"{key}_{label}", on_click="ignore")
