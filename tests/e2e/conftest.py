"""The app in a process of its own, and pages in browsers that know how to wait for what they expect."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60_000  # ms; a loaded machine is slow, a broken page is slower


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app as `make app` serves it, on a free port."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log.txt"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.fileWatcherType", "none"]
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env=os.environ | {"SURROGATE_DATA": str(log.parent)})
        try:
            _wait_until_served(f"http://localhost:{port}", process, log)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _wait_until_served(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 90
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except OSError:
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.1)


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes browser contexts (separate people); all are closed afterwards."""
    made: list[BrowserContext] = []

    def make(**how: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 1100}, **how})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context().new_page()
