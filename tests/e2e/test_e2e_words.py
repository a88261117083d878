"""A person reads the replies of a word task in the lab, by pointer and by keyboard, while it trains and when it stands."""

import pytest

RUN = "window.__live.panels.lab.runs[0]"
STORE = f"{RUN}.store"


@pytest.fixture
def lab(page, app_url):
    page.goto(f"{app_url}/lab?recipe=gspo&env=addition")
    page.wait_for_function(f"() => window.__live?.panels.lab?.runs[0] && {STORE}.scene?.world.rows && {STORE}.step > 6")
    page.locator(".lv-words").scroll_into_view_if_needed()
    return page


def pause(page):
    page.keyboard.press("p")
    page.wait_for_function(f"() => {STORE}.status.state === 'paused' && {STORE}.scene.step === {STORE}.step")


def test_replies_are_shown_with_rewards_by_term_and_accuracy_over_time(lab):
    page = lab
    page.wait_for_function("() => document.querySelectorAll('.lv-replies tbody tr').length === 16")
    heads = page.locator(".lv-replies th").all_inner_texts()
    assert [text for text in heads if "×" in text] == ["exact × 1", "partial × 0", "format × 0", "work × 0"]
    page.wait_for_selector("[data-chart=heldout] canvas")
    values = page.locator("[data-chart=heldout] .lv-values").inner_text()
    assert all(word in values for word in ("sampled", "greedy", "pass@4"))
    assert "replies in this step" in page.locator(".lv-world .lv-sheet").get_attribute("aria-label")


def test_the_keyboard_reaches_every_token_and_colors_can_be_chosen(lab):
    page = lab
    pause(page)
    page.locator(".lv-replies").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    said = page.locator(".lv-numbers")
    page.wait_for_function("() => document.querySelector('.lv-numbers').textContent.startsWith('Reply 2, token 2')")
    assert "of the token alone" in said.inner_text(), "GSPO's ratio is the row's; the token's own stands beside it"
    before = page.locator(".lv-legend-words").inner_text()
    page.get_by_label("Tokens colored by").select_option("entropy")
    page.wait_for_function(f"() => document.querySelector('.lv-legend-words').textContent !== {before!r}")
    page.get_by_label("Tokens colored by").select_option("fate")
    assert "no gradient" in page.locator(".lv-legend-words").inner_text()
    link = page.locator(".lv-words a").get_attribute("href")
    assert link == page.evaluate(f"() => `step?run=${{{STORE}.rid}}&node=${{{STORE}.scene.node}}`")


def test_reading_holds_the_page_and_not_the_run(lab):
    page = lab
    page.locator(".lv-token").first.hover()
    held = page.evaluate("() => window.__live.panels.lab.replies.scene.step")
    page.wait_for_function(f"() => {STORE}.scene.step > {held} + 8")
    assert page.evaluate("() => window.__live.panels.lab.replies.scene.step") == held
    assert "held while you read" in page.locator(".lv-words header").inner_text()
