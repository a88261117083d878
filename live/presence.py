"""Who is there: sessions that hold a run, and pages in front of it. Training and pictures are for those who are."""

from __future__ import annotations

from live.contract import Viewer

UNWATCHED = 10.0  # seconds a run goes on training with no page in front of it
GLANCED = 2.0  # seconds a page without a socket counts as looking


class Presence:
    """Not thread-safe: its run locks."""

    def __init__(self, now: float) -> None:
        self.leases = 0
        self.orphan_since: float | None = now
        self.viewers: set[Viewer] = set()
        self._watched_at = now

    def hold(self) -> None:
        """A page's session holds the run."""
        self.leases += 1
        self.orphan_since = None

    def let_go(self, now: float) -> None:
        """A session is gone."""
        self.leases = max(0, self.leases - 1)
        self.orphan_since = now if self.leases == 0 else None

    def watch(self, viewer: Viewer, now: float) -> None:
        self.viewers.add(viewer)
        self._watched_at = now

    def unwatch(self, viewer: Viewer, now: float) -> None:
        self.viewers.discard(viewer)
        self._watched_at = now

    def glance(self, now: float) -> None:
        """A page without a socket looked just now."""
        self._watched_at = now

    def held(self, now: float) -> bool:
        """Playing is for pages that are there: a session holds the run, and somebody looked lately."""
        return self.leases > 0 and (bool(self.viewers) or now - self._watched_at < UNWATCHED)

    def seen(self, now: float) -> bool:
        """Pictures are worth making: a visible viewer, or a page without a socket that looked lately."""
        return any(v.visible for v in self.viewers) or (not self.viewers and now - self._watched_at < GLANCED)
