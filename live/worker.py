"""One thread that trains every run of the server, round-robin, a few milliseconds each.

Python threads share one interpreter, so a thread a run would only fight over it with the pages; one worker costs them
nothing measurable and loses no throughput. It never touches Streamlit, and an error in a run is that run's own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from live.jobs import Job
from live.run import LiveRun

IDLE = 1.0  # seconds between looks when nothing is due; every request wakes it at once


class Worker:
    """`runs` gives the runs of the moment, in order; `between` is called once a round, for housekeeping."""

    def __init__(
        self,
        runs: Callable[[], Iterable[LiveRun | Job]],
        *,
        between: Callable[[], None] = lambda: None,
        prepare: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs, self._between, self._prepare, self._clock = runs, between, prepare, clock
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def wake(self) -> None:
        """Something was asked; start the thread if this is the first time."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="live-worker", daemon=True)
                self._thread.start()
        self._wanted.set()

    def round(self) -> float:
        """Give every run that is due one quantum; seconds until the next one is due."""
        self._between()
        waits = [IDLE]
        for run in list(self._runs()):
            due = run.due(self._clock())
            if due is not None and due <= self._clock():
                run.quantum()
                due = run.due(self._clock())
            if due is not None:
                waits.append(due - self._clock())
        return max(0.0, min(waits))

    def _work(self) -> None:
        self._prepare()
        while True:
            self._wanted.clear()
            wait = self.round()
            if wait > 0:
                self._wanted.wait(wait)
