"""The styles of the app's own: where Streamlit writes in the accent color, dark mode needs a lighter one to be read.

The accent itself must stay dark enough for the white that Streamlit writes on it, so both cannot be had from one color.
"""

import streamlit as st

_SELECTED = """<style>
button[data-selected="true"] [data-testid="stMarkdownContainer"] p,
[role="radio"][data-selected="true"] [data-testid="stMarkdownContainer"] p,
[data-selected="true"] > div [data-testid="stMarkdownContainer"] p { color: light-dark(#0B5CAD, #74BDEA); }
</style>"""
_FORMULAS = """<style>
.katex-display { padding-block: 0.6em; margin-block: 0.2em; }
.katex-display > .katex { white-space: normal; }
.katex-display > .katex .base { margin-block: 0.2em; }
</style>"""
"""Room above and below a formula, whose fractions Streamlit's scrolling box would cut; a long one breaks at its signs."""


_FOCUS = """<style>
a:focus-visible { outline: 2px solid light-dark(#0B5CAD, #74BDEA) !important; outline-offset: 1px; border-radius: 0.4rem; }
</style>"""
"""Links that the keyboard has reached: Streamlit's own sign is a tint that can hardly be seen."""


def apply() -> None:
    """Put the styles on the page; they take no room."""
    st.html(_SELECTED + _FORMULAS + _FOCUS)
