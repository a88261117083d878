"""A session's hold on the runs it shows: the tab goes, the run pauses at once and is closed after a grace period.

Streamlit calls `on_release` on its event loop when a session ends (also for a moment of lost network), so releasing
only sets flags. A reload is a new session: it finds its run by the id in the URL, and takes it over once nobody holds it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from live.run import LiveRun
from live.server import shared

TAKE_OVER = 0.8  # seconds a reload waits for the session it replaces to let go


@dataclass
class Lease:
    """One session's hold on one run."""

    run: LiveRun


@st.cache_resource(scope="session", on_release=lambda lease: lease.run.let_go(), show_spinner=False)
def _lease(rid: str) -> Lease:
    run = shared().get(rid)
    if run is None:
        raise LookupError(rid)
    run.hold()
    return Lease(run)


def hold(run: LiveRun) -> None:
    """This session holds the run from now until it ends or lets go. Calling it again changes nothing."""
    if not run.closed:
        _lease(run.rid)


def drop(run: LiveRun) -> None:
    """This session no longer wants the run: it is closed at once."""
    _lease.clear(run.rid)
    shared().close(run.rid)


def take_over(rid: str) -> LiveRun | None:
    """The run of a page that was reloaded: known here, and held by nobody (any more). None: start a fresh one.

    A second tab opened with the same link finds the run held, so it gets a run of its own.
    """
    run = shared().get(rid)
    deadline = time.monotonic() + TAKE_OVER
    while run is not None and run.leases > 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    return run if run is not None and run.leases == 0 and not run.closed else None
