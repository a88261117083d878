"""When a run wants its next step: playing at a rate, single steps and parts of one, until an event, or so many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from live.events import Awaited

LIVELY = 10.0  # updates a second from which on nobody counts single steps
ANSWERS = 40.0  # updates a second at most while a knob is being turned
Part = Literal["minibatch", "epoch"]


class Schedule:
    """Not thread-safe: its run locks. Late steps are not made up for beyond one period.

    awaited  what a run goes on to, as fast as it can · part  the piece of a step that was asked for, if one was
    """

    def __init__(self, *, rate: float, playing: bool, stop_after: int) -> None:
        self.rate, self.playing = rate, playing
        self.awaited: Awaited | None = None
        self.part: Part | None = None
        self._stretch = self._stop_at = stop_after
        self._steps = 0
        self._next = self.begun_at = 0.0

    def play(self, total: int) -> None:
        """Go on; from its limit a run gets another stretch of the same length."""
        self.playing, self.part, self.awaited = True, None, None
        self._lengthen(total)

    def pause(self) -> None:
        self.playing, self.part, self.awaited = False, None, None

    def step_once(self) -> None:
        self.pause()
        self._steps = min(self._steps + 1, 100)

    def step_part(self, part: Part) -> None:
        """One minibatch or one pass of the coming (or begun) step, and wait there."""
        self.pause()
        self.part = part
        self._steps = 1

    def until(self, awaited: Awaited, total: int) -> None:
        """Go on as fast as it can until that happens, or the limit is reached."""
        self.play(total)
        self.awaited = awaited

    def pace(self, rate: float, now: float) -> None:
        self.rate = rate
        self._next = min(self._next, now + 1 / rate)

    def hurry(self, now: float) -> None:
        """A knob was turned: at a lively rate the answer comes at once, up to ANSWERS times a second."""
        if self.rate >= LIVELY:
            self._next = min(self._next, max(now, self.begun_at + 1 / ANSWERS))

    def drop(self) -> None:
        """Steps that were asked for and not made yet are not wanted any more."""
        self._steps, self.part = 0, None

    def restart(self, total: int) -> None:
        """The run stands at another step now: it may go a whole stretch from there."""
        self._stop_at = total + self._stretch

    def halt(self) -> None:
        self._steps = 0
        self.pause()

    def next(self, *, held: bool) -> float | None:
        """When the next step is wanted; 0 for one that was asked for, None for never."""
        if self._steps:
            return 0.0
        if not (self.playing and held):
            return None
        return 0.0 if self.awaited is not None else self._next

    def begun(self, now: float) -> None:
        """A step begins."""
        period = 1 / self.rate
        self.begun_at = now
        self._steps = max(0, self._steps - 1)
        self._next = (now if now - self._next > period else self._next) + period

    def stops(self, total: int, metrics: Mapping[str, float]) -> str:
        """Why the run pauses after this step, in words; "" where it goes on."""
        if not self.playing:
            return ""
        awaited, found = self.awaited, "" if self.awaited is None else self.awaited.seen(total, metrics)
        if not found and total >= self._stop_at:
            without = "" if awaited is None else f" without {awaited.label}"
            found = f"Stopped after {total} updates{without}; play goes on."
        if found:
            self.pause()
        return found

    def _lengthen(self, total: int) -> None:
        if total >= self._stop_at:
            self._stop_at = total + self._stretch
