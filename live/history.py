"""A run's metric history: rows of float32, appended once, never edited, bounded in memory.

Recent rows are kept whole; older ones are thinned to those that hold a column's extremes, so peaks survive.
This module keeps numbers only: it names no metric and draws nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

RECENT = 16_384  # rows kept whole: 13 minutes at 20 a second, and every row of a run the lab stops by itself
OLDER = 8_192  # thinned rows before those
STEP = "step"


def thin(rows: np.ndarray, limit: int, columns: Sequence[int]) -> np.ndarray:
    """At most about `limit` of the rows [n, k], in order: of every stretch those holding a minimum or maximum.

    `columns` are looked at; the first and the last row always stay. Real rows are chosen, never averaged: every point
    drawn is a step that happened.
    """
    if len(rows) <= limit:
        return rows
    stretches = max(1, limit // (2 * max(1, len(columns))))
    edges = np.linspace(0, len(rows), stretches + 1).astype(int)
    looked_at = np.nan_to_num(rows[:, list(columns)], nan=0.0)
    keep = {0, len(rows) - 1}
    for low, high in itertools.pairwise(edges):
        part = looked_at[low:high]
        if len(part):
            keep.update(low + part.argmin(axis=0))
            keep.update(low + part.argmax(axis=0))
    return rows[sorted(keep)]


class History:
    """Columns by name (the first is the step) and rows in order; `total` counts every row ever appended."""

    def __init__(self, columns: tuple[str, ...] = (STEP,)) -> None:
        self.columns = columns
        self.total = 0
        self._older = np.empty((0, len(columns)), dtype=np.float32)
        self._recent = np.empty((256, len(columns)), dtype=np.float32)
        self._count = 0

    def append(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Add a row; a metric that was never seen before becomes a new column. True where columns were added."""
        fresh = [name for name in metrics if name not in self.columns]
        if fresh:
            self._widen(fresh)
        if self._count == len(self._recent):
            self._make_room()
        self._recent[self._count] = [step, *(metrics.get(name, np.nan) for name in self.columns[1:])]
        self._count += 1
        self.total += 1
        return bool(fresh)

    def since(self, cursor: int) -> np.ndarray | None:
        """The rows after the first `cursor` ones, or None where some of them are no longer kept whole."""
        missing = self.total - cursor
        if missing < 0 or missing > self._count:
            return None
        return self._recent[self._count - missing : self._count].copy()

    def window(self, limit: int, looked_at: Sequence[str]) -> np.ndarray:
        """The whole history in about `limit` rows, keeping the extremes of the columns `looked_at`."""
        return thin(self.rows(self.columns), limit, self._indices(looked_at))

    def rows(self, columns: Sequence[str]) -> np.ndarray:
        """Every row that is kept, oldest first, with these columns; NaN in those it does not have."""
        rows = np.concatenate([self._older, self._recent[: self._count]])
        if tuple(columns) == self.columns:
            return rows
        found = np.full((len(rows), len(columns)), np.nan, dtype=np.float32)
        for at, name in enumerate(columns):
            if name in self.columns:
                found[:, at] = rows[:, self.columns.index(name)]
        return found

    def widen(self, columns: Sequence[str]) -> None:
        """Have these columns too; NaN so far."""
        fresh = [name for name in columns if name not in self.columns]
        if fresh:
            self._widen(fresh)

    def latest(self) -> dict[str, float]:
        """The last row by name; empty before the first."""
        if not self._count:
            return {}
        return dict(zip(self.columns, (float(x) for x in self._recent[self._count - 1]), strict=True))

    def _indices(self, names: Sequence[str]) -> list[int]:
        return [self.columns.index(name) for name in names if name in self.columns] or [0]

    def _widen(self, fresh: Sequence[str]) -> None:
        self.columns = (*self.columns, *fresh)
        self._older = _with_columns(self._older, len(fresh))
        self._recent = _with_columns(self._recent, len(fresh))

    def _make_room(self) -> None:
        if len(self._recent) < RECENT:
            grown = np.empty((min(2 * len(self._recent), RECENT), len(self.columns)), dtype=np.float32)
            grown[: self._count] = self._recent
            self._recent = grown
            return
        half = RECENT // 2
        old = np.concatenate([self._older, self._recent[:half]])
        self._older = thin(old, OLDER // 2, range(1, len(self.columns))) if len(old) > OLDER else old
        self._recent[: RECENT - half] = self._recent[half:].copy()
        self._count = RECENT - half


def _with_columns(rows: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([rows, np.full((len(rows), count), np.nan, dtype=np.float32)], axis=1)
