"""Work with an end that the shared worker does beside the live runs: a comparison over seeds, say.

A job speaks the worker's part of a run's protocol (`due`, `quantum`, `close`) and gets the same few milliseconds a turn.
It goes on while a session holds it; a closed tab stops it at once, and it is dropped with what it found soon after.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Generator

_LOG = logging.getLogger(__name__)

MAX_JOBS = 16
QUANTUM = 0.004  # seconds a job may work before the next one's turn, as a run may; at least one slice
UNWATCHED = 10.0  # seconds a job goes on with no page asking after it
GRACE = 30.0  # seconds a job nobody holds is kept, for a page that comes back
Work = Callable[[], Generator[object, None, None]]


class Job:
    """`work` is called by the worker and gives the work in slices. What it finds is in whatever the caller gave it.

    state  waiting, working, done, failed (then `error` says why) or cancelled
    """

    def __init__(
        self, work: Work, *, clock: Callable[[], float] = time.monotonic, wake: Callable[[], None] = lambda: None
    ) -> None:
        self.rid = secrets.token_urlsafe(18)
        self.state, self.error = "waiting", ""
        self.leases = 0
        self.orphan_since: float | None = clock()
        self._glanced_at = clock()
        self._work, self._clock, self._wake = work, clock, wake
        self._slices: Generator[object, None, None] | None = None
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    # ------------------------------------------------------------ asked by pages

    def hold(self) -> None:
        """A session wants it: it may go on."""
        with self._lock:
            self.leases += 1
            self.orphan_since = None
        self._wake()

    def glance(self) -> None:
        """A page asks after it just now."""
        self._glanced_at = self._clock()
        self._wake()

    def let_go(self) -> None:
        """A session is gone."""
        with self._lock:
            self.leases = max(0, self.leases - 1)
            self.orphan_since = self._clock() if self.leases == 0 else None

    def cancel(self) -> None:
        """Stop for good; what was found so far stays."""
        with self._lock:
            if not self.closed:
                self.state = "cancelled"

    # ------------------------------------------------------------ done by the worker

    def due(self, now: float) -> float | None:
        """At once, as long as somebody holds it, looked lately, and there is something left to do."""
        watched = self.leases > 0 and now - self._glanced_at < UNWATCHED
        return now if watched and not self.closed else None

    def quantum(self) -> None:
        """Work for a moment. Never raises: an error becomes the job's state."""
        begun = self._clock()
        try:
            self._slices = self._slices or self._work()
            while not self.closed:
                self.state = "working" if self.state == "waiting" else self.state
                next(self._slices)
                if self._clock() - begun >= QUANTUM:
                    return
        except StopIteration:
            self._end("done")
        except Exception as error:
            _LOG.warning("job %s stopped", self.rid, exc_info=True)
            self.error = str(error) or type(error).__name__
            self._end("failed")

    def close(self) -> None:
        """Stop, and let go of the work."""
        self.cancel()
        self._slices = None

    def _end(self, state: str) -> None:
        with self._lock:
            if not self.closed:
                self.state = state
        self._slices = None


class JobsFull(RuntimeError):
    """No further job can be taken now; the message says what to do."""


class Jobs:
    """The jobs of one server, by id. Thread-safe."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, wake: Callable[[], None] = lambda: None) -> None:
        self._clock, self._wake = clock, wake
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def create(self, work: Work) -> Job:
        """A new job, which starts once a session holds it. Raises JobsFull at the limit."""
        job = Job(work, clock=self._clock, wake=self._wake)
        with self._lock:
            if sum(not each.closed for each in self._jobs.values()) >= MAX_JOBS:
                raise JobsFull(f"This server compares for {MAX_JOBS} people at once at most; try again in a minute.")
            self._jobs[job.rid] = job
        return job

    def all(self) -> list[Job]:
        with self._lock:
            return list(self._jobs.values())

    def get(self, rid: str) -> Job | None:
        with self._lock:
            return self._jobs.get(rid)

    def close(self, rid: str) -> None:
        """Stop a job and forget it."""
        with self._lock:
            job = self._jobs.pop(rid, None)
        if job is not None:
            job.close()

    def sweep(self) -> None:
        """Close what nobody has held for longer than the grace period."""
        now = self._clock()
        for job in self.all():
            if job.orphan_since is not None and now - job.orphan_since > GRACE:
                self.close(job.rid)

