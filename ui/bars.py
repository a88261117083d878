"""Numbers side by side as bars that are dragged, by mouse, finger or arrow keys (`static/bars.js`).

The numbers belong to whoever shows them: what was dragged is handed to a function, which puts it where it belongs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import streamlit as st

from ui import browser
from ui.controls import nice, spelled
from ui.refusals import forget

_component = browser.component("surrogate_bars", "bars.js", beside=("teller.js",), styles=("bars.css",))


def dragged(
    key: str, label: str, values: Sequence[float], *, each: str, names: Sequence[str], limits: tuple[float, float],
    on_drag: Callable[[tuple[float, ...]], None], least: tuple[float, float] = (0.0, 1.0),
) -> None:  # fmt: skip
    """Show values as bars; `on_drag` is called with all of them when one was moved.

    each   what one bar is, for people who do not see it · names  of the bars · limits  legal values
    least  the range that is always in reach
    """
    low, high = min(*values, least[0]), max(*values, least[1])
    room = 0.2 * (high - low)
    span = (max(limits[0], low - room if low < 0 else low), min(limits[1], high + room))
    _component(
        key=key,
        data={
            "key": key, "label": label, "values": [float(spelled(v)) for v in values], "each": each, "names": list(names),
            "limits": list(limits), "range": list(span), "step": nice((high - low) / 40),
        },
        on_value_change=lambda: _moved(key, len(values), limits, on_drag),
    )  # fmt: skip


def _moved(
    key: str, count: int, limits: tuple[float, float], on_drag: Callable[[tuple[float, ...]], None]
) -> None:  # fmt: skip
    """What the browser says is checked as anything else that comes from outside."""
    try:
        values = tuple(float(word) for word in str(st.session_state[key].get("value") or "").split(","))
    except ValueError:
        return
    if len(values) == count and all(math.isfinite(v) and limits[0] <= v <= limits[1] for v in values):
        forget(key)
        on_drag(values)
