"""The Compare page without a browser: what the address asks for is compared, what is refused is told, a job can be stopped."""

import pytest

from live import server
from live.server import Server
from rlcore.exports import pack, recorded
from rlcore.presets import preset
from rlcore.timeline import Timeline
from tests.pages.opened import opened, words
from ui.compare_arms import _own_name


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """A server of this test's own that works only when it is asked to."""
    made = Server(server._start, threaded=False)
    monkeypatch.setattr(server, "_shared", made)
    return made


def finish(place, app):
    """Let the worker do all of it, then look again."""
    for _ in range(10_000):
        (job,) = place.jobs.all()
        if job.closed:
            break
        job.glance()
        place.worker.round()
    assert job.state == "done", job.error
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def test_recipes_on_the_same_seeds_with_intervals_and_pairs(place):
    app = opened("compare", arms="grpo,gspo", env="bandit", seeds=4, steps=6, seed=5)
    (job,) = place.jobs.all()
    assert job.leases == 1 and job.state == "waiting"
    finish(place, app)
    _, _, sweep = app.session_state["compare_job"]
    assert sweep.seeds == (5, 6, 7, 8) and [a.label for a in sweep.arms] == ["GRPO", "GSPO"] and sweep.steps == 6
    said = words(app)
    assert "GSPO minus GRPO at the end" in said and "95 % interval" in said
    assert len(app.get("bidi_component")) >= 2


def test_one_settings_values_and_what_is_set_for_all(place):
    app = opened("compare", show="setting", recipe="grpo", knob="lr", values="0.01, 0.3", env="bandit", seeds=2, steps=5, also="epochs=2")
    _, _, sweep = app.session_state["compare_job"]
    assert [arm.config(0).optim.lr for arm in sweep.arms] == [0.01, 0.3]
    assert all(arm.config(0).batch.epochs == 2 for arm in sweep.arms)
    assert not app.error


def test_what_the_address_may_not_say_is_told(place):
    app = opened("compare", arms="grpo,alphazero", env="bandit", also="eps_sideways=1, lr=fast, epochs", metric="mood", knob="x")
    said = "\n".join(e.value for e in app.error)
    assert "arms: must be one of" in said and "alphazero" in said
    assert "arms: must be 2 to 6 algorithms, got 1" in said
    assert "eps_sideways" in said and "lr: must be a number" in said and "must be name=value, got 'epochs'" in said
    assert not place.jobs.all(), "nothing is run for less than two arms"


def test_a_setting_that_only_some_arms_have_is_left_out_there_and_told(place):
    app = opened("compare", arms="grpo,ppo", env="bandit", seeds=2, steps=5, also="group_size=8")
    assert "group_size" in "\n".join(c.value for c in app.caption) or not app.error
    _, _, sweep = app.session_state["compare_job"]
    assert {a.label: a.config(0) for a in sweep.arms}["GRPO"].batch.group_size == 8


def test_too_much_work_is_refused_with_the_sum(place):
    app = opened("compare", env="gridworld", seeds=64, steps=1000)
    assert "arms × seeds × steps must be at most" in app.error[0].value and not place.jobs.all()


def test_another_setup_replaces_the_job_and_a_changed_view_does_not(place):
    app = opened("compare", arms="grpo,gspo", env="bandit", seeds=2, steps=5)
    (first,) = place.jobs.all()
    app.toggle(key="single").set_value(False).run()
    assert place.jobs.all() == [first]
    app.selectbox(key="env").set_value("contextual").run()
    (second,) = place.jobs.all()
    assert second is not first and first.closed and "contextual" in app.query_params["env"]


def test_cancel_stops_and_run_again_starts_over(place):
    app = opened("compare", arms="grpo,gspo", env="bandit", seeds=2, steps=50)
    (job,) = place.jobs.all()
    place.worker.round()
    next(b for b in app.button if b.label == "Cancel").click().run()
    assert job.state == "cancelled"
    app.run()
    assert "Stopped after" in words(app)
    next(b for b in app.button if b.label == "Run again").click().run()
    (fresh,) = place.jobs.all()
    assert fresh is not job and fresh.state == "waiting"


def test_a_closed_tab_stops_the_job_and_it_is_forgotten_later(place, monkeypatch):
    opened("compare", arms="grpo,gspo", env="bandit", seeds=2, steps=50)
    (job,) = place.jobs.all()
    assert job.due(job._clock()) is not None
    job.let_go()
    assert job.due(job._clock()) is None
    place.jobs._clock = lambda: job._clock() + 60
    place.sweep()
    assert place.jobs.all() == [] and job.state == "cancelled"


def exported(recipe):
    run = Timeline(preset(recipe, "bandit"))
    run.advance()
    run.advance()
    run.advance(run.config.with_settings({"lr": 0.3}))
    return pack(recorded(run.path()))


def test_capsules_play_their_changes_on_these_seeds_and_bad_ones_are_told(place):
    app = opened("compare", show="capsules", seeds=2, steps=4)
    assert "at least two capsules" in app.info[0].value
    files = [("a.zip", exported("grpo"), "application/zip"), ("b.zip", exported("rloo"), "application/zip"), ("c.zip", b"PK", "application/zip")]
    app.file_uploader(key="capsules").set_value(files).run()
    assert not app.exception, app.exception[0].message
    assert "c.zip: capsule: is not a readable zip" in app.error[0].value
    _, _, sweep = app.session_state["compare_job"]
    assert [arm.label for arm in sweep.arms] == ["a", "b"]
    assert [arm.config(step).optim.lr for arm in sweep.arms for step in (0, 2)] == [0.1, 0.3, 0.1, 0.3]


def test_equal_values_are_no_comparison_and_told(place):
    app = opened("compare", show="setting", recipe="grpo", knob="lr", values="0.2, 0.2", env="bandit")
    assert "values: must be 2 to 6 different numbers, got 1" in "\n".join(e.value for e in app.error)
    assert not place.jobs.all()


def test_arms_of_one_name_are_told_apart():
    assert _own_name("run", []) == "run" and _own_name("run", ["run"]) == "run (2)" and _own_name("run", ["run", "run (2)"]) == "run (3)"
