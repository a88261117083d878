"""What every test shares: one thread, Hypothesis profiles, and the browser for those in tests/e2e.

Nothing here imports torch, so a test that needs none starts at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, Playwright, sync_playwright

# Before anybody imports torch, and inherited by every process a test starts: these tensors gain nothing from a second
# thread, and sums split over threads round differently.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
E2E = Path(__file__).parent / "e2e"
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
MAC_BROWSER = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

# The same examples at every run on CI; new ones at every run elsewhere, where a failure can be looked into at leisure.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if ON_CI else "dev")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything under tests/e2e is a browser test, whether or not its author said so."""
    for item in items:
        if E2E in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def find_chromium() -> str | None:
    """Path of a Chromium or Chrome: the variable SURROGATE_CHROMIUM, else the first one on PATH; None without one."""
    asked = os.environ.get("SURROGATE_CHROMIUM")
    return next(filter(None, map(shutil.which, [asked] if asked else [*BROWSERS, MAC_BROWSER])), None)


def chromium_or_outcome(*, on_ci: bool) -> str:
    """The browser's path. Without one a test is skipped on a person's machine and fails on CI."""
    if found := find_chromium():
        return found
    reason = "no Chromium or Chrome found: install one (Debian: apt-get install chromium) or set SURROGATE_CHROMIUM"
    if on_ci:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where the browser is that the tests in tests/e2e drive."""
    return chromium_or_outcome(on_ci=ON_CI)


@pytest.fixture(scope="session")
def launched(playwright: Playwright) -> Iterator[list[Browser]]:
    """The browsers started so far, the one in use last."""
    browsers: list[Browser] = []
    yield browsers
    for each in browsers:
        each.close()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Playwright itself, once."""
    with sync_playwright() as started:
        yield started


@pytest.fixture
def browser(playwright: Playwright, chromium_path: str, launched: list[Browser]) -> Browser:
    """The headless browser; open a new context or page in each test. It calls nobody in the background.

    All tests share one. Should it crash, that fails the test it crashed in, and the next test gets a new one.
    """
    if not launched or not launched[-1].is_connected():
        arguments = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium refuses to start as root with it
        launched.append(playwright.chromium.launch(executable_path=chromium_path, args=arguments))
    return launched[-1]
