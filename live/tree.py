"""A run and its forks: branches of rows, the path from the first step to the newest one, and what is drawn faint.

A branch owns the steps after the one it left its parent at. The path is what a page shows as *the* run: row i of it is
step i + 1. Numbers only: this module trains nothing and knows no engine; nodes and configs are handed through.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from live.changes import Mark, marked
from live.contract import Change, Setting
from live.history import STEP, History, thin

MAX_BRANCHES = 24
FAINT_ROWS = 240
MAX_LOG = 2000
Log = list[tuple[int, dict[str, Setting]]]


@dataclass(eq=False)
class Branch:
    """Steps start + 1, start + 2, ...; `nodes` are the engine's ids of the states after them.

    differs  what was changed when it left its parent · log  every change since, exactly · wanted  config of the next
    step, kept while another branch is shown
    """

    id: int
    parent: Branch | None
    start: int
    history: History
    root: int = 0
    differs: Change = field(default_factory=dict)
    nodes: array[int] = field(default_factory=lambda: array("I"))
    marks: tuple[Mark, ...] = ()
    log: Log = field(default_factory=list)
    wanted: Any = None

    @property
    def tip(self) -> int:
        return self.start + len(self.nodes)

    def line(self) -> list[tuple[Branch, int]]:
        """(branch, last step of it on the path) from the root's branch to this one."""
        found, branch, last = list[tuple[Branch, int]](), self, self.tip
        while True:
            found.append((branch, last))
            if branch.parent is None:
                return found[::-1]
            branch, last = branch.parent, branch.start


class Tree:
    """Not thread-safe: its run locks. `current` is the branch that grows."""

    def __init__(self, root: int = 0) -> None:
        self.current = Branch(0, None, 0, History(), root)
        self.branches = [self.current]
        self._made = 1

    # ------------------------------------------------------------ the path

    @property
    def columns(self) -> tuple[str, ...]:
        return self.current.history.columns

    @property
    def total(self) -> int:
        """Steps on the path."""
        return self.current.tip

    def append(self, step: int, node: int, metrics: Mapping[str, float]) -> bool:
        """A step was made at the head. True where columns were added."""
        self.current.nodes.append(node)
        return self.current.history.append(step, metrics)

    def since(self, cursor: int) -> np.ndarray | None:
        """The path's rows after the first `cursor` ones, or None where some are no longer kept whole."""
        start = self.current.start
        return self.current.history.since(cursor - start) if cursor >= start else None

    def window(self, limit: int, looked_at: Sequence[str]) -> np.ndarray:
        """The whole path in about `limit` rows, keeping the extremes of the columns `looked_at`."""
        return thin(self.rows(), limit, [self.columns.index(n) for n in looked_at if n in self.columns] or [0])

    def rows(self) -> np.ndarray:
        """Every row of the path that is kept, in order."""
        parts = []
        for branch, last in self.current.line():
            rows = branch.history.rows(self.columns)
            parts.append(rows[: int(np.searchsorted(rows[:, 0], last, side="right"))])
        return np.concatenate(parts)

    def between(self, first: int, last: int) -> np.ndarray:
        """The path's rows of steps first to last, as far as they are kept."""
        own = self.current.history
        rows = own.rows(self.columns) if first > self.current.start else self.rows()
        low, high = np.searchsorted(rows[:, 0], [first, last + 1])
        return rows[low:high]

    def parents(self, first: int, last: int) -> np.ndarray:
        """The rows that the current branch's parent made of the same steps, as far as it went; none but after a fork."""
        branch, parent = self.current, self.current.parent
        if parent is None or first != branch.start + 1:
            return self.rows()[:0]
        rows = parent.history.rows(self.columns)
        low, high = np.searchsorted(rows[:, 0], [first, last + 1])
        return rows[low:high]

    def latest(self) -> dict[str, float]:
        """The newest row by name; empty before the first step."""
        for branch, _ in reversed(self.current.line()):
            if branch.nodes:
                return branch.history.latest() if branch is self.current else _named(self.rows()[-1:], self.columns)
        return {}

    def node_at(self, step: int) -> int:
        """The engine's id of the state after a step of the path."""
        for branch, last in self.current.line():
            if step <= last:
                return branch.nodes[step - branch.start - 1] if step > branch.start else branch.root
        raise IndexError(step)

    def marks(self) -> list[Mark]:
        return [mark for branch, last in self.current.line() for mark in branch.marks if mark.step <= last]

    def log(self) -> Log:
        """Every change on the path, exactly: (first step in force, {name: value})."""
        return [entry for branch, last in self.current.line() for entry in branch.log if entry[0] <= last]

    def mark(self, step: int, change: Change, now: float) -> None:
        """A change came into force at a step of the current branch; in the first step it is where the run begins."""
        branch, new = self.current, {name: after for name, (_, after) in change.items()}
        if step > 1:
            branch.marks = marked(branch.marks, step, change, now)
        if branch.log and branch.log[-1][0] == step:
            branch.log[-1][1].update(new)
        elif len(branch.log) < MAX_LOG:
            branch.log.append((step, new))

    # ------------------------------------------------------------ branches

    def fork(self, step: int, differs: Change) -> Branch:
        """A new branch that leaves the path after `step` becomes the current one."""
        node = self.node_at(step)
        parent = next(branch for branch, last in self.current.line() if step <= last)
        if not self.current.nodes and self.current.parent is not None:
            self.branches.remove(self.current)  # nothing was made on it
        history = History(self.columns)
        self.current = Branch(self._made, parent, step, history, node, differs)
        self._made += 1
        self.branches.append(self.current)
        self._bound()
        return self.current

    def go(self, branch: Branch) -> None:
        """Another branch becomes the current one."""
        left, self.current = self.current, branch
        if not left.nodes and left.parent is not None:
            self.branches.remove(left)
        branch.history.widen(max((b.history.columns for b in self.branches), key=len))

    def find(self, branch_id: int) -> Branch | None:
        return next((branch for branch in self.branches if branch.id == branch_id), None)

    def faint(self, limit: int = 6) -> list[Branch]:
        """The branches drawn faint beside the path: the newest few with steps that are not on it."""
        ends = {id(branch): last for branch, last in self.current.line()}
        return [b for b in self.branches if b.nodes and ends.get(id(b), b.start) < b.tip][-limit:]

    def as_json(self) -> list[dict[str, Any]]:
        """What the drawing of the tree needs."""
        ends = {id(branch): last for branch, last in self.current.line()}
        return [
            {
                "id": branch.id, "parent": None if branch.parent is None else branch.parent.id, "start": branch.start,
                "tip": branch.tip, "differs": branch.differs, "until": ends.get(id(branch)),
                "current": branch is self.current,
            }
            for branch in self.branches
        ]  # fmt: skip

    def _bound(self) -> None:
        """Forget the oldest branches that nothing hangs on."""
        on_path = {id(branch) for branch, _ in self.current.line()}
        while len(self.branches) > MAX_BRANCHES:
            parents = {id(branch.parent) for branch in self.branches}
            leaf = next((b for b in self.branches if id(b) not in parents | on_path), None)
            if leaf is None:
                return
            self.branches.remove(leaf)


def curves(branch: Branch) -> dict[str, Any]:
    """A branch's own rows, thinned, as a message: float32 rows in base64, row by row."""
    rows = thin(branch.history.rows(branch.history.columns), FAINT_ROWS, range(1, min(8, len(branch.history.columns))))
    data = base64.b64encode(np.ascontiguousarray(rows, dtype="<f4").tobytes()).decode()
    return {"t": "branch", "id": branch.id, "tip": branch.tip, "columns": list(branch.history.columns), "rows": data}


def _named(row: np.ndarray, columns: tuple[str, ...]) -> dict[str, float]:
    return dict(zip(columns, (float(x) for x in row[0]), strict=True)) if len(row) else {STEP: 0.0}
