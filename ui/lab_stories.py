"""The lab's stories: a folded gallery to choose from, and the card of the one that runs: predict, then let it be checked.

The check is made by the run itself and shown under its curves; this module computes nothing. Stories are imported with
the engine, so only a story that runs, or a gallery that was opened, waits for it.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from live.contract import Request
from live.run import LiveRun
from ui import state

HINT = "Each is a claim about training, a prediction to make, and a check read off the run's own numbers."


def gallery() -> None:
    """All stories, folded; choosing one starts its run and puts it into the address."""
    fold = st.expander("Stories: predict, run, be checked", icon=":material/menu_book:", key="lab_gallery", on_change="rerun")
    if not fold.open:
        return
    from rlcore.stories import STORIES

    with fold:
        st.caption(HINT)
        for name, label in state.WORLDS.items():
            here = [told for told in STORIES if told.env == name]
            if not here:
                continue
            st.markdown(f"**{label}**")
            with st.container(horizontal=True, gap="small"):
                for told in here:
                    st.button(
                        told.title, key=f"story_{told.name}", help=told.question, on_click=begin, args=(told.name,),
                        width="content",
                    )  # fmt: skip


def begin(name: str, arm: str = "") -> None:
    """A run of one arm of a story, in place of the lab's present one."""
    from rlcore.stories import story

    told = story(name)
    state.start_over(Request(told.recipe, told.env, told.seed, story=name, arm=told.arm(arm).name))
    st.session_state["lab_recipe"], st.session_state["lab_env"] = told.recipe, told.env
    st.session_state["lab_gallery"] = False


def card(run: LiveRun) -> dict[str, Any] | None:
    """The running story's card; what the panel needs to tell how it ends, None where no story runs."""
    request = run.request
    if not request.story:
        return None
    from rlcore.stories import found, story

    told, key = story(request.story), f"lab_predicted_{request.story}_{request.arm}"
    arm = told.arm(request.arm)
    with st.container(border=True):
        st.markdown(f"**Story: {told.title}**  \n{_question(told, arm)}")
        labels = {outcome.key: outcome.says for outcome in told.outcomes}
        predicted = st.radio(
            f"Your prediction for step {told.steps}", list(labels), index=None, key=key, format_func=labels.get,
        )  # fmt: skip
        if predicted is None:
            st.caption("Choose first; the run is checked at that step, under its curves.")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            for other in told.arms:
                if other.name != arm.name:
                    st.button(f"The other side: {other.name}", on_click=begin, args=(told.name, other.name))
            st.button("Leave the story", on_click=leave)
        with st.expander("The claim, what it was measured on, and what this run is"):
            st.markdown(_claim(told, found(told.name)))
            st.caption(f"This address stands for: {_expanded(told, arm, run)}")
    return {"outcomes": labels, "predicted": predicted, "because": told.because}


def leave() -> None:
    """The same recipe and world from its own preset."""
    run, _ = state.lab_run()
    state.start_over(Request(run.request.recipe, run.request.env, run.request.seed))


def _question(told: Any, arm: Any) -> str:
    if arm == told.arms[0]:
        return str(told.question)
    return f"The other side: the same run with *{arm.name}*. What will it come to?"


def _claim(told: Any, counted: Any) -> str:
    if counted is None:
        return f"{told.claim}\n\nNot measured over several seeds yet."
    verdict = "It held" if counted.holds(told) else "**It did not hold**"
    source = f" Source of the idea: {told.source}." if told.source else ""
    return f"{told.claim}\n\n{verdict}: {counted.words(told)} (`{counted.command}`).{source}"


def _expanded(told: Any, arm: Any, run: LiveRun) -> str:
    """Recipe, world, seed and settings that the story's name stands for."""
    settings = ", ".join(f"{name} = {_short(value)}" for name, value in (told.settings | arm.settings).items())
    plain = f"{state.RECIPES[told.recipe]} on {state.WORLDS[told.env].lower()}, seed {run.request.seed}"
    return f"{plain}, {settings or 'the preset as it is'}; {told.steps} updates."


def _short(value: Any) -> str:
    if isinstance(value, dict):
        rest = ", ".join(f"{name} {item}" for name, item in value.items() if name != "kind")
        return f"{value['kind'].replace('_', ' ')}{f' ({rest})' if rest else ''}"
    return str(value)
