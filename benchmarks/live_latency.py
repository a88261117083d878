"""How the live pages feel in a real browser: drag to effect, refreshes a second, cost of a repaint, first sight.

    python -m benchmarks.live_latency [--url http://localhost:8501] [--seconds 10]

Without --url it serves the app itself. Latency is measured inside the page, from each `input` event of the dragged
slider to the first drawn row that was made with that value or a later one; nothing is estimated.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
STORE = "window.__live.panels.lab.runs[0].store"


def main(
    url: Annotated[str, typer.Option(help="an app that is being served already")] = "",
    seconds: Annotated[float, typer.Option(help="length of each measurement")] = 10.0,
) -> None:
    """Print one JSON object with everything measured."""
    with served(url) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        found: dict[str, Any] = {"load_average": os.getloadavg()[0], "first_sight_s": _first_sight(browser, address)}
        for world in ("bandit", "gridworld", "CartPole-v1"):
            found[world] = _measured(browser, f"{address}/lab?recipe=grpo&env={world}", seconds)
        found["home"] = _refreshes(browser, address, seconds)
        print(json.dumps(found, indent=2))
        browser.close()


def _first_sight(browser: Browser, address: str) -> dict[str, float]:
    """Seconds from navigation to the first moving picture, without and with a warm cache."""
    context = browser.new_context()
    seen = {}
    for name in ("cold", "warm"):
        page = context.new_page()
        begun = time.perf_counter()
        page.goto(address)
        page.wait_for_function("window.__live && window.__live.panels.home?.runs.every((r) => r.store.step > 0)")
        seen[name] = round(time.perf_counter() - begun, 2)
        page.close()
    context.close()
    return seen


def _measured(browser: Browser, address: str, seconds: float) -> dict[str, Any]:
    page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    page.goto(address)
    page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.step > 3 && {STORE}.scene")
    calm = rates(page, seconds, lambda: page.wait_for_timeout(seconds * 1000))
    page.evaluate("window.__live.latencies.length = 0; window.__live.inputs = 0")
    busy = rates(page, seconds, lambda: _drag(page, seconds))
    page.wait_for_function("window.__live.panels.lab.inputs.length === 0")
    latencies = np.array(page.evaluate("window.__live.latencies"))
    page.context.close()
    quantiles = {f"p{q}_ms": round(float(np.percentile(latencies, q)), 1) for q in (50, 95, 99)}
    return {"calm": calm, "dragging": busy, "drag_to_effect": {"inputs": len(latencies), **quantiles}}


def _refreshes(browser: Browser, address: str, seconds: float) -> dict[str, float]:
    page = browser.new_context(viewport={"width": 1280, "height": 1000}).new_page()
    page.goto(address)
    page.wait_for_function("window.__live?.panels.home?.runs.every((r) => r.store.step > 0)")
    found = rates(page, seconds, lambda: page.wait_for_timeout(seconds * 1000))
    page.context.close()
    return found


def rates(page: Page, seconds: float, during: Any) -> dict[str, float]:
    """Frames and repaints a second, script milliseconds a repaint, and the renderer's main-thread share and heap."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before, begun = _counters(page, session), time.perf_counter()
    during()
    after, wall = _counters(page, session), time.perf_counter() - begun
    change = {name: after[name] - before[name] for name in after}
    draws = max(1, change["draws"])
    return {
        "frames_per_s": round(change["frames"] / wall, 1),
        "repaints_per_s": round(change["draws"] / wall, 1),
        "script_ms_per_repaint": round(change["drawMs"] / draws, 2),
        "main_thread_ms_per_repaint": round(1000 * change["task"] / draws, 2),
        "main_thread_share": round(change["task"] / wall, 3),
        "heap_mb": round(after["heap"] / 1e6, 1),
    }


def _counters(page: Page, session: CDPSession) -> dict[str, float]:
    told = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    seen = page.evaluate("({frames: __live.frames, draws: __live.draws, drawMs: __live.drawMs})")
    return {**seen, "task": told["TaskDuration"], "heap": told["JSHeapUsedSize"]}


def _drag(page: Page, seconds: float) -> None:
    """Hold the slider and move it to and fro, a few moves a frame at most."""
    box = page.locator("[data-knob=eps_high]").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    share = page.locator("[data-knob=eps_high]").evaluate("(r) => (r.value - r.min) / (r.max - r.min)")
    page.mouse.move(box["x"] + 9 + share * (box["width"] - 18), y)
    page.mouse.down()
    begun = time.perf_counter()
    while (now := time.perf_counter() - begun) < seconds:
        swing = 0.5 + 0.45 * np.sin(now * 1.7)
        page.mouse.move(box["x"] + swing * box["width"], y)
        page.wait_for_timeout(30)
    page.mouse.up()


@contextmanager
def served(url: str) -> Iterator[str]:
    if url:
        yield url.rstrip("/")
        return
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.fileWatcherType", "none"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(f"http://localhost:{port}/_stcore/health")
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _wait(address: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(address)


if __name__ == "__main__":
    typer.run(main)
