"""What a person does on the explaining pages, in a real browser: every wait is for something expected, none is a sleep."""

import re
from pathlib import Path

import pytest

PAGES = (
    "surrogate", "surrogate?show=gradient", "surrogate?show=epochs", "surrogate?show=kl", "surrogate?show=bench",
    "advantages", "advantages?show=conventions", "advantages?show=dead", "advantages?show=difficulty",
    "advantages?show=exact", "advantages?show=gae", "ratios", "ratios?show=sequence", "ratios?show=band",
    "ratios?show=weights", "misconceptions?card=7", "duel?story=lengths", "duel?show=gradients", "duel?show=update",
)  # fmt: skip
CHART = "document.querySelector('.surrogate-figure .js-plotly-plot')"


def open_page(page, app_url, path):
    page.goto(f"{app_url}/{path}")
    page.wait_for_function(f"() => {CHART}?._fullLayout && {CHART}.closest('.surrogate-figure').dataset.drawn")
    return page


def drawn(page):
    return page.evaluate(f"() => Number({CHART}.closest('.surrogate-figure').dataset.drawn)")


def edge(page):
    """The upper edge of the clip's band, as the chart shows it."""
    return page.evaluate(f"() => {CHART}.layout.shapes[0].x1")


def slider(page, key):
    return page.locator(f".st-key-{key}_pair input[type=range]")


def test_a_slider_moves_the_band_and_the_address(page, app_url):
    open_page(page, app_url, "surrogate")
    assert edge(page) == pytest.approx(1.2)
    slider(page, "eps_high").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => {CHART}.layout.shapes[0].x1 > 1.2001")
    page.wait_for_url(re.compile(r"eps_high=0\.25"))
    page.get_by_text("flat above ratio 1.25 for A > 0").wait_for()


def test_a_typed_number_moves_the_slider_and_a_forbidden_one_is_refused_beside_it(page, app_url):
    open_page(page, app_url, "surrogate")
    field = page.locator(".st-key-eps_low_pair input[type=text]")
    field.fill("0.5")
    field.press("Enter")
    page.get_by_text("flat below ratio 0.5 for A < 0").wait_for()
    assert slider(page, "eps_low").evaluate("(r) => r.getAttribute('aria-valuetext') ?? r.value")
    field.fill("3")
    field.press("Enter")
    refusal = page.get_by_role("alert").filter(has_text="eps_low: must be between 0 and 1, got 3")
    refusal.wait_for()
    below = refusal.bounding_box()["y"] - field.bounding_box()["y"]
    assert 0 < below < 160
    assert "flat below ratio 0.5" in page.locator("body").inner_text()


def test_a_number_is_typed_key_by_key_and_tab_leads_on(page, app_url):
    open_page(page, app_url, "surrogate")
    field = page.locator(".st-key-eps_low_pair input[type=text]")
    field.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("0.5")
    assert field.input_value() == "0.5"
    page.keyboard.press("Tab")
    page.wait_for_function("() => document.activeElement.closest('.st-key-eps_high_pair')")
    page.get_by_text("flat below ratio 0.5 for A < 0").wait_for()


def test_zoom_stays_when_the_figure_changes(page, app_url):
    open_page(page, app_url, "surrogate")
    page.locator(".surrogate-figure").scroll_into_view_if_needed()
    box = page.locator(".surrogate-figure .nsewdrag").first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=8)
    page.mouse.up()
    page.wait_for_function(f"() => {CHART}._fullLayout.xaxis2.range[1] < 1.5")
    zoomed = page.evaluate(f"() => {CHART}._fullLayout.xaxis2.range")
    before = drawn(page)
    slider(page, "eps_high").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"(n) => Number({CHART}.closest('.surrogate-figure').dataset.drawn) > n", arg=before)
    assert page.evaluate(f"() => {CHART}._fullLayout.xaxis2.range") == pytest.approx(zoomed)


def test_the_legend_switches_a_group_off_with_the_keyboard(page, app_url):
    open_page(page, app_url, "surrogate")
    item = page.locator(".surrogate-figure button", has_text="gradient is zero")
    item.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        f"() => {CHART}.data.filter((t) => t.name === 'gradient is zero').every((t) => t.visible === false)"
    )
    assert item.get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize(("button", "ending", "magic"), [("SVG", "svg", b"<svg"), ("PNG", "png", b"\x89PNG")])
def test_the_charts_own_buttons_save_it(page, app_url, button, ending, magic):
    open_page(page, app_url, "surrogate")
    page.locator(".surrogate-figure").hover()
    with page.expect_download() as got:
        page.locator(f"[data-title='Save as {button}']").click()
    assert got.value.suggested_filename == f"surrogate.{ending}"
    assert not page.get_by_label("Share chart").or_(page.locator("[data-title^=Share]")).count()  # nothing is uploaded
    assert magic in Path(got.value.path()).read_bytes()[:200]


@pytest.mark.parametrize(
    ("label", "name", "magic"),
    [("PDF", "dead-groups.pdf", b"%PDF"), ("SVG", "dead-groups.svg", b"<?xml"), ("CSV", "dead-groups.csv", b"p,G = 2")],
)
def test_a_publication_figure_and_the_numbers_come_from_the_menu(page, app_url, label, name, magic):
    open_page(page, app_url, "advantages?show=dead")
    page.get_by_role("button", name="Numbers and export").click()
    page.get_by_label("Title").fill("My own title")
    page.get_by_label("Title").press("Enter")
    with page.expect_download() as got:
        page.get_by_role("button", name=label, exact=True).click()
    assert got.value.suggested_filename == name
    assert Path(got.value.path()).read_bytes().startswith(magic)


def test_a_link_to_a_section_opens_it_and_choosing_another_changes_the_address(page, app_url):
    open_page(page, app_url, "surrogate?show=gradient&eps_low=0.1")
    page.get_by_text("Outside the band").first.wait_for()
    page.get_by_role("radio", name="KL estimators on trial").or_(
        page.get_by_role("button", name="KL estimators on trial")
    ).first.click()
    page.get_by_text("Exact KL 0.41775 nats").wait_for()
    page.wait_for_url(re.compile("show=bench"))


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_wider_than_a_phone_and_nothing_fails(new_context, app_url, path):
    context = new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_page(page, app_url, path)
    wide = page.evaluate(
        "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth }"
    )
    assert wide <= 0
    assert page.locator("[data-testid=stException]").count() == 0
    assert not problems
    label = page.locator(".surrogate-figure [role=figure]").first.get_attribute("aria-label")
    assert label and label in page.locator("body").inner_text()


@pytest.mark.parametrize("path", ["duel?show=gradients", "advantages?show=conventions"])
def test_a_table_is_not_cut_off_on_a_phone(new_context, app_url, path):
    page = open_page(new_context(viewport={"width": 390, "height": 844}).new_page(), app_url, path)
    cell = page.locator("[data-testid=stTable] tr:first-child > :last-child").first
    cell.wait_for()
    box = cell.bounding_box()
    assert box["x"] + box["width"] <= 390


def test_a_change_of_theme_redraws_the_figure_in_its_colors(new_context, app_url):
    context = new_context(color_scheme="light")
    page = open_page(context.new_page(), app_url, "advantages?show=dead")
    ink = f"() => {CHART}.layout.font.color"
    assert page.evaluate(ink) == "#22262B"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {CHART}.layout.font.color === '#E4E7EB'")


def test_a_reward_is_dragged_and_moved_with_the_keyboard(page, app_url):
    open_page(page, app_url, "advantages")
    bars = page.locator(".sb-bar")
    box = bars.nth(1).bounding_box()
    x, low = box["x"] + box["width"] / 2, box["y"] + box["height"] - 2
    page.mouse.move(x, low)
    page.mouse.down()
    page.mouse.move(x, box["y"] + 2, steps=5)
    page.mouse.up()
    page.wait_for_function("() => Number(document.querySelectorAll('.sb-bar')[1].getAttribute('aria-valuenow')) > 0.9")
    page.wait_for_url(re.compile(r"rewards=1%2C(\+|%20)1"))
    before = float(bars.nth(0).get_attribute("aria-valuenow"))
    bars.nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"() => Number(document.querySelector('.sb-bar').getAttribute('aria-valuenow')) < {before}")
    page.wait_for_url(re.compile(r"rewards=0\.9"))


def test_a_slider_speaks_while_it_is_dragged(page, app_url):
    open_page(page, app_url, "surrogate")
    box, before = slider(page, "eps_high").bounding_box(), drawn(page)
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.8 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=6)
    page.wait_for_function(f"(n) => Number({CHART}.closest('.surrogate-figure').dataset.drawn) > n", arg=before)
    page.mouse.up()


def test_a_story_sets_the_duel_and_a_link_to_another_one_replaces_it(page, app_url):
    open_page(page, app_url, "duel?story=zero")
    page.get_by_text("The loss is zero but the gradient isn't.").wait_for()
    page.get_by_text("Dead groups", exact=True).first.click()
    page.get_by_text("A group in which all answers are right teaches GRPO nothing.").wait_for()
    page.wait_for_url(re.compile("story=dead"))
    page.wait_for_url(re.compile("group_size=4|change=group"))
