"""The runs of one server process: made, found by id, bounded in number, closed when nobody holds them any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from live import warm
from live.contract import Request, Start, Training
from live.jobs import Jobs
from live.run import LiveRun
from live.worker import Worker

MAX_RUNS = 64
GRACE = 30.0  # seconds a run without a lease is kept, paused, for a page that comes back


class ServerFull(RuntimeError):
    """No further run can be made now; the message says what to do."""


class Server:
    """See the module's head. Thread-safe."""

    def __init__(
        self,
        start: Start,
        *,
        prepare: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        max_runs: int = MAX_RUNS,
        threaded: bool = True,
    ) -> None:
        self._start, self._clock, self._max_runs = start, clock, max_runs
        self._runs: dict[str, LiveRun] = {}
        self._lock = threading.Lock()
        self.worker = Worker(lambda: [*self.runs(), *self.jobs.all()], between=self.sweep, prepare=prepare, clock=clock)
        self._wake = self.worker.wake if threaded else lambda: None
        self.jobs = Jobs(clock=clock, wake=self._wake)

    def runs(self) -> list[LiveRun]:
        with self._lock:
            return list(self._runs.values())

    def create(
        self, request: Request, *, rate: float = 20.0, stop_after: int = 20_000, playing: bool = True
    ) -> LiveRun:
        """A new run, which starts to train once a page holds a lease on it. Raises ServerFull at the limit."""
        run = LiveRun(
            request, self._start, rate=rate, stop_after=stop_after, playing=playing, clock=self._clock, wake=self._wake
        )
        with self._lock:
            if len(self._runs) >= self._max_runs:
                self._drop_oldest_orphan()
            self._runs[run.rid] = run
        self._wake()
        return run

    def get(self, rid: str) -> LiveRun | None:
        with self._lock:
            return self._runs.get(rid)

    def close(self, rid: str) -> None:
        with self._lock:
            run = self._runs.pop(rid, None)
        if run is not None:
            run.close()

    def sweep(self) -> None:
        """Close what has been without a lease for longer than the grace period."""
        self.jobs.sweep()
        now = self._clock()
        for run in self.runs():
            since = run.orphan_since
            if since is not None and now - since > GRACE:
                self.close(run.rid)

    def _drop_oldest_orphan(self) -> None:
        orphans = [run for run in self._runs.values() if run.orphan_since is not None]
        if not orphans:
            raise ServerFull(
                f"This server trains at most {self._max_runs} runs at once and all are taken. "
                "Close a tab that shows one, or try again in a minute."
            )
        self._runs.pop(min(orphans, key=lambda run: run.orphan_since or 0.0).rid).close()


_shared: Server | None = None
_making = threading.Lock()


def shared() -> Server:
    """The server of this process."""
    global _shared
    with _making:
        if _shared is None:
            _shared = Server(_start, prepare=_prepare)
        return _shared


def _start(request: Request) -> Training:
    from live import engine  # late: pages are shown before torch is imported

    return engine.start(request)


def _prepare() -> None:
    """In the worker's thread, before its first round: the engine, on one core of the machine."""
    warm.wait()
    import torch

    torch.set_num_threads(1)
