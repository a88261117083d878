"""The engine as the live room sees it: every recipe on every world, knobs by short name, pictures that fit into JSON."""

import json

import numpy as np
import pytest

from live import engine, pictures
from live.contract import Request
from live.run import LiveRun
from rlcore.algorithms import CATALOG
from rlcore.config import find_setting
from rlcore.engine import step as rlcore_step
from rlcore.knobs import SettingError
from rlcore.presets import ENVS, WORDS, preset
from rlcore.timeline import Timeline
from tests.live.fake import Watcher
from ui import state

WORLDS = tuple(state.WORLDS)


def _advance(training, config, *, traced=False):
    step = training.advance(config, traced=traced)
    while True:
        try:
            next(step)
        except StopIteration as made:
            return made.value


def test_the_pages_know_the_engines_recipes_and_worlds_without_importing_it():
    assert {r.key: r.name for r in CATALOG} == state.RECIPES
    assert set(state.WORLDS) == {*ENVS, *WORDS}


@pytest.mark.parametrize("env", WORLDS)
@pytest.mark.parametrize("recipe", [r.key for r in CATALOG])
def test_every_recipe_trains_on_every_world_and_can_be_shown(recipe, env):
    training = engine.start(Request(recipe, env))
    step, metrics = _advance(training, training.config, traced=True)
    about, scene = training.about(training.config), training.scene(training.config)
    json.dumps([about, scene], allow_nan=False)
    assert step == 1 and scene["step"] == 1 and about["reward"] in metrics
    assert {"kl_ref", "approx_kl", "entropy", "clip_fraction", "clip_fraction_outside"} <= metrics.keys()
    for name in training.settings(training.config):
        find_setting(training.config, name)


def test_the_page_and_the_engine_make_the_same_numbers():
    training = engine.start(Request("gspo", "gridworld", 3))
    shown = [_advance(training, training.config, traced=i % 2 == 0)[1]["reward_mean"] for i in range(5)]
    timeline = Timeline(preset("gspo", "gridworld", 3))
    assert shown == [timeline.advance().metrics["reward_mean"] for _ in range(5)]


def test_what_people_turn_first_comes_first():
    for recipe, first in (("grpo", ["eps_low", "eps_high", "kl_beta", "lr"]), ("sapo", ["tau_pos", "tau_neg"])):
        training = engine.start(Request(recipe, "gridworld"))
        hot = [knob["name"] for knob in training.about(training.config)["knobs"] if knob["hot"]]
        assert hot[: len(first)] == first


def test_beta_can_be_turned_up_from_a_recipe_without_a_penalty():
    training = engine.start(Request("gspo", "bandit"))
    assert training.settings(training.config)["kl_beta"] == 0
    with_penalty = training.propose(training.config, {"kl_beta": 0.3})
    assert training.settings(with_penalty)["kl_beta"] == 0.3
    assert _advance(training, with_penalty)[1]["kl_beta"] == 0.3


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"eps_high": -1}, "eps_high.*greater than or equal to 0.*got -1"),
        ({"lr": float("nan")}, "lr"),
        ({"epsilon_high": 0.2}, "no such setting.*did you mean.*eps_high"),
        ({"group_size": 1024, "prompts": 16}, "at most 8192 rows"),
    ],
)
def test_refusals_name_field_rule_and_value(values, words):
    training = engine.start(Request("grpo", "gridworld"))
    with pytest.raises(SettingError, match=words):
        training.propose(training.config, values)


def test_a_diverged_run_stops_with_the_engines_own_words_and_keeps_what_it_had():
    run = LiveRun(Request("grpo", "gridworld"), engine.start, rate=1000.0)
    run.watch(Watcher())
    run.hold()
    for _ in range(200):
        run.quantum()
        if run.history.total >= 3:
            break
    run.set({"lr": 100.0, "epochs": 50})
    for _ in range(5000):
        if run.state == "failed":
            break
        run.quantum()
    assert run.state == "failed" and run.history.total >= 3
    assert "is not finite. Usual cause" in run.status()["error"] and run.status()["error"].startswith("step")


def test_samples_tell_every_fate_and_count_all_of_them():
    training = engine.start(Request("grpo", "gridworld", 0, (("eps_low", 0.001), ("eps_high", 0.001))))
    for _ in range(3):
        _advance(training, training.config, traced=True)
    seen = training.scene(training.config)["samples"]
    assert sum(seen["counts"]) == seen["total"] and seen["counts"][pictures.DEAD_HIGH] > 0
    assert len(seen["ratio"]) == len(seen["advantage"]) == len(seen["fate"]) <= pictures.MAX_SAMPLES
    low, high = seen["band"]
    for ratio, advantage, fate in zip(seen["ratio"], seen["advantage"], seen["fate"], strict=True):
        if fate == pictures.DEAD_HIGH:
            assert ratio > high - 1e-5 and advantage > 0
        if fate == pictures.DEAD_LOW:
            assert ratio < low + 1e-5 and advantage < 0
        if fate == pictures.FREE:
            assert low - 1e-5 <= ratio <= high + 1e-5


def test_a_sequence_ratio_is_one_sample_a_row():
    training = engine.start(Request("gspo", "gridworld"))
    _advance(training, training.config, traced=True)
    seen = training.scene(training.config)["samples"]
    assert seen["level"] == "row" and seen["total"] == training.config.batch.rows


def test_a_step_nobody_traced_is_recomputed_when_somebody_looks():
    seen, unseen = engine.start(Request("grpo", "bandit")), engine.start(Request("grpo", "bandit"))
    for _ in range(2):
        _advance(seen, seen.config, traced=True)
        _advance(unseen, unseen.config)
    assert seen.scene(seen.config) == unseen.scene(unseen.config)


def test_cartpole_shows_an_episode_it_played():
    training = engine.start(Request("grpo", "CartPole-v1"))
    assert training.scene(training.config)["world"]["x"] == []
    _advance(training, training.config, traced=True)
    world = training.scene(training.config)["world"]
    assert len(world["x"]) == len(world["theta"]) == max(world["returns"]) == len(world["ends"])
    assert world["ends"][-1] == 1 and abs(world["theta"][0]) < 0.06


def test_settings_of_an_address_are_checked_by_the_engine():
    request = Request("grpo", "gridworld")
    assert engine.refusal(request, "eps_high", "0.3") is None
    assert "no such setting" in engine.refusal(request, "eps_hihg", "0.3")
    assert "must be a number" in engine.refusal(request, "eps_high", "lots")
    assert "got -3" in engine.refusal(request, "eps_high", "-3")
    assert "inf" in engine.refusal(request, "lr", "inf")


def test_an_opened_step_gives_its_record_again_bit_equal():
    run = LiveRun(Request("grpo", "gridworld", 5), engine.start, rate=1000.0)
    run.watch(Watcher())
    run.hold()
    while run.history.total < 14:
        run.quantum()
    rows = {row[0]: dict(zip(run.history.columns, row, strict=True)) for row in run.history.since(0).tolist()}
    for node in (1, 9, 14):
        opened = run.opened(node)
        assert opened.state.step == node - 1 and f"step {node}" in opened.label
        _, record = rlcore_step(opened.state, opened.config, trace=True)
        assert np.float32(record.metrics["loss"]) == np.float32(rows[node]["loss"]) and record.trace.updates
    assert run.opened().state.step == run.history.total - 1
    for node in (0, 999, -1):
        with pytest.raises(SettingError, match="node"):
            run.opened(node)
