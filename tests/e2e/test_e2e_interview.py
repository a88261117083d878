"""The interview room in a browser: a drill by keyboard alone, progress that is one browser's own, files that read back."""

import json
import sqlite3
import zipfile

from playwright.sync_api import expect


def button(page, name):
    return page.get_by_role("button", name=name)


def start(page, app_url):
    page.goto(f"{app_url}/interview?many=5")
    button(page, "Start: 5 cards").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Card 1 of 5").wait_for()
    button(page, "Open the rubric").wait_for()


def answer_one(page):
    """Reveal, tick the first point, score: three keys."""
    page.keyboard.press("Enter")
    page.get_by_text("Must have").wait_for()
    page.get_by_role("checkbox").first.wait_for()
    page.locator("[data-keys^='1 2']").wait_for(state="attached")
    page.keyboard.press("1")
    expect(page.get_by_role("checkbox").first).to_be_checked()
    expect(button(page, "Score it")).not_to_contain_text("0%", timeout=20_000)
    page.keyboard.press("Enter")
    page.get_by_text("· comes back").wait_for()


def test_a_drill_by_keyboard_alone_and_a_reload_keeps_it(page, app_url):
    start(page, app_url)
    page.locator("[data-keys^=t]").wait_for(state="attached")
    page.keyboard.press("t")
    expect(page.locator("textarea")).to_be_focused()
    page.keyboard.type("GAE with a critic per token; a group mean. k p q 1")
    page.get_by_text("Card 1 of 5").wait_for()
    page.keyboard.press("Control+Enter")
    page.get_by_text("What you typed").wait_for()
    page.get_by_text("a guess from words alone").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("· comes back").wait_for()
    page.reload()
    page.get_by_text("· comes back").wait_for()
    button(page, "Next card").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Card 2 of 5").wait_for()
    button(page, "Open the rubric").wait_for()
    answer_one(page)
    button(page, "Prove it").wait_for()
    page.keyboard.press("p")
    back = page.get_by_role("link", name="Back to the card")
    back.wait_for()
    back.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Card 2 of 5").wait_for()
    page.get_by_text("· comes back").wait_for()
    page.keyboard.press("q")
    page.get_by_text("of the points on 2 cards").wait_for()


def test_two_browsers_do_not_see_each_others_progress(new_context, app_url):
    mine, other = new_context(), new_context()
    page = mine.new_page()
    start(page, app_url)
    answer_one(page)
    stranger = other.new_page()
    stranger.goto(f"{app_url}/interview?show=progress")
    stranger.get_by_text("Nothing answered in this browser yet").wait_for()
    again = mine.new_page()
    again.goto(f"{app_url}/interview?show=progress")
    again.get_by_text("Next to come back").wait_for()
    secrets = {p.evaluate("() => localStorage.getItem('surrogate-interview')") for p in (page, again, stranger)}
    assert len(secrets) == 2 and all(len(secret) == 32 for secret in secrets)
    assert not any(secret in p.content() or secret in p.url for secret in secrets for p in (page, again, stranger))


def test_files_read_back(new_context, app_url, tmp_path):
    mine, other = new_context(), new_context()
    page = mine.new_page()
    start(page, app_url)
    answer_one(page)
    page.goto(f"{app_url}/interview?show=progress")
    button(page, "Progress as JSON").wait_for()
    with page.expect_download() as download:
        button(page, "Progress as JSON").click()
    download.value.save_as(tmp_path / "progress.json")
    held = json.loads((tmp_path / "progress.json").read_text())
    assert held["format"] == "surrogate-interview-progress" and len(held["reviews"]) == 1
    with page.expect_download() as download:
        button(page, "Anki deck").click()
    download.value.save_as(tmp_path / "deck.apkg")
    with zipfile.ZipFile(tmp_path / "deck.apkg") as deck:
        pictures = json.loads(deck.read("media"))
        (tmp_path / "collection").write_bytes(deck.read("collection.anki2"))
        assert len(pictures) == 11 and deck.read(next(iter(pictures))).startswith(b"\x89PNG")
    notes = sqlite3.connect(tmp_path / "collection").execute("select count(*) from notes").fetchone()[0]
    assert notes > 120
    stranger = other.new_page()
    stranger.goto(f"{app_url}/interview?show=progress")
    stranger.get_by_text("Nothing answered in this browser yet").wait_for()
    stranger.locator("input[type=file]").set_input_files(tmp_path / "progress.json")
    stranger.get_by_text("1 cards added").wait_for()
    (tmp_path / "foreign.json").write_text('{"cards": []}')
    stranger.locator("input[type=file]").set_input_files(tmp_path / "foreign.json")
    stranger.get_by_text("Refused, and nothing was changed").wait_for()


def test_half_an_hour_shows_its_clock_and_the_report_goes_out_as_html(page, app_url, tmp_path):
    page.goto(f"{app_url}/interview?show=mock")
    button(page, "Start the half hour").first.wait_for()
    page.keyboard.press("2")
    page.get_by_role("timer").filter(has_text="29:5").wait_for()
    page.keyboard.press("q")
    button(page, "HTML").wait_for()
    with page.expect_download() as download:
        page.keyboard.press("h")
    download.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<h1>Mock interview:" in text and f"{app_url}/advantages?" in text and "<script" not in text
