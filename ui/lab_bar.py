"""What can be done with the lab's run as a whole: export it, open another, share it, compare it."""

from __future__ import annotations

import streamlit as st

from live.contract import Request
from live.run import LiveRun
from ui import run_export, share, state


def bar(run: LiveRun, link: share.Taught) -> None:
    """A row of menus below the panel, and the run's curves to take away."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        run_export.menu(run)
        share.menu(run, link)
        run_export.bring_back(_play)
        share.compare_link(run)
    run_export.curves(run)


def _play(request: Request) -> None:
    """The capsule's run in place of the lab's present one."""
    state.start_over(request)
    st.session_state["lab_recipe"], st.session_state["lab_env"] = request.recipe, request.env
    share.forget()
    st.query_params.clear()
