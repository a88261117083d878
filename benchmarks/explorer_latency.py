"""How long a slider of the explaining pages takes until its effect is drawn, in a real browser.

    python -m benchmarks.explorer_latency [--url http://localhost:8501] [--presses 30] [--only duel]

Without --url it serves the app itself. Each measurement is taken inside the page: from the key that moves the slider to
the first chart drawn after it, one key at a time. A line is printed as soon as a slider is done; all together take about
two minutes. The machine's load is reported, since nothing else should be running.
"""

from __future__ import annotations

import os
import shutil
from typing import Annotated

import numpy as np
import typer
from playwright.sync_api import Page, sync_playwright

from benchmarks.live_latency import served

SLIDERS = (
    ("surrogate", "eps_high"), ("surrogate?show=gradient", "eps_high"), ("surrogate?show=epochs", "lr"),
    ("surrogate?show=kl", "kl_beta"), ("surrogate?show=bench", "distance"), ("advantages", "shift"),
    ("advantages?show=dead", "p"), ("advantages?show=difficulty", "group_size"), ("advantages?show=exact", "group_size"),
    ("advantages?show=gae", "lam"), ("ratios", "nudge"), ("ratios?show=sequence", "each"), ("ratios?show=band", "sd"),
    ("ratios?show=weights", "length"), ("duel?change=eps&epochs=4&eps_high=0.05", "eps_high"), ("duel?change=group", "group_size"),
    ("duel?show=update&change=eps&epochs=4&eps_low=0.05", "eps_low"),
)  # fmt: skip
DRAWN = "[...document.querySelectorAll('.surrogate-figure')].map((f) => Number(f.dataset.drawn ?? 0))"


def main(
    url: Annotated[str, typer.Option(help="an app that is being served already")] = "",
    presses: Annotated[int, typer.Option(help="keys per slider")] = 30,
    only: Annotated[str, typer.Option(help="measure only pages whose address contains this")] = "",
) -> None:
    """Print p50 and p95 in milliseconds, a line for each page and slider, and the load before and after."""
    print(f"load average {os.getloadavg()[0]:.2f}", flush=True)
    worst = 0.0
    with served(url) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        for path, key in SLIDERS:
            if only in path:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                found = _measured(page, f"{address}/{path}", key, presses)
                page.close()
                worst = max(worst, found["p95"])
                print(f"{path + ' ' + key:<46} p50 {found['p50']:4.0f} ms   p95 {found['p95']:4.0f} ms", flush=True)
        browser.close()
    print(f"largest p95 {worst:.0f} ms; load average {os.getloadavg()[0]:.2f}", flush=True)


def _measured(page: Page, url: str, key: str, presses: int) -> dict[str, float]:
    page.goto(url)
    page.wait_for_function(f"() => {{ const d = {DRAWN}; return d.length && d.every((n) => n > 0) }}", timeout=120_000)
    slider = page.locator(f".st-key-{key}_pair input[type=range]").first
    slider.focus()
    taken = []
    for press in range(presses + 3):
        page.wait_for_timeout(150)  # a hand's own pause; nothing of the last press is under way any more
        page.evaluate(
            f"""() => {{
              const sum = () => {DRAWN}.reduce((a, b) => a + b, 0), start = sum();
              window.__took = null;
              addEventListener("keydown", () => {{
                const pressed = performance.now();
                const look = () => (sum() > start ? requestAnimationFrame(() => (window.__took = performance.now() - pressed))
                                                  : setTimeout(look, 2));
                look();
              }}, {{ once: true, capture: true }});
            }}"""
        )
        page.keyboard.press("ArrowLeft" if press % 2 else "ArrowRight")
        page.wait_for_function("() => window.__took !== null", timeout=60_000)
        taken.append(page.evaluate("() => window.__took"))
    kept = np.array(taken[3:])  # the first few also warm caches
    return {"p50": round(float(np.percentile(kept, 50))), "p95": round(float(np.percentile(kept, 95)))}


if __name__ == "__main__":
    typer.run(main)
