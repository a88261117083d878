"""The parts of the glossary page: one entry with everything known about it, and the searchable list of all."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from rlcore.glossary import LIBRARIES, Quantity, entries, look_up
from rlcore.knobs import SettingError
from ui import controls
from ui.lesson import LESSONS, lesson
from ui.pages import TABLE
from ui.refusals import REFUSED

KINDS = {"all": "All", "metric": "Metrics", "field": "Fields of records", "knob": "Settings"}
FIRST = "clip_fraction"


def entry() -> None:
    """The entry that the address names, by our name or by a library's; else a first one to look at."""
    asked = st.query_params.get("term", FIRST)
    try:
        quantity = look_up(asked)
    except SettingError as refused:
        st.error(str(refused), icon=REFUSED)
        quantity = look_up(FIRST)
    with st.container(border=True, key="entry"):
        st.subheader(quantity.name, divider="gray")
        unit = f", {quantity.unit}" if quantity.unit else ""
        st.markdown(f"**{quantity.symbol}** · {quantity.shape}{unit} · {KINDS[quantity.kind].lower()}")
        st.markdown(quantity.meaning)
        if quantity.formula:
            st.latex(quantity.formula)
        if quantity.aka:
            st.table(
                {"library": list(quantity.aka), "calls it": [f"`{name}`" for name in quantity.aka.values()]},
                hide_index=True,
            )
        if quantity.source:
            st.caption(f"Source: {quantity.source}.")
        _seen_on(asked)


def _seen_on(term: str) -> None:
    """Links to the pages whose lessons build on this term."""
    found = [
        page
        for page in TABLE
        if page.exists and (LESSONS / f"{page.url}.md").is_file() and term in lesson(page.url).terms
    ]
    if found:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.caption("See it at work:", width="content")
            for page in found:
                st.page_link(page.file, label=page.title)


@st.fragment
def search() -> None:
    """All entries that hold the typed words, by any of their names; choosing a row opens it above."""
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        typed = st.text_input(
            "Search names, symbols, meanings", key="q", bind="query-params", placeholder="pg_clipfrac, ρ, KL …"
        )
    with right:
        kind = controls.choice("kind", "Kind", tuple(KINDS), shown=KINDS.__getitem__)
    found = [q for q in matching(entries().values(), typed or "") if kind in ("all", q.kind)]
    if not found:
        st.info(f"Nothing is called {typed!r}. Search for a part of the name, or for a word of its meaning.")
        return
    st.caption(f"{len(found)} entries. Choose one to open it above.")
    columns = {
        "name": [q.name for q in found],
        "symbol": [q.symbol for q in found],
        "meaning": [q.meaning for q in found],
    }
    columns |= {library: [q.aka.get(library, "") for q in found] for library in LIBRARIES}
    chosen = st.dataframe(
        columns, hide_index=True, on_select="rerun", selection_mode="single-row", key="entries",
        height=min(520, 38 + 35 * len(found)),
        alt="All entries of the glossary that match, with each library's name",
    )  # fmt: skip
    rows = chosen.selection.rows
    if rows and rows[0] < len(found) and st.query_params.get("term") != found[rows[0]].name:
        st.query_params["term"] = found[rows[0]].name
        st.rerun()


def matching(quantities: Iterable[Quantity], text: str) -> list[Quantity]:
    """The quantities that hold every typed word in a name, symbol, meaning or another library's name."""
    words = text.lower().split()

    def whole(q: Quantity) -> str:
        return " ".join((q.name, q.symbol, q.meaning, q.unit, *q.aka.values())).lower()

    return [q for q in quantities if all(word in whole(q) for word in words)]
