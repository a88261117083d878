"""The body of the Step-through page: which step, the walk through it, and everything about one phase.

Selecting a row or token anywhere writes it to the address, from which every part of the page is drawn.
"""

from __future__ import annotations

import hashlib
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from figures import microscope as figures
from rlcore.microscope import (
    Phase,
    Scene,
    Station,
    path_of,
    phase_of,
    phases,
    picture,
    scene_of,
    stations,
)
from rlcore.microscope.naming import place_text, prompt_text, row_names, what
from rlcore.microscope.outline import ONCE, TITLES
from rlcore.microscope.picturing import AlongRow, Curve, Distribution, Group, Picture
from ui import controls, figure, step_batch, step_quiz, step_setup, step_source
from ui.lesson import Lesson, Section
from ui.step_address import Opened, go, opened, selection


def show(words: Lesson, *, entered: bool) -> Section:
    """The whole page below its head; returns the section of the lesson that belongs to the phase.

    entered  the page has just been opened: a live run's step is made anew
    """
    step = opened(fresh=entered)
    left, right = st.columns([0.4, 0.6], gap="medium")
    with left:
        step_setup.which(step)
    scene = scene_of(step.of, selection(step.of))
    step_setup.dead(step)
    keys = phases(scene)
    with right:
        mode = controls.choice(
            "mode", "How to walk", tuple(step_quiz.MODES), default="predict", shown=step_quiz.MODES.__getitem__,
            help="Each pass asks more: first a sign or which tokens die, then results, then all numbers, then without the formula.",
        )  # fmt: skip
    key = controls.choice("phase", "Phase", keys, shown=TITLES.__getitem__)
    _transport(step, scene, key, mode)
    part = words.section(key)
    place = f"{step.key}/{key}/{scene.at.update}/{scene.at.row}/{scene.at.token}"
    phase = phase_of(scene, key)
    hidden = step_quiz.closed(_short(place), phase, mode)
    _phase(scene, phase, keys, part, mode, _short(place), hidden)
    step_batch.show(scene, phase, keys, hidden=hidden)
    st.subheader("The code of this phase", divider="gray")
    step_source.show(step.of.config, key)
    step_quiz.score()
    return part


def _short(place: str) -> str:
    return hashlib.blake2s(place.encode(), digest_size=8).hexdigest()


# ---------------------------------------------------------------- moving about


def _to(station: Station) -> None:
    go(phase=station.key, **({} if station.key in ONCE else {"update": station.update + 1}))


def _title(station: Station, scene: Scene) -> str:
    elsewhere = station.key not in ONCE and station.update != scene.at.update
    return TITLES[station.key] + (f", update {station.update + 1}" if elsewhere else "")


def _transport(step: Opened, scene: Scene, key: str, mode: str) -> None:
    """Back and next, rows and tokens, updates; each with a key of the keyboard."""
    back, ahead = path_of(scene, key)
    walk = stations(scene)
    here = Station(key, 0 if key in ONCE else scene.at.update)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="step_transport"):
        st.button("Back" if back is None else f"Back: {_title(back, scene)}", shortcut="Left", disabled=back is None,
                  on_click=_to, args=(back,), key="step_back")  # fmt: skip
        st.button("Next" if ahead is None else f"Next: {_title(ahead, scene)}", type="primary", shortcut="Right",
                  disabled=ahead is None, on_click=_to, args=(ahead,), key="step_next")  # fmt: skip
        _numbers(scene)
    if here in walk:
        n = walk.index(here) + 1
        st.progress(n / len(walk), text=f"Station {n} of {len(walk)} on this {what(scene)}'s way through the step")
    if ahead is None:
        harder = step_quiz.HARDER[mode]
        st.success(f"That was the whole way of this {what(scene)} through the step.", icon=":material/flag:")
        st.button(f"Once more from the start: {step_quiz.MODES[harder]}", on_click=partial(go, phase="sample", mode=harder, update=None))


def _together() -> DeltaGenerator:
    """A field and its two buttons, which a narrow screen must not part."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small", width="content")


def _numbers(scene: Scene) -> None:
    """Row, token and update as fields, with buttons for neighbors."""
    rows, tokens, at = len(scene.mask), scene.tokens, scene.at
    n = int((tokens < at.token).sum())
    with _together():
        _field("row", "Row", at.row + 1, rows)
        _hop("Row up", "W", at.row > 0, row=at.row)
        _hop("Row down", "S", at.row + 1 < rows, row=at.row + 2)
    if len(tokens) > 1:
        with _together():
            _field("token", what(scene).capitalize(), at.token + 1, int(tokens[-1]) + 1)
            _hop(f"{what(scene).capitalize()} before", "A", n > 0, row=at.row + 1, token=int(tokens[n - 1]) + 1)
            _hop(f"{what(scene).capitalize()} after", "D", n + 1 < len(tokens), row=at.row + 1,
                 token=int(tokens[min(n + 1, len(tokens) - 1)]) + 1)  # fmt: skip
    if len(scene.updates) > 1:
        _field("update", f"Update of {len(scene.updates)}", at.update + 1, len(scene.updates))


ICONS = {"W": "arrow_upward", "S": "arrow_downward", "A": "arrow_back", "D": "arrow_forward"}


def _hop(label: str, shortcut: str, possible: bool, **to: int) -> None:
    st.button("", icon=f":material/{ICONS[shortcut]}:", shortcut=shortcut, disabled=not possible, help=label, on_click=partial(go, **to),
              key=f"step_hop_{shortcut}")  # fmt: skip


def _field(name: str, label: str, value: int, most: int) -> None:
    key = f"step_{name}"
    st.session_state[key] = value

    def changed() -> None:
        if st.session_state[key] is not None:
            go(**{name: st.session_state[key]})

    st.number_input(label, 1, most, key=key, on_change=changed, width=110)


# ---------------------------------------------------------------- one phase


def _where(scene: Scene) -> str:
    """The selected row in a line: prompt and reply, or what was done."""
    names = row_names(scene)
    n = int((scene.tokens < scene.at.token).sum())
    start = max(0, n - 8)
    said = " ".join(f"**[{name}]**" if start + i == n else name for i, name in enumerate(names[start : n + 9]))
    said = ("… " if start else "") + said + (" …" if n + 9 < len(names) else "")
    prompt = prompt_text(scene)
    lead = f"“{prompt}” → " if prompt else ""
    update = ""
    if scene.updates:
        u = scene.update
        update = f" · update {scene.at.update + 1} of {len(scene.updates)}: epoch {u.epoch + 1}, minibatch {u.minibatch + 1}"
    return f"Row {scene.at.row + 1}, {what(scene)} {scene.at.token + 1} ({place_text(scene) or 'one step'}): {lead}{_plain(said)}{update}"


def _plain(text: str) -> str:
    return text.replace("#", r"\#").replace(">", r"\>").replace("$", r"\$").replace("+", r"\+")


def _phase(scene: Scene, phase: Phase, keys: tuple[str, ...], part: Section, mode: str, place: str, hidden: bool) -> None:
    st.caption(_where(scene))
    left, right = st.columns([0.54, 0.46], gap="medium")
    with left:
        st.subheader(phase.title)
        st.markdown(phase.sentence)
        if not phase.present:
            _elsewhere(scene)
        if phase.formula and not (mode == "memory" and hidden):
            st.latex(phase.formula)
        if mode == "predict" and not hidden:
            step_quiz.tell(place, phase)
        if not (mode == "predict" and hidden):
            blank = step_quiz.letters(step_quiz.blanks_of(phase, mode)) if hidden else {}
            for each in phase.lines if not (mode == "memory" and hidden) else ():
                st.latex(each.latex(blank))
        if hidden and mode == "predict":
            step_quiz.ask(place, phase, row_names(scene))
        elif hidden:
            step_quiz.fill(place, phase, mode)
        elif phase.note:
            st.markdown(phase.note)
        with st.expander("Why, in words", icon=":material/menu_book:"):
            st.markdown(part.text)
    with right:
        _pictures(scene, phase, keys, hidden)


def _elsewhere(scene: Scene) -> None:
    if scene.meets and scene.here is None:
        st.button("Go to its next update", on_click=partial(go, update=_next_meeting(scene) + 1))


def _next_meeting(scene: Scene) -> int:
    later = [k for k in scene.meets if k > scene.at.update]
    return later[0] if later else scene.meets[-1]


def _pictures(scene: Scene, phase: Phase, keys: tuple[str, ...], hidden: bool) -> None:
    """The phase's picture, or while it is closed the last one that is known."""
    if hidden:
        st.caption("This phase's picture comes with its numbers. The last one, and in the table below everything known so far:")
    known = keys[: keys.index(phase.key) + (not hidden)]
    drawable = ((each, picture(scene, each.key)) for each in map(partial(phase_of, scene), reversed(known)) if each.present)
    phase, found = next(((each, seen) for each, seen in drawable if seen is not None), (phase, None))
    if found is not None:
        figure.show(_plate(found, scene, phase), key="step_picture", on_pick=partial(step_batch.select, scene=scene))


def _plate(found: Picture, scene: Scene, phase: Phase) -> figures.Plate:
    title = f"{phase.title}: row {scene.at.row + 1}"
    if isinstance(found, AlongRow):
        return figures.along_row(found, title=title)
    if isinstance(found, Distribution):
        return figures.distribution(found, title=title)
    if isinstance(found, Group):
        return figures.group(found, title=title)
    return figures.curve(found, title=title) if isinstance(found, Curve) else figures.terms(found, title=title)
