"""Progress: what was answered and when it comes back, one JSON to take away and bring back, the Anki deck, and forgetting.

Whose progress it is, is this browser's secret (`browser`); how files are read and refused is `interview.progress`'s.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import streamlit as st

from figures import paper
from figures.curves import Run, read_curves
from interview import curves, drill, schedule
from interview.anki import export_apkg
from interview.progress import LARGEST_FILE, ProgressError, Review
from interview.schedule import Memory
from interview.schema import GROUPS, ReadCurves
from ui.interview import browser, desk
from ui.interview.desk import GROUP_NAMES, Person
from ui.refusals import REFUSED

TOLD = "interview_import_told"


def room() -> None:
    """Numbers first, then files in and out."""
    who = desk.person()
    memories, reviews = who.store.memories(who.identity), who.store.reviews(who.identity)
    _standing(memories, reviews)
    left, right = st.columns(2)
    with left:
        _take_away(who)
    with right:
        _bring_back(who)
    _anki()
    _privacy(who, bool(reviews))


# ---------------------------------------------------------------- numbers


def _standing(memories: Mapping[str, Memory], reviews: tuple[Review, ...]) -> None:
    everything, now = desk.everything(), desk.now()
    due = drill.due_now(everything, memories, now)
    with st.container(horizontal=True, key="standing"):
        st.metric(
            "Answered", f"{sum(one in everything for one in memories)} of {len(everything)}", border=True, width=170
        )
        st.metric("Due again", len(due), border=True, width=130)
        st.metric("Answers given", len(reviews), border=True, width=150)
    if not reviews:
        st.info(
            "Nothing answered in this browser yet. A drill of ten cards takes about twenty minutes.",
            icon=":material/flag:",
        )
        return
    last = {one.card_id: one for one in reviews}
    st.markdown("**By topic**, with the last score of each card and FSRS's chance that you still know it:")
    st.table([_topic(group, memories, last) for group in GROUPS], hide_index=True)
    coming = sorted((memory.due, name) for name, memory in memories.items() if name in everything)[:10]
    st.markdown("**Next to come back:**")
    st.table(
        [{"card": _title(name), "comes back": desk.when(due), "last score": _last(last, name)} for due, name in coming],
        hide_index=True,
    )


def _topic(group: str, memories: Mapping[str, Memory], last: Mapping[str, Review]) -> dict[str, str]:
    mine = drill.chosen(desk.everything(), groups=(group,))
    seen = [one for one in mine if one in memories]
    scores = [last[one].value for one in seen if one in last]
    known = [schedule.recall(memories[one], desk.now()) for one in seen]
    return {
        "topic": GROUP_NAMES[group],
        "answered": f"{len(seen)} of {len(mine)}",
        "due": str(len(drill.due_now(mine, memories, desk.now()))),
        "mean score": f"{fmean(scores):.0%}" if scores else "–",
        "still known": f"{fmean(known):.0%}" if known else "–",
    }


def _title(name: str) -> str:
    item = desk.everything()[name]
    return f"{item.of}: {item.title}" if item.of else item.title


def _last(last: Mapping[str, Review], name: str) -> str:
    return f"{last[name].value:.0%}" if name in last else "–"


# ---------------------------------------------------------------- files


def _take_away(who: Person) -> None:
    st.subheader("Take it with you", divider="gray")
    st.markdown("One file with every answer and the schedule. Bring it back here or into another browser.")
    name = f"surrogate-interview-{desk.now():%Y-%m-%d}.json"
    st.download_button(
        "Progress as JSON", lambda: who.store.export_json(who.identity, desk.now()), name, "application/json",
        icon=":material/download:", key="progress_export", on_click="ignore",
    )  # fmt: skip


def _bring_back(who: Person) -> None:
    st.subheader("Bring it back", divider="gray")
    file = st.file_uploader("A progress file of this app", type=["json"], key="progress_import", max_upload_size=5)
    st.caption("It is merged: of each card the later answer counts. A file with anything wrong in it changes nothing.")
    if file is not None and st.session_state.get(TOLD, ("",))[0] != file.file_id:
        st.session_state[TOLD] = (file.file_id, *_import(who, file.getvalue()))
        st.rerun()
    if file is not None:
        _, fine, words = st.session_state[TOLD]
        if fine:
            st.success(words, icon=":material/done_all:")
        else:
            st.error(words, icon=REFUSED)


def _import(who: Person, content: bytes) -> tuple[bool, str]:
    try:
        if len(content) > LARGEST_FILE:
            raise ProgressError(f"file: must be smaller than {LARGEST_FILE // 1_000_000} MB")
        done = who.store.import_json(who.identity, content, desk.now(), known=frozenset(desk.everything()))
    except (ProgressError, UnicodeDecodeError) as error:
        return False, f"Refused, and nothing was changed. {error}"
    told = f"{done.added} cards added, {done.updated} brought up to date, {done.kept} were newer here; {done.reviews_added} answers added."
    if done.unknown:
        told += f" {done.unknown} cards are not in this version's bank; they are kept all the same."
    return True, told


def _anki() -> None:
    st.subheader("Anki", divider="gray")
    st.markdown(
        "The whole bank as a deck, with the curves as pictures and links to the proofs. Import a newer deck over an older "
        "one and your schedule in Anki stays: the cards keep their identities."
    )
    st.download_button(
        "Anki deck", _deck, "surrogate-interview.apkg", "application/octet-stream", icon=":material/style:", key="anki_export",
        on_click="ignore",
    )  # fmt: skip


def _deck() -> bytes:
    """The deck, with every card that shows curves."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        cards = desk.bank().cards
        shown = [one for one in cards if isinstance(one, ReadCurves)]
        pictures = {one.id: _picture(one, where) for one in shown}
        export_apkg(cards, where / "deck.apkg", app_url=desk.address(), figures=pictures)
        return (where / "deck.apkg").read_bytes()


def _picture(card: ReadCurves, folder: Path) -> Path:
    stored = curves.read(card)
    runs = [Run(spec.label, spec.recipe, stored[spec.label]) for spec in card.runs]
    plate = read_curves(runs, card.metrics, curves.AXES, name=card.id, title=card.title)
    path = folder / f"surrogate-{card.id}.png"
    height = 2 + 3.2 * len(card.metrics)
    path.write_bytes(paper.render(plate.draw("light"), "png", title="", width_cm=12, height_cm=height))
    return path


def _privacy(who: Person, anything: bool) -> None:
    st.subheader("Whose progress this is", divider="gray")
    if not browser.kept():
        st.warning(
            "This browser stores nothing (a private window?), so this progress ends with the tab. Take the JSON with you.",
            icon=":material/warning:",
        )
    st.markdown(
        "There is no account. This browser holds a random secret; the app keeps your answers under a fingerprint of it, on "
        "the machine that serves this page, and sends them nowhere else. Another browser or another person's machine sees "
        "none of them. People who share one browser profile share one progress."
    )
    with st.popover("Forget everything", icon=":material/delete:", disabled=not anything, key="forget"):
        st.markdown("All answers and the schedule of this browser are deleted for good.")
        st.button("Yes, forget it all", key="forget_all", on_click=_forget, args=(who,))


def _forget(who: Person) -> None:
    who.store.forget(who.identity)
    for key in ("interview_drill", "interview_mock", TOLD):
        st.session_state.pop(key, None)
