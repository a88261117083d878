"""What was refused, said beside the control it belongs to, until that control is changed.

Streamlit drops a wrong value of the address silently and removes it; it is read here before the control is made.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

import streamlit as st

REFUSED = ":material/error:"
HELD = "held_values"
MARKUP = re.compile(r"[\\`*~$<>\[\]]|(?<=\w)(?=://)|(?<=www)(?=\.)", re.IGNORECASE)


def literal(text: str) -> str:
    """Text that quotes what somebody typed, so that Markdown shows it as it is: no picture, link or mark of an address."""
    return MARKUP.sub(lambda found: "\\" + found.group(), text)


def note_refusal(key: str, message: str) -> None:
    """Remember that a control refused something."""
    st.session_state[f"refused_{key}"] = message


def forget(key: str) -> None:
    """The control was changed: what it refused earlier no longer matters."""
    st.session_state.pop(f"refused_{key}", None)
    st.session_state["touched_at"] = time.monotonic()


def just_touched() -> bool:
    """True in the run that a control has caused: its callback ran a moment ago."""
    return time.monotonic() - float(st.session_state.get("touched_at", -1)) < 0.25


def forget_all() -> None:
    """Another page is shown: its controls share names with the last one's, but neither refusals nor values."""
    for key in [k for k in st.session_state if str(k).startswith(("refused_", "last_"))]:
        del st.session_state[key]
    for key in st.session_state.pop(HELD, set()):
        st.session_state.pop(key, None)


def hold(key: str) -> None:
    """A control keeps its value in the session under `key`, until another page is shown."""
    st.session_state.setdefault(HELD, set()).add(key)


def tell_refusal(key: str, message: str = "") -> None:
    """Show `message`, or else what was noted earlier, under the control just made."""
    found = message or st.session_state.get(f"refused_{key}", "")
    if found:
        st.error(literal(found), icon=REFUSED)


def any_of(*keys: str) -> bool:
    """True where one of these controls has refused something, in the address or since: their panel must be open."""
    for key in keys:
        if st.query_params.get(key) is not None or f"refused_{key}" in st.session_state:
            return True
    return False


def refuse_choice(key: str, options: Iterable[str]) -> None:
    """Note that the address asks for an option that does not exist. Call it before the control is made."""
    known = [str(option) for option in options]
    wrong = [value for value in st.query_params.get_all(key) if value not in known]
    if wrong:
        note_refusal(key, f"{key}: must be one of {', '.join(known)}, got {wrong[0][:60]!r}")
