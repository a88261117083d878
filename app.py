"""Surrogate's entry: `streamlit run app.py` finds `app` below and serves pages and the live route from one process.

The same file is the script that Streamlit runs for every session (and that AppTest runs), hence the guard.
"""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from live import warm
from ui import style
from ui.interview.back import way_back
from ui.pages import existing


def main() -> None:
    """Page table, title, routes between pages: nothing else."""
    st.set_page_config(page_title="Surrogate", page_icon="📈", layout="wide")
    warm.start()
    style.apply()
    pages = [
        st.Page(entry.file, title=entry.title, url_path=entry.url or None, default=not entry.url) for entry in existing()
    ]
    chosen = st.navigation(pages, position="top")
    if chosen.url_path != "interview":
        way_back()
    chosen.run()


if get_script_run_ctx(suppress_warning=True) is not None:
    main()
else:
    from streamlit.runtime.pages_manager import PagesManager

    from live import route

    PagesManager.uses_pages_directory = False  # else the first visit by a deep link runs a page without this script
    warm.start()
    app = st.App(__file__, routes=route.routes())
    if __name__ == "__main__":
        app.run()
