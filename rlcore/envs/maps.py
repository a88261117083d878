"""Maps as text: how a gridworld is written in an address, and what keeps a map from making sense.

    rows joined by "-":        S..-.W.-..G     letters that an address need not escape: W for #, U R D L for ^ > v <
    rewards joined by "_":     r2c3_0.5_r1c1_-1     row and column from 1, as a person counts

This module knows text and neighbourhood; it runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlcore.envs.gridworld import CellReward, Gridworld

LIMIT = 20
GUSTS = ("^", ">", "v", "<")
"""Marks of cells on which gusts blow, in the order of the actions."""
MAX_REWARD_TEXT = 8000
_SAFE = str.maketrans("#^>v<", "WURDL")
_PLAIN = str.maketrans("WURDL", "#^>v<")
_REWARD = re.compile(r"r(\d{1,2})c(\d{1,2})_(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)", re.ASCII)


def rows_from_text(value: Any) -> Any:
    """The rows of a map written in one line (or several); anything that is no text is handed on as it is."""
    if not isinstance(value, str):
        return value
    if len(value) > LIMIT * (LIMIT + 2):
        raise ValueError(f"a map has at most {LIMIT} x {LIMIT} cells")
    return tuple(row.translate(_PLAIN) for row in re.split(r"[-/\n]", value.strip()))


def rows_as_text(layout: Iterable[str]) -> str:
    """The map in one line that an address can hold unescaped."""
    return "-".join(row.translate(_SAFE) for row in layout)


def rewards_from_text(value: Any) -> Any:
    """Rewards of single cells from their text; anything that is no text is handed on as it is."""
    if not isinstance(value, str):
        return value
    if len(value) > MAX_REWARD_TEXT:
        raise ValueError(f"rewards of cells take at most {MAX_REWARD_TEXT} characters")
    return tuple(_reward(part) for part in re.split(r"_(?=r)", value) if part)


def _reward(text: str) -> dict[str, float]:
    found = _REWARD.fullmatch(text)
    if found is None:
        raise ValueError(f"a cell's reward is written r2c3_0.5 (row 2, column 3, reward 0.5), got {text[:40]!r}")
    row, column, reward = found.groups()
    return {"row": int(row) - 1, "column": int(column) - 1, "reward": float(reward)}


def rewards_as_text(extra: Iterable[CellReward]) -> str:
    """The rewards of single cells in one line that an address can hold unescaped."""
    return "_".join(f"r{cell.row + 1}c{cell.column + 1}_{cell.reward:g}".replace("e+", "e") for cell in extra)


def problem(env: Gridworld) -> str | None:
    """Why nobody could learn anything on this map, in one sentence; None where it makes sense.

    From every start some goal, or a cell with a positive reward of its own, must be within reach on foot: hazards end
    the walk, wind is ignored. One start is needed, several are several prompts.
    """
    starts = env.cells("S")
    if not starts:
        return "layout: needs a start S"
    paying = {c.row * env.width + c.column for c in env.extra if c.reward > 0}
    wanted = {*env.cells("G"), *paying} - {*env.cells("#")}
    if not wanted:
        return "layout: needs a goal G, or a cell with a positive reward"
    for start in starts:
        if not wanted & _reach(env, start):
            row, column = divmod(start, env.width)
            return f"layout: no goal can be reached from the start in row {row + 1}, column {column + 1}"
    return None


def _reach(env: Gridworld, start: int) -> set[int]:
    """Cells that can be entered on foot from `start`; a walk ends at goals and hazards."""
    cells, seen, open_ = "".join(env.layout), {start}, [start]
    while open_:
        here = open_.pop()
        for there in _beside(here, env.width, env.height):
            if there not in seen and cells[there] != "#":
                seen.add(there)
                if cells[there] not in "GH":
                    open_.append(there)
    return seen


def _beside(cell: int, width: int, height: int) -> Sequence[int]:
    row, column = divmod(cell, width)
    near = ((row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1))
    return [r * width + c for r, c in near if 0 <= r < height and 0 <= c < width]
