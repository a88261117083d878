"""Choices in the address by their names. Streamlit's own binding would write their labels there, which change.

Numbers, texts and switches use `bind="query-params"`; only options with labels go through here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from ui.refusals import just_touched, note_refusal

NONE = "-"
WRITTEN = "address_written"


def arrive(names: Iterable[str], *, anew: bool) -> None:
    """At a page's top: where the address asks for something that no control here has written, it is a link that was
    followed, and what it asks goes before what this session holds.

    anew  True where the page was not the one shown before: all that it asks is new
    """
    if anew:
        st.session_state[WRITTEN] = {}
    elif just_touched():  # the browser's address may be one step behind the control
        return
    written = st.session_state.setdefault(WRITTEN, {})
    for name in names:
        text = st.query_params.get(name)
        if text is not None and (anew or (name in written and written[name] != text)):
            st.session_state.pop(name, None)


def read(key: str, options: Sequence[str], default: Sequence[str], *, many: bool = False) -> None:
    """Before the control is made: its first value from the address; what is not an option is refused and told."""
    if _still_fits(st.session_state.get(key), options, many):
        return
    asked = [name for text in st.query_params.get_all(key) for name in text.split(",") if name and name != NONE]
    wrong = [name for name in asked if name not in options]
    if wrong:
        note_refusal(key, f"{key}: must be one of {', '.join(options)}, got {wrong[0][:60]!r}")
    good = [name for name in options if name in asked]
    empty = many and st.query_params.get(key) == NONE
    first = good if good or empty else list(default)
    st.session_state[key] = first if many else first[0]


def _still_fits(held: object, options: Sequence[str], many: bool) -> bool:
    """True where this session already holds a choice of this control; another page may use the key for other options."""
    if many:
        return isinstance(held, list) and set(held) <= set(options)
    return held in options


def write(key: str, chosen: Sequence[str], default: Sequence[str]) -> None:
    """After the control: put what was chosen into the address, or nothing where it is the default."""
    same = list(chosen) == list(default)
    st.session_state.setdefault(WRITTEN, {})[key] = None if same else ",".join(chosen) or NONE
    if same:
        if key in st.query_params:
            del st.query_params[key]
    elif st.query_params.get(key) != (text := ",".join(chosen) or NONE):
        st.query_params[key] = text
