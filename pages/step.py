"""The Step-through page: one real update, phase by phase, for one row and token. No maths here."""

import streamlit as st

from ui import page

entered = st.session_state.get("page_shown") != "step"
words = page.head("step", settings=tuple(st.query_params))  # which settings there are, the engine says below
page.engine()

from ui import step  # noqa: E402  (after the words are on the screen: it needs the engine)

section = step.show(words, entered=entered)
page.questions(section, of="step")
