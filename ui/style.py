"""The one style of the app's own: where Streamlit writes in the accent color, dark mode needs a lighter one to be read.

The accent itself must stay dark enough for the white that Streamlit writes on it, so both cannot be had from one color.
"""

import streamlit as st

_SELECTED = """<style>
button[data-selected="true"] [data-testid="stMarkdownContainer"] p,
[role="radio"][data-selected="true"] [data-testid="stMarkdownContainer"] p,
[data-selected="true"] > div [data-testid="stMarkdownContainer"] p { color: light-dark(#0B5CAD, #74BDEA); }
</style>"""


def apply() -> None:
    """Put the style on the page; it takes no room."""
    st.html(_SELECTED)
