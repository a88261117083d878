"""A figure with everything that goes with it: how to draw it, a sentence that says it, and its numbers as a table.

A plate is pure: the same record gives the same plate. It is drawn late, once the background is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from figures.theme import Mode

Table = Mapping[str, Any]
"""Column name -> its numbers or words, of equal length."""


@dataclass(frozen=True)
class Plate:
    """What a figure is, before it is on a page.

    name   file name of exports, without an ending
    title  default title of a publication figure
    draw   light or dark -> the figure
    alt    one sentence with the figure's main numbers, for people who do not see it
    table  the plotted numbers by column, of equal length; what CSV exports hold
    """

    name: str
    title: str
    draw: Callable[[Mode], go.Figure]
    alt: str
    table: Table

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.table.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"table: columns must be of equal length, got {lengths}")


def csv_text(table: Table) -> str:
    """The table as CSV with full precision; text that holds a comma or a quote is quoted."""
    rows = [list(table), *zip(*table.values(), strict=True)]
    return "".join(",".join(_cell(value) for value in row) + "\r\n" for row in rows)


def _cell(value: object) -> str:
    text = repr(float(value)) if isinstance(value, np.floating) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text
