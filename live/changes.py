"""Settings on their way into a run: asked for, taken by the next step, marked where they came into force, undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from live.contract import Change, Setting

KEPT = 200  # marks
KEPT_UNDO = 50
SAME_DRAG = 1.0  # changes of the same settings within so many seconds are one mark, and one undo


@dataclass(frozen=True)
class Mark:
    """Settings that changed at `step`, the first step they were in force; a drag is one mark, from first to last."""

    step: int
    change: Change
    at: float


def marked(marks: tuple[Mark, ...], step: int, change: Change, now: float) -> tuple[Mark, ...]:
    """The marks with one more, or with the last one grown where this is the same drag."""
    last = marks[-1] if marks else None
    if last is not None and now - last.at < SAME_DRAG and last.change.keys() == change.keys():
        merged = {name: (last.change[name][0], new) for name, (_, new) in change.items()}
        return (*marks[:-1], replace(last, change=merged, at=now))
    return (*marks[-KEPT + 1 :], Mark(step, change, now))


class Changes:
    """Not thread-safe: its run locks. `applied` is the last request in force and the step since when."""

    def __init__(self) -> None:
        self.applied = (0, 0)
        self._asked: list[tuple[int, Change]] = []
        self._taken: list[tuple[int, Change]] = []

    def ask(self, ref: int, change: Change) -> None:
        self._asked.append((ref, change))

    def forget(self) -> None:
        """The head moved: what was asked for elsewhere is in force, or gone."""
        if self._asked or self._taken:
            self.applied = (max(ref for ref, _ in [*self._asked, *self._taken]), self.applied[1])
        self._asked, self._taken = [], []

    def take(self) -> None:
        """A step begins with everything asked for so far."""
        self._taken, self._asked = [*self._taken, *self._asked], []

    def applied_at(self, step: int) -> list[Change]:
        """That step is made; what was new in it, in order."""
        taken, self._taken = self._taken, []
        for ref, _ in taken:
            self.applied = (ref, step)
        return [change for _, change in taken if change]

    @property
    def waiting(self) -> bool:
        """True where something asked for is not in force yet."""
        return bool(self._asked or self._taken)


class Undo:
    """Configs before each change, newest last; a drag counts as one."""

    def __init__(self) -> None:
        self._before: list[Any] = []
        self._last: tuple[tuple[str, ...], float] = ((), -SAME_DRAG)

    def note(self, before: Any, names: Mapping[str, Setting], now: float) -> None:
        """Settings `names` are about to change away from the config `before`."""
        key, at = self._last
        if not self._before or key != tuple(sorted(names)) or now - at >= SAME_DRAG:
            self._before = [*self._before[-KEPT_UNDO + 1 :], before]
        self._last = (tuple(sorted(names)), now)

    def back(self) -> Any:
        """The config before the newest change, which is forgotten; None where there is none."""
        self._last = ((), -SAME_DRAG)
        return self._before.pop() if self._before else None

    def clear(self) -> None:
        self._before = []

    def __len__(self) -> int:
        return len(self._before)


def painted(name: str, old: Setting, new: Setting) -> str:
    """A change of the map or its cells' rewards, short enough for a sentence; "" for any other setting."""
    if name == "extra":
        return "rewards of cells painted"
    if name != "layout":
        return ""
    cells = sum(a != b for a, b in zip(str(old), str(new), strict=False))
    return f"map: {cells} {'cell' if cells == 1 else 'cells'} painted"
