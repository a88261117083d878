"""Stories: ready-made states of a page with a few words each, read from `assets/lessons/NAME.md`.

    ## key · Label
    Set: recipes=grpo,rloo&env=bandit
    What to look at.

Choosing one sets the page's controls; turning any of them afterwards leaves the story's words standing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl

import streamlit as st

from ui import address
from ui.lesson import lesson
from ui.refusals import forget, note_refusal, tell_refusal

KEY = "story"


@dataclass(frozen=True)
class Story:
    """A state of the page and what it shows; settings by name as they stand in the address."""

    key: str
    label: str
    settings: Mapping[str, str]
    text: str


@lru_cache(maxsize=8)
def stories(name: str) -> tuple[Story, ...]:
    """The stories of a lesson file. Raises ValueError where the line `Set: …` is missing."""
    found = []
    for part in lesson(name).sections:
        first, _, text = part.text.partition("\n")
        if not first.startswith("Set: "):
            raise ValueError(f"story {part.key}: needs a first line 'Set: name=value&…'")
        settings = dict(parse_qsl(first.removeprefix("Set: "), strict_parsing=True))
        found.append(Story(part.key, part.label, settings, text.strip()))
    return tuple(found)


def choose(name: str, *, resets: Iterable[str], lists: Iterable[str], texts: Iterable[str]) -> None:
    """The row of stories, and the words of the one chosen.

    resets  every control that a story may set; those it does not name go back to their defaults
    lists   controls that hold several options · texts: controls that hold one option; all others hold numbers
    """
    known = {story.key: story for story in stories(name)}
    kinds = (tuple(resets), tuple(lists), tuple(texts))
    if KEY not in st.session_state:
        _from_address(known, kinds)
    st.pills(
        "Stories", list(known), key=KEY, format_func=lambda key: known[key].label, on_change=_chosen, args=(known, kinds)
    )
    tell_refusal(KEY)
    told = known.get(st.session_state.get(KEY) or "")
    address.write(KEY, [told.key] if told else [""], [""])
    if told is not None:
        st.info(told.text, icon=":material/auto_stories:")


Kinds = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def _from_address(known: Mapping[str, Story], kinds: Kinds) -> None:
    asked = st.query_params.get(KEY)
    if asked is not None and asked not in known:
        note_refusal(KEY, f"{KEY}: must be one of {', '.join(known)}, got {asked[:60]!r}")
    st.session_state[KEY] = asked if asked in known else None
    if asked in known:
        explicit = set(st.query_params)
        _reset(set(kinds[0]) - explicit)
        _set({name: text for name, text in known[asked].settings.items() if name not in explicit}, kinds)


def _chosen(known: Mapping[str, Story], kinds: Kinds) -> None:
    """Another story was pressed: everything it does not name goes back to its default."""
    forget(KEY)
    story = known.get(st.session_state[KEY] or "")
    if story is None:
        return
    _reset(kinds[0])
    _set(story.settings, kinds)


def _reset(names: Iterable[str]) -> None:
    for name in names:
        for key in (name, f"last_{name}", f"refused_{name}"):
            st.session_state.pop(key, None)
        st.query_params.pop(name, None)


def _set(settings: Mapping[str, str], kinds: Kinds) -> None:
    _, lists, texts = kinds
    for name, text in settings.items():
        if name in lists:
            st.session_state[name] = text.split(",")
        elif name in texts:
            st.session_state[name] = text
        else:
            value = float(text)
            st.session_state[name] = int(value) if value.is_integer() and "." not in text else value
