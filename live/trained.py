"""The worker's half of a live run: building, steps in slices, errands to other steps, and what a failure leaves.

Everything here happens in the worker's thread, a quantum at a time; pages and sockets ask through `live.run`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from live.contract import Errand, Piece, Step
from live.events import Awaited
from live.shown import Bound, Opening, Shown
from live.tree import Branch, Tree
from rlcore.knobs import SettingError

_LOG = logging.getLogger(__name__)

QUANTUM = 0.004  # seconds a run may train before the next one's turn; at least one piece of a step
MAX_STEPS = 100_000  # of all branches together; a reset beyond it forgets the others


class Trained(Shown):
    """See the module's head. `due` and `quantum` are the worker's."""

    # ------------------------------------------------------------ the worker's

    def due(self, now: float) -> float | None:
        """When the run next wants the worker (a time that is past: at once), or None where it wants nothing."""
        with self._lock:
            if self.closed or (self._error and not self._errands):
                return None
            if self._training is None or self._errands or (self._step is not None and not self._held):
                return now
            wants = (self._schedule.next(held=self.presence.held(now)), self._scene_due(now), self._standing_due(), self._insight_due())
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
            self._errands = []
        self._tell()

    def _train(self) -> None:
        begun = self._clock()
        if self._training is None:
            self._build()
        while self._clock() - begun < QUANTUM and self._wants_slice(self._clock()):
            self._slice()
        if self._step is None or self._held:
            self._refresh_standing()
            self._refresh_insight()
            self._refresh_scene()

    def _build(self) -> None:
        training = self._start(self.request)
        with self._lock:
            self._training, self._wanted = training, training.config
            if self.request.stop is not None:
                self._schedule.until(Awaited(f"step {self.request.stop}", step=self.request.stop), 0)
                if not self.request.stop:
                    self._schedule.pause()
            self.schema += 1
            self.version += 1

    def _wants_slice(self, now: float) -> bool:
        with self._lock:
            if self._errands or (self._step is not None and not self._held):
                return True
            if self._error:
                return False
            at = self._schedule.next(held=self.presence.held(now))
            return at is not None and at <= now

    def _slice(self) -> None:
        """The next piece of an errand or of a step; most steps are a few. A held step makes room for an errand."""
        with self._lock:
            errand = self._errands[0] if self._errands and (self._step is None or self._held) else None
        if errand is not None:
            self._abandon()
            self._go_on(errand)
            return
        if self._held:
            self._abandon(going_on=True)
        step, self._step = self._step or self._begin(), None
        try:
            made = next(step)
        except StopIteration as finished:
            self._record(*finished.value)
        else:
            self._step = step
            if self._schedule.part is not None and made is not None:
                self._hold(made)

    def _go_on(self, errand: Errand) -> None:
        try:
            next(errand)
        except StopIteration:
            with self._lock:
                self._errands = [each for each in self._errands if each is not errand]
        except Exception:
            with self._lock:
                self._errands, self._bound = [], None
            raise

    # ------------------------------------------------------------ steps

    def _begin(self) -> Step:
        with self._lock:
            assert self._training is not None
            now = self._clock()
            looked_at = now >= self._next_scene or not self._schedule.playing
            self._traced = (self.presence.seen(now) and looked_at) or self._schedule.part is not None
            self._schedule.begun(now)
            self._planned(self.tree.total + 1)
            self._changes.take()
            return self._training.advance(self._wanted, traced=self._traced)

    def _planned(self, step: int) -> None:
        """Changes that the address asked for on the way."""
        values, training = self._plan.pop(step, None), self._training
        if values and training is not None:
            wanted = training.propose(self._wanted, dict(values))
            self._asks(0, self._wanted, wanted)

    def _asks(self, ref: int, before: Any, wanted: Any) -> None:
        """The next step gets this config."""
        assert self._training is not None
        change = self._training.difference(before, wanted)
        self._wanted, self._set_at = wanted, self._clock()
        self.schema += self._reshaped(before, wanted)
        self._changes.ask(ref, change)

    def _hold(self, made: Piece) -> None:
        """A piece that was asked for is made: wait there, unless it was the step's last."""
        piece = made() if made is not None else {}
        last_of_pass = piece["epoch"] == 0 or piece["minibatch"] == piece["minibatches"]
        whole = piece["epoch"] == piece["epochs"] and last_of_pass
        too_early = self._schedule.part == "epoch" and (piece["epoch"] == 0 or not last_of_pass)
        if whole or too_early:
            return
        with self._lock:
            self._held, self._piece, self._schedule.part = True, piece, None
            self._scene_stale, self._scene_at = True, 0.0
            self.version += 1

    def _abandon(self, *, going_on: bool = False) -> None:
        """A held step goes on, or is given up: nothing has happened yet, and its changes wait for the next one."""
        with self._lock:
            self.version += self._held
            self._held, self._piece = False, {}
            if going_on:
                self._schedule.begun(self._clock())
            else:
                self._step = None

    def _record(self, step: int, metrics: Mapping[str, float]) -> None:
        with self._lock:
            assert self._training is not None
            now, before = self._clock(), self._changes.applied
            self.schema += self.tree.append(step, self._training.head, metrics)
            for change in self._changes.applied_at(step):
                self.tree.mark(step, change, now)
            self.version += self._changes.applied != before
            self._scene_stale, self._cost, self._schedule.part = True, now - self._schedule.begun_at, None
            note = self._schedule.stops(self.tree.total, metrics)
            self._refresh_effect(step)
            if note:
                self._note = note
                self.version += 1

    def _insight_due(self) -> float | None:
        if self._training is None or self._bound is not None or not self.presence.leases:
            return None
        return self._insight.due(self.epoch, self.tree.total, playing=self._schedule.playing)

    def _refresh_insight(self) -> None:
        """What is going on, at most once a second: the rules read all curves."""
        with self._lock:
            training, tree = self._training, self.tree
            due = self._insight_due()
            if training is None or due is None or due > self._clock():
                return
            config, rows, names = self._wanted, tree.rows(), tree.columns
        columns = {name: rows[:, at] for at, name in enumerate(names)}
        found = training.insight(config, columns, self._insight.said)
        with self._lock:
            self.version += self._insight.take(found, self.epoch, tree.total, self._clock())

    # ------------------------------------------------------------ errands to other steps

    def _visit(self, opening: Opening) -> Errand:
        """The picture of an earlier step, recomputed in slices."""
        assert self._training is not None
        picture = yield from self._training.visit(opening.node)
        with self._lock:
            if self._opening is opening:
                opening.ready = True
                self.version += 1
                self._show(picture | {"opened": True})

    def _move(self, node: int, arrived: Callable[[], None], bound: Bound) -> Errand:
        """The head moves to a node; then `arrived` shows the path from there. A later move takes the place of this one."""
        assert self._training is not None
        yield from self._training.seek(node)
        with self._lock:
            if self._bound is not bound:
                return
            self._opening, self._error, self._note, self._effect = None, "", "", ""
            arrived()
            self._bound = None
            self._schedule.restart(self.tree.total)
            self._undo.clear()
            self._plan = {}
            self.epoch += 1
            self.schema += 1
            self.version += 1
            self._scene_stale, self._scene_at, self._traced = True, 0.0, True

    def _forked(self, step: int, node: int, bound: Bound) -> Callable[[], None]:
        def arrived() -> None:
            assert self._training is not None
            at = self._training.config_of(node)
            self.tree.current.wanted = self._wanted
            self._changes.forget()
            self.tree.fork(step, self._training.difference(at, bound.wanted))
            self._asks(bound.ref, at, bound.wanted)

        return arrived

    def _returned(self, branch: Branch, node: int, bound: Bound) -> Callable[[], None]:
        def arrived() -> None:
            assert self._training is not None
            at = self._training.config_of(node)
            self.tree.current.wanted = self._wanted
            self._changes.forget()
            self.tree.go(branch)
            self._asks(bound.ref, at, bound.wanted)

        return arrived

    def _start_over(self, bound: Bound) -> Errand:
        """Everything is forgotten: the tree has grown too large."""
        assert self._training is not None
        self._training.restart(bound.wanted)
        with self._lock:
            self.tree = Tree()
            self._changes.forget()
        yield from self._move(0, lambda: self._asks(bound.ref, self._wanted, bound.wanted), bound)

    # ------------------------------------------------------------ trouble, and telling

    def _fail(self, message: str) -> None:
        with self._lock:
            self._error, self._errands, self._note = message, [], ""
            self._step, self._held, self._piece = None, False, {}
            self._schedule.halt()
            self.version += 1

    def _tell(self) -> None:
        for viewer in list(self.presence.viewers):
            viewer.wake()
