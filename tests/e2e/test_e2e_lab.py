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


def unfold(page, slot):
    chip = page.locator(f"[data-slot={slot}].lv-chip")
    if not chip.is_visible():
        page.get_by_role("button", name="more …").click()
    chip.click()


def row(page, step):
    """A step's numbers as the page holds them."""
    return ask(page, f"['reward_mean', 'loss', 'kl_ref'].map((n) => {STORE}.column(n)[{STORE}.indexOf({step})])")


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
    drag(page, "eps_high", 0.01)
    wait(page, "window.__live.latencies.length > 3 && window.__live.panels.lab.inputs.length === 0")
    mark = ask(page, f"{STORE}.status.marks[0]")
    assert set(mark["changes"]) == {"eps_low", "eps_high"}, "one ε for both sides, as long as it is ticked"
    old, new = mark["changes"]["eps_high"]
    assert old == 0.2 and new < 0.01
    wait(page, f"{STORE}.step > {mark['step'] + 20} && {STORE}.scene.step > {mark['step']}")
    assert ask(page, f"{STORE}.scene.samples.band[1]") == pytest.approx(1 + new, abs=1e-4)
    assert page.locator(".lv-said").inner_text().startswith(f"ε 0.2 → {new:.3g} from step {mark['step']}")
    page.wait_for_url("**then=*eps_high*")


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
    wait(page, f"{STORE}.status.settings.eps_high <= 1e-3")
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
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Speed, updates a second").select_option("5")
    wait(page, f"{STORE}.status.rate === 5")
    page.get_by_role("button", name="Play").click()
    wait(page, f"{STORE}.step > {at + 3}")
    page.get_by_role("button", name="Reset").click()
    wait(page, f"{STORE}.epoch === 1 && {STORE}.columns[0][0] === 1")


def test_group_size_and_beta_change_from_the_next_step_on(page, app_url):
    open_lab(page, app_url)
    unfold(page, "batch")
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
    exact = page.locator("[data-number=kl_beta]")
    exact.fill("-3")
    exact.press("Enter")
    beside = page.locator(".lv-knob", has=exact).get_by_role("alert")
    beside.filter(has_text="got -3").wait_for()
    assert "greater than or equal to 0" in beside.inner_text()
    assert ask(page, f"{STORE}.status.settings.kl_beta") == 0.04
    assert exact.input_value() == "0.04", "the field shows what is in force; the message quotes what was typed"
    exact.fill("0.1")
    exact.press("Enter")
    beside.wait_for(state="hidden")


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
    page.keyboard.press("u")
    wait(page, f"{STORE}.status.settings.lr === {old}")
    page.keyboard.press("m")
    wait(page, f"{STORE}.status.piece?.epoch === 0")
    page.keyboard.press("b")
    wait(page, f"{STORE}.status.open?.step === {at} && {STORE}.status.open.ready")
    page.keyboard.press("f")
    wait(page, f"{STORE}.status.tree.length === 2 && {STORE}.step > {at + 1}")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    dialog.wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.keyboard.press("p")
    state_is(page, "paused")
    page.keyboard.press("x")
    wait(page, f"{STORE}.epoch === 2")
    page.keyboard.press("p")
    wait(page, f"{STORE}.step > 3")


def test_an_earlier_step_is_opened_forked_and_beaten_by_its_parent_in_the_drawing(page, app_url):
    open_lab(page, app_url, "?seed=6")
    wait(page, f"{STORE}.step > 24")
    page.get_by_role("button", name="Pause").click()
    settle(page)
    total = ask(page, f"{STORE}.step")
    early = [row(page, step) for step in (3, 9)]
    scrub = page.locator("[data-scrub]")
    scrub.fill("9")
    wait(page, f"{STORE}.status.open?.step === 9 && {STORE}.status.open.ready && {STORE}.scene.step === 9")
    assert page.locator("[data-chart=entropy] .lv-values").inner_text() != "" and "step 9 of" in page.locator(".lv-where").inner_text()
    exact = page.locator("[data-number=kl_beta]")
    exact.fill("0.9")
    exact.press("Enter")
    page.get_by_text("A fork goes on from step 9 with β 0.04 → 0.9.").wait_for()
    page.get_by_role("button", name="Fork from here").click()
    wait(page, f"{STORE}.epoch === 1 && {STORE}.step > 14 && {STORE}.faint.length === 1")
    assert [row(page, step) for step in (3, 9)] == early, "what came before the fork is the parent's"
    assert ask(page, f"{STORE}.column('kl_beta')[{STORE}.indexOf(10)]") == pytest.approx(0.9)
    assert ask(page, f"{STORE}.status.marks.map((m) => m.step)") == [10]
    page.get_by_role("button", name="Pause").click()
    state_is(page, "paused")
    page.locator(".lv-branch[data-branch='0']").focus()
    page.keyboard.press("Enter")
    wait(page, f"{STORE}.step === {total} && {STORE}.status.tree.find((b) => b.current).id === 0")
    assert "2 branches" in page.locator(".lv-timeline").inner_text()


def test_a_link_gives_the_same_step_with_the_same_numbers_to_somebody_else(page, app_url, new_context):
    open_lab(page, app_url, "?env=bandit&seed=7")
    exact = page.locator("[data-number=lr]")
    exact.fill("0.3")
    exact.press("Enter")
    wait(page, f"{STORE}.status.marks.length === 1 && {STORE}.step > {STORE}.status.marks[0].step + 10")
    page.get_by_role("button", name="Pause").click()
    settle(page)
    step = ask(page, f"{STORE}.step")
    page.wait_for_url(f"**step={step}&**")
    here = [row(page, n) for n in (2, step - 3, step)]
    other = new_context().new_page()
    other.goto(page.url)
    wait(other, f"window.__live?.panels.lab?.runs[0] && {STORE}.status.state === 'paused' && {STORE}.step === {step}")
    assert ask(other, f"{RUN}.rid") != ask(page, f"{RUN}.rid")
    assert [row(other, n) for n in (2, step - 3, step)] == here
    page.keyboard.press("b")
    page.keyboard.press("b")
    page.wait_for_url(f"**step={step - 2}&**")
    page.reload()
    wait(page, f"window.__live?.panels.lab?.runs[0] && {STORE}.status.open?.step === {step - 2} && {STORE}.status.open.ready")
    assert [row(page, n) for n in (2, step - 3, step)] == here


def test_a_slot_changes_while_it_runs_is_named_and_undone(page, app_url):
    open_lab(page, app_url, "?seed=8")
    unfold(page, "ratio")
    page.locator("[data-choice=ratio]").select_option("sequence")
    wait(page, f"{STORE}.status.settings.ratio === 'sequence' && {STORE}.status.marks.at(-1)?.changes.ratio")
    name = page.locator(".lv-standing b").first
    name.filter(has_text="unnamed; nearest is").wait_for()
    wait(page, f"{STORE}.scene.samples.level === 'row'")
    page.get_by_text("to know about this mix").click()
    page.locator(".lv-cautions li").filter(has_text="almost never clips").filter(has_text="arXiv:2507.18071").wait_for()
    page.get_by_role("button", name="Undo").click()
    wait(page, f"{STORE}.status.settings.ratio === 'token' && {STORE}.status.name === 'GRPO'")


def test_it_runs_to_an_event_and_steps_inside_an_update(page, app_url):
    open_lab(page, app_url, "?seed=9")
    page.get_by_role("button", name="Pause").click()
    settle(page)
    page.get_by_role("button", name="Reset").click()
    wait(page, f"{STORE}.epoch === 1 && {STORE}.step === 0")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_label("Run to").select_option("kl")
    page.get_by_label("threshold").fill("0.2")
    page.get_by_label("threshold").press("Enter")
    page.locator(".lv-said").filter(has_text="KL to reference above 0.2").wait_for()
    settle(page)
    assert ask(page, f"{STORE}.latest('kl_ref')") > 0.2 and ask(page, f"{STORE}.column('kl_ref').slice(0, -1).every((x) => x <= 0.2)")
    at = ask(page, f"{STORE}.step")
    page.get_by_role("button", name="One minibatch").click()
    page.locator(".lv-inside").filter(has_text="every ratio is 1").wait_for()
    page.get_by_role("button", name="One pass").click()
    page.locator(".lv-inside").filter(has_text=f"Inside step {at + 1}, pass 1 of 4").wait_for()
    wait(page, f"{STORE}.scene.piece?.epoch === 1 && {STORE}.scene.samples.ratio.every((r) => r === 1)")
    page.get_by_role("button", name="Step", exact=True).click()
    wait(page, f"{STORE}.step === {at + 1} && !{STORE}.status.piece")


def test_a_step_goes_under_the_microscope_and_the_run_is_still_there_after(page, app_url):
    open_lab(page, app_url, "?seed=3&env=bandit")
    page.get_by_role("button", name="Pause").click()
    settle(page)
    rid, at = ask(page, f"{RUN}.rid"), ask(page, f"{STORE}.step")
    page.get_by_role("link", name="open this step under the microscope").click()
    page.wait_for_url(f"**/step?**run={rid}**")
    page.get_by_role("heading", name="Step through").first.wait_for()
    page.get_by_role("link", name="Lab").first.click()
    wait(page, f"window.__live?.panels.lab?.runs[0]?.rid === '{rid}' && {STORE}.step === {at}")


def test_a_diverged_run_says_why_and_leads_to_its_last_good_step(page, app_url):
    open_lab(page, app_url, "?seed=1&env=bandit")
    page.evaluate("() => window.__live.panels.lab.set({ lr: 100, epochs: 50 })")
    state_is(page, "failed")
    page.locator(".lv-alert").filter(has_text="is not finite").filter(has_text="Usual cause").wait_for()
    last = ask(page, f"{STORE}.step")
    page.get_by_role("button", name=f"Open the last good step ({last})").click()
    wait(page, f"{STORE}.status.open?.ready && {STORE}.status.open.step === {last}")
    page.evaluate("() => window.__live.panels.lab.set({ lr: 0.01, epochs: 1 })")
    page.get_by_role("button", name="Fork from here").click()
    wait(page, f"{STORE}.status.state === 'playing' || {STORE}.status.state === 'failed'")


def test_another_seed_is_asked_for_in_the_panel_and_keeps_what_was_turned(page, app_url):
    open_lab(page, app_url, "?seed=2")
    page.locator("[data-number=kl_beta]").fill("0.2")
    page.locator("[data-number=kl_beta]").press("Enter")
    wait(page, f"{STORE}.status.settings.kl_beta === 0.2")
    rid = ask(page, f"{RUN}.rid")
    unfold(page, "fresh")
    page.locator("[data-fresh=seed]").fill("-4")
    page.get_by_role("button", name="Start a new run with these").click()
    page.locator(".lv-alert").filter(has_text="seed: must be a whole number").wait_for()
    page.locator("[data-fresh=seed]").fill("12")
    page.get_by_role("button", name="Start a new run with these").click()
    wait(page, f"window.__live?.panels.lab?.runs[0] && {RUN}.rid !== '{rid}' && {STORE}.hello?.seed === 12 && {STORE}.step > 1")
    assert ask(page, f"{STORE}.status.settings.kl_beta") == 0.2
    page.wait_for_url("**seed=12*")


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
    drag(page, "eps_high", 0.01, steps=4)
    wait(page, f"{STORE}.status.settings.eps_high < 0.01")
    at = ask(page, f"{STORE}.step")
    page.get_by_role("button", name="Step", exact=True).click()
    wait(page, f"{STORE}.step === {at + 1}")
    page.locator("[data-number=kl_beta]").fill("-3")
    page.locator("[data-number=kl_beta]").press("Enter")
    page.locator(".lv-wrong").filter(has_text="got -3").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("b")
    wait(page, f"{STORE}.status.open?.ready")
    page.keyboard.press("f")
    wait(page, f"{STORE}.status.tree.length === 2 && {STORE}.faint.length === 1")


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


def test_after_a_reset_the_pole_shows_no_episode_of_the_run_before(page, app_url):
    open_lab(page, app_url, "?recipe=ppo&env=CartPole-v1")
    caption = page.locator(".lv-world .lv-caption")
    caption.filter(has_text="The longest row of step").wait_for()
    page.keyboard.press("p")
    state_is(page, "paused")
    page.keyboard.press("x")
    wait(page, f"{STORE}.step === 0")
    caption.filter(has_text="No episode yet").wait_for()


def test_a_double_click_is_one_fork_and_what_is_turned_on_the_way_is_kept_and_in_the_address(page, app_url):
    open_lab(page, app_url, "?env=addition&seed=3")
    wait(page, f"{STORE}.step >= 5")
    page.evaluate(f"() => {RUN}.link.command({{ op: 'open', step: 3 }})")
    wait(page, f"{STORE}.status.open?.ready")
    panel = "window.__live.panels.lab"
    page.evaluate(f"() => {{ {panel}.act('fork'); {panel}.set({{ lr: 0.0003 }}); {panel}.act('fork'); }}")
    wait(page, f"{STORE}.status.tree.length === 2 && {STORE}.status.state === 'playing' && {STORE}.step > 3")
    assert ask(page, f"[{STORE}.status.settings.lr, {STORE}.status.tree[1].start]") == [0.0003, 3]
    wait(page, "location.search.includes('~lr~0.0003')")  # from step 4 on, or from the next where the way was short
