"""The whiteboard: write an expression, put terms in order, fill blanks, also in the source that runs. Checked by numbers.

What a person types goes to `interview.expression` and nowhere else; whatever is refused comes back as one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import streamlit as st

from figures.theme import look
from interview import unfolded
from interview.expression import FUNCTIONS
from interview.references import REFERENCES
from interview.unfolded import SourceTask, load_source_tasks
from interview.whiteboard import (
    AnyTask,
    BlanksTask,
    ShuffleTask,
    Verdict,
    WriteTask,
    check_blanks,
    check_tiles,
    check_written,
    load_tasks,
)
from ui import address
from ui.interview import desk
from ui.interview.desk import GROUP_NAMES, Person
from ui.refusals import forget, tell_refusal

Board = AnyTask | SourceTask
KINDS = {"shuffle": "Put in order", "blanks": "Fill the blanks", "source": "Blanks in the source", "write": "Write it"}
TILE_KEYS = "123456789"
SOLVED = "interview_solved"


@lru_cache(maxsize=1)
def tasks() -> Mapping[str, Board]:
    """All tasks by id, the easier ways of writing first."""
    found: list[Board] = [*load_tasks(), *load_source_tasks()]
    order = list(KINDS)
    return {task.id: task for task in sorted(found, key=lambda task: order.index(_kind(task)))}


def room() -> None:
    """One task at a time."""
    who = desk.person()
    st.fragment(_room)(who)


def _room(who: Person) -> None:
    task = _choose(who)
    about = st.empty()
    st.markdown(f"#### {task.prompt}")
    if isinstance(task, SourceTask):
        verdict = _source(task)
    elif isinstance(task, ShuffleTask):
        verdict = _shuffle(task)
    elif isinstance(task, BlanksTask):
        verdict = _blanks(task)
    else:
        verdict = _write(task)
    if verdict is not None:
        _tell(verdict)
        if verdict.passed:
            _solve(who, task.id)
    count = len(_solved(who) & set(tasks()))
    about.caption(f"{KINDS[_kind(task)]} · {GROUP_NAMES[task.group]} · {task.level} · {count} of {len(tasks())} solved")
    _below(task, solved=verdict is not None and verdict.passed)


def _kind(task: Board) -> str:
    return "source" if isinstance(task, SourceTask) else task.kind


# ---------------------------------------------------------------- which task


def _choose(who: Person) -> Board:
    ids = list(tasks())
    address.read("task", ids, [ids[0]])
    solved = _solved(who)
    with st.container(horizontal=True, vertical_alignment="bottom", key="task_bar"):
        chosen = st.selectbox(
            "Task", ids, key="task", on_change=forget, args=("task",),
            format_func=lambda one: f"{'✓ ' if one in solved else ''}{KINDS[_kind(tasks()[one])]}: {tasks()[one].title}",
            persist_state="session",
        )  # fmt: skip
        st.button("Next task", shortcut="N", key="task_next", on_click=_to_next, args=(ids, chosen))
    address.write("task", [chosen], [ids[0]])
    tell_refusal("task")
    return tasks()[chosen]


def _to_next(ids: list[str], chosen: str) -> None:
    forget("task")
    st.session_state["task"] = ids[(ids.index(chosen) + 1) % len(ids)]


def _solved(who: Person) -> set[str]:
    if SOLVED not in st.session_state:
        st.session_state[SOLVED] = set((who.store.draft(who.identity, "whiteboard") or "").split())
    solved: set[str] = st.session_state[SOLVED]
    return solved


def _solve(who: Person, name: str) -> None:
    solved = _solved(who)
    if name not in solved:
        solved.add(name)
        who.store.save_draft(who.identity, "whiteboard", " ".join(sorted(solved)))


# ---------------------------------------------------------------- ways of answering


def _write(task: WriteTask) -> Verdict | None:
    text = st.text_input("Your expression (Enter checks it)", key=f"write_{task.id}", max_chars=400)
    return check_written(task, text, REFERENCES[task.reference]) if text else None


def _shuffle(task: ShuffleTask) -> Verdict | None:
    key = f"tiles_{task.id}"
    chosen: list[int] = st.session_state.setdefault(key, [])
    with st.container(border=True, key="tiles_line"):
        st.code(" ".join(task.tiles[place] for place in chosen) or "…", language="python", wrap_lines=True)
    with st.container(horizontal=True, key="tiles"):
        for place, tile in enumerate(task.tiles):
            shortcut = TILE_KEYS[place] if place < len(TILE_KEYS) else None
            st.button(
                f"`{tile}`", shortcut=shortcut, disabled=place in chosen, key=f"{key}_{place}", on_click=chosen.append,
                args=(place,),
            )  # fmt: skip
    with st.container(horizontal=True):
        check = st.button("Check", type="primary", shortcut="Enter", key=f"{key}_check", disabled=not chosen)
        st.button(
            "Take the last one back", shortcut="Backspace", key=f"{key}_back", disabled=not chosen, on_click=chosen.pop
        )
        st.button("Start over", shortcut="X", key=f"{key}_clear", disabled=not chosen, on_click=chosen.clear)
    return check_tiles(task, chosen, REFERENCES[task.reference]) if check else None


def _blanks(task: BlanksTask) -> Verdict | None:
    lines = "\n".join(f"{line.name} = {line.expression}" for line in task.lines)
    for number, blank in enumerate(task.solution, start=1):
        lines = lines.replace(blank, f"____{number}____")
    st.code(lines, language="python", wrap_lines=True)
    filled = _fields(task.id, list(task.solution))
    return check_blanks(task, filled, REFERENCES[task.reference]) if all(filled.values()) else None


def _source(task: SourceTask) -> Verdict | None:
    st.caption(
        f"From the unfolded source of {look(task.recipe).label}: the code that trains it here. Fill in with the names and functions below."
    )
    st.code(unfolded.shown(task), language="python", wrap_lines=True)
    filled = _fields(task.id, list(task.blanks))
    return unfolded.check_source(task, filled) if all(filled.values()) else None


def _fields(task: str, blanks: list[str]) -> dict[str, str]:
    return {
        blank: (st.text_input(f"Blank {number}", key=f"fill_{task}_{blank}", max_chars=400) or "").strip()
        for number, blank in enumerate(blanks, start=1)
    }


# ---------------------------------------------------------------- what came of it


def _tell(verdict: Verdict) -> None:
    if verdict.passed:
        st.success(verdict.message, icon=":material/done_all:")
        return
    st.error(verdict.message.replace("lank_", "lank "), icon=":material/close:")
    if verdict.example:
        st.caption("For instance, with these numbers:")
        st.table({name: [f"{value:.4g}"] for name, value in verdict.example.items()}, hide_index=True)


def _below(task: Board, *, solved: bool) -> None:
    """The names and functions to use, and one right answer for those who ask."""
    if isinstance(task, SourceTask):
        names = {
            name: "" if name == source else f"is `{source}`"
            for blank in task.blanks.values()
            for name, source in blank.names.items()
        }
        right = "\n".join(f"____{n}____ = {blank.solution}" for n, blank in enumerate(task.blanks.values(), start=1))
    else:
        names, right = {name: f"– {about}" for name, about in task.names.items()}, task.worked
    if not isinstance(task, ShuffleTask):
        st.markdown("**Names**: " + "; ".join(f"`{name}` {about}".strip() for name, about in names.items()))
        usages = [usage for name, (_, _, usage) in FUNCTIONS.items() if name not in ("minimum", "maximum")]
        usage = " · ".join(
            f"`{call}`{', ' * bool(note)}{note}" for call, _, note in (u.partition("), ") for u in usages)
        )
        usage = usage.replace("`, ", ")`, ")
        st.markdown(f"**Functions**: {usage} · `+ - * / **` and comparisons")
    shown = f"right_{task.id}"
    if not solved:
        st.button(
            "Show one solution", key=f"show_{task.id}", shortcut="H", type="tertiary", on_click=_show, args=(shown,)
        )
    if solved or st.session_state.get(shown):
        st.caption("One way to write it:")
        st.code(right, language="python", wrap_lines=True)


def _show(key: str) -> None:
    st.session_state[key] = True
