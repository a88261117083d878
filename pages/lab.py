"""Lab: train one algorithm on one small world, live, and turn its settings while it runs."""

from collections.abc import Mapping

import streamlit as st

from live.contract import Request, Setting
from live.server import ServerFull
from ui import lab_bar, lab_stories, share, state
from ui.live_panel import live_panel
from ui.refusals import literal

BAND = (
    "Drag **ε** down to 0.01 while it trains: the dashed band on the samples closes, crosses appear, and *clip fraction* "
    "rises on its curve. Notice that samples outside the band still learn when the advantage points back inside."
)
SURE = (
    "Press **Reset** and watch the bars race for the best arm. Notice *entropy* and *clip fraction* fall together: once "
    "the policy is sure, its ratios stay close to 1 and there is next to nothing left to clip."
)
WORDS = (
    "Watch *sampled* accuracy climb towards *greedy*: on addition reward mostly sharpens what the start can do already; on "
    "brackets *greedy* rises too. Then point at a token below for its numbers, and turn **lr** up tenfold to see it all lost."
)


def choose(request: Request, link: share.Taught) -> None:
    """Recipe and world: each needs a new run."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.title("Lab", width="stretch", anchor=False)
        for key, value in (("lab_recipe", request.recipe), ("lab_env", request.env)):
            st.session_state.setdefault(key, value)
        order = [*state.FIRST, *(name for name in state.RECIPES if name not in state.FIRST)]
        with st.container(horizontal=True, gap="small", width=346):  # both on one row of a phone
            for name, label, options, shown in (
                ("recipe", "Algorithm", order, state.RECIPES), ("env", "World", list(state.WORLDS), state.WORLDS),
            ):  # fmt: skip
                if name not in link.hide:
                    st.selectbox(
                        label, options, key=f"lab_{name}", format_func=shown.get, on_change=restart, width=165,
                        help="Changing it starts a new run.", disabled=link.locks(name),
                    )  # fmt: skip


def restart() -> None:
    run, _ = state.lab_run()
    state.start_over(Request(st.session_state["lab_recipe"], st.session_state["lab_env"], run.request.seed))


def renew(values: Mapping[str, Setting]) -> None:
    """A seed, or settings that a run keeps for life."""
    run, _ = state.lab_run()
    share.refuse(run, values)
    state.start_over(state.with_fresh(run, values))


def write_url() -> None:
    run, _ = state.lab_run()
    st.query_params.from_dict(state.write(run) | share.kept())


try:
    run, refused = state.lab_run()
except ServerFull as full:
    st.warning(str(full), icon="⏳")
    st.stop()
link = share.apply(run)
refused = (*refused, *link.refused)
if refused:
    st.warning("Not taken from the address:\n\n" + "\n\n".join(f"- {literal(problem)}" for problem in refused))
choose(run.request, link)
is_words = state.WORLDS[run.request.env].startswith("Words")
if not run.request.story:
    st.markdown(WORDS if is_words else SURE if run.request.env in ("bandit", "three-arms") else BAND)
write_url()
lab_stories.gallery()
told = lab_stories.card(run)
live_panel([run], key="lab", on_settled=write_url, on_fresh=renew, story=told)
lab_bar.bar(run, link)
