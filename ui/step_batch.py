"""The row and the batch below a phase: tables and a map of everything known so far, each of which selects."""

from __future__ import annotations

from functools import partial

import streamlit as st

from figures import microscope as figures
from rlcore.microscope import Phase, Scene, batch_map, phase_of, row_table, token_table
from rlcore.microscope.naming import what
from ui import figure
from ui.step_address import go

WINDOW = 16


def select(code: int, scene: Scene) -> None:
    """A mark was clicked: its row and token are looked at from now on."""
    row, token = divmod(code, scene.mask.shape[1])
    if 0 <= row < len(scene.mask) and scene.mask[row, token]:
        go(row=row + 1, token=token + 1, update=scene.at.update + 1)


def show(scene: Scene, phase: Phase, keys: tuple[str, ...], *, hidden: bool) -> None:
    """The row as a table, the rows as a table, the batch as a map: what is known so far, each of them selects."""
    st.subheader("The row and the batch, as far as this phase", divider="gray")
    n = keys.index(phase.key)
    known = keys[: n if hidden else n + 1]
    left, right = st.columns([0.54, 0.46], gap="medium")
    with left:
        mine, every = st.tabs([f"This row, {what(scene)} by {what(scene)}", "All rows"], on_change="rerun", key=f"step_tabs_{what(scene)}")
        with mine:
            if mine.open:
                _tokens(scene, known)
        with every:
            if every.open:  # a table in a closed tab would cost as much as one that is seen
                _rows(scene, judged="advantage" in known)
    with right:
        shown = [k for k in known if phase_of(scene, k).shows]
        if shown:
            last = phase_of(scene, shown[-1])
            figure.show(figures.batch(batch_map(scene, last.key, last.shows), title=f"The batch: {last.title}"), key="step_batch",
                        on_pick=partial(select, scene=scene))  # fmt: skip


def _tokens(scene: Scene, known: tuple[str, ...]) -> None:
    at, mine = scene.at, int((scene.tokens < scene.at.token).sum())
    key = f"step_tokens_{at.row}_{at.token}"
    start = 0 if scene.length <= WINDOW else min(max(mine - WINDOW // 4, 0), scene.length - WINDOW)
    table = {name: column[start : start + WINDOW] for name, column in token_table(scene, known).items()}

    def picked() -> None:
        rows = st.session_state[key].selection.rows
        if rows:
            go(row=at.row + 1, token=int(table["#"][rows[0]]), update=at.update + 1)

    st.dataframe(
        table, hide_index=True, height=_height(len(table["#"])), key=key, on_select=picked, selection_mode="single-row",
        selection_default={"selection": {"rows": [mine - start]}}, alt=f"Row {at.row + 1}, every {what(scene)} with its numbers",
    )  # fmt: skip
    part = "" if scene.length <= WINDOW else f" Shown are {WINDOW} of {scene.length}, around the selected one."
    st.caption(f"Select a line to select its {what(scene)} everywhere.{part}")


def _rows(scene: Scene, *, judged: bool) -> None:
    at, key = scene.at, f"step_rows_{scene.at.row}"
    table = row_table(scene, judged=judged)

    def picked() -> None:
        rows = st.session_state[key].selection.rows
        if rows:
            go(row=int(rows[0]) + 1, token=None, update=at.update + 1)

    chosen = [at.row] if at.row < len(table["row"]) else []
    st.dataframe(table, hide_index=True, height=_height(len(table["row"])), key=key, on_select=picked, selection_mode="single-row",
                 selection_default={"selection": {"rows": chosen}}, alt="All rows of the batch")  # fmt: skip
    st.caption("Select a line to select its row everywhere.")


def _height(lines: int) -> int:
    return min(35 * (lines + 1) + 3, 318)
