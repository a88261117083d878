"""Which cards a drill asks, how many, with how much time, and how soon the interview is. All of it stands in the address."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from interview import drill as drills
from interview.schema import GROUPS
from ui import controls
from ui.interview import desk
from ui.interview.desk import Person
from ui.refusals import REFUSED

SETTINGS = ("cards", "groups", "kinds", "many", "timer", "days")
CARDS = {"five": "The five", "topics": "By topic", "due": "Due again"}
KINDS = ("question", "find_the_error", "read_curves")
MANY = {"5": "5", "10": "10", "20": "20", "all": "all"}
TIMERS = {"0": "none", "1": "1 min", "2": "2 min", "3": "3 min", "5": "5 min"}


def choose(who: Person, begin: Callable[[Person, tuple[str, ...], float], None]) -> None:
    """Controls for a drill, its counts, and the button that begins it."""
    memories, everything, now = who.store.memories(who.identity), desk.everything(), desk.now()
    due = drills.due_now(everything, memories, now)
    seen = sum(one in everything for one in memories)
    with st.container(horizontal=True, key="drill_counts"):
        st.metric("Due again", len(due), border=True, width=130)
        st.metric("Answered", f"{seen} of {len(everything)}", border=True, width=170)
    which = controls.choice("cards", "Which cards", tuple(CARDS), shown=CARDS.__getitem__)
    groups: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("case",) if which == "five" else ()
    if which == "five":
        st.caption("The five questions of a real research interview, in their parts. The most useful hour there is.")
    if which == "topics":
        groups = controls.several(
            "groups", "Topics (none chosen: all)", GROUPS, default=(), shown=desk.GROUP_NAMES.__getitem__
        )
        kinds = controls.several(
            "kinds", "Kinds of cards (none chosen: all)", KINDS, default=(), shown=desk.KIND_NAMES.__getitem__
        )
        kinds = kinds or KINDS
    left, middle, right = st.columns(3)
    with left:
        many = controls.choice("many", "How many", tuple(MANY), default="10", shown=MANY.__getitem__)
    with middle:
        minutes = controls.choice("timer", "Time for each", tuple(TIMERS), default="2", shown=TIMERS.__getitem__)
    with right:
        _days()
    wanted = drills.chosen(everything, groups=groups, kinds=kinds)
    most = len(everything) if many == "all" else int(many)
    queue = drills.in_order(wanted, memories, now, only_due=which == "due", most=most)
    if not queue:
        st.info("Nothing is due. Choose the five or a topic; the weakest cards come first.", icon=":material/done_all:")
        return
    label = f"Start: {len(queue)} card{'s' * (len(queue) > 1)}"
    st.button(
        label, type="primary", shortcut="Enter", icon=":material/play_arrow:", key="drill_start",
        on_click=begin, args=(who, queue, float(minutes)),
    )  # fmt: skip
    st.caption("Those you know least come first. No mouse needed: every button shows its key.")


def _days() -> None:
    """How soon the interview is: nothing is put off beyond it."""
    about = controls.counted(1, 365, "days until the interview")
    days = st.number_input(
        "Days until the interview (if any)", value=None, step=1, format="%d", key="days", bind="query-params",
        help="No card is put off beyond it.",
    )  # fmt: skip
    fine = days is None or about.low <= days <= about.high
    st.session_state["days_kept"] = days if fine else None
    if not fine:
        st.error(f"days: must be between {about.low:g} and {about.high:g}, got {days:g}", icon=REFUSED)


def days_left() -> int | None:
    """How many days a card may be put off, if the person said when the interview is."""
    days = st.session_state.get("days_kept")
    return int(days) if days else None
