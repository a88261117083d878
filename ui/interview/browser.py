"""What only the browser can do for the interview room: say who it is, run a clock, and take digits as ticks.

The identity is a secret that this browser made and keeps; it goes over the page's own connection, never into an
address, a log or a file. A session learns it once and asks nobody again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from interview.store import new_identity, owner_of

FILES = Path(__file__).resolve().parents[2] / "static" / "interview"
IDENTITY, KEPT = "interview_identity", "interview_identity_kept"


def _read(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


_identity = st.components.v2.component("surrogate_identity", js=_read("identity.js"), isolate_styles=False)
_clock = st.components.v2.component(
    "surrogate_clock", js=_read("clock.js"), css=_read("clock.css"), isolate_styles=False
)
_keys = st.components.v2.component("surrogate_keys", js=_read("keys.js"), isolate_styles=False)


def identity() -> str | None:
    """This browser's secret, or None on a session's first run, before the browser has answered."""
    known: str | None = st.session_state.get(IDENTITY)
    if known is not None:
        return known
    told = _identity(key="interview_who", default={"identity": None}, on_identity_change=lambda: None).identity
    if told is None:
        return None
    secret, kept = _checked(told)
    st.session_state[IDENTITY], st.session_state[KEPT] = secret, kept
    return secret


def kept() -> bool:
    """False where the browser stores nothing, so that progress ends with the tab."""
    return bool(st.session_state.get(KEPT, True))


def _checked(told: Any) -> tuple[str, bool]:
    """What the browser said, or a fresh identity for this session where it said something impossible."""
    try:
        secret = str(told["secret"])
        owner_of(secret)
        return secret, told["kept"] is True
    except (TypeError, KeyError, ValueError):
        return new_identity(), False


def clock(
    left: float, *, key: str, stamp: str, words: str = "left", over: str = "Time is up", running: bool = True,
    warn: float = 30,
) -> None:  # fmt: skip
    """A countdown of `left` seconds; it is set anew whenever `stamp` changes. The last `warn` seconds stand out."""
    _clock(
        key=key,
        data={"left": left, "stamp": stamp, "words": words, "over": over, "running": running, "warn": warn},
    )


def keys(bindings: Mapping[str, tuple[str, ...]], *, key: str) -> None:
    """Key -> ("press" or "focus", the key of a checkbox or field), or ("send", a field, the button that takes it)."""
    _keys(key=key, data={"bindings": {name: list(bound) for name, bound in bindings.items()}})
