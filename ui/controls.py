"""Controls made from knobs: a slider for the feel and a field for the exact number, one value, bound to the address.

The value in force is `st.session_state[key]`, and stands in the URL under the same key. What a knob forbids is refused
beside the field, in the house's words, and the last good value stays in force. Slider and field are one small component
(`static/knob.js`), which speaks while it is dragged. This module knows no particular knob.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

import streamlit as st
from pydantic import BaseModel

from rlcore.knobs import Knob, knobs_of
from ui import address, browser
from ui.refusals import forget, hold, note_refusal, refuse_choice, tell_refusal

MANTISSAS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)

_knob = browser.component("surrogate_knob", "knob.js", beside=("teller.js",), styles=("knob.css",))


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
    if key not in st.session_state:
        st.session_state[key] = _from_address(key, about, default, whole)
    hold(key)
    value = _within(st.session_state[key], about, whole)
    _knob(
        key=f"{key}_pair",
        data={
            "key": key, "label": f"{about.symbol} {name}".strip(), "ticks": _tick_texts(about, step, whole),
            "text": spelled(value), "help": _help(about),
        },
        on_value_change=lambda: _turned(key, about, whole),
    )  # fmt: skip
    address.write(key, [spelled(value)], [spelled(default)])
    tell_refusal(key)
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


def spelled(value: float) -> str:
    """A number as it stands in a field and in the address."""
    return str(value) if isinstance(value, int) else f"{value:.12g}"


def read_number(text: str, about: Knob, *, whole: bool) -> tuple[float, str]:
    """(number, what is wrong with the text or "")."""
    try:
        value = float(text)
    except ValueError:
        return math.nan, f"must be a number, got {text[:40]!r}"
    if whole and not value.is_integer():
        return math.nan, f"must be a whole number, got {text[:40]}"
    if not about.low <= value <= about.high:
        return math.nan, f"{_rule(about)}, got {value:g}"
    return (int(value) if whole else value), ""


def _from_address(key: str, about: Knob, default: float, whole: bool) -> float:
    """The control's first value; what the address asks wrongly is refused."""
    text = st.query_params.get(key)
    if text is None:
        return default
    value, problem = read_number(text, about, whole=whole)
    if problem:
        note_refusal(key, f"{key}: {problem}; {default:g} stays in force")
    return default if problem else value


def _turned(key: str, about: Knob, whole: bool) -> None:
    """The slider moved, or something was typed."""
    text = st.session_state[f"{key}_pair"].get("value")
    if text is None:
        return
    value, problem = read_number(str(text), about, whole=whole)
    if problem:
        note_refusal(key, f"{key}: {problem}; {spelled(st.session_state.get(key, about.low))} stays in force")
        return
    forget(key)
    st.session_state[key] = value


def _within(value: float, about: Knob, whole: bool) -> float:
    """A value that was set for another range (a row of a longer batch) is drawn into this one."""
    near = min(max(value, about.low), about.high)
    return int(near) if whole else float(near)


def _rule(about: Knob) -> str:
    if math.isinf(about.high):
        return f"must be at least {about.low:g}"
    return f"must be between {about.low:g} and {about.high:g}"


def _help(about: Knob) -> str:
    unit = f" ({about.unit})" if about.unit else ""
    source = f" Source: {about.source}." if about.source else ""
    return f"{about.help[:1].upper()}{about.help[1:]}{unit}.{source}"


@lru_cache(maxsize=256)
def _tick_texts(about: Knob, step: float | None, whole: bool) -> tuple[str, ...]:
    return tuple(spelled(tick) for tick in _ticks(about, step, whole))


def _ticks(about: Knob, step: float | None, whole: bool) -> list[float]:
    """Where the slider can stand, within the suggested range."""
    low, high = about.suggested
    if about.scale == "log" and low > 0:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        grid = [float(f"{m * 10.0**e:.6g}") for e in range(first, last + 1) for m in MANTISSAS]
        inside = [x for x in grid if low <= x <= high]
        return sorted({low, high, *inside}) if not whole else sorted({float(round(x)) for x in (low, high, *inside)})
    width = step or (max(1.0, nice((high - low) / 100)) if whole else nice((high - low) / 100))
    first, last = math.ceil(low / width - 1e-9), math.floor(high / width + 1e-9)
    inside = [float(f"{i * width:.10g}") for i in range(first, last + 1)]
    return sorted({low, high, *inside})


def nice(width: float) -> float:
    """The nearest 1, 2 or 5 times a power of ten that is not smaller."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= width * (1 - 1e-9))
