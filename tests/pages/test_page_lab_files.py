"""The lab's run as a whole: exported, opened again to the same numbers, shared, and kept shut by a teacher's link."""

from urllib.parse import parse_qs, urlsplit

import pytest

from live import commands, server
from live.server import Server
from rlcore.exports import pack, recorded, replayed, unpack
from rlcore.exports.recorded import compared
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.timeline import Timeline
from tests.pages.opened import opened
from ui import lab_import


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """A server of this test's own that trains only when it is asked to."""
    made = Server(server._start, threaded=False)
    monkeypatch.setattr(server, "_shared", made)
    return made


def train(run, steps):
    """The worker's part, as fast as it goes."""
    run.pace(1000)
    for _ in range(5000):
        if run.tree.total >= steps:
            return run
        run.quantum()
    raise AssertionError(f"only {run.tree.total} of {steps} steps were made: {run.status()['error']}")


def live_run(place, steps=3, **settings):
    opened("lab", env="bandit", **settings)
    (run,) = place.runs()
    return train(run, steps)


def test_a_live_run_with_changes_is_exported_and_replays_to_the_bit(place):
    run = live_run(place, seed=3)
    run.set({"lr": 0.3})
    train(run, run.tree.total + 2)
    run.set({"ratio": "sequence"})
    train(run, run.tree.total + 2)
    found = recorded(run.path())
    assert len(found.path) == 3 and found.config.seed == 3
    again = unpack(pack(found)).run
    assert compared(found.columns, replayed(again.path, again.steps).columns) == ()


def test_an_exported_run_is_opened_in_the_lab_again_with_the_same_numbers(place):
    run = live_run(place, seed=3, eps_high=0.3)
    run.set({"lr": 0.3})
    train(run, run.tree.total + 2)
    run.set({"ratio": "sequence"})
    train(run, run.tree.total + 2)
    found = recorded(run.path())
    read = lab_import.read(pack(found))
    assert read.request is not None and not read.refused and not read.notes
    assert read.request.stop == found.steps and len(read.request.then) == 2
    fresh = place.create(read.request)
    fresh.hold()
    fresh.glance()
    train(fresh, found.steps)
    again = recorded(fresh.path())
    assert again.path == found.path and compared(found.columns, again.columns) == ()


def test_a_run_the_lab_has_no_controls_for_is_told_and_not_bent():
    config = preset("grpo", "bandit").with_settings({"policy": {"kind": "mlp"}})
    run = Timeline(config)
    run.advance()
    found = lab_import.read(pack(recorded(run.path())))
    assert found.request is None and "no controls for all of the settings it began with" in found.refused[0]
    assert lab_import.read(b"x").refused[0].startswith("capsule: is not a readable zip")


def test_the_menus_say_what_is_there_and_the_link_gives_the_run_again(place):
    run = live_run(place, seed=4, eps_high=0.3)
    app = opened("lab", env="bandit", seed=4, eps_high=0.3)
    run = train(place.runs()[1], 3)
    app.session_state["share"] = True
    app.run()
    assert not app.exception, app.exception[0].message
    link = next(c.value for c in app.code if c.value.startswith("http"))
    asked = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    assert asked["seed"] == "4" and asked["env"] == "bandit" and asked["eps_high"] == "0.3" and "run" not in asked
    assert asked["step"] == str(run.tree.total)
    assert any('"eps_high": 0.3' in c.value for c in app.code)
    app.session_state["run_export"] = True
    app.run()
    assert {"Capsule", "Script", "Notebook", "Config", "CSV", "Parquet"} <= {b.label for b in app.get("download_button")}
    app.session_state["run_curves"] = True
    app.run()
    assert not app.exception, app.exception[0].message
    assert app.selectbox(key="run_curve").value == "reward"


def test_a_teachers_link_locks_controls_here_and_on_the_server(place):
    app = opened("lab", env="bandit", lock="lr,recipe", hide="kl_beta,env")
    (run,) = place.runs()
    assert app.selectbox(key="lab_recipe").disabled and not [s for s in app.selectbox if s.key == "lab_env"]
    assert set(app.query_params["lock"][0].split(",") if isinstance(app.query_params["lock"], list) else app.query_params["lock"].split(",")) == {"lr", "recipe"}
    train(run, 2)
    with pytest.raises(SettingError, match="lr: is locked by the link"):
        commands.obey(run, commands.parse('{"op": "set", "values": {"lr": 0.3}}'))
    commands.obey(run, commands.parse('{"op": "set", "values": {"eps_high": 0.3}}'))
    assert run.settings()["eps_high"] == 0.3 and run.settings()["lr"] == 0.1
    assert app.session_state["live_taught"] == {"hide": ["kl_beta", "env"], "lock": ["lr", "recipe"]}


def test_everything_can_be_locked_and_wrong_names_are_told(place):
    app = opened("lab", env="bandit", lock="*,mood", hide="*")
    (run,) = place.runs()
    told = app.warning[0].value
    assert "lock: there is no control 'mood'" in told and r"hide: there is no control '\*'" in told
    train(run, 2)
    with pytest.raises(SettingError, match="locked"):
        run.set({"ratio": "sequence"})


def test_a_page_without_such_a_link_locks_nothing(place):
    app = opened("lab", env="bandit")
    (run,) = place.runs()
    assert run.locked == frozenset() and app.session_state["live_taught"] is None and "lock" not in app.query_params
