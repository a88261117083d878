"""The mock interview: half an hour through one of the five cases, a clock, follow-ups, and a report to take away.

The order of questions is `interview.mock`'s, the clock `interview.sitting`'s; this module draws them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import streamlit as st
from pydantic import ValidationError

from interview import mock, sitting
from interview.drill import Item, part_id
from interview.matching import suggest
from interview.mock import MINUTES, Asking
from interview.progress import Review
from interview.report import html_report, markdown_report
from interview.schema import Case
from interview.scoring import marks, score
from interview.sitting import Sitting
from ui.interview import card, desk
from ui.interview.browser import clock
from ui.interview.browser import keys as bind_keys
from ui.interview.desk import Person
from ui.refusals import REFUSED

HELD = "interview_mock"


def room() -> None:
    """The running interview, its report, or the choice of a case."""
    who = desk.person()
    _refuse_unknown_case()
    if "card" in st.query_params:
        del st.query_params["card"]  # back from a proof: the sitting is where it was
    st.fragment(_room)(who)


def _room(who: Person) -> None:
    held = _held(who)
    if held is None:
        _choose(who)
        return
    case = _case(held)
    if held.phase == "over":
        _report(who, case, held)
    else:
        _sit(who, case, held)


def _refuse_unknown_case() -> None:
    asked = st.query_params.get("case")
    if asked is not None and asked not in {case.id for case in desk.bank().cases}:
        st.error(f"case: must be one of {', '.join(c.id for c in desk.bank().cases)}, got {asked[:60]!r}", icon=REFUSED)


def _case(held: Sitting) -> Case:
    return next(case for case in desk.bank().cases if case.id == held.session.case_id)


def _held(who: Person) -> Sitting | None:
    if HELD not in st.session_state:
        st.session_state[HELD] = _read(who.store.draft(who.identity, "mock"))
    held: Sitting | None = st.session_state[HELD]
    return held


def _read(text: str | None) -> Sitting | None:
    """A saved sitting; None where it was held on another version of the case."""
    try:
        found = Sitting.model_validate_json(text) if text else None
        if found is not None:
            mock.result(_case(found), found.session)
        return found
    except (ValidationError, ValueError, StopIteration):
        return None


def _keep(who: Person, held: Sitting | None) -> None:
    st.session_state[HELD] = held
    if held is None:
        who.store.drop_draft(who.identity, "mock")
    else:
        who.store.save_draft(who.identity, "mock", held.model_dump_json())


# ---------------------------------------------------------------- choosing


def _choose(who: Person) -> None:
    st.caption(
        f"{MINUTES} minutes on the clock, which stops while you tick. Answer aloud, as to a person; the notes are yours. "
        "What you miss is asked again as a follow-up."
    )
    asked = st.query_params.get("case")
    cases = {item.card.id: item.card for item in desk.everything().values() if isinstance(item.card, Case)}
    for place, case in enumerate(sorted(cases.values(), key=lambda one: one.id != asked), start=1):
        with st.container(border=True, key=f"case_{case.id}"):
            st.markdown(f"**{case.title}**")
            st.markdown(case.prompt)
            st.caption(" · ".join(f"{part.title} ({part.minutes} min)" for part in case.parts))
            st.button(
                "Start the half hour", shortcut=str(place), icon=":material/timer:", key=f"start_{case.id}",
                on_click=_begin, args=(who, case),
            )  # fmt: skip


def _begin(who: Person, case: Case) -> None:
    _keep(who, sitting.sit_down(case, desk.now()))


# ---------------------------------------------------------------- the half hour


def _sit(who: Person, case: Case, held: Sitting) -> None:
    asking = mock.now_asking(case, held.session)
    assert asking is not None
    _bar(who, case, held, asking)
    st.subheader(f"{case.title}: {asking.part.title}")
    if held.left(desk.now()) < 0:
        st.warning(
            "The half hour is over. Finish the thought, or end and read the report.", icon=":material/timer_off:"
        )
    if asking.chosen is None:
        st.markdown(f"#### {asking.part.prompt}")
        _answering(who, held) if held.phase == "answering" else _ticking(who, case, held, asking)
    else:
        st.caption("Follow-up")
        st.markdown(f"#### {asking.chosen.follow_up.ask}")
        _answering(who, held) if held.phase == "answering" else _judging(who, case, held, asking)


def _bar(who: Person, case: Case, held: Sitting, asking: Asking) -> None:
    now = desk.now()
    running = held.since is not None
    with st.container(horizontal=True, vertical_alignment="center", key="mock_bar"):
        stamp = f"{held.used} {held.since}"
        clock(held.left(now), key="mock_clock", stamp=stamp, running=running, warn=180, over="Half an hour is over")
        if asking.chosen is None:
            first, last = sitting.slot_of(case, asking.part.id)
            st.caption(
                f"This part: about {last - first} minutes, until {MINUTES - last}:00 on the clock.", width="content"
            )
        st.space("stretch")
        if held.phase == "answering":
            name, change = ("Stop the clock", sitting.stop) if running else ("Go on", sitting.run)
            st.button(name, type="tertiary", shortcut="S", key="mock_stop", on_click=_change, args=(who, held, change))
        st.button(
            "End now",
            type="tertiary",
            shortcut="Q",
            key="mock_end",
            on_click=_change,
            args=(who, held, sitting.stand_up),
        )


def _change(who: Person, held: Sitting, change: Callable[[Sitting, datetime], Sitting]) -> None:
    _keep(who, change(held, desk.now()))


def _field(held: Sitting) -> str:
    """One notes field for each question asked."""
    follow_ups = sum(len(answer.follow_ups) for answer in held.session.answers)
    return f"mock_note_{len(held.session.answers)}_{follow_ups}"


def _answering(who: Person, held: Sitting) -> None:
    key = _field(held)
    st.session_state.setdefault(key, held.note)
    st.text_area(
        "Notes, if you like: T to begin, Ctrl+Enter when you have answered", key=key, height=120, max_chars=mock.LONGEST_NOTE,
        on_change=_note, args=(who, held, key),
    )  # fmt: skip
    bind_keys({"t": ("focus", key), "ctrl+enter": ("send", key, "mock_answered")}, key="mock_keys")
    st.button(
        "I have answered", type="primary", shortcut="Enter", icon=":material/record_voice_over:", key="mock_answered",
        on_click=_answered, args=(who, held, key),
    )  # fmt: skip


def _note(who: Person, held: Sitting, key: str) -> None:
    _keep(who, sitting.noted(held, st.session_state[key] or ""))


def _answered(who: Person, held: Sitting, key: str) -> None:
    note = st.session_state.get(key) or ""
    asking = mock.now_asking(_case(held), held.session)
    held = sitting.answered(held, note, desk.now())
    if asking is not None and asking.chosen is None and note.strip():
        held = sitting.ticks(
            held, [one.point_id for one in suggest(asking.part, note, asked=asking.part.prompt) if one.ticked]
        )
    _keep(who, held)


def _ticking(who: Person, case: Case, held: Sitting, asking: Asking) -> None:
    st.caption("The clock stands still. Tick what you said; ticks you find already are a guess from your notes' words.")
    item = Item(part_id(case.id, asking.part.id), asking.part, case, case.title)
    guessed = (
        {one.point_id: one for one in suggest(asking.part, held.note, asked=asking.part.prompt)}
        if held.note.strip()
        else {}
    )
    ticked = card.rubric(item, held.ticked, suggested=guessed, name="mock")
    if set(ticked) != set(held.ticked):
        held = sitting.ticks(held, ticked)
        _keep(who, held)
    st.button(
        "Next question", type="primary", shortcut="Enter", icon=":material/arrow_forward:", key="mock_judged",
        on_click=_judge, args=(who, case, held, asking),
    )  # fmt: skip


def _judge(who: Person, case: Case, held: Sitting, asking: Asking) -> None:
    """The part is over: it is scheduled like the same card in a drill, and the next question is asked."""
    now = desk.now()
    found = score(asking.part, marks(asking.part, held.ticked))
    review = Review(
        card_id=part_id(case.id, asking.part.id), reviewed_at=now, rating=found.rating, value=found.value,
        ticked=held.ticked, seconds=min(held.used - held.asked_at, 86_400),
    )  # fmt: skip
    who.store.answer(who.identity, review)
    _keep(who, sitting.judged(case, held, now))


def _judging(who: Person, case: Case, held: Sitting, asking: Asking) -> None:
    assert asking.chosen is not None
    with st.container(border=True, key="mock_expected"):
        st.caption("Expected")
        st.markdown(asking.chosen.follow_up.expect)
    st.markdown("Was that in your answer?")
    with st.container(horizontal=True):
        for label, key, yes in (("Yes", "Y", True), ("No", "N", False)):
            st.button(label, shortcut=key, key=f"mock_{key}", on_click=_repaired, args=(who, case, held, yes))


def _repaired(who: Person, case: Case, held: Sitting, yes: bool) -> None:
    _keep(who, sitting.repaired(case, held, yes, desk.now()))


# ---------------------------------------------------------------- the report


def _report(who: Person, case: Case, held: Sitting) -> None:
    found = mock.result(case, held.session)
    when = held.began.astimezone(desk.zone()) if desk.zone() else held.began
    text = markdown_report(found, held=when, app_url=desk.address())
    with st.container(horizontal=True, key="mock_report_bar"):
        name = f"mock-interview-{when:%Y-%m-%d}-{case.id}"
        html = html_report(found, held=when, app_url=desk.address())
        st.download_button("Markdown", text, f"{name}.md", "text/markdown", shortcut="M", icon=":material/download:", key="report_md", on_click="ignore")  # fmt: skip
        st.download_button("HTML", html, f"{name}.html", "text/html", shortcut="H", icon=":material/download:", key="report_html", on_click="ignore")  # fmt: skip
        st.button(
            "Another interview", shortcut="N", icon=":material/add:", key="mock_new", on_click=_keep, args=(who, None)
        )
    st.caption(
        f"{held.used / 60:.0f} of {MINUTES} minutes on the clock. The parts also count as answered cards in the drill."
    )
    st.markdown(text.replace("\n## ", "\n#### ").replace("# Mock", "### Mock", 1))
