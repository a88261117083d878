"""A run of 20,000 updates: what it costs to keep, to show, to travel in and to fork, server side, without a browser.

    python -m benchmarks.long_run [--steps 20000] [--browser]

Everything is measured on the live room's own objects, driven as its worker drives them. With --browser the same run is
also opened in Chromium by its link, and repaints, scrubbing and memory are measured there.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import time
from typing import Annotated, Any

import numpy as np
import typer

from live import engine, warm
from live.contract import Request
from live.frames import encode
from live.run import LiveRun
from live.view import as_text

SETTINGS = (("epochs", 1), ("prompts", 1))  # cheap steps: it is the keeping that is measured, not the training
STORE = "window.__live.panels.lab.runs[0].store"


class Somebody:
    """A viewer that only has to be there: hidden while the run is made, so that no pictures are."""

    visible = False

    def wake(self) -> None:
        """Nothing to do: messages are asked for below."""


def main(
    steps: Annotated[int, typer.Option(help="updates to make first")] = 20_000,
    browser: Annotated[bool, typer.Option(help="measure the page too; serves the app")] = False,
) -> None:
    """Print one JSON object with everything measured."""
    import torch

    warm.wait()  # as the app does: without its freeze a full collection walks over torch in the middle of a turn
    torch.set_num_threads(1)
    run = LiveRun(Request("grpo", "bandit", 0, SETTINGS), engine.start, rate=1000.0, stop_after=10 * steps)
    run.hold()
    viewer = Somebody()
    run.watch(viewer)
    start, begun = _mb(), time.perf_counter()
    seconds: dict[int, float] = {}
    while run.history.total < steps:
        run.quantum()
        if run.history.total // (steps // 4) > len(seconds):
            seconds[run.history.total] = time.perf_counter() - begun
    found: dict[str, Any] = {"load_average": os.getloadavg()[0], "steps": run.history.total, "settings": dict(SETTINGS)}
    laps = np.diff([0.0, *seconds.values()])
    found["ms_per_step_by_quarter"] = [round(1000 * float(lap) / (steps / 4), 2) for lap in laps]
    found["memory_mb_grown"] = round(_mb() - start, 1)
    viewer.visible = True
    run.pause()
    found |= _reading(run) | _travelling(run)
    if browser:
        found["browser"] = _browser(steps)
    print(json.dumps(found, indent=2))


def _mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _reading(run: LiveRun) -> dict[str, float]:
    """Milliseconds and kilobytes of what a page asks for."""
    sent = {"whole_path": lambda: encode(run.whole()), "status": lambda: as_text(run.status()).encode()}
    sent |= {"delta_of_one": lambda: encode(run.frame(run.history.total - 1, run.epoch))}  # type: ignore[arg-type]
    found = {}
    for name, ask in sent.items():
        times = [_timed(ask)[0] for _ in range(20)]
        found |= {f"{name}_ms": round(float(np.median(times)), 2), f"{name}_kb": round(len(ask()) / 1024, 1)}
    return found


def _travelling(run: LiveRun) -> dict[str, float]:
    """Milliseconds until an old step is open, and of the longest turn its worker lost to that; then forks."""
    rng, opens, turns, forks = np.random.default_rng(0), [], [], []
    for step in rng.integers(1, run.history.total, 30):
        begun = time.perf_counter()
        run.open(int(step))
        while not (run.status()["open"] or {}).get("ready"):
            turns.append(_timed(run.quantum)[0])
        opens.append(1000 * (time.perf_counter() - begun))
    for step in rng.integers(1, run.history.total, 5):
        run.open(int(step))
        while not (run.status()["open"] or {}).get("ready"):
            run.quantum()
        epoch, begun = run.epoch, time.perf_counter()
        run.fork()
        while run.epoch == epoch:
            run.quantum()
        forks.append(1000 * (time.perf_counter() - begun))
        run.switch(0)
        while run.epoch == epoch + 1:
            run.quantum()
    return {
        "open_step_p50_ms": _q(opens, 50), "open_step_p95_ms": _q(opens, 95), "longest_turn_p99_ms": _q(turns, 99),
        "longest_turn_ms": _q(turns, 100), "fork_p50_ms": _q(forks, 50), "fork_max_ms": _q(forks, 100),
    }  # fmt: skip


def _timed(ask: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    got = ask()
    return 1000 * (time.perf_counter() - begun), got


def _q(values: list[float], share: float) -> float:
    return round(float(np.percentile(values, share)), 1)


def _browser(steps: int) -> dict[str, Any]:
    """The page of such a run: it is made there from its link, so that every row has travelled."""
    from playwright.sync_api import sync_playwright

    from benchmarks.live_latency import rates, served

    query = "&".join(f"{name}={value}" for name, value in SETTINGS)
    with served("") as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_context(viewport={"width": 1280, "height": 1000}).new_page()
        page.set_default_timeout(600_000)
        page.goto(f"{address}/lab?env=bandit&{query}&step={steps}")
        page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.step >= {steps} && {STORE}.scene")
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"{STORE}.status.state === 'playing' && {STORE}.step > {steps}")
        playing = rates(page, 8, lambda: page.wait_for_timeout(8000))
        scrubbing = page.evaluate(_SCRUB, steps)
        chromium.close()
    return {"playing": playing, "scrub_input_to_paint_ms": {f"p{q}": _q(scrubbing, q) for q in (50, 95)}}


_SCRUB = """async (steps) => {
  const range = document.querySelector("[data-scrub]"), times = [];
  for (let i = 0; i < 60; i++) {
    const begun = performance.now();
    range.value = String(Math.round(steps * (0.5 + 0.45 * Math.sin(i))));
    range.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame);
    await new Promise((done) => setTimeout(done));
    times.push(performance.now() - begun);
  }
  return times;
}"""


if __name__ == "__main__":
    typer.run(main)
