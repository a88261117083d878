"""The frame of every page that explains: head, sections, interview questions, and waiting for the engine.

    lesson = page.head("surrogate", settings=("eps_low", "eps_high"))
    section = page.section(lesson)
    page.engine()

Words come from `assets/lessons`; nothing here computes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import streamlit as st

from live import warm
from ui import address, controls
from ui.cards import cards_about
from ui.lesson import Lesson, Section, lesson
from ui.pages import ROOT
from ui.refusals import REFUSED, forget_all, literal

SHOW = "show"


def head(name: str, *, settings: Iterable[str] = ()) -> Lesson:
    """Title, what to try and notice, links to the terms; says which parameters of the address are unknown here.

    name      of the lesson file
    settings  names of the page's own query parameters
    """
    words, settings = lesson(name), (*settings,)
    anew = st.session_state.get("page_shown") != name
    if anew:
        forget_all()
        st.session_state["page_shown"] = name
    address.arrive((SHOW, *settings), anew=anew)
    st.title(words.title)
    st.markdown(f"**Try first:** {words.try_first}  \n**Notice:** {words.notice}")
    if words.terms:
        terms(words.terms)
    _refuse_unknown(name, {SHOW, *settings})
    return words


def terms(names: Iterable[str]) -> None:
    """A row of links to glossary entries."""
    if not (ROOT / "pages/glossary.py").is_file():
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Terms:", width="content")
        for term in names:
            st.page_link("pages/glossary.py", label=term.replace("_", " "), query_params={"term": term})


def section(words: Lesson) -> Section:
    """Which section of the page is looked at: a choice that stands in the address as `show`; its text is written."""
    keys = [s.key for s in words.sections]
    chosen = controls.choice(
        SHOW, "Section", keys, shown=lambda key: words.section(key).label, label_visibility="collapsed"
    )
    found = words.section(chosen)
    st.markdown(found.text)
    return found


def questions(part: Section, *, of: str = "") -> None:
    """Interview questions that this section answers, closed until somebody has tried; and beliefs that it refutes.

    of  the page's name, as in `head`
    """
    if part.questions:
        st.subheader("Say it aloud, then open", divider="gray")
    for question, answer in part.questions:
        with st.expander(question):
            st.markdown(answer)
    found = cards_about(of, part.key) if of else []
    if found:
        st.caption("Often believed, and refuted with numbers:")
        for card in found:
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                st.markdown(f"“{card.claim}”", width="content")
                link = {"card": str(card.number)}
                st.page_link("pages/misconceptions.py", label=f"Misconception {card.number}", query_params=link)


def engine() -> None:
    """Wait until the engine is imported; the words above it are on the screen meanwhile."""
    with st.spinner("Starting the engine …"):
        warm.wait()


def _refuse_unknown(name: str, known: set[str]) -> None:
    unknown = [key for key in st.query_params if key not in known]
    for key in unknown[:5]:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(sorted(known))}"
        st.error(f"{literal(key[:60])}: the page {name} has no such setting{hint}", icon=REFUSED)
