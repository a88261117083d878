"""A card on the page: what is asked, the rubric to tick, where it comes from, and the state that proves it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from figures.curves import Run, read_curves
from interview import curves
from interview.drill import Item
from interview.links import PARAMS, PATHS, ProofLink
from interview.matching import Suggestion
from interview.schema import FindTheError, ReadCurves, Rubric
from ui import figure
from ui.interview import back as way
from ui.interview import browser
from ui.interview.desk import GROUP_NAMES, KIND_NAMES
from ui.pages import ROOT, TABLE
from ui.refusals import REFUSED

DIGITS = "123456789"
PROOF_TITLES = {entry.url or "home": entry.title for entry in TABLE}


def head(item: Item) -> None:
    """Group, level and kind in one small line; then the title."""
    kind = item.of or KIND_NAMES[item.card.kind]
    st.caption(f"{GROUP_NAMES[item.card.group]} · {item.card.level} · {kind}")
    st.subheader(item.title)


def question(item: Item) -> None:
    """What is asked, with the flawed answer or the curves that it is about."""
    card = item.card
    st.markdown(f"#### {item.asked.prompt}" if not isinstance(card, FindTheError) else f"**{card.prompt}**")
    if isinstance(card, FindTheError):
        with st.container(border=True, key="flawed_answer"):
            st.caption("An answer as it was given. Say what is wrong in it and what is true instead.")
            st.markdown(f"“{card.answer}”")
    if isinstance(card, ReadCurves):
        _curves(card)


def _curves(card: ReadCurves) -> None:
    try:
        stored = curves.read(card)
    except curves.CurvesError as error:
        st.error(str(error), icon=REFUSED)
        return
    runs = [Run(spec.label, spec.recipe, stored[spec.label]) for spec in card.runs]
    plate = read_curves(runs, card.metrics, curves.AXES, name=card.id, title=card.title)
    figure.show(plate, key=f"curves_{card.id}", caption=False)
    st.caption(f"Trained by the engine from stored settings and seeds; `{curves.COMMAND} {card.id}` trains them again.")


def rubric(
    item: Item, ticked: Collection[str], *, suggested: Mapping[str, Suggestion], name: str, locked: bool = False
) -> tuple[str, ...]:
    """The rubric's lines as checkboxes, each with its digit; returns the ids ticked.

    suggested  what the words of a typed answer suggest, by point; empty where nothing was typed
    """
    parts: tuple[tuple[str, list[tuple[str, str, str]]], ...] = (
        (
            "Must have",
            [(p.id, p.text, suggested[p.id].because() if p.id in suggested else "") for p in item.rubric.must],
        ),
        ("Good to have", [(b.id, b.text, "") for b in item.rubric.nice]),
        (
            "Red flags: tick what you said; each costs a quarter",
            [(f.id, f.text, f.because) for f in item.rubric.red_flags],
        ),
    )
    found: list[str] = []
    bound: dict[str, tuple[str, ...]] = {}
    for title, lines in parts:
        if not lines:
            continue
        st.markdown(f"**{title}**")
        for line, text, remark in lines:
            key = f"{name}_{item.id}_{line}"
            digit = DIGITS[len(bound)] if len(bound) < len(DIGITS) else ""
            bound[digit or key] = ("press", key)
            st.session_state.setdefault(key, line in ticked)
            if st.checkbox(f"{digit} · {text}" if digit and not locked else text, key=key, disabled=locked):
                found.append(line)
            if remark:
                st.caption(remark)
    if not locked:
        browser.keys(bound, key=f"{name}_keys")
    return tuple(found)


def expected(rubric_of: Rubric) -> str:
    """The must-have points as a list, for reading only."""
    return "\n".join(f"- {point.text}" for point in rubric_of.must)


def sources(item: Item) -> None:
    """Where the card's claims come from, closed."""
    with st.expander("Sources", icon=":material/menu_book:"):
        for source in item.sources:
            url = source.url()
            st.markdown(f"- [{source.cite()}]({url})" if url else f"- {source.cite()}")


def prove(item: Item, *, back: str, shortcut: str | None = "P") -> None:
    """A button to the state that proves the card, which remembers the way back; or why no state can."""
    proof = item.provable.proof
    if proof is None:
        st.caption(f"No proof to open: {item.provable.no_proof}")
        return
    where = PATHS.get(proof.page, proof.page)
    file = next((entry.file for entry in TABLE if entry.url == where and entry.exists), None)
    if file is None:
        st.caption(f"Its proof is on a page that is not here yet: {proof.path()}")
        return
    title = PROOF_TITLES[where or "home"]
    if st.button(f"Prove it: {title}", icon=":material/science:", shortcut=shortcut, key=f"prove_{item.id}"):
        way.remember(card=item.id, title=item.title, section=back, todo=proof.do)
        _forget_settings(proof)
        st.switch_page(ROOT / file, query_params=dict(_spelled(proof)))
    st.caption(f"There: {proof.do}")


def _spelled(proof: ProofLink) -> list[tuple[str, str]]:
    return [(n, str(v).lower() if isinstance(v, bool) else str(v)) for n, v in proof.params.items()]


def _forget_settings(proof: ProofLink) -> None:
    """What this session once set on that page must not win over the proof's own settings, nor its lab run over the proof's."""
    own = ("lab_run", "lab_request", "lab_refused") if proof.page == "lab" else ()
    for name in {*PARAMS[proof.page], *proof.params, "show"}:
        st.session_state.pop(name, None)
        st.session_state.pop(f"last_{name}", None)
    for name in own:
        st.session_state.pop(name, None)
