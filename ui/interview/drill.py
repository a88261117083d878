"""The drill: choose cards, say or type an answer, open the rubric, tick, score, go on. Every step has a key.

What is asked, ticked and scored is `interview.drill`'s; this module draws it and keeps it, in the session and as a draft
in the progress file, so that a reload or a visit to a proof loses nothing.
"""

from __future__ import annotations

from functools import partial

import streamlit as st
from fsrs import Rating
from pydantic import ValidationError

from interview import drill as drills
from interview.drill import Drill, Item, Settled
from interview.followup import missed, next_follow_up
from interview.matching import suggest
from interview.scoring import FLAG_COST, marks, score
from interview.storefile import StoreError
from ui.interview import card, choosing, desk
from ui.interview.browser import clock
from ui.interview.browser import keys as bind_keys
from ui.interview.desk import Person
from ui.refusals import REFUSED

HELD = "interview_drill"
SETTINGS = ("card", *choosing.SETTINGS)
RATINGS = {Rating.Again: "again", Rating.Hard: "hard", Rating.Good: "good", Rating.Easy: "easy"}


def room() -> None:
    """The running drill, or the choice of one."""
    who = desk.person()
    _open_linked_card(who)
    st.fragment(_room)(who)


def _room(who: Person) -> None:
    held = _held(who)
    if held is None:
        choosing.choose(who, _begin)
    elif held.over:
        _summary(who, held)
    else:
        _ask(who, held)


# ---------------------------------------------------------------- keeping it


def _held(who: Person) -> Drill | None:
    if HELD not in st.session_state:
        text = who.store.draft(who.identity, "drill")
        try:
            found = Drill.model_validate_json(text) if text else None
        except ValidationError:
            found = None  # written by another version: not worth an error
        st.session_state[HELD] = drills.still_there(found, desk.everything()) if found else None
    held: Drill | None = st.session_state[HELD]
    return held


def _keep(who: Person, drill: Drill | None) -> None:
    st.session_state[HELD] = drill
    if drill is None:
        who.store.drop_draft(who.identity, "drill")
    else:
        who.store.save_draft(who.identity, "drill", drill.model_dump_json())


def _open_linked_card(who: Person) -> None:
    """`card=` in the address: that card is asked now, in front of what the running drill would ask."""
    asked = st.query_params.get("card")
    if asked is None:
        return
    held = _held(who)
    if asked not in desk.everything():
        st.error(f"card: no card is called {asked[:60]!r}", icon=REFUSED)
    elif held is None or held.over:
        _keep(who, drills.begin([asked], desk.now()))
    elif held.card_id != asked:
        _keep(who, drills.ask_first(held, asked, desk.now()))
    del st.query_params["card"]


def _begin(who: Person, queue: tuple[str, ...], minutes: float) -> None:
    _keep(who, drills.begin(queue, desk.now(), minutes=minutes))


# ---------------------------------------------------------------- one card


def _ask(who: Person, drill: Drill) -> None:
    item = desk.everything()[drill.card_id]
    _bar(who, drill)
    card.head(item)
    card.question(item)
    if trouble := st.session_state.pop("drill_trouble", None):
        st.error(trouble, icon=REFUSED)
    {"asking": _answering, "ticking": _ticking, "scored": _scored}[drill.phase](who, drill, item)


def _bar(who: Person, drill: Drill) -> None:
    """Where in the drill this is, the clock, and the way out."""
    with st.container(horizontal=True, vertical_alignment="center", key="drill_bar"):
        st.markdown(f"**Card {drill.place + 1} of {len(drill.queue)}**", width="content")
        if drill.minutes and drill.phase == "asking":
            left = 60 * drill.minutes - (desk.now() - drill.began).total_seconds()
            clock(left, key="drill_clock", stamp=f"{drill.card_id} {drill.began}", over="Say your last sentence")
        st.space("stretch")
        st.button(
            "Skip", shortcut="K", type="tertiary", key="drill_skip", disabled=drill.phase == "scored", on_click=_go_on,
            args=(who, drill),
        )  # fmt: skip
        st.button("End drill", shortcut="Q", type="tertiary", key="drill_end", on_click=_end, args=(who, drill))


def _end(who: Person, drill: Drill) -> None:
    _keep(who, drills.end(drill))


def _answering(who: Person, drill: Drill, item: Item) -> None:
    key = f"answer_{item.id}"
    st.session_state.setdefault(key, drill.answer)
    st.text_area(
        "Answer aloud, or type: T to begin, Ctrl+Enter to open the rubric", key=key, height=120, max_chars=20_000,
        placeholder="Typed answers get a first guess at the rubric's points. Nothing leaves this app.",
        on_change=_note, args=(who, drill, key),
    )  # fmt: skip
    bind_keys({"t": ("focus", key), "ctrl+enter": ("send", key, "drill_reveal")}, key="answer_keys")
    st.button(
        "Open the rubric", type="primary", shortcut="Enter", icon=":material/visibility:", key="drill_reveal",
        on_click=_reveal, args=(who, drill, item, key),
    )  # fmt: skip


def _note(who: Person, drill: Drill, key: str) -> None:
    """What was typed survives a reload."""
    _keep(who, drills.noted(drill, st.session_state[key] or ""))


def _reveal(who: Person, drill: Drill, item: Item, key: str) -> None:
    _keep(who, drills.reveal(drill, item, st.session_state.get(key) or "", desk.now()))


def _ticking(who: Person, drill: Drill, item: Item) -> None:
    typed = bool(drill.answer.strip())
    if typed:
        with st.container(border=True, key="own_answer"):
            st.caption("What you typed")
            st.text(drill.answer)
        st.caption(
            ":material/lightbulb: The first ticks are a guess from words alone: it understands no sentence. Correct it."
        )
    else:
        st.caption("Tick what you said, honestly; the digits are keys.")
    guessed = {one.point_id: one for one in suggest(item.rubric, drill.answer, asked=item.words)} if typed else {}
    ticked = card.rubric(item, drill.ticked, suggested=guessed, name="tick")
    if set(ticked) != set(drill.ticked):
        drill = drills.tick(drill, item.rubric, ticked)
        _keep(who, drill)
    found = score(item.rubric, marks(item.rubric, drill.ticked))
    with st.container(horizontal=True, vertical_alignment="center", key="drill_score"):
        st.button(
            f"Score it: {found.value:.0%}", type="primary", shortcut="Enter", icon=":material/done:", key="drill_settle",
            on_click=_settle, args=(who, drill, item),
        )  # fmt: skip
    card.prove(item, back="drill")
    card.sources(item)


def _settle(who: Person, drill: Drill, item: Item) -> None:
    found, review = drills.review_of(drill, item.rubric, desk.now())
    try:
        memory = who.store.answer(who.identity, review, days_left=choosing.days_left())
        _keep(who, drills.settle(drill, found, memory))
    except StoreError as error:
        st.session_state["drill_trouble"] = str(error)


def _scored(who: Person, drill: Drill, item: Item) -> None:
    given, done = marks(item.rubric, drill.ticked), drill.settled[-1]
    st.markdown(f"### {done.value:.0%} · {RATINGS[done.rating]} · comes back {desk.when(done.due)}")
    _lines(item, given.must, given.red_flags)
    chosen = next_follow_up(item.rubric, given)
    if chosen is not None:
        with st.container(border=True, key="follow_up"):
            st.caption("You missed a point, so they would ask next:")
            st.markdown(f"**{chosen.follow_up.ask}**")
            shown = f"follow_up_{item.id}"
            st.button("Show what they expect", shortcut="F", key="show_follow_up", on_click=partial(_show, shown))
            if st.session_state.get(shown):
                st.markdown(chosen.follow_up.expect)
    elif missed(item.rubric, given):
        st.caption("Say the bold line once aloud, as you would have liked to say it, before you go on.")
    st.button(
        "Next card" if drill.place + 1 < len(drill.queue) else "Finish", type="primary", shortcut="Enter",
        icon=":material/arrow_forward:", key="drill_next", on_click=_go_on, args=(who, drill),
    )  # fmt: skip
    card.prove(item, back="drill")
    card.sources(item)


def _show(key: str) -> None:
    st.session_state[key] = True


def _go_on(who: Person, drill: Drill) -> None:
    _keep(who, drills.go_on(drill, desk.now()))


def _lines(item: Item, had: frozenset[str], flags: frozenset[str]) -> None:
    for point in item.rubric.must:
        mark = ":material/check:" if point.id in had else ":material/close:"
        st.markdown(f"{mark} {point.text}" if point.id in had else f"{mark} **{point.text}**")
    for flag in item.rubric.red_flags:
        if flag.id in flags:
            st.markdown(f":material/flag: {flag.text} {flag.because} (−{FLAG_COST:.0%})")


# ---------------------------------------------------------------- the end


def _summary(who: Person, drill: Drill) -> None:
    everything = desk.everything()
    weak = drills.weak(drill)
    done = [one for one in drill.settled if one.card_id in everything]
    st.subheader("Done" if done else "Nothing answered")
    if done:
        mean = sum(one.value for one in done) / len(done)
        st.markdown(f"**{mean:.0%}** of the points on {len(done)} card{'s' * (len(done) > 1)}.")
        st.table([_row(everything[one.card_id], one) for one in done], hide_index=True)
    with st.container(horizontal=True):
        if weak:
            st.button(
                f"Ask the {len(weak)} weak one{'s' * (len(weak) > 1)} again", type="primary", shortcut="Enter",
                icon=":material/replay:", key="drill_again", on_click=_begin, args=(who, weak, drill.minutes),
            )  # fmt: skip
        st.button(
            "New drill", shortcut="N" if weak else "Enter", icon=":material/add:", key="drill_new", on_click=_keep,
            args=(who, None), type="secondary" if weak else "primary",
        )  # fmt: skip


def _row(item: Item, one: Settled) -> dict[str, str]:
    title = f"{item.of}: {item.title}" if item.of else item.title
    back = desk.when(one.due)
    return {"card": title, "score": f"{one.value:.0%}", "rating": RATINGS[one.rating], "comes back": back}
