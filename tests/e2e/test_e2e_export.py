"""A live run taken away in a real browser, its files read back; opened again; a teacher's link."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np

from rlcore.exports import csv_text, unpack
from rlcore.exports.recorded import CLOCK, compared, replayed

STORE = "window.__live.panels.lab.runs[0].store"


def open_lab(page, app_url, query, steps=15):
    page.goto(f"{app_url}/lab?{query}")
    page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.step > {steps}")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_function(f"{STORE}.status.state === 'paused'")


def saved(page, button, tmp_path: Path) -> Path:
    with page.expect_download() as download:
        button.click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_every_file_of_a_run_gives_the_same_numbers_and_the_capsule_comes_back(page, app_url, tmp_path):
    open_lab(page, app_url, "env=bandit&recipe=grpo&seed=5&lr=0.2")
    page.get_by_role("button", name="Export run").click()
    files = {
        name: saved(page, page.get_by_role("button", name=name, exact=True), tmp_path)
        for name in ("Capsule", "Script", "Notebook", "Config", "CSV", "Parquet")
    }
    opened = unpack(files["Capsule"].read_bytes())
    assert not opened.notes and opened.run.config.seed == 5 and opened.run.config.optim.lr == 0.2
    assert compared(opened.run.columns, replayed(opened.run.path, opened.run.steps).columns) == ()
    assert files["CSV"].read_text() == csv_text(opened.run.columns)
    assert json.loads(files["Config"].read_text())["seed"] == 5
    assert files["Parquet"].read_bytes()[:4] == b"PAR1"
    nbformat.validate(nbformat.read(files["Notebook"], as_version=4))
    script = subprocess.run([sys.executable, "-I", files["Script"]], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "bit for bit" in script.stderr and script.stdout.count("\n") == opened.run.steps + 1
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Open a capsule").click()
    page.locator("input[type=file]").set_input_files(files["Capsule"])
    page.get_by_role("button", name="Play it here").click()
    page.wait_for_function(f"{STORE}.step === {opened.run.steps} && {STORE}.status.state === 'paused'")
    column = page.evaluate(f"() => Array.from({STORE}.column('reward_mean'))")
    assert np.allclose(column, opened.run.columns["reward_mean"], rtol=1e-6)
    assert CLOCK in opened.run.columns


def test_a_live_chart_is_saved_as_a_picture_and_a_curve_for_a_paper(page, app_url, tmp_path):
    open_lab(page, app_url, "env=bandit")
    picture = saved(page, page.get_by_role("button", name="Save Reward as PNG"), tmp_path)
    assert picture.name == "reward.png" and picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 2000
    page.get_by_text("Figures to take away").click()
    page.locator(".surrogate-figure .main-svg").first.wait_for()
    page.get_by_role("button", name="Numbers and export").click()
    assert saved(page, page.get_by_role("button", name="PDF", exact=True), tmp_path).read_bytes().startswith(b"%PDF")


def test_a_teachers_link_shows_locked_controls_shut_and_the_server_refuses_them(page, app_url):
    open_lab(page, app_url, "env=bandit&lock=lr&hide=kl_beta", steps=3)
    assert page.locator("[data-knob=lr]").is_disabled() and not page.locator("[data-knob=kl_beta]").is_visible()
    assert page.get_by_text("locked by the link").first.is_visible()
    link = "window.__live.panels.lab.runs[0].link"
    page.evaluate(f"() => {link}.command({{op: 'set', values: {{lr: 0.5}}, ref: 1}})")
    page.get_by_role("alert").filter(has_text="locked by the link").wait_for()
    assert page.evaluate(f"() => {STORE}.status.settings.lr") == 0.1
    assert "lock=lr" in page.url and "hide=kl_beta" in page.url
