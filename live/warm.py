"""Imports what is slow, once, beside the first page instead of before it, and tells the collector to leave it alone."""

from __future__ import annotations

import gc
import importlib
import threading

_once = threading.Lock()
_thread: threading.Thread | None = None


def start() -> None:
    """Begin importing the engine in a background thread; calling it again changes nothing."""
    global _thread
    with _once:
        if _thread is None:
            _thread = threading.Thread(target=_warm, name="warm", daemon=True)
            _thread.start()


def wait() -> None:
    """Return once the engine is imported."""
    start()
    assert _thread is not None
    _thread.join()


def _warm() -> None:
    importlib.import_module("live.engine")
    gc.collect()
    gc.freeze()  # a full collection would walk all of torch at every rerun
