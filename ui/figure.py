"""Show a plate: the figure, its sentence, its numbers as a table, and every way to take it away.

    figure.show(plate, key="curve")

Exports: SVG or PNG by the chart's own camera button (made by the browser), a publication figure as PDF, SVG or PNG
(made here by matplotlib, no browser), interactive HTML, and the numbers as CSV. Nothing is computed but formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from figures import paper
from figures.plate import Plate, csv_text
from ui.page import mode

FORMATS = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}


def show(plate: Plate, *, key: str, caption: bool = True) -> None:
    """Draw a plate; `key` must be unique on the page and stay the same between reruns."""
    st.plotly_chart(plate.draw(mode()), key=f"{key}_chart", config=_config(plate.name, key), alt=plate.alt)
    if caption:
        st.caption(plate.alt)
    with st.container(horizontal=True, gap="small"):
        _table(plate, key)
        _exports(plate, key)


def _table(plate: Plate, key: str) -> None:
    shown = st.popover("Numbers", type="tertiary", icon="🔢", key=f"{key}_numbers", on_change="rerun")
    if shown.open:
        with shown:
            st.dataframe(dict(plate.table), hide_index=True, height=min(35 * (len(next(iter(plate.table.values()), ())) + 1), 320))


def _exports(plate: Plate, key: str) -> None:
    menu = st.popover("Export", type="tertiary", icon="⬇️", key=f"{key}_export", on_change="rerun")
    if not menu.open:
        return
    with menu:
        st.radio("The camera button in the chart saves", ("svg", "png"), key=f"{key}_camera", horizontal=True)
        title = st.text_input("Title of the publication figure", plate.title, key=f"{key}_title", max_chars=200)
        with st.container(horizontal=True):
            width = st.number_input("Width, cm", 4.0, 40.0, 14.0, 0.5, key=f"{key}_width", width=120)
            height = st.number_input("Height, cm", 3.0, 40.0, 9.0, 0.5, key=f"{key}_height", width=120)
        with st.container(horizontal=True):
            for kind, mime in FORMATS.items():
                _download(
                    kind.upper(), f"{plate.name}.{kind}", mime, key,
                    lambda kind=kind: paper.render(plate.draw("light"), kind, title=title, width_cm=width, height_cm=height),
                )  # fmt: skip
            _download("HTML", f"{plate.name}.html", "text/html", key, lambda: paper.page(plate.draw("light"), title))
            _download("CSV", f"{plate.name}.csv", "text/csv", key, lambda: csv_text(plate.table).encode())


def _download(label: str, name: str, mime: str, key: str, make: Callable[[], bytes]) -> None:
    """A button that makes its file when it is pressed and reruns nothing."""
    st.download_button(label, make, name, mime, key=f"{key}_{label}", on_click="ignore")


def _config(name: str, key: str) -> dict[str, Any]:
    return {
        "displaylogo": False,
        "toImageButtonOptions": {"format": st.session_state.get(f"{key}_camera", "svg"), "filename": name, "scale": 2},
        "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
        "responsive": True,
    }
