"""The way back from a proof to its card: remembered by the session, shown above whatever page the proof is on."""

from __future__ import annotations

import streamlit as st

BACK = "interview_back"
PAGE = "pages/interview.py"


def remember(*, card: str, title: str, section: str, todo: str) -> None:
    """A card's proof is about to be opened from a section of the interview room."""
    st.session_state[BACK] = {"card": card, "title": title, "show": section, "todo": todo}


def forget() -> None:
    """The person is back."""
    st.session_state.pop(BACK, None)


def way_back() -> None:
    """On the page that proves a card: what to do here, and the way back. Nothing where nobody came from a card."""
    back = st.session_state.get(BACK)
    if not back:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="way_back"):
        label, target = f"Back to the card: {back['title']}", {"show": back["show"], "card": back["card"]}
        st.page_link(PAGE, label=label, icon=":material/arrow_back:", query_params=target, width="content")
        st.caption(back["todo"], width="stretch")
