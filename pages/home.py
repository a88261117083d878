"""Home: what this is, three algorithms learning at once, and the doors."""

import streamlit as st

from live.contract import Request
from live.run import LiveRun
from live.server import ServerFull, shared
from ui.live_panel import live_panel
from ui.pages import TABLE

STEPS = 200  # well under a minute; then the three stop by themselves
RATE = 5.0
SETTINGS = (("lr", 0.015),)  # slow enough to be watched
DOORS = (
    (
        "Build intuition",
        "Train an algorithm yourself and turn its settings while it learns.",
        "pages/lab.py",
        "Open the lab",
    ),
    (
        "Interview soon",
        "Questions with rubrics, each linked to the run that proves the answer.",
        "pages/interview.py",
        "Practise",
    ),
    ("My run looks odd", "From what your curves show to what usually causes it.", "pages/doctor.py", "Find the cause"),
)

STORIES = {  # of the lab's, by name: these need no knowledge of the field
    "clip-prevents-collapse": "The clip, and 32 passes over every batch", "dead-groups": "Dead groups: nobody found the goal",
    "thinks-longer": "Nobody rewards length",
}  # fmt: skip


def three_runs() -> list[LiveRun]:
    """PPO, GRPO and GSPO on the same grid from the same seed; this session's own."""
    held = [shared().get(rid) for rid in st.session_state.get("home_runs", ())]
    runs = [run for run in held if run is not None]
    if len(runs) != 3:
        runs = [
            shared().create(Request(recipe, "gridworld", 1, SETTINGS), rate=RATE, stop_after=STEPS)
            for recipe in ("ppo", "grpo", "gspo")
        ]
        st.session_state["home_runs"] = [run.rid for run in runs]
    return runs


st.title("Surrogate")
st.markdown(
    "A place to understand PPO, GRPO and GSPO by watching them train. Below, all three learn the same small maze from "
    "the same seed, right now, on this machine: **same idea, different advantage and ratio**."
)
try:
    live_panel(three_runs(), key="home", layout="home")
except ServerFull as full:
    st.warning(str(full), icon="⏳")

there = {entry.file for entry in TABLE if entry.exists}
doors = [door for door in DOORS if door[2] in there]
for column, (title, words, page, label) in zip(st.columns(len(doors)), doors, strict=True):
    with column.container(border=True):
        st.subheader(title)
        st.write(words)
        st.page_link(page, label=label, icon="➡️")
st.markdown("Or predict first, and let a run be the judge:")
with st.container(horizontal=True, gap="small"):
    for name, label in STORIES.items():
        st.page_link("pages/lab.py", label=label, icon=":material/menu_book:", query_params={"story": name})
