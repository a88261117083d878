"""When a run wants its next step: playing at a rate, single steps, and a stop after so many."""

from __future__ import annotations

LIVELY = 10.0  # updates a second from which on nobody counts single steps
ANSWERS = 40.0  # updates a second at most while a knob is being turned


class Schedule:
    """Not thread-safe: its run locks. Late steps are not made up for beyond one period."""

    def __init__(self, *, rate: float, playing: bool, stop_after: int) -> None:
        self.rate, self.playing = rate, playing
        self._stretch = self._stop_at = stop_after
        self._steps = 0
        self._next = self.begun_at = 0.0

    def play(self, total: int) -> None:
        """Go on; from its limit a run gets another stretch of the same length."""
        self.playing = True
        if total >= self._stop_at:
            self._stop_at = total + self._stretch

    def pause(self) -> None:
        self.playing = False

    def step_once(self) -> None:
        self.playing = False
        self._steps = min(self._steps + 1, 100)

    def pace(self, rate: float, now: float) -> None:
        self.rate = rate
        self._next = min(self._next, now + 1 / rate)

    def hurry(self, now: float) -> None:
        """A knob was turned: at a lively rate the answer comes at once, up to ANSWERS times a second."""
        if self.rate >= LIVELY:
            self._next = min(self._next, max(now, self.begun_at + 1 / ANSWERS))

    def restart(self) -> None:
        self._steps, self._stop_at = 0, self._stretch

    def halt(self) -> None:
        self._steps, self.playing = 0, False

    def next(self, *, held: bool) -> float | None:
        """When the next step is wanted; 0 for a single step that was asked for, None for never."""
        if self._steps:
            return 0.0
        return self._next if self.playing and held else None

    def begun(self, now: float) -> None:
        """A step begins."""
        period = 1 / self.rate
        self.begun_at = now
        self._steps = max(0, self._steps - 1)
        self._next = (now if now - self._next > period else self._next) + period

    def stops(self, total: int) -> bool:
        """True where the run has reached its limit, and now pauses there."""
        reached = self.playing and total >= self._stop_at
        self.playing = self.playing and not reached
        return reached
