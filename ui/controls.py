"""Controls made from knobs: a slider for the feel and a field for the exact number, one value, bound to the address.

The field is the truth and stands in the URL under the control's key. What a knob forbids is refused beside the field,
in the house's words, and the last good value stays in force. This module knows no particular knob.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import streamlit as st
from pydantic import BaseModel

from rlcore.knobs import Knob, knobs_of
from ui import address
from ui.refusals import forget, note_refusal, refuse_choice, tell_refusal

MANTISSAS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
FIELD_WIDTH = 96  # pixels; at this width Streamlit leaves the step buttons out


def declared(model: type[BaseModel], name: str, *, suggested: tuple[float, float] | None = None) -> Knob:
    """A model's own declaration of one of its numbers, perhaps with another range for the slider."""
    about = knobs_of(model)[name]
    return about if suggested is None else replace(about, suggested=suggested)


def counted(low: int, high: int, help: str) -> Knob:
    """A knob for a whole number that belongs to a page and to no model: which step, which update."""
    return Knob("", help, low, high, (low, high), "linear", True, "", "")


def number(
    key: str, about: Knob, default: float, *, name: str = "", step: float | None = None, whole: bool = False
) -> float:
    """A slider and a field for one knob; returns a legal value.

    key    name in the URL and in session state · name  shown with the symbol
    step   of a linear slider (default: a hundredth of its range) · whole  only whole numbers
    """
    _refuse_text(key)
    label = f"{about.symbol} {name}".strip()
    ticks = _ticks(about, step, whole)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"{key}_pair"):
        slot = st.container(width="stretch")
        typed = st.number_input(
            f"{label}, exact", value=int(default) if whole else float(default), format="%d" if whole else "%g", key=key,
            bind="query-params", width=FIELD_WIDTH, label_visibility="collapsed", step=1 if whole else None,
            on_change=forget, args=(key,),
        )  # fmt: skip
        value, problem = _accepted(key, about, default, typed)
        with slot:
            st.session_state[f"{key}_slider"] = min(
                ticks, key=lambda tick: abs(_place(tick, about) - _place(value, about))
            )
            st.select_slider(
                label, ticks, key=f"{key}_slider", format_func=lambda tick: f"{tick:g}", help=_help(about),
                on_change=_copy, args=(key, whole),
            )  # fmt: skip
    tell_refusal(key, problem)
    return value


def whole(key: str, about: Knob, default: int, *, name: str = "") -> int:
    """The same for a whole number."""
    return int(number(key, about, default, name=name, whole=True))


def choice(
    key: str, label: str, options: Sequence[str], *, default: str | None = None, shown: Callable[[str], str] = str,
    help: str | None = None, label_visibility: Literal["visible", "hidden", "collapsed"] = "visible",
) -> str:  # fmt: skip
    """One of a few named options, as buttons; the option's own name stands in the URL, not its label."""
    first = options[0] if default is None else default
    address.read(key, options, [first])
    chosen = st.segmented_control(
        label, options, required=True, key=key, format_func=shown, help=help, on_change=forget, args=(key,),
        persist_state="session", label_visibility=label_visibility,
    )  # fmt: skip
    address.write(key, [chosen or first], [first])
    tell_refusal(key)
    return chosen or first


def several(
    key: str, label: str, options: Sequence[str], *, default: Sequence[str], shown: Callable[[str], str] = str,
    help: str | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """Any of a few named options, as pills; in the URL their names, separated by commas ("-" for none)."""
    address.read(key, options, default, many=True)
    chosen = st.pills(
        label, options, selection_mode="multi", key=key, format_func=shown, help=help, on_change=forget, args=(key,),
        persist_state="session",
    )  # fmt: skip
    found = tuple(option for option in options if option in chosen)
    address.write(key, found, default)
    tell_refusal(key)
    return found


def toggle(key: str, label: str, *, default: bool = False, help: str | None = None) -> bool:
    """On or off, in the URL as true or false."""
    refuse_choice(key, ("true", "false"))
    on = st.toggle(label, default, key=key, bind="query-params", help=help, on_change=forget, args=(key,))
    tell_refusal(key)
    return on


def numbers(
    key: str, label: str, default: Sequence[float], *, low: float, high: float, least: int, most: int,
    help: str | None = None,
) -> tuple[float, ...]:  # fmt: skip
    """A list of numbers typed with commas; what cannot be read is refused beside the field, by position."""
    text = st.text_input(label, ", ".join(f"{x:g}" for x in default), key=key, bind="query-params", help=help)
    good, problem = read_numbers(text or "", low=low, high=high, least=least, most=most)
    tell_refusal(key, f"{key}: {problem}" if problem else "")
    kept = good if not problem else st.session_state.get(f"last_{key}", tuple(default))
    st.session_state[f"last_{key}"] = kept
    return kept


def read_numbers(text: str, *, low: float, high: float, least: int, most: int) -> tuple[tuple[float, ...], str]:
    """(numbers, what is wrong with the text or ""); numbers are separated by commas, semicolons or spaces."""
    found: list[float] = []
    for place, word in enumerate(text.replace(",", " ").replace(";", " ").split(), start=1):
        try:
            value = float(word)
        except ValueError:
            return (), f"number {place} must be a number, got {word[:20]!r}"
        if not low <= value <= high:
            return (), f"number {place} must be between {low:g} and {high:g}, got {word[:20]}"
        found.append(value)
    if not least <= len(found) <= most:
        return (), f"must be {least} to {most} numbers, got {len(found)}"
    return tuple(found), ""


# ---------------------------------------------------------------- one knob


def _accepted(key: str, about: Knob, default: float, typed: float | None) -> tuple[float, str]:
    """(the typed number, "") where the knob allows it; else (the last good one, what is wrong)."""
    last: float = st.session_state.get(f"last_{key}", default)
    if typed is None:
        return last, ""
    if not about.low <= typed <= about.high:
        return last, f"{key}: {_rule(about)}, got {typed:g}; {last:g} stays in force"
    st.session_state[f"last_{key}"] = typed
    return typed, ""


def _rule(about: Knob) -> str:
    if math.isinf(about.high):
        return f"must be at least {about.low:g}"
    return f"must be between {about.low:g} and {about.high:g}"


def _refuse_text(key: str) -> None:
    """A number in the address that is none is noted before the widget drops it."""
    for text in st.query_params.get_all(key):
        try:
            float(text)
        except ValueError:
            note_refusal(key, f"{key}: must be a number, got {text[:40]!r}")


def _copy(key: str, whole: bool) -> None:
    """The slider moved: its number goes into the field."""
    forget(key)
    moved = st.session_state[f"{key}_slider"]
    st.session_state[key] = int(moved) if whole else float(moved)


def _help(about: Knob) -> str:
    unit = f" ({about.unit})" if about.unit else ""
    source = f" Source: {about.source}." if about.source else ""
    return f"{about.help[:1].upper()}{about.help[1:]}{unit}.{source}"


def _place(value: float, about: Knob) -> float:
    return math.log(max(value, 1e-12)) if about.scale == "log" else value


def _ticks(about: Knob, step: float | None, whole: bool) -> list[float]:
    """Where the slider can stand, within the suggested range."""
    low, high = about.suggested
    if about.scale == "log" and low > 0:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        grid = [float(f"{m * 10.0**e:.6g}") for e in range(first, last + 1) for m in MANTISSAS]
        inside = [x for x in grid if low <= x <= high]
        return sorted({low, high, *inside}) if not whole else sorted({float(round(x)) for x in (low, high, *inside)})
    width = step or (max(1.0, _nice((high - low) / 100)) if whole else _nice((high - low) / 100))
    first, last = math.ceil(low / width - 1e-9), math.floor(high / width + 1e-9)
    inside = [float(f"{i * width:.10g}") for i in range(first, last + 1)]
    return sorted({low, high, *inside})


def _nice(width: float) -> float:
    """The nearest 1, 2 or 5 times a power of ten that is not smaller."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= width * (1 - 1e-9))
