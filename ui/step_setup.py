"""Which step is looked at: the controls of a step by its settings, or a word about the live run it is from."""

from __future__ import annotations

import streamlit as st

from figures.theme import LOOKS
from live import engine
from rlcore.knobs import SettingError
from rlcore.microscope import next_teaching, teaches
from rlcore.microscope.opening import MOST_STEPS
from rlcore.presets import ENVS, WORDS
from rlcore.state import Diverged
from ui import refusals
from ui.step_address import FIRST, HERE, PATIENCE, Opened, go

RECIPES = {look.recipe: look.label for look in LOOKS}
NAMES = {
    "bandit": "Bandit", "contextual": "Contextual bandit", "gridworld": "Gridworld", "corridor": "Noisy corridor",
    "CartPole-v1": "CartPole", "addition": "Tiny LM: addition", "sorting": "Tiny LM: sorting", "brackets": "Tiny LM: brackets",
    "sentences": "Tiny LM: sentences",
}  # fmt: skip

AHEAD = 60
"""How far a step that teaches is looked for."""


def which(step: Opened) -> None:
    """Say which step this is, and offer others."""
    told = refusals.any_of("setting")
    with st.expander(f"**{step.label}**", icon=":material/biotech:", expanded=told):
        if step.request is None:
            st.markdown("A step of a run in the lab, made once more bit by bit from the state before it.")
            with st.container(horizontal=True):
                st.page_link("pages/lab.py", label="Back to the lab", icon=":material/science:")
                st.button("A step by its settings instead", on_click=_leave_run)
            return
        _choices(step)
        _settings(step)


def dead(step: Opened) -> None:
    """Say so where no row of the step has an advantage, and offer the next step in which one has."""
    if teaches(step.of):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info(
            "Nothing is learned from rewards in this step: no row has an advantage, because within every group all scores are equal.",
            icon=":material/motion_photos_off:",
        )
        if step.request is not None:
            st.button("Open the next step that teaches", on_click=_next, args=(step,))
    refusals.tell_refusal("next")


def _next(step: Opened) -> None:
    number = int(st.query_params.get("step", str(FIRST["step"])))
    try:
        found = next_teaching(step.of.config, number, most=AHEAD, patience=PATIENCE)
    except Diverged as error:
        refusals.note_refusal("next", str(error))
        return
    if found is None:
        refusals.note_refusal("next", f"step: no step among those right after {number} has a row with an advantage")
    else:
        refusals.forget("next")
        _anew(step=found)


def _leave_run() -> None:
    _anew(run=None, node=None)


def _anew(**to: object) -> None:
    """Another batch: what was selected in this one means nothing there."""
    go(**to, **dict.fromkeys(HERE))


def _choices(step: Opened) -> None:
    assert step.request is not None
    request, query = step.request, st.query_params
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _select("recipe", "Recipe", list(RECIPES), request.recipe, RECIPES)
        _select("env", "Environment", [*ENVS, *WORDS], request.env, NAMES)
        _number("step", "Training step", int(query.get("step", str(FIRST["step"]))), 1, MOST_STEPS)
        _number("seed", "Seed", request.seed, 0, 2**32 - 1)


def _select(name: str, label: str, options: list[str], value: str, shown: dict[str, str]) -> None:
    key = f"step_{name}"
    whole = options if value in options else [*options, value]
    st.session_state[key] = value
    st.selectbox(label, whole, key=key, format_func=lambda each: shown.get(each, each), width=220,
                 on_change=lambda: _anew(**{name: st.session_state[key]}))  # fmt: skip


def _number(name: str, label: str, value: int, low: int, high: int) -> None:
    key = f"step_of_{name}"
    st.session_state[key] = value

    def changed() -> None:
        if st.session_state[key] is not None:
            _anew(**{name: st.session_state[key]})

    st.number_input(label, low, high, key=key, width=130, on_change=changed)


def _settings(step: Opened) -> None:
    """Any setting of the run by name; those in force that differ from the preset can be taken back."""
    request = step.request
    assert request is not None
    have = {name: value for name, value in engine.menu.menu_of(step.of.config).settings(step.of.config).items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Change a setting", list(have), key="step_setting", width=220, index=0)
        st.text_input(f"now {have[name]}", key="step_value", placeholder="new value", width=160)
        st.button("Set", on_click=_set, args=(step,))
        for changed, value in request.settings:
            st.button(f"{changed} {value}", icon=":material/close:", on_click=_anew, kwargs={changed: None}, key=f"step_un_{changed}",
                      help="Take this back")  # fmt: skip
    refusals.tell_refusal("setting")


def _set(step: Opened) -> None:
    name = str(st.session_state["step_setting"])
    text = str(st.session_state.get("step_value") or "").strip()
    assert step.request is not None
    try:
        problem = engine.refusal(step.request, name, text) if text else f"{name}: type a value first"
    except SettingError as error:
        problem = str(error)
    if problem:
        refusals.note_refusal("setting", problem)
    else:
        refusals.forget("setting")
        _anew(**{name: text})
