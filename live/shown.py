"""What a live run shows: curves, the picture of a step, settings and what they add up to, what the last change did.

Everything pages and sockets read is here, and nothing they may ask. Read under the run's lock, or `held_still`.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from live import effect
from live.changes import Changes, Undo, painted
from live.contract import Change, Errand, Opened, Request, Setting, Start, Step, Training
from live.frames import Frame
from live.insight import Insight
from live.presence import Presence
from live.schedule import Schedule
from live.tree import Branch, Log, Tree
from rlcore.knobs import SettingError

SCENE_EVERY = 0.1  # seconds between pictures of the world and of this step's samples
SETTLED = 0.25  # seconds after the last change at which it is said what the settings add up to
WINDOW = 4096  # rows sent at most when a page needs the whole history
LOOKED_AT = ("reward_mean", "kl_ref", "approx_kl", "entropy", "clip_fraction", "clip_fraction_outside")
TOLD = {
    "reward_mean": "reward", "episode_return": "return", "kl_ref": "KL to reference", "approx_kl": "KL to old policy",
    "entropy": "entropy", "clip_fraction": "clip fraction", "clip_fraction_outside": "outside the band",
    "dead_group_fraction": "dead groups", "grad_norm": "gradient norm",
}  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """The world and the samples of one step, as JSON text ready to be sent."""

    serial: int
    text: str


@dataclass
class Opening:
    """An earlier step that is looked at: the settings its successor had, and those a fork would go on with."""

    step: int
    node: int
    base: Any
    wanted: Any
    ready: bool = False


@dataclass
class Bound:
    """Where the head is on its way to: the settings it will go on with there, and the request that asked for them."""

    wanted: Any
    ref: int = 0


class Shown:
    """See the module's head.

    version grows with everything in `status`, schema with everything in `hello`, epoch when another path is shown.
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
        self.tree = Tree()
        self.presence = Presence(clock())
        self.epoch = self.version = self.schema = 0
        self.scene = Scene(0, "")
        self.closed = False
        self.locked: frozenset[str] = frozenset()  # settings that a link keeps from being changed
        self._start, self._clock, self._wake = start, clock, wake
        self._lock = threading.RLock()
        self._training: Training | None = None
        self._wanted: Any = None
        self._step: Step | None = None
        self._held, self._piece = False, dict[str, Any]()
        self._errands: list[Errand] = []
        self._bound: Bound | None = None  # while the head is on its way to another node
        self._opening: Opening | None = None
        self._schedule = Schedule(rate=rate, playing=playing, stop_after=stop_after)
        self._plan = dict(request.then)
        self._changes, self._undo, self._set_at = Changes(), Undo(), 0.0
        self._standing, self._standing_of = dict[str, Any](), None
        self._insight = Insight()
        self._scene_stale, self._scene_at = True, 0.0
        self._last_scene = dict[str, Any]()
        self._traced, self._cost = True, 0.0  # of the last step
        self._error = self._note = self._effect = ""

    # ------------------------------------------------------------ read by pages and sockets

    @contextmanager
    def held_still(self) -> Iterator[None]:
        """Nothing changes inside: what is read together belongs together. Read, do not wait, in there."""
        with self._lock:
            yield

    @property
    def history(self) -> Tree:
        """The path's rows: what is shown as the run."""
        return self.tree

    @property
    def state(self) -> str:
        if self.closed:
            return "closed"
        if self._error:
            return "failed"
        if self._training is None:
            return "starting"
        if self._opening is not None:
            return "looking back"
        return "playing" if self._schedule.playing else "paused"

    @property
    def looked_at(self) -> int | None:
        """The step a link to this moment should name: the one looked at, or the newest where it is paused."""
        with self._lock:
            if self._opening is not None:
                return self._opening.step
            if self._training is None:
                return self.request.stop
            if self._schedule.awaited is not None and self._schedule.awaited.step is not None:
                return self._schedule.awaited.step
            return None if self._schedule.playing or self._error else self.tree.total

    def settings(self) -> dict[str, Setting]:
        """The live settings as they will be at the next step (of the fork, where one is prepared); empty while starting."""
        with self._lock:
            return {} if self._training is None else self._training.settings(self._config)

    def preset(self) -> dict[str, Setting]:
        """The live settings a run of this recipe begins with; empty while starting."""
        with self._lock:
            return {} if self._training is None else dict(self._training.preset)

    def beginning(self) -> tuple[dict[str, Setting], Log]:
        """The settings of the path's first step, and every change on the path since: what gives it again."""
        with self._lock:
            if self._training is None:
                return dict(self.request.settings), [(step, dict(values)) for step, values in self._plan.items()]
            log, newest = self.tree.log(), self._training.config_of(self.tree.node_at(self.tree.total))
            waiting = {} if newest is self._wanted else self._training.difference(newest, self._wanted)
            if waiting:
                log = [*log, (self.tree.total + 1, {name: new for name, (_, new) in waiting.items()})]
            log = [*log, *((step, dict(values)) for step, values in self._plan.items())]
            return self._training.settings(self._training.config_of(0)), log

    def opened(self, node: int | None = None) -> Opened:
        """A step of this run, to be looked at elsewhere: by node, or the newest. Raises SettingError without one.

        An old state is recomputed in the caller's thread; the worker goes on meanwhile.
        """
        training = self._training
        if training is None:
            raise SettingError(f"run: it is {self.state}, so there is no step to open")
        return training.opened(node)

    def hello(self) -> dict[str, Any]:
        """What a page needs before the first frame: columns, knobs, slots, and what is being trained."""
        with self._lock:
            return {"t": "hello", "rid": self.rid, "columns": list(self.tree.columns), **self.about()}

    def status(self) -> dict[str, Any]:
        """Everything a page shows besides curves and pictures. Changes exactly when `version` does."""
        with self._lock:
            marks = [{"step": mark.step, "changes": mark.change} for mark in self.tree.marks()]
            awaiting = self._schedule.awaited
            return {
                "t": "status", "state": self.state, "epoch": self.epoch, "rate": self._schedule.rate,
                "settings": self.settings(), "marks": marks, "applied": list(self._changes.applied),
                "error": self._error, "note": self._note, "effect": self._effect, "undo": len(self._undo),
                "awaiting": "" if awaiting is None else awaiting.label, "open": self._open_as_json(),
                "piece": {name: value for name, value in self._piece.items() if name != "samples"} or None,
                "tree": self.tree.as_json(), "waiting": self._changes.waiting, **self._standing,
                "insight": self._insight.found,
            }  # fmt: skip

    def frame(self, cursor: int, epoch: int) -> Frame | None:
        """What a page that shows the first `cursor` rows of `epoch` still misses; None where it misses nothing."""
        with self._lock:
            rows = self.tree.since(cursor) if epoch == self.epoch else None
            if rows is None or len(rows) > WINDOW:
                return self.whole()
            return Frame(self.epoch, False, self.tree.total, rows) if len(rows) else None

    def whole(self, *, limit: int = WINDOW) -> Frame:
        """The whole path in at most about `limit` rows."""
        with self._lock:
            return Frame(self.epoch, True, self.tree.total, self.tree.window(limit, LOOKED_AT))

    def faint(self) -> list[Branch]:
        """The branches drawn faint beside the path."""
        with self._lock:
            return self.tree.faint()

    def _open_as_json(self) -> dict[str, Any] | None:
        at = self._opening
        if at is None or self._training is None:
            return None
        differs = self._training.difference(at.base, at.wanted) if at.base is not at.wanted else {}
        return {"step": at.step, "node": at.node, "ready": at.ready, "differs": differs}

    # ------------------------------------------------------------ pictures

    @property
    def _next_scene(self) -> float:
        """Pictures are made at most every SCENE_EVERY seconds, and of dear steps rarely enough to stay a side cost."""
        return self._scene_at + max(SCENE_EVERY, 3 * self._cost)

    def _scene_due(self, now: float) -> float | None:
        """When a picture of the last step is wanted. One of a step without a trace costs that step once more, so while
        the next one is near it is left to that."""
        if not self._scene_stale or self._opening is not None or not self.presence.seen(now):
            return None
        coming = self._schedule.next(held=self.presence.held(now))
        alone = coming is None or coming > now + SCENE_EVERY
        return self._next_scene if self._traced or alone else None

    def _refresh_scene(self) -> None:
        with self._lock:
            now, training = self._clock(), self._training
            due = self._scene_due(now)
            if training is None or due is None or due > now:
                return
            self._scene_stale, self._scene_at, config = False, now, self._wanted
        if self._piece:
            picture = self._last_scene | {"piece": self._piece, "samples": self._piece["samples"]}
        else:
            picture = self._last_scene = training.scene(config)
        self._show(picture)

    def _show(self, picture: Mapping[str, Any]) -> None:
        text = json.dumps({"t": "scene", "epoch": self.epoch, **picture}, separators=(",", ":"))
        self.scene = Scene(self.scene.serial + 1, text)

    # ------------------------------------------------------------ what the settings add up to

    def about(self) -> dict[str, Any]:
        """What is known of the structure in force; {} while starting. Worked out once a structure."""
        with self._lock:
            config = self._config
            if self._training is None:
                return {}
            if self._about_of != self.schema:
                self._about, self._about_of = self._training.about(config), self.schema
            return self._about

    _about: dict[str, Any] = {}
    _about_of = -1

    def _reshaped(self, before: Any, after: Any) -> bool:
        """True where the settings of two configs are not the same ones, or a slot holds something else."""
        if before is after or self._training is None:
            return False
        old, new = self._training.settings(before), self._training.settings(after)
        return old.keys() != new.keys() or any(old[name] != new[name] for name in new if isinstance(new[name], str))

    @property
    def _config(self) -> Any:
        """The settings shown: those of the next step, or of the fork that is made or would be made."""
        if self._bound is not None:
            return self._bound.wanted
        return self._wanted if self._opening is None else self._opening.wanted

    def _standing_due(self) -> float | None:
        stale = self._training is not None and self._standing_of is not self._config
        return self._set_at + SETTLED if stale else None

    def _refresh_standing(self) -> None:
        """Told once a hand has come to rest: naming a mix costs too much for every notch of a drag."""
        with self._lock:
            due, training, config = self._standing_due(), self._training, self._config
        if training is None or due is None or due > self._clock():
            return
        standing = training.standing(config)
        with self._lock:
            self._standing, self._standing_of = standing, config
            self.version += 1

    # ------------------------------------------------------------ what the last change did

    def _refresh_effect(self, step: int) -> None:
        marks = self.tree.marks()
        if not marks or step - marks[-1].step + 1 not in (1, *effect.GROWN):
            return
        mark, previous = marks[-1], next((m.step for m in reversed(marks[:-1])), 0)
        length = effect.window(mark.step, previous, step)
        names = [name for name in TOLD if name in self.tree.columns and (name != "reward_mean" or not self._by_episode)]
        last = min(step, mark.step + effect.LONGEST - 1)
        compared = self.tree.parents(mark.step, last)
        paired = len(compared) >= effect.SHORTEST
        if not paired:
            compared, last = self.tree.between(mark.step - length, mark.step - 1), mark.step + length - 1
        rows = self.tree.between(mark.step, min(last, mark.step + len(compared) - 1))
        before, after = ({name: x[:, self.tree.columns.index(name)] for name in names} for x in (compared, rows))
        self._effect = effect.sentence(self._in_words(mark.change), mark.step, before, after, TOLD, paired=paired)
        self.version += 1

    @property
    def _by_episode(self) -> bool:
        return self.about().get("reward") == "episode_return"

    def _in_words(self, change: Change) -> str:
        """ε 0.2 → 0.05, by symbol; one ε where both sides moved alike."""
        symbols = {knob["name"]: knob["symbol"] for knob in self.about().get("knobs", ())}
        pairs = dict(change)
        if pairs.get("eps_low") is not None and pairs.get("eps_low") == pairs.get("eps_high"):
            pairs = {"ε": pairs["eps_low"]} | {n: p for n, p in pairs.items() if n not in ("eps_low", "eps_high")}
        return ", ".join(
            painted(name, old, new) or f"{symbols.get(name, name)} {_n(old)} → {_n(new)}" for name, (old, new) in pairs.items()
        )


def _n(value: Setting) -> str:
    return value.replace("_", " ") if isinstance(value, str) else f"{value:.3g}"
