"""A live run: training that somebody watches, its history, and the settings waiting for the next step.

Pages and sockets only ask (play, pause, step, reset, set, pace) and read; the worker alone trains. Whatever goes wrong
in here stops this run, keeps what was recorded and is told in `status`. Knows neither Streamlit nor sockets.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from live.changes import Changes
from live.contract import Opened, Request, Setting, Start, Step, Training, Viewer
from live.frames import Frame
from live.history import History
from live.schedule import Schedule
from rlcore.knobs import SettingError

_LOG = logging.getLogger(__name__)

QUANTUM = 0.004  # seconds a run may train before the next one's turn; at least one piece of a step
SCENE_EVERY = 0.1  # seconds between pictures of the world and of this step's samples
UNWATCHED = 10.0  # seconds a run goes on training with no page in front of it
GLANCED = 2.0  # seconds a page without a socket counts as looking
WINDOW = 4096  # rows sent at most when a page needs the whole history
LOOKED_AT = ("reward_mean", "kl_ref", "approx_kl", "entropy", "clip_fraction", "clip_fraction_outside")


@dataclass(frozen=True)
class Scene:
    """The world and the samples of one step, as JSON text ready to be sent."""

    serial: int
    text: str


class LiveRun:
    """See the module's head. Thread-safe; `due` and `quantum` are the worker's.

    version grows with everything in `status`, schema with everything in `hello`, epoch when the run starts over.
    """

    def __init__(
        self,
        request: Request,
        start: Start,
        *,
        rate: float = 20.0,
        stop_after: int = 20_000,
        playing: bool = True,
        clock: Callable[[], float] = time.monotonic,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.rid = secrets.token_urlsafe(18)
        self.request = request
        self.history = History()
        self.epoch = self.version = self.schema = 0
        self.scene = Scene(0, "")
        self.leases = 0
        self.orphan_since: float | None = clock()
        self.closed = False
        self._start, self._clock, self._wake = start, clock, wake
        self._lock = threading.RLock()
        self._training: Training | None = None
        self._wanted: Any = None
        self._step: Step | None = None
        self._schedule = Schedule(rate=rate, playing=playing, stop_after=stop_after)
        self._changes = Changes()
        self._reset_asked = False
        self._scene_stale, self._scene_at = True, 0.0
        self._traced, self._cost = True, 0.0  # of the last step
        self._error = self._note = ""
        self._viewers: set[Viewer] = set()
        self._watched_at = clock()

    # ------------------------------------------------------------ asked by pages and sockets

    def play(self) -> None:
        """Go on; a run that stopped by itself at its limit gets another stretch."""
        with self._changing():
            self._schedule.play(self.history.total)
            self._note = ""

    def pause(self) -> None:
        with self._changing():
            self._schedule.pause()

    def step_once(self) -> None:
        """One update, and stay paused."""
        with self._changing():
            self._schedule.step_once()

    def reset(self) -> None:
        """Start over from step 0 with the settings as they stand now; it keeps playing if it was."""
        with self._changing():
            self._reset_asked = True

    def pace(self, rate: float) -> None:
        """Updates a second from now on."""
        with self._changing():
            self._schedule.pace(rate, self._clock())

    def set(self, values: Mapping[str, Setting], *, ref: int = 0) -> None:
        """Change settings from the next step on. Raises SettingError and changes nothing where one is refused."""
        with self._changing():
            if self._training is None:
                raise SettingError(f"settings: the run is {self.state}; they can be changed once it trains")
            old = self._training.settings(self._wanted)
            unknown = [name for name in values if name not in old]
            if unknown:
                raise SettingError(f"{unknown[0]}: cannot be changed while it runs; what can: {', '.join(old)}")
            self._wanted = self._training.propose(self._wanted, values)
            new = self._training.settings(self._wanted)
            self.schema += new.keys() != old.keys()
            self._changes.ask(ref, {name: (old[name], new[name]) for name in values if old[name] != new[name]})
            self._schedule.hurry(self._clock())

    # ------------------------------------------------------------ held and watched by pages and sockets

    def hold(self) -> None:
        """A page's session holds the run: it may train."""
        with self._lock:
            self.leases += 1
            self.orphan_since = None
        self._wake()

    def let_go(self) -> None:
        """A session is gone. With the last one the run pauses at once; the server closes it after a grace period."""
        with self._lock:
            self.leases = max(0, self.leases - 1)
            self.orphan_since = self._clock() if self.leases == 0 else None
        self._wake()

    def watch(self, viewer: Viewer) -> None:
        with self._lock:
            self._viewers.add(viewer)
            self._watched_at = self._clock()
            self._scene_stale = True
        self._wake()

    def unwatch(self, viewer: Viewer) -> None:
        with self._lock:
            self._viewers.discard(viewer)
            self._watched_at = self._clock()

    def glance(self) -> None:
        """A page without a socket looked just now."""
        with self._lock:
            self._watched_at = self._clock()
        self._wake()

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    # ------------------------------------------------------------ read by pages and sockets

    @contextmanager
    def held_still(self) -> Iterator[None]:
        """Nothing changes inside: what is read together belongs together. Read, do not wait, in there."""
        with self._lock:
            yield

    @property
    def state(self) -> str:
        if self.closed:
            return "closed"
        if self._error:
            return "failed"
        if self._training is None:
            return "starting"
        return "playing" if self._schedule.playing else "paused"

    def settings(self) -> dict[str, Setting]:
        """The live settings as they will be at the next step; empty while starting."""
        with self._lock:
            return {} if self._training is None else self._training.settings(self._wanted)

    def preset(self) -> dict[str, Setting]:
        """The live settings a run of this recipe begins with; empty while starting."""
        with self._lock:
            return {} if self._training is None else dict(self._training.preset)

    def opened(self, node: int | None = None) -> Opened:
        """A step of this run, to be looked at elsewhere: by node, or the newest. Raises SettingError without one.

        An old state is recomputed in the caller's thread; the worker goes on meanwhile.
        """
        training = self._training
        if training is None:
            raise SettingError(f"run: it is {self.state}, so there is no step to open")
        return training.opened(node)

    def hello(self) -> dict[str, Any]:
        """What a page needs before the first frame: columns, knobs, and what is being trained."""
        with self._lock:
            about = {} if self._training is None else self._training.about(self._wanted)
            return {"t": "hello", "rid": self.rid, "columns": list(self.history.columns), **about}

    def status(self) -> dict[str, Any]:
        """Everything a page shows besides curves and pictures. Changes exactly when `version` does."""
        with self._lock:
            return {
                "t": "status", "state": self.state, "epoch": self.epoch, "rate": self._schedule.rate,
                "settings": self.settings(), "marks": self._changes.as_json(), "applied": list(self._changes.applied),
                "error": self._error, "note": self._note,
            }  # fmt: skip

    def frame(self, cursor: int, epoch: int) -> Frame | None:
        """What a page that shows the first `cursor` rows of `epoch` still misses; None where it misses nothing."""
        with self._lock:
            rows = self.history.since(cursor) if epoch == self.epoch else None
            if rows is None or len(rows) > WINDOW:
                return self.whole()
            return Frame(self.epoch, False, self.history.total, rows) if len(rows) else None

    def whole(self, *, limit: int = WINDOW) -> Frame:
        """The whole history in at most about `limit` rows."""
        with self._lock:
            return Frame(self.epoch, True, self.history.total, self.history.window(limit, LOOKED_AT))

    # ------------------------------------------------------------ trained by the worker

    def due(self, now: float) -> float | None:
        """When the run next wants the worker (a time that is past: at once), or None where it wants nothing."""
        with self._lock:
            if self.closed or (self._error and not self._reset_asked):
                return None
            if self._training is None or self._reset_asked or self._step is not None:
                return now
            wants = (self._schedule.next(held=self._trains(now)), self._scene_due(now))
            return min((at for at in wants if at is not None), default=None)

    def quantum(self) -> None:
        """Train for a moment. Never raises: an error becomes the run's state."""
        try:
            if not self.closed:
                self._train()
        except (SettingError, ArithmeticError) as error:
            self._fail(str(error))
        except Exception as error:
            if not self.closed:  # closing takes the ground from under a step that is being made
                _LOG.exception("run %s stopped", self.rid)
            self._fail(f"{type(error).__name__}: {error}")
        self._tell()

    def close(self) -> None:
        """Let go of everything it holds; whoever still watches is told."""
        with self._lock:
            self.closed = True
            self.version += 1
            self._training = self._step = None
        self._tell()

    def _train(self) -> None:
        begun = self._clock()
        if self._training is None:
            self._build()
        if self._reset_asked:
            self._restart()
        while self._clock() - begun < QUANTUM and (self._step is not None or self._wants_step(self._clock())):
            self._slice()
        if self._step is None:
            self._refresh_scene()

    def _build(self) -> None:
        training = self._start(self.request)
        with self._lock:
            self._training, self._wanted = training, training.config
            self.schema += 1
            self.version += 1

    def _restart(self) -> None:
        with self._lock:
            training, config = self._training, self._wanted
            self._reset_asked, self._step = False, None
        assert training is not None
        training.restart(config)
        with self._lock:
            self.history = History()
            self.epoch += 1
            self.schema += 1
            self.version += 1
            self._changes = Changes(self._changes.last_ref())
            self._schedule.restart()
            self._error = self._note = ""
            self._scene_stale, self._scene_at, self._traced = True, 0.0, True

    def _wants_step(self, now: float) -> bool:
        with self._lock:
            at = self._schedule.next(held=self._trains(now))
            return at is not None and at <= now

    def _trains(self, now: float) -> bool:
        """Playing is for pages that are there: a session holds the run, and somebody looked lately."""
        return self.leases > 0 and (bool(self._viewers) or now - self._watched_at < UNWATCHED)

    def _seen(self, now: float) -> bool:
        """Pictures are worth making: a visible viewer, or a page without a socket that looked lately."""
        return any(v.visible for v in self._viewers) or (not self._viewers and now - self._watched_at < GLANCED)

    def _slice(self) -> None:
        """The next piece of a step; most steps are a few."""
        step, self._step = self._step or self._begin(), None
        try:
            next(step)
            self._step = step
        except StopIteration as finished:
            self._record(*finished.value)

    def _begin(self) -> Step:
        with self._lock:
            assert self._training is not None
            now = self._clock()
            self._traced = self._seen(now) and (now >= self._next_scene or not self._schedule.playing)
            self._schedule.begun(now)
            self._changes.take()
            return self._training.advance(self._wanted, traced=self._traced)

    def _record(self, step: int, metrics: Mapping[str, float]) -> None:
        with self._lock:
            self.schema += self.history.append(step, metrics)
            self.version += self._changes.applied_at(step, self._clock())
            self._scene_stale, self._cost = True, self._clock() - self._schedule.begun_at
            if self._schedule.stops(self.history.total):
                self._note = f"Stopped after {self.history.total} updates; play goes on."
                self.version += 1

    @property
    def _next_scene(self) -> float:
        """Pictures are made at most every SCENE_EVERY seconds, and of dear steps rarely enough to stay a side cost."""
        return self._scene_at + max(SCENE_EVERY, 3 * self._cost)

    def _scene_due(self, now: float) -> float | None:
        """When a picture of the last step is wanted. One of a step without a trace costs that step once more, so while
        the next one is near it is left to that."""
        if not self._scene_stale or not self._seen(now):
            return None
        coming = self._schedule.next(held=self._trains(now))
        alone = coming is None or coming > now + SCENE_EVERY
        return self._next_scene if self._traced or alone else None

    def _refresh_scene(self) -> None:
        with self._lock:
            now, training = self._clock(), self._training
            due = self._scene_due(now)
            if training is None or due is None or due > now:
                return
            self._scene_stale, self._scene_at, config = False, now, self._wanted
        text = json.dumps({"t": "scene", "epoch": self.epoch, **training.scene(config)}, separators=(",", ":"))
        self.scene = Scene(self.scene.serial + 1, text)

    def _fail(self, message: str) -> None:
        with self._lock:
            self._error, self._reset_asked = message, False
            self._schedule.halt()
            self.version += 1

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Something is asked for: told to the worker and to everybody who watches, unless it is refused."""
        with self._lock:
            yield
            self.version += 1
        self._wake()
        self._tell()

    def _tell(self) -> None:
        for viewer in list(self._viewers):
            viewer.wake()
