"""A live run: training that somebody watches, its tree of steps, and the settings waiting for the next one.

Pages and sockets only ask (play, set, open a step, fork, ...) and read; the worker alone trains (`live.trained`).
Whatever goes wrong in there stops this run, keeps what was recorded and is told in `status`. Knows neither Streamlit
nor sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from live.contract import Errand, Setting, Training, Viewer
from live.events import awaited
from live.schedule import Part
from live.shown import Bound, Opening
from live.trained import MAX_STEPS, Trained
from rlcore.knobs import SettingError


class LiveRun(Trained):
    """See the module's head. Thread-safe."""

    # ------------------------------------------------------------ asked: transport

    def play(self) -> None:
        """Go on from the newest step; a run that stopped by itself at its limit gets another stretch."""
        with self._changing():
            self._go_on_from_here()
            self._schedule.play(self.tree.total)

    def pause(self) -> None:
        with self._changing():
            self._schedule.pause()

    def step_once(self) -> None:
        """One update, and stay paused; the next step where an earlier one is looked at."""
        with self._changing():
            if self._opening is not None:
                self._open(self._opening.step + 1)
            else:
                self._go_on_from_here()
                self._schedule.step_once()

    def step_part(self, part: Part) -> None:
        """One minibatch, or one pass over the batch, of the coming step; wait there with its ratios."""
        with self._changing():
            self._go_on_from_here()
            self._schedule.step_part(part)

    def back(self) -> None:
        """Look at the step before."""
        with self._changing():
            at = self.tree.total if self._opening is None else self._opening.step
            self._open(max(0, at - 1))

    def until(self, event: str, value: float | None = None) -> None:
        """Go on, as fast as it can, to the first step at which something happens. Raises SettingError."""
        with self._changing():
            found = awaited(event, value, reward=str(self.about().get("reward", "reward_mean")))
            if found is None:
                raise SettingError(f"event: there is no event {event!r}")
            self._go_on_from_here()
            self._schedule.until(found, self.tree.total)

    def pace(self, rate: float) -> None:
        """Updates a second from now on."""
        with self._changing():
            self._schedule.pace(rate, self._clock())

    # ------------------------------------------------------------ asked: settings

    def set(self, values: Mapping[str, Setting], *, ref: int = 0) -> None:
        """Change settings or slots from the next step on; of a fork to be, where an earlier step is looked at.

        Raises SettingError and changes nothing where one is refused.
        """

        def proposed(training: Training, config: Any) -> Any:
            old = training.settings(config)
            unknown = [name for name in values if name not in old]
            if unknown:
                raise SettingError(f"{unknown[0]}: cannot be changed while it runs; what can: {', '.join(old)}")
            return training.propose(config, values)

        self.change(proposed, names=values, ref=ref)

    def change(self, proposed: Callable[[Training, Any], Any], *, names: Mapping[str, Setting], ref: int = 0) -> None:
        """Any change of the config: `proposed` gives the new one or raises SettingError. `names` tell a drag apart."""
        with self._changing():
            if self._training is None:
                raise SettingError(f"settings: the run is {self.state}; they can be changed once it trains")
            for name in names:
                if name in self.locked or "*" in self.locked:
                    raise SettingError(f"{name}: is locked by the link that opened this page")
            before = self._config
            wanted = proposed(self._training, before)
            self._undo.note(before, names, self._clock())
            self._take(ref, before, wanted)

    def lock(self, names: Iterable[str]) -> None:
        """From now on these settings are refused to whoever asks; "*" stands for all of them."""
        self.locked = frozenset(names)

    def path(self) -> Sequence[Any]:
        """The engine's nodes of the branch shown, from its first step on. Raises SettingError while it starts."""
        with self._lock:
            if self._training is None:
                raise SettingError(f"run: is {self.state}; it can be exported once it trains")
            return self._training.path()

    def undo(self, *, ref: int = 0) -> None:
        """Go back to the settings before the last change; the steps made with it stay made."""
        with self._changing():
            before = self._undo.back()
            if before is not None:
                self._take(ref, self._config, before)

    # ------------------------------------------------------------ asked: time travel

    def open(self, step: int) -> None:
        """Look at an earlier step of the path; the run pauses meanwhile. The newest step: back to the present."""
        with self._changing():
            self._open(step)

    def fork(self, *, ref: int = 0) -> None:
        """Go on from the step looked at (or the newest) with the settings shown, on a branch of its own."""
        with self._changing():
            if self._training is None:
                raise SettingError(f"fork: the run is {self.state}; there is no step yet to fork from")
            step = self.tree.total if self._opening is None else self._opening.step
            if self._bound is None:  # else one is being made: the second of two quick clicks
                self._fork(step, self._config, ref=ref)
            self._schedule.play(step)

    def reset(self) -> None:
        """Start over from step 0 with the settings as they stand; what was made stays, as a branch. It keeps playing
        if it was."""
        with self._changing():
            if self._training is not None:
                self._fork(0, self._config, ref=0)

    def switch(self, branch_id: int) -> None:
        """Show another branch, at its newest step. Raises SettingError where there is none of that number."""
        with self._changing():
            branch = self.tree.find(branch_id)
            if branch is None or self._training is None:
                raise SettingError(f"branch: there is no branch {branch_id} any more")
            self._schedule.pause()
            if branch is self.tree.current and self._bound is None:
                return self._return()
            node = branch.nodes[-1] if branch.nodes else branch.root
            bound = Bound(self._training.config_of(node) if branch.wanted is None else branch.wanted)
            self._leave(self._move(node, self._returned(branch, node, bound), bound), bound)
        return None

    # ------------------------------------------------------------ held and watched by pages and sockets

    def hold(self) -> None:
        """A page's session holds the run: it may train."""
        with self._lock:
            self.presence.hold()
        self._wake()

    def let_go(self) -> None:
        """A session is gone. With the last one the run pauses at once; the server closes it after a grace period."""
        with self._lock:
            self.presence.let_go(self._clock())
        self._wake()

    def watch(self, viewer: Viewer) -> None:
        with self._lock:
            self.presence.watch(viewer, self._clock())
            self._scene_stale = True
        self._wake()

    def unwatch(self, viewer: Viewer) -> None:
        with self._lock:
            self.presence.unwatch(viewer, self._clock())

    def glance(self) -> None:
        """A page without a socket looked just now."""
        with self._lock:
            self.presence.glance(self._clock())
        self._wake()

    @property
    def leases(self) -> int:
        return self.presence.leases

    @property
    def orphan_since(self) -> float | None:
        return self.presence.orphan_since

    @property
    def viewers(self) -> int:
        return len(self.presence.viewers)

    # ------------------------------------------------------------ inside

    def _take(self, ref: int, before: Any, wanted: Any) -> None:
        """Settings are another config now: the next step's, or those of the fork that is prepared."""
        if self._bound is not None:  # asked for on the way: it goes along
            self._bound.ref = max(self._bound.ref, ref)
        elif self._opening is None:
            self._asks(ref, before, wanted)
            self._schedule.hurry(self._clock())
            return
        self.schema += self._reshaped(before, wanted)
        self._set_at = self._clock()
        if self._bound is not None:
            self._bound.wanted = wanted
        elif self._opening is not None:
            self._opening.wanted = wanted

    def _open(self, step: int) -> None:
        if self._training is None:
            raise SettingError(f"step: the run is {self.state}; there is no step yet")
        if not 0 <= step <= self.tree.total:
            raise SettingError(f"step: must be between 0 and {self.tree.total}, got {step}")
        if self._bound is not None:
            raise SettingError("step: the run is on its way to another step, which is being recomputed; try again in a moment")
        self._schedule.pause()
        if step == self.tree.total and not self._error:
            return self._return()
        node = self.tree.node_at(step)
        following = step + 1 <= self.tree.total
        base = self._training.config_of(self.tree.node_at(step + 1)) if following else self._wanted
        self._undo.clear()
        self.schema += self._reshaped(self._config, base)
        self._opening = Opening(step, node, base, base)
        self._errands = [self._visit(self._opening)]
        return None

    def _return(self) -> None:
        """Back to the present: what was prepared for a fork is dropped."""
        self._note = ""
        if self._opening is not None:
            self.schema += self._reshaped(self._opening.wanted, self._wanted)
            self._opening, self._errands, self._scene_stale, self._scene_at = None, [], True, 0.0
            self._undo.clear()

    def _go_on_from_here(self) -> None:
        """Back to the present, which a failed run does not have."""
        if self._error and self._bound is None:
            raise SettingError("run: it has failed; open its last good step and fork with other settings, or reset")
        self._return()

    def _fork(self, step: int, wanted: Any, *, ref: int) -> None:
        assert self._training is not None
        bound = Bound(wanted, ref)
        if sum(len(branch.nodes) for branch in self.tree.branches) > MAX_STEPS:
            self._leave(self._start_over(bound), bound)
            return
        node = self.tree.node_at(step)
        self._leave(self._move(node, self._forked(step, node, bound), bound), bound)

    def _leave(self, errand: Errand, bound: Bound) -> None:
        """The head goes elsewhere: nothing else is looked at meanwhile, and steps asked for until now are not made."""
        self.schema += self._reshaped(self._config, bound.wanted)
        self._opening, self._bound, self._set_at = None, bound, self._clock()
        self._schedule.drop()
        self._errands = [errand]

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Something is asked for: told to the worker and to everybody who watches, unless it is refused."""
        with self._lock:
            yield
            self.version += 1
        self._wake()
        self._tell()
