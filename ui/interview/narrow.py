"""On a phone the card must not start below the fold: once something runs, the page's introduction makes room for it.

Style only; what it hides stays in the page for wide windows and before a start.
"""

from __future__ import annotations

import streamlit as st

HEAD, SECTION = "interview_head", "interview_section"
_RUNNING = ".stMain:has(.st-key-drill_bar, .st-key-mock_bar, .st-key-task_bar)"
_STYLE = f"""<style>
@media (max-width: 640px) {{
  .stMain:has(.st-key-{HEAD}) [data-testid="stMainBlockContainer"] {{ padding-top: 3.75rem; }}
  .st-key-{HEAD} h1 {{ padding: 0 0 0.75rem; }}
  {_RUNNING} .st-key-{HEAD} h1 {{ font-size: 1.25rem; }}
  {_RUNNING} .st-key-{HEAD} [data-testid="stElementContainer"]:has(> .stMarkdown),
  {_RUNNING} .st-key-{SECTION} > [data-testid="stElementContainer"]:has(> .stMarkdown) {{ display: none; }}
}}
</style>"""


def apply() -> None:
    """Put the style on the page; it takes no room."""
    st.html(_STYLE)
