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
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from live.frames import Frame
from live.history import History
from rlcore.knobs import SettingError

Setting = float | int | bool
_LOG = logging.getLogger(__name__)

QUANTUM = 0.004  # seconds a run may train before the next one's turn; at least one step
SCENE_EVERY = 0.1  # seconds between pictures of the world and of this step's samples
UNWATCHED = 10.0  # seconds a run goes on training with no page in front of it
GLANCED = 2.0  # seconds a page without a socket counts as looking
MARKS = 200
SAME_DRAG = 1.0  # changes of the same settings within so many seconds are one mark
LOOKED_AT = ("reward_mean", "kl_ref", "approx_kl", "entropy", "clip_fraction", "clip_fraction_outside")
WINDOW = 4096  # rows sent at most when a page needs the whole history


class Training(Protocol):
    """The engine's side of a run; `config` is an immutable value whose type only the engine knows.

    `advance` makes one step, yielding wherever the worker may look after another run; it returns the step's number
    and metrics, and nothing has happened before it does.
    """

    config: Any
    preset: Mapping[str, Setting]

    def about(self, config: Any) -> dict[str, Any]: ...
    def settings(self, config: Any) -> dict[str, Setting]: ...
    def propose(self, config: Any, values: Mapping[str, Setting]) -> Any: ...
    def advance(self, config: Any, *, traced: bool) -> Generator[None, None, tuple[int, Mapping[str, float]]]: ...
    def scene(self, config: Any) -> dict[str, Any]: ...
    def restart(self, config: Any) -> None: ...


class Viewer(Protocol):
    """Somebody in front of the run. `wake` is called, from any thread, when there is something new to show."""

    visible: bool

    def wake(self) -> None: ...


@dataclass(frozen=True)
class Request:
    """What a page asks to have trained: plain values, so asking needs no engine yet. `settings` are name, value."""

    recipe: str = "grpo"
    env: str = "gridworld"
    seed: int = 0
    settings: tuple[tuple[str, Setting], ...] = ()


@dataclass(frozen=True)
class Mark:
    """Settings that changed at `step` (the first step they were in force), old and new; a drag is one mark."""

    step: int
    changes: dict[str, tuple[Setting, Setting]]
    at: float

    def as_json(self) -> dict[str, Any]:
        return {"step": self.step, "changes": self.changes}


@dataclass(frozen=True)
class Scene:
    """The world and the samples of one step, as JSON text ready to be sent."""

    serial: int
    text: str


Start = Callable[[Request], Training]


class LiveRun:
    """See the module's head. Thread-safe; `quantum` and nothing else is for the worker."""

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
        self.epoch = 0
        self.version = 0
        self.schema = 0
        self.scene = Scene(0, "")
        self.leases = 0
        self.orphan_since: float | None = clock()
        self.closed = False
        self._start, self._clock, self._wake = start, clock, wake
        self._lock = threading.RLock()
        self._training: Training | None = None
        self._wanted: Any = None
        self._step: Generator[None, None, tuple[int, Mapping[str, float]]] | None = None
        self._taken: list[tuple[int, dict[str, tuple[Setting, Setting]]]] = []
        self._inbox: list[tuple[int, dict[str, tuple[Setting, Setting]]]] = []
        self._marks: list[Mark] = []
        self._applied = (0, 0)
        self._playing = playing
        self._steps_asked = 0
        self._reset_asked = False
        self._scene_stale = True
        self._scene_at = 0.0
        self._next = 0.0
        self._rate = rate
        self._stretch = self._stop_at = stop_after
        self._error = self._note = ""
        self._viewers: set[Viewer] = set()
        self._watched_at = clock()

    # ------------------------------------------------------------ asked by pages and sockets

    def play(self) -> None:
        """Go on; a run that stopped by itself at its limit gets another stretch."""
        with self._lock:
            self._playing, self._note = True, ""
            if self.history.total >= self._stop_at:
                self._stop_at = self.history.total + self._stretch
        self._changed()

    def pause(self) -> None:
        with self._lock:
            self._playing = False
        self._changed()

    def step_once(self) -> None:
        """One update, and stay paused."""
        with self._lock:
            self._playing = False
            self._steps_asked = min(self._steps_asked + 1, 100)
        self._changed()

    def reset(self) -> None:
        """Start over from step 0 with the settings as they stand now; it keeps playing if it was."""
        with self._lock:
            self._reset_asked = True
        self._changed()

    def pace(self, rate: float) -> None:
        """Updates a second from now on."""
        with self._lock:
            self._rate = rate
            self._next = min(self._next, self._clock() + 1 / rate)
        self._changed()

    def set(self, values: Mapping[str, Setting], *, ref: int = 0) -> None:
        """Change settings from the next step on. Raises SettingError and changes nothing where one is refused."""
        with self._lock:
            if self._training is None:
                raise SettingError(f"settings: the run is {self.state}; they can be changed once it trains")
            old = self._training.settings(self._wanted)
            unknown = [name for name in values if name not in old]
            if unknown:
                raise SettingError(f"{unknown[0]}: cannot be changed while it runs; what can: {', '.join(old)}")
            self._wanted = self._training.propose(self._wanted, values)
            new = self._training.settings(self._wanted)
            self.schema += new.keys() != old.keys()
            self._inbox.append((ref, {name: (old[name], new[name]) for name in values if old[name] != new[name]}))
        self._changed()

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

    @property
    def state(self) -> str:
        if self.closed:
            return "closed"
        if self._error:
            return "failed"
        if self._training is None:
            return "starting"
        return "playing" if self._playing else "paused"

    def settings(self) -> dict[str, Setting]:
        """The live settings as they will be at the next step; empty while starting."""
        with self._lock:
            return {} if self._training is None else self._training.settings(self._wanted)

    def changed_settings(self) -> dict[str, Setting]:
        """Live settings that differ from the recipe's preset."""
        with self._lock:
            if self._training is None:
                return {}
            preset = self._training.preset
            return {name: value for name, value in self.settings().items() if preset.get(name) != value}

    def unchanged_settings(self) -> set[str]:
        """Live settings that are as in the preset; empty while starting."""
        return self.settings().keys() - self.changed_settings().keys()

    def hello(self) -> dict[str, Any]:
        """What a page needs before the first frame: columns, knobs, and what is being trained."""
        with self._lock:
            about = {} if self._training is None else self._training.about(self._wanted)
            columns = list(self.history.columns)
            return {"t": "hello", "rid": self.rid, "schema": self.schema, "columns": columns, **about}

    def status(self) -> dict[str, Any]:
        """Everything a page shows besides curves and pictures. Changes exactly when `version` does."""
        with self._lock:
            return {
                "t": "status", "version": self.version, "state": self.state, "epoch": self.epoch,
                "step": self.history.total, "rate": self._rate, "settings": self.settings(),
                "marks": [mark.as_json() for mark in self._marks[-MARKS:]], "applied": list(self._applied),
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

    @contextmanager
    def held_still(self) -> Iterator[None]:
        """Nothing changes inside: what is read together belongs together. Read, do not wait, in there."""
        with self._lock:
            yield

    # ------------------------------------------------------------ trained by the worker

    def due(self, now: float) -> float | None:
        """When the run next wants the worker: a time (at most `now`: at once), or None where it wants nothing."""
        with self._lock:
            if self.closed or (self._error and not self._reset_asked):
                return None
            watched = bool(self._viewers) or now - self._watched_at < UNWATCHED
            if self._training is None or self._reset_asked or self._steps_asked or self._step is not None:
                return now
            wants = [self._next] if self._playing and self.leases > 0 and watched else []
            if self._scene_stale and self._seen(now):
                wants.append(self._scene_at + SCENE_EVERY)
            return min(wants, default=None)

    def quantum(self) -> None:
        """Train for a moment. Never raises: an error becomes the run's state."""
        try:
            self._train()
        except SettingError as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001  whatever it is, it is this run's own
            _LOG.exception("run %s stopped", self.rid)
            self._fail(f"{type(error).__name__}: {error}")
        self._tell()

    def close(self) -> None:
        """Let go of everything it holds; whoever still watches is told."""
        with self._lock:
            self.closed = True
            self.version += 1
            self._training = None
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
            self._steps_asked = 0
        if training is None:
            return
        training.restart(config)
        with self._lock:
            self.history = History()
            self.epoch += 1
            self.schema += 1
            self.version += 1
            self._marks, self._inbox, self._applied = [], [], (self._last_ref(), 0)
            self._error = self._note = ""
            self._stop_at = self._stretch
            self._scene_stale, self._scene_at = True, 0.0

    def _seen(self, now: float) -> bool:
        """Pictures are worth making: a visible viewer, or a page without a socket that looked lately."""
        return any(v.visible for v in self._viewers) or (not self._viewers and now - self._watched_at < GLANCED)

    def _last_ref(self) -> int:
        return self._inbox[-1][0] if self._inbox else self._applied[0]

    def _wants_step(self, now: float) -> bool:
        with self._lock:
            return self._steps_asked > 0 or (self._playing and self.leases > 0 and self._next <= now)

    def _slice(self) -> None:
        """The next piece of a step; most steps are one piece."""
        if self._step is None:
            self._step = self._begin()
        try:
            next(self._step)
        except StopIteration as finished:
            self._step = None
            self._record(*finished.value)
        except BaseException:
            self._step = None
            raise

    def _begin(self) -> Generator[None, None, tuple[int, Mapping[str, float]]]:
        with self._lock:
            assert self._training is not None
            now, period = self._clock(), 1 / self._rate
            traced = self._seen(now) and (now - self._scene_at >= SCENE_EVERY or not self._playing)
            self._steps_asked = max(0, self._steps_asked - 1)
            self._next = (now if now - self._next > period else self._next) + period
            self._taken, self._inbox = self._inbox, []
            return self._training.advance(self._wanted, traced=traced)

    def _record(self, step: int, metrics: Mapping[str, float]) -> None:
        with self._lock:
            self.schema += self.history.append(step, metrics)
            self._scene_stale = True
            for ref, changes in self._taken:
                self._mark(step, ref, changes)
            if self._playing and self.history.total >= self._stop_at:
                self._playing = False
                self._note = f"Stopped after {self.history.total} updates; play goes on."
                self.version += 1

    def _mark(self, step: int, ref: int, changes: dict[str, tuple[Setting, Setting]]) -> None:
        self._applied = (ref, step)
        self.version += 1
        if not changes:
            return
        now, last = self._clock(), self._marks[-1] if self._marks else None
        if last is not None and now - last.at < SAME_DRAG and last.changes.keys() == changes.keys():
            merged = {name: (last.changes[name][0], new) for name, (_, new) in changes.items()}
            self._marks[-1] = replace(last, changes=merged, at=now)
        else:
            self._marks = [*self._marks[-MARKS:], Mark(step, changes, now)]

    def _refresh_scene(self) -> None:
        with self._lock:
            now = self._clock()
            training = self._training
            if training is None or not self._scene_stale or not self._seen(now) or now - self._scene_at < SCENE_EVERY:
                return
            self._scene_stale, self._scene_at, config = False, now, self._wanted
        text = json.dumps({"t": "scene", "epoch": self.epoch, **training.scene(config)}, separators=(",", ":"))
        self.scene = Scene(self.scene.serial + 1, text)

    def _fail(self, message: str) -> None:
        with self._lock:
            self._error, self._playing = message, False
            self._reset_asked, self._steps_asked = False, 0
            self.version += 1

    def _changed(self) -> None:
        with self._lock:
            self.version += 1
        self._wake()
        self._tell()

    def _tell(self) -> None:
        for viewer in list(self._viewers):
            viewer.wake()
