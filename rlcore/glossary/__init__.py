"""Glossary: every quantity that is logged, recorded or set, with symbol, shape, meaning and other names.

`look_up` finds an entry by our name or by a library's. What is a knob comes from its declaration; metrics
and fields are written here once. This package computes nothing.
"""

from __future__ import annotations

import difflib

from rlcore.glossary.of_fields import FIELDS
from rlcore.glossary.of_knobs import every_value, of_knobs
from rlcore.glossary.of_metrics import METRICS
from rlcore.glossary.quantity import LIBRARIES, Quantity
from rlcore.knobs import SettingError

WRITTEN: dict[str, Quantity] = {quantity.name: quantity for quantity in (*FIELDS, *METRICS)}


def knobs() -> dict[str, Quantity]:
    """Every knob of every value class loaded so far, by "Owner.knob"."""
    return {quantity.name: quantity for cls in every_value() for quantity in of_knobs(cls)}


def entries() -> dict[str, Quantity]:
    """The whole glossary by name: metrics, fields, knobs."""
    return WRITTEN | knobs()


def look_up(name: str) -> Quantity:
    """The entry called `name`: ours ("clip_fraction", "PpoClip.eps_low", "eps_low") or a library's (coef_1).

    Our names go first. Raises SettingError with the nearest names.
    """
    whole = entries()
    if name in whole:
        return whole[name]
    short = {key.split(".")[-1]: quantity for key, quantity in reversed(whole.items()) if "." in key}
    theirs = {word: quantity for quantity in reversed(whole.values()) for word in quantity.aka.values()}
    for table in (short, theirs):
        if name in table:
            return table[name]
    near = difflib.get_close_matches(name, [*whole, *short, *theirs], n=3, cutoff=0.6)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise SettingError(f"glossary: must be a known quantity, got {name!r}{hint}")


__all__ = ["FIELDS", "LIBRARIES", "METRICS", "WRITTEN", "Quantity", "entries", "knobs", "look_up", "of_knobs"]
