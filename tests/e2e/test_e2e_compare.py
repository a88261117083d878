"""Comparing in a real browser: figures follow the job, the page stays usable, the address gives the same again."""

from __future__ import annotations

import csv
import io
from pathlib import Path


def open_compare(page, app_url, query):
    page.goto(f"{app_url}/compare?{query}")
    page.get_by_role("heading", name="In pairs").wait_for()
    return page


def done(page):
    page.get_by_role("button", name="Cancel").wait_for(state="detached")


def saved(page, name: str, tmp_path: Path) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_bytes()


def test_two_algorithms_over_seeds_with_intervals_and_their_export(page, app_url, tmp_path):
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_compare(page, app_url, "arms=grpo,gspo&env=bandit&seeds=6&steps=12&smooth=0.4")
    done(page)
    charts = page.locator(".surrogate-figure [role=figure]")
    for place in (0, 1):
        charts.nth(place).locator(".main-svg").first.wait_for()
    assert charts.count() == 2
    label = charts.first.get_attribute("aria-label")
    assert "GRPO" in label and "(6 seeds)" in label and "±" in label
    table = page.locator("table").first.inner_text()
    assert "minus GRPO, in pairs" in table and "GSPO" in table
    page.get_by_role("button", name="Numbers and export").first.click()
    rows = list(csv.DictReader(io.StringIO(saved(page, "CSV", tmp_path).decode())))
    assert len(rows) == 24 and {row["arm"] for row in rows} == {"GRPO", "GSPO"}
    assert float(rows[0]["low 95 %"]) < float(rows[0]["mean"]) < float(rows[0]["high 95 %"])
    assert saved(page, "PDF", tmp_path).startswith(b"%PDF")
    assert saved(page, "SVG", tmp_path).startswith(b"<?xml")
    assert saved(page, "PNG", tmp_path).startswith(b"\x89PNG")
    assert b"plotly" in saved(page, "HTML", tmp_path).lower()
    assert problems == []


def test_a_long_comparison_leaves_the_page_usable_and_can_be_stopped(page, app_url):
    open_compare(page, app_url, "arms=ppo,grpo,gspo&env=gridworld&seeds=32&steps=400")
    assert page.get_by_role("button", name="Cancel").is_visible(), "figures are there before the end"
    page.get_by_text("Samples", exact=True).click()
    page.wait_for_url("**x=samples**")
    page.get_by_text("samples (environment steps) so far").first.wait_for(state="attached")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopped after").wait_for()
    page.get_by_role("button", name="Run again").wait_for()
