"""Painting a world while it learns: by mouse and by keys, refused where senseless, kept by the address."""

from __future__ import annotations

import re

RUN = "window.__live.panels.lab.runs[0]"
STORE = f"{RUN}.store"
SHEET = ".lv-world .lv-sheet"


def opened(page, app_url, query):
    page.goto(f"{app_url}/lab{query}")
    page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.step > 2 && {STORE}.scene")
    page.locator("[data-action=edit]").click()
    page.locator(".lv-palette").wait_for()
    return page


def at(page, row, column):
    """The middle of a cell on the screen."""
    page.locator(SHEET).scroll_into_view_if_needed()
    box = page.locator(SHEET).bounding_box()
    place = page.evaluate(f"() => {RUN}.world.editor.place")
    x, y = (place[side] + (n + 0.5) * place["size"] for side, n in (("left", column), ("top", row)))
    return box["x"] + x, box["y"] + y


def layout(page):
    return page.evaluate(f"() => {STORE}.status.settings.layout")


def has(page, row, column, sign):
    page.wait_for_function(f"() => {STORE}.status.settings.layout.split('-')[{row}][{column}] === '{sign}'")


def test_a_wall_painted_while_it_runs_is_in_the_way_and_survives_a_reload(page, app_url):
    opened(page, app_url, "?recipe=ppo&seed=1")
    page.mouse.move(*at(page, 0, 2))
    page.mouse.down()
    page.mouse.move(*at(page, 0, 3), steps=4)
    page.mouse.up()
    has(page, 0, 2, "W")
    has(page, 0, 3, "W")
    mark = page.evaluate(f"() => {STORE}.status.marks[0]")
    page.wait_for_function(f"() => {STORE}.scene.step > {STORE}.status.marks[0].step + 3")
    assert page.evaluate(f"() => {STORE}.status.state") == "playing", "it learned on"
    assert "layout" in mark["changes"]
    assert page.evaluate(f"() => {STORE}.scene.world.walls.includes(2) && !{STORE}.scene.world.visits[2]")
    page.wait_for_url(re.compile("layout|then"))
    painted = layout(page)
    address = re.sub(r"[?&](run|step)=[^&]*", "", page.url)
    page.goto(address)
    page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.status.settings.layout === '{painted}'")
    page.wait_for_function(f"() => {STORE}.step > {mark['step'] + 1} && {STORE}.status.marks.length > 0")
    assert page.get_by_text("Not taken from the address").count() == 0


def test_keys_paint_and_a_senseless_world_is_refused_and_changes_nothing(page, app_url):
    opened(page, app_url, "?recipe=grpo")
    sheet = page.locator(SHEET)
    sheet.focus()
    for key in ("ArrowRight", "ArrowRight", "w"):
        sheet.press(key)
    has(page, 0, 2, "W")
    assert "Row 1, column 3: wall" in page.locator(".lv-palette .lv-caption").inner_text()
    sheet.press("w")
    has(page, 0, 2, ".")
    sheet.press("Shift+ArrowDown")
    has(page, 0, 2, "D")
    for key in ("ArrowRight", "+", "+"):
        sheet.press(key)
    page.wait_for_function(f"() => {STORE}.status.settings.extra === 'r1c4_0.2'")
    for key in ("ArrowLeft", "ArrowLeft", "w"):
        sheet.press(key)
    has(page, 0, 1, "W")
    before = layout(page)
    for key in ("ArrowLeft", "ArrowDown", "w"):  # the last way out of the start
        sheet.press(key)
    alert = page.locator(".lv-alert")
    alert.wait_for()
    assert "no goal can be reached from the start in row 1, column 1" in alert.inner_text()
    assert layout(page) == before
    page.wait_for_function(f"() => {RUN}.world.editor.draft === null")
    step = page.evaluate(f"() => {STORE}.step")
    page.wait_for_function(f"() => {STORE}.step > {step}")


def test_another_size_is_a_new_run(page, app_url):
    opened(page, app_url, "?recipe=grpo")
    page.get_by_label("Rows", exact=True).fill("9")
    page.get_by_label("Columns", exact=True).fill("4")
    page.locator("[data-action=resize]").click()
    page.wait_for_function(f"() => {STORE}.status.settings.layout?.split('-').length === 9 && {STORE}.step > 1")
    assert page.evaluate(f"() => [{STORE}.scene.world.height, {STORE}.scene.world.width]") == [9, 4]


def test_what_is_going_on_proposes_something_that_one_click_does(page, app_url):
    page.goto(f"{app_url}/lab?story=idle-clip")
    page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.status.insight?.story?.outcome")
    ending = page.locator(".lv-ending")
    assert "Choose your prediction" in ending.inner_text(), "nothing is given away before"
    page.get_by_text("None, ever").click()
    page.wait_for_function("() => document.querySelector('.lv-ending').dataset.outcome === 'none'")
    assert "As you predicted" in ending.inner_text()
    page.wait_for_function("() => document.querySelector('.lv-going').dataset.finding === 'idle_clip'")
    page.locator("[data-action=try-now]").click()
    page.wait_for_function(f"() => {STORE}.status.settings.epochs === 4")
