import re

import pytest

from figures.theme import LOOKS, as_json, look
from live.contract import Request
from live.server import shared
from ui import state


def test_an_empty_address_is_the_default_and_nothing_is_refused():
    asked = state.read({})
    assert asked.request == Request("grpo", "gridworld", 0) and asked.refused == () and asked.run is None


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"recipe": "gppo"}, "recipe: must be one of ppo"),
        ({"env": "chess"}, "env: must be one of bandit"),
        ({"seed": "-1"}, "seed: must be a whole number from 0 to 4294967295, got '-1'"),
        ({"seed": "4294967296"}, "seed"),
        ({"seed": "²"}, "seed"),
        ({"eps_high": "5e9"}, "eps_high.*"),
        ({"nonsense": "1"}, "nonsense: there is no such setting"),
        ({"env.layout": "1"}, "env.layout"),
    ],
)
def test_what_is_not_legal_is_told_and_left_at_its_default(params, words):
    asked = state.read(params)
    assert len(asked.refused) == 1
    assert re.search(words, asked.refused[0])
    assert asked.request == Request("grpo", "gridworld", 0)


def test_good_settings_survive_bad_ones():
    asked = state.read({"recipe": "gspo", "env": "bandit", "seed": "7", "eps_high": "0.3", "lr": "fast", "run": "abc"})
    assert asked.request == Request("gspo", "bandit", 7, (("eps_high", 0.3),))
    assert asked.run == "abc" and len(asked.refused) == 1


def test_an_address_round_trips_through_a_run():
    server = shared()
    run = server.create(Request("grpo", "bandit", 5, (("eps_high", 0.35), ("env.noise", 0.5))))
    try:
        run.quantum()
        run.set({"lr": 0.02, "eps_high": 0.3})
        written = state.write(run)
        assert written["run"] == run.rid
        asked = state.read(written)
        assert asked.refused == ()
        assert (asked.request.recipe, asked.request.env, asked.request.seed) == ("grpo", "bandit", 5)
        assert dict(asked.request.settings) == {"lr": 0.02, "eps_high": 0.3, "noise": 0.5}
        assert dict(state.with_fresh(run, {"seed": 9}).settings) == dict(asked.request.settings)
        run.set({"lr": 0.1, "eps_high": 0.2})
        assert "lr" not in state.write(run) and "eps_high" not in state.write(run), "what is as in the preset is left out"
    finally:
        server.close(run.rid)


def test_every_recipe_has_a_look_of_its_own():
    seen = {(each.light, each.dash) for each in LOOKS}
    assert len(seen) == len(LOOKS)
    assert {each.marker for each in LOOKS if each.recipe in state.FIRST} == {"circle", "square", "diamond"}
    assert look("something else").recipe == "custom"
    assert set(as_json()["looks"]) == {each.recipe for each in LOOKS} | {"custom"}


def test_looks_use_the_themes_own_colors():
    import tomllib

    from ui.pages import ROOT

    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["theme"]
    assert {each.light for each in LOOKS} <= set(theme["light"]["chartCategoricalColors"])
    assert {each.dark for each in LOOKS} <= set(theme["dark"]["chartCategoricalColors"])


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("x~eps_high~0.1", "then: must be step~name~value"),
        ("9~eps_high~0.1~~4~eps_high~0.2", "growing steps, got '4~eps_high~0.2'"),
        ("9~eps_high", "must be step~name~value"),
        ("9~eps_high~7e9", "then, step 9: .*eps_high"),
        ("9~ratio~quantum", "then, step 9: ratio: must be one of"),
        ("too-long", "changed its settings too often"),
    ],
)
def test_wrong_changes_on_the_way_are_told_and_none_after_them_is_taken(then, words):
    asked = state.read({"then": f"{then}~~90~lr~0.1" if then != "too-long" else then})
    assert len(asked.refused) == 1 and re.search(words, asked.refused[0])
    assert all(step < 90 for step, _ in asked.request.then)


def test_a_step_and_changes_on_the_way_are_read():
    asked = state.read({"ratio": "sequence", "then": "12~eps_high~0.05~~40~surrogate~sapo~tau_pos~2", "step": "44"})
    assert asked.refused == () and asked.request.stop == 44 and asked.request.settings == (("ratio", "sequence"),)
    assert asked.request.then == ((12, (("eps_high", 0.05),)), (40, (("surrogate", "sapo"), ("tau_pos", 2))))


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "20001", "9" * 40, "0" * 9 + "9" * 5000])
def test_a_step_that_is_none_is_told(text):
    asked = state.read({"step": text})
    assert asked.request.stop is None and "step: must be a whole number from 0 to 20000" in asked.refused[0]


def test_what_is_too_long_is_cut_where_nothing_is_misread_and_told():
    """A change cut in two would be another number; more digits than Python reads would be an error."""
    many = "~~".join(f"{step}~lr~0.0{step}" for step in range(1, 900))
    asked = state.read({"then": many})
    assert len(asked.refused) == 1 and f"only the first {len(asked.request.then)} were read" in asked.refused[0]
    assert all(dict(values)["lr"] == float(f"0.0{step}") for step, values in asked.request.then)
    assert len(state.read({"then": "0" * 9 + "9" * 5000 + "~lr~0.1"}).refused) == 1
    crowd = {f"name{i}": "1" for i in range(60)}
    assert "the other 20 were not read" in state.read(crowd).refused[-1]
