"""The step-through in a real browser: the keyboard walks, and a click anywhere selects everywhere."""

import re


def open_step(page, app_url, query):
    page.goto(f"{app_url}/step?{query}")
    page.get_by_text("The code of this phase").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.surrogate-figure[data-drawn]').length === 2")
    return page


def test_arrow_keys_walk_forward_and_back(page, app_url):
    open_step(page, app_url, "recipe=grpo&env=bandit&step=2&mode=watch")
    page.get_by_role("heading", name="Sample", exact=True).wait_for()
    for title in ("Score", "Advantage", "Ratio"):
        page.keyboard.press("ArrowRight")
        page.get_by_role("heading", name=title, exact=True).wait_for()
    page.wait_for_url(re.compile("phase=ratio"))
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name="Advantage", exact=True).wait_for()


def test_a_prediction_is_checked_and_stays(page, app_url):
    open_step(page, app_url, "recipe=ppo&env=gridworld&step=2&phase=ratio&update=1")
    page.get_by_text("exactly 1", exact=True).click()
    page.get_by_role("button", name="Check").click()
    page.get_by_text("Right. It is 1.").wait_for()
    page.get_by_text("1 of 1").wait_for()


def test_letters_and_arrows_typed_into_a_field_stay_there(page, app_url):
    open_step(page, app_url, "recipe=grpo&env=gridworld&step=2&phase=advantage&row=5&token=2&mode=fill")
    field = page.get_by_label("advantage of this row")
    field.click()
    page.keyboard.type("sqrt(4)/2+abs(3-5)")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Check").click()
    page.get_by_test_id("stAlert").first.wait_for()
    assert field.input_value() == "sqrt(4)/2+abs(3-5)"
    assert "row=5" in page.url and "phase=advantage" in page.url


def test_a_click_in_the_map_selects_row_and_token_everywhere(page, app_url):
    open_step(page, app_url, "recipe=grpo&env=gridworld&step=2&phase=ratio&update=2&row=1&token=1&mode=watch")
    chart = page.locator(".surrogate-figure").nth(1)
    chart.scroll_into_view_if_needed()
    place = page.evaluate(
        """() => { const plot = document.querySelectorAll('.surrogate-figure .js-plotly-plot')[1];
        const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect();
        return [box.left + xaxis._offset + xaxis.d2p(4), box.top + yaxis._offset + yaxis.d2p(9)]; }"""
    )
    page.mouse.move(*place)
    page.mouse.click(*place)
    page.wait_for_url(re.compile("row=10"))
    page.get_by_text(re.compile(r"Row 10, step 5 ")).wait_for()
    assert "token=5" in page.url
    page.keyboard.press("d")
    page.get_by_text(re.compile(r"Row 10, step 6 ")).wait_for()
    page.keyboard.press("s")
    page.get_by_text(re.compile(r"Row 11, step")).wait_for()


def test_no_formula_is_cut_on_a_narrow_screen(page, app_url):
    page.set_viewport_size({"width": 390, "height": 900})
    open_step(page, app_url, "recipe=ppo&env=addition&step=2&phase=apply&mode=watch")
    page.wait_for_function("() => document.querySelectorAll('.katex-display').length >= 4")
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.katex-display')]
        .filter(e => e.scrollWidth > e.clientWidth + 4 || e.scrollHeight > e.clientHeight + 4).map(e => e.textContent)"""
    )
    assert cut == []
