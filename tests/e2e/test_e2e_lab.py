"""What a person does in the lab, in a real browser: every wait is for something expected, none is a sleep."""

import pytest

RUN = "window.__live.panels.lab.runs[0]"
STORE = f"{RUN}.store"


def open_lab(page, app_url, query=""):
    page.goto(f"{app_url}/lab{query}")
    page.wait_for_function(f"window.__live?.panels.lab?.runs[0] && {STORE}.step > 2 && {STORE}.scene")
    return page


def ask(page, expression):
    return page.evaluate(f"() => {expression}")


def wait(page, condition):
    page.wait_for_function(f"() => {condition}")


def state_is(page, state):
    wait(page, f"{STORE}.status.state === '{state}'")


def settle(page):
    """Paused, and every row that was made has arrived."""
    state_is(page, "paused")
    before = -1
    while before != (before := ask(page, f"{STORE}.step")):
        page.wait_for_function(f"() => {RUN}.link.live && performance.now() > 0")
        page.evaluate("() => new Promise((done) => setTimeout(done, 250))")


def drag(page, knob, to, steps=12):
    """Drag a slider's thumb to a share of its width with the button held."""
    box = page.locator(f"[data-knob={knob}]").bounding_box()
    y = box["y"] + box["height"] / 2
    start = page.locator(f"[data-knob={knob}]").evaluate("(r) => (r.value - r.min) / (r.max - r.min)")
    thumb = 17.6
    where = lambda share: box["x"] + thumb / 2 + share * (box["width"] - thumb)  # noqa: E731
    page.mouse.move(where(start), y)
    page.mouse.down()
    for i in range(1, steps + 1):
        page.mouse.move(where(start + (to - start) * i / steps), y)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.mouse.up()


def test_it_plays_by_itself_and_everything_is_drawn(page, app_url):
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    open_lab(page, app_url)
    wait(page, f"{STORE}.step > 30")
    assert page.get_by_role("link", name="Home").count(), "opened by its own address it still has the navigation"
    for chart in ("reward", "kl", "entropy", "clip"):
        assert page.locator(f"[data-chart={chart}] canvas").count() == 1
    steps = ask(page, f"{STORE}.columns[0]")
    assert steps == list(range(1, len(steps) + 1)), "no row is lost, none comes twice"
    labels = page.locator(".lv-figure").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert all(label and "updates" in label for label in labels)
    assert problems == []


def test_dragging_epsilon_while_it_trains_takes_effect_and_is_marked(page, app_url):
    open_lab(page, app_url, "?seed=1")
    drag(page, "eps_high", 0.35)
    wait(page, "window.__live.latencies.length > 3 && window.__live.panels.lab.inputs.length === 0")
    mark = ask(page, f"{STORE}.status.marks[0]")
    assert set(mark["changes"]) == {"eps_low", "eps_high"}, "one ε for both sides, as long as it is ticked"
    old, new = mark["changes"]["eps_high"]
    assert old == 0.2 and new < 0.01
    wait(page, f"{STORE}.step > {mark['step'] + 20} && {STORE}.scene.step > {mark['step']}")
    assert ask(page, f"{STORE}.scene.samples.band[1]") == pytest.approx(1 + new, abs=1e-4)
    assert page.locator(".lv-said").inner_text().startswith(f"From step {mark['step']}")
    page.wait_for_url("**eps_high=*")


def test_a_narrow_band_kills_gradients_at_the_very_next_step(page, app_url):
    open_lab(page, app_url)
    page.get_by_role("button", name="Pause").click()
    settle(page)
    page.get_by_role("button", name="Reset").click()
    wait(page, f"{STORE}.epoch === 1 && {STORE}.step === 0")
    for n in range(1, 11):  # by then every group has rewards that differ
        page.get_by_role("button", name="Step", exact=True).click()
        wait(page, f"{STORE}.step === {n}")
    before = ask(page, f"{STORE}.latest('clip_fraction')")
    drag(page, "eps_high", 0.0)
    wait(page, f"{STORE}.status.settings.eps_high <= 1.1e-4")
    page.get_by_role("button", name="Step", exact=True).click()
    wait(page, f"{STORE}.step === 11 && {STORE}.scene.step === 11")
    assert ask(page, f"{STORE}.latest('clip_fraction')") > before + 0.1
    assert "dead gradient" in page.locator(".lv-scatter .lv-caption").inner_text()
    counts = ask(page, f"{STORE}.scene.samples.counts")
    assert counts[2] + counts[3] > 0


def test_pause_step_reset_and_speed(page, app_url):
    open_lab(page, app_url)
    page.get_by_role("button", name="Pause").click()
    settle(page)
    at = ask(page, f"{STORE}.step")
    page.get_by_role("button", name="Step", exact=True).click()
    wait(page, f"{STORE}.step === {at + 1}")
    page.get_by_label("Speed, updates a second").select_option("5")
    wait(page, f"{STORE}.status.rate === 5")
    page.get_by_role("button", name="Play").click()
    wait(page, f"{STORE}.step > {at + 3}")
    page.get_by_role("button", name="Reset").click()
    wait(page, f"{STORE}.epoch === 1 && {STORE}.columns[0][0] === 1")


def test_group_size_and_beta_change_from_the_next_step_on(page, app_url):
    open_lab(page, app_url)
    exact = page.locator("[data-number=group_size]")
    exact.fill("32")
    exact.press("Enter")
    wait(page, f"{STORE}.status.settings.group_size === 32")
    wait(page, f"{STORE}.scene.samples?.total > 200 && {STORE}.status.marks.at(-1)?.changes.group_size?.[1] === 32")
    exact = page.locator("[data-number=kl_beta]")
    exact.fill("0.5")
    exact.press("Enter")
    wait(page, f"{STORE}.latest('kl_beta') === 0.5")


def test_a_setting_out_of_range_is_told_and_changes_nothing(page, app_url):
    open_lab(page, app_url)
    exact = page.locator("[data-number=eps_low]")
    exact.fill("3")
    exact.press("Enter")
    alert = page.locator(".lv-alert")
    alert.filter(has_text="eps_low").wait_for()
    assert "less than or equal to 1" in alert.inner_text() and "got 3" in alert.inner_text()
    assert ask(page, f"{STORE}.status.settings.eps_low") == 0.2
    wait(page, "document.querySelector('[data-number=eps_low]').value === '0.2' || document.activeElement.dataset.number")


def test_a_reload_goes_on_with_the_same_run_and_loses_nothing(page, app_url):
    open_lab(page, app_url, "?seed=2")
    wait(page, f"{STORE}.step > 15 && location.search.includes('run=')")
    rid, seen = ask(page, f"{RUN}.rid"), ask(page, f"{STORE}.step")
    reward = ask(page, f"{STORE}.column('reward_mean').slice(0, 10)")
    page.reload()
    wait(page, f"window.__live?.panels.lab?.runs[0] && {STORE}.step >= {seen}")
    assert ask(page, f"{RUN}.rid") == rid
    assert ask(page, f"{STORE}.column('reward_mean').slice(0, 10)") == reward
    assert ask(page, f"{STORE}.columns[0][0]") == 1


def test_two_people_with_the_same_link_do_not_disturb_each_other(new_context, app_url):
    first, second = new_context().new_page(), new_context().new_page()
    open_lab(first, app_url, "?recipe=gspo&seed=3")
    first.wait_for_url("**run=*")
    second.goto(first.url)
    wait(second, f"window.__live?.panels.lab?.runs[0] && {STORE}.step > 2")
    assert ask(first, f"{RUN}.rid") != ask(second, f"{RUN}.rid")
    assert ask(first, f"{RUN}.recipe") == ask(second, f"{RUN}.recipe") == "gspo"
    first.get_by_role("button", name="Pause").click()
    state_is(first, "paused")
    now = ask(second, f"{STORE}.step")
    wait(second, f"{STORE}.step > {now + 5} && {STORE}.status.state === 'playing'")


def test_a_closed_tab_lets_go_of_its_run(new_context, app_url):
    first = new_context()
    page = open_lab(first.new_page(), app_url, "?seed=4")
    page.wait_for_url("**run=*")
    url, rid = page.url, ask(page, f"{RUN}.rid")
    first.close()
    later = new_context().new_page()
    later.goto(url)
    wait(later, f"window.__live?.panels.lab?.runs[0] && {STORE}.step > 2")
    assert ask(later, f"{RUN}.rid") == rid, "nobody holds it any more, so the next page may take it over"


def test_a_lost_connection_is_made_again_and_no_row_is_missing(page, app_url):
    open_lab(page, app_url)
    page.evaluate(f"() => {RUN}.link.socket.close()")
    wait(page, f"!{RUN}.link.live")
    at = ask(page, f"{STORE}.step")
    wait(page, f"{RUN}.link.live && {STORE}.step > {at + 10}")
    steps = ask(page, f"{STORE}.columns[0]")
    assert steps == list(range(1, len(steps) + 1))


def test_keyboard_alone_is_enough(page, app_url):
    open_lab(page, app_url)
    page.keyboard.press("p")
    settle(page)
    at = ask(page, f"{STORE}.step")
    page.keyboard.press("n")
    wait(page, f"{STORE}.step === {at + 1}")
    page.locator("[data-action=play]").focus()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.dataset.knob") == "lr":
            break
    old = ask(page, f"{STORE}.status.settings.lr")
    page.keyboard.press("ArrowLeft")
    wait(page, f"{STORE}.status.settings.lr < {old}")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-valuetext')").startswith("lr ")
    page.keyboard.press("t")
    rows = page.locator(".lv-tables table").first.locator("tbody tr")
    rows.first.wait_for()
    assert rows.first.locator("td").first.inner_text() == str(at + 1)
    page.keyboard.press("]")
    wait(page, f"{STORE}.status.rate === 50")
    page.keyboard.press("x")
    wait(page, f"{STORE}.epoch === 1")
    page.keyboard.press("p")
    wait(page, f"{STORE}.step > 3")


def test_zoom_stays_while_it_trains_and_can_be_left(page, app_url):
    open_lab(page, app_url)
    wait(page, f"{STORE}.step > 40")
    box = page.locator("[data-chart=reward] .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40, steps=5)
    page.mouse.up()
    wait(page, "window.__live.panels.lab.zoom !== null")
    zoom = ask(page, "window.__live.panels.lab.zoom")
    at = ask(page, f"{STORE}.step")
    wait(page, f"{STORE}.step > {at + 20}")
    scales = "window.__live.panels.lab.charts.map((c) => [c.plot.scales.x.min, c.plot.scales.x.max])"
    assert ask(page, scales) == [zoom] * 4, "all curves look at the same stretch"
    page.get_by_role("button", name="Zoom out").click()
    wait(page, f"window.__live.panels.lab.charts[0].plot.scales.x.max > {at + 19}")


def test_where_sockets_are_blocked_it_polls_instead(page, app_url):
    page.route_web_socket("**/api/live/**", lambda socket: socket.close(code=1006))
    page.goto(f"{app_url}/lab")
    wait(page, "window.__live?.panels.lab?.options.socket === false")
    wait(page, f"{STORE}.step > 5 && {STORE}.scene")
    page.get_by_role("button", name="Pause").click()
    state_is(page, "paused")
    drag(page, "eps_high", 0.2, steps=4)
    wait(page, f"{STORE}.status.settings.eps_high < 0.01")
    at = ask(page, f"{STORE}.step")
    page.get_by_role("button", name="Step", exact=True).click()
    wait(page, f"{STORE}.step === {at + 1}")
    page.locator("[data-number=eps_low]").fill("3")
    page.locator("[data-number=eps_low]").press("Enter")
    page.locator(".lv-alert").filter(has_text="got 3").wait_for()


def test_home_without_sockets_pauses_all_three_at_once(page, app_url):
    page.route_web_socket("**/api/live/**", lambda socket: socket.close(code=1006))
    page.goto(app_url)
    wait(page, "window.__live?.panels.home?.options.socket === false")
    wait(page, "window.__live.panels.home.runs.every((r) => r.store.step > 2)")
    page.get_by_role("button", name="Pause").click()
    wait(page, "window.__live.panels.home.runs.every((r) => r.store.status.state === 'paused')")


def test_another_algorithm_and_world_by_the_page_itself(page, app_url):
    open_lab(page, app_url)
    rid = ask(page, f"{RUN}.rid")
    page.get_by_role("combobox", name="World").click()
    page.get_by_role("option", name="CartPole").click()
    wait(page, f"window.__live?.panels.lab?.runs[0]?.rid !== '{rid}'")
    wait(page, f"{STORE}.scene?.world.kind === 'cartpole' && {STORE}.step > 1")
    page.wait_for_url("**env=CartPole-v1*")


def test_leaving_the_page_and_coming_back_keeps_the_run(page, app_url):
    open_lab(page, app_url)
    rid, at = ask(page, f"{RUN}.rid"), ask(page, f"{STORE}.step")
    page.get_by_role("link", name="Home").first.click()
    page.get_by_role("heading", name="Surrogate", exact=True).wait_for()
    wait(page, "!window.__live.panels.lab")
    page.get_by_role("link", name="Lab").first.click()
    wait(page, f"window.__live?.panels.lab?.runs[0] && {STORE}.step > {at}")
    assert ask(page, f"{RUN}.rid") == rid


def test_home_has_three_learning_within_moments(page, app_url):
    page.goto(app_url)
    wait(page, "window.__live?.panels.home?.runs.length === 3 && window.__live.panels.home.runs.every((r) => r.store.step > 5)")
    recipes = ask(page, "window.__live.panels.home.runs.map((r) => r.recipe)")
    assert recipes == ["ppo", "grpo", "gspo"]
    assert page.locator(".lv-world").count() == 3
    page.get_by_role("link", name="Open the lab").wait_for()
    page.get_by_role("button", name="Pause").click()
    wait(page, "window.__live.panels.home.runs.every((r) => r.store.status.state === 'paused')")


def test_a_phone_shows_everything_without_scrolling_sideways(new_context, app_url):
    page = new_context(viewport={"width": 390, "height": 844}).new_page()
    open_lab(page, app_url)
    width = ask(page, "document.querySelector('.lv').scrollWidth")
    assert width <= 390
    for chart in page.locator(".lv-chart, .lv-world, .lv-scatter").all():
        if chart.is_visible():
            box = chart.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_reduced_motion_repaints_once_a_second(new_context, app_url):
    page = new_context(reduced_motion="reduce").new_page()
    open_lab(page, app_url)
    draws, frames = ask(page, "window.__live.draws"), ask(page, "window.__live.frames")
    wait(page, f"window.__live.frames > {frames + 40}")
    assert ask(page, "window.__live.draws") - draws <= 8
