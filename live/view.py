"""What one viewer still has to be told: the messages of a run, in order, nothing twice and nothing lost.

Order matters to the page: columns before the rows that need them, settings before the first row made with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from live import frames
from live.commands import Look
from live.run import LiveRun
from live.shown import SCENE_EVERY
from live.tree import Branch, curves

POLLED_BRANCHES = 2  # a snapshot repeats everything, so it holds the newest only


class View:
    """A viewer's place in a run: which rows it shows, which version of everything else it knows."""

    def __init__(self, run: LiveRun, clock: Callable[[], float], wake: Callable[[], None] = lambda: None) -> None:
        self.run, self.wake, self._clock = run, wake, clock
        self.visible = True
        self._cursor = self._epoch = 0
        self._schema = self._version = -1
        self._scene, self._scene_at = 0, 0.0
        self._branches: dict[int, int] = {}  # id: tip, as the viewer knows it

    def look(self, look: Look) -> None:
        """The viewer says what it shows already."""
        self._cursor, self._epoch, self.visible = look.cursor, look.epoch, look.visible

    def news(self) -> list[str | bytes]:
        """Messages since the last call; none while the viewer is hidden."""
        run, found = self.run, list[str | bytes]()
        if not self.visible:
            return found
        with run.held_still():
            if run.schema != self._schema:
                self._schema = run.schema
                found.append(as_text(run.hello()))
            if run.version != self._version:
                self._version = run.version
                found.append(as_text(run.status()))
            frame = run.frame(self._cursor, self._epoch)
            if frame is not None:
                self._cursor, self._epoch = frame.total, frame.epoch
                found.append(frames.encode(frame))
            found += [as_text(curves(branch)) for branch in self._new_branches()]
        scene = self._new_scene()
        return [*found, scene] if scene else found

    def _new_branches(self) -> list[Branch]:
        """Branches drawn faint that have grown since they were last sent."""
        fresh = [branch for branch in self.run.faint() if self._branches.get(branch.id) != branch.tip]
        self._branches |= {branch.id: branch.tip for branch in fresh}
        return fresh

    def scene_waits(self) -> float | None:
        """Seconds until a picture that is ready may be sent; None where there is none."""
        if not self.visible or self.run.scene.serial == self._scene:
            return None
        return max(0.0, self._scene_at + SCENE_EVERY - self._clock())

    def _new_scene(self) -> str | None:
        if self.scene_waits() != 0.0:
            return None
        self._scene, self._scene_at = self.run.scene.serial, self._clock()
        return self.run.scene.text


def snapshot(run: LiveRun) -> bytes:
    """Everything about a run in one pack that can be lost or repeated without harm, for the polled transport."""
    with run.held_still():
        header = {"hello": run.hello(), "status": run.status()}
        scene = json.loads(run.scene.text) if run.scene.text else None
        faint = [curves(branch) for branch in run.faint()[-POLLED_BRANCHES:]]
        return frames.pack(header | {"scene": scene, "branches": faint}, frames.encode(run.whole(limit=1000)))


def as_text(message: object) -> str:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
