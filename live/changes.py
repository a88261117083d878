"""Settings on their way into a run: asked for, taken by the next step, marked where they came into force."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from live.contract import Setting

KEPT = 200  # marks
SAME_DRAG = 1.0  # changes of the same settings within so many seconds are one mark
Change = dict[str, tuple[Setting, Setting]]  # name: (old, new)


@dataclass(frozen=True)
class Mark:
    """Settings that changed at `step`, the first step they were in force; a drag is one mark, from first to last."""

    step: int
    change: Change
    at: float


class Changes:
    """Not thread-safe: its run locks. `applied` is the last request in force and the step since when."""

    def __init__(self, ref: int = 0) -> None:
        self.applied = (ref, 0)
        self._asked: list[tuple[int, Change]] = []
        self._taken: list[tuple[int, Change]] = []
        self._marks: tuple[Mark, ...] = ()

    def ask(self, ref: int, change: Change) -> None:
        self._asked.append((ref, change))

    def take(self) -> None:
        """A step begins with everything asked for so far."""
        self._taken, self._asked = self._asked, []

    def applied_at(self, step: int, now: float) -> bool:
        """That step is made; True where something was new in it."""
        taken, self._taken = self._taken, []
        for ref, change in taken:
            self.applied = (ref, step)
            if change:
                self._mark(step, change, now)
        return bool(taken)

    def last_ref(self) -> int:
        """The newest request, in force or waiting."""
        return max([self.applied[0], *(ref for ref, _ in self._taken + self._asked)])

    def as_json(self) -> list[dict[str, Any]]:
        return [{"step": mark.step, "changes": mark.change} for mark in self._marks]

    def _mark(self, step: int, change: Change, now: float) -> None:
        last = self._marks[-1] if self._marks else None
        if last is not None and now - last.at < SAME_DRAG and last.change.keys() == change.keys():
            merged = {name: (last.change[name][0], new) for name, (_, new) in change.items()}
            self._marks = (*self._marks[:-1], replace(last, change=merged, at=now))
        else:
            self._marks = (*self._marks[-KEPT + 1 :], Mark(step, change, now))
