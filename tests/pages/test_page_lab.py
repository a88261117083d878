"""The lab's and the front page's logic without a browser: which runs exist, who holds them, what is refused and told."""

import pytest

from live import server
from live.server import Server
from rlcore.knobs import SettingError
from tests.live.fake import Watcher, starter
from tests.pages.opened import opened
from ui import state
from ui.pages import TABLE


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """A server of this test's own that never trains by itself."""
    made = Server(server._start, threaded=False)
    monkeypatch.setattr(server, "_shared", made)
    return made


def test_the_lab_opens_with_one_run_that_its_session_holds_and_its_address_names(place):
    app = opened("lab")
    (run,) = place.runs()
    assert run.leases == 1 and (run.request.recipe, run.request.env) == ("grpo", "gridworld")
    assert app.query_params["run"] == run.rid and app.query_params["recipe"] == "grpo"
    assert not app.warning and len(app.get("bidi_component")) == 1


def test_an_address_with_settings_is_taken(place):
    opened("lab", recipe="gspo", env="bandit", seed=4, eps_high=0.3)
    (run,) = place.runs()
    assert (run.request.recipe, run.request.env, run.request.seed) == ("gspo", "bandit", 4)
    assert dict(run.request.settings) == {"eps_high": 0.3}
    run.quantum()
    assert run.settings()["eps_high"] == 0.3


def test_what_an_address_may_not_say_is_told(place):
    app = opened("lab", recipe="alphazero", seed="x", eps_high=-2)
    (warning,) = app.warning
    assert "recipe: must be one of" in warning.value and "seed: must be a whole number" in warning.value
    assert "eps_high" in warning.value and "-2" in warning.value
    assert place.runs()[0].request.recipe == "grpo"


def test_another_algorithm_is_a_new_run_and_the_old_one_is_closed(place):
    app = opened("lab")
    (old,) = place.runs()
    app.selectbox(key="lab_recipe").set_value("ppo").run()
    (new,) = place.runs()
    assert not app.exception and old.closed and new.request.recipe == "ppo" and new.leases == 1
    assert app.query_params["recipe"] == "ppo" and app.query_params["run"] == new.rid


def test_a_reload_takes_its_run_over_and_a_second_tab_gets_its_own(place):
    first = opened("lab")
    (run,) = place.runs()
    opened("lab", run=run.rid)
    assert len(place.runs()) == 2, "the run is held, so a second tab must not share it"
    run.let_go()
    reloaded = opened("lab", run=run.rid)
    assert reloaded.session_state["lab_run"] == run.rid
    assert first.session_state["lab_run"] == run.rid


def test_a_link_to_another_setup_never_takes_over_a_run(place):
    opened("lab")
    (run,) = place.runs()
    run.let_go()
    other = opened("lab", run=run.rid, recipe="ppo")
    assert other.session_state["lab_run"] != run.rid


def test_a_link_with_changes_and_a_step_makes_that_run_and_stops_there(place):
    app = opened("lab", env="bandit", then="3~lr~0.3~~5~ratio~sequence", step="7")
    (run,) = place.runs()
    assert run.request.then == ((3, (("lr", 0.3),)), (5, (("ratio", "sequence"),))) and run.request.stop == 7
    assert app.query_params["then"] == "3~lr~0.3~~5~ratio~sequence" and app.query_params["step"] == "7"
    run.watch(Watcher())
    for _ in range(2000):
        run.quantum()
        if run.state == "paused":
            break
    app.run()
    assert not app.exception and run.history.total == 7 and run.settings()["ratio"] == "sequence"
    assert app.query_params["then"] == "3~lr~0.3~~5~ratio~sequence" and app.query_params["step"] == "7"


def test_a_reload_comes_back_to_the_step_looked_at(place):
    opened("lab", env="bandit")
    (run,) = place.runs()
    run.watch(Watcher())
    while run.history.total < 6:
        run.quantum()
    run.let_go()
    again = opened("lab", env="bandit", run=run.rid, step="4")
    assert again.session_state["lab_run"] == run.rid and run.looked_at == 4 and again.query_params["step"] == "4"


def test_what_needs_a_new_run_starts_one_and_a_wrong_value_none(place):
    opened("lab")
    (run,) = place.runs()
    run.quantum()
    run.set({"lr": 0.02})
    fresh = state.with_fresh(run, {"seed": 9, "horizon": 50})
    assert (fresh.seed, dict(fresh.settings)) == (9, {"lr": 0.02, "horizon": 50})
    for wrong in ({"seed": -1}, {"seed": 1.5}, {"horizon": 10**7}, {"nonsense": 1}):
        with pytest.raises(SettingError):
            state.with_fresh(run, wrong)


def test_a_full_server_says_so_instead_of_failing(monkeypatch):
    full = Server(starter(), threaded=False, max_runs=0)
    monkeypatch.setattr(server, "_shared", full)
    assert "at most 0 runs" in opened("lab").warning[0].value
    assert "at most 0 runs" in opened("home").warning[0].value


def test_home_trains_three_from_one_seed_and_links_only_to_what_exists(place):
    app = opened("home")
    assert [run.request.recipe for run in place.runs()] == ["ppo", "grpo", "gspo"]
    assert len({(run.request.env, run.request.seed, run.request.settings) for run in place.runs()}) == 1
    assert all(run.leases == 1 for run in place.runs())
    app.run()
    assert len(place.runs()) == 3, "a rerun makes no further runs"
    there = {entry.url for entry in TABLE if entry.exists}
    links = [link.proto.page for link in app.get("page_link")]
    assert links and set(links) <= there
