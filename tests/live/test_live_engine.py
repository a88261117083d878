"""The engine as the live room sees it: every recipe on every world, knobs by short name, pictures that fit into JSON."""

import json
import time

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


def _lab(request, steps, *, clock=None):
    """A run of the real engine that has made so many steps."""
    run = LiveRun(request, engine.start, rate=1000.0)
    run.watch(Watcher())
    run.hold()
    _until(run, lambda: run.history.total >= steps)
    run.pause()
    _until(run, lambda: run.due(1e12) is None)
    return run


def _until(run, found):
    give_up = time.monotonic() + 60  # some of what a run does waits its turn, up to a second
    while time.monotonic() < give_up:
        if found():
            return
        run.quantum()
    raise AssertionError("not seen in time")


def _columns(run, first, last):
    rows = run.history.rows()[first - 1 : last]
    return {name: rows[:, i] for i, name in enumerate(run.history.columns)}


def test_a_fork_without_changes_repeats_its_parent_bit_by_bit_and_with_one_only_that_differs():
    run = _lab(Request("grpo", "gridworld", 3), 24)
    parent = _columns(run, 1, run.history.total)
    for change in ({}, {"kl_beta": 0.5}):
        run.open(10)
        _until(run, lambda: run.status()["open"]["ready"])
        run.set(change) if change else None
        epoch = run.epoch
        run.fork()
        _until(run, lambda epoch=epoch: run.epoch > epoch and run.history.total >= 20)
        fork = _columns(run, 1, 20)
        run.pause()
        for name in ("reward_mean", "loss", "kl_ref", "entropy"):
            same = fork[name][:10].tobytes() == parent[name][:10].tobytes()
            assert same, "what came before the fork is the parent's"
        assert fork["reward_mean"][10] == parent["reward_mean"][10], "the same prompts and dice meet the same policy"
        alike = fork["loss"][10:].tobytes() == parent["loss"][10:20].tobytes()
        assert alike is (not change)
        run.switch(0)
        _until(run, lambda: run.state == "paused" and run.due(1e12) is None)


def test_an_opened_step_shows_what_was_seen_when_it_was_made():
    training = engine.start(Request("grpo", "gridworld", 1))
    seen = []
    for _ in range(12):
        _advance(training, training.config, traced=True)
        seen.append(training.scene(training.config))
    for node in (1, 5, 12):
        visit = training.visit(node)
        while True:
            try:
                next(visit)
            except StopIteration as found:
                assert found.value == seen[node - 1]
                break
    assert training.head == 12, "looking moves nothing"


def test_a_step_in_pieces_shows_ratios_leaving_one_pass_by_pass():
    run = _lab(Request("grpo", "gridworld", 2, (("lr", 0.2),)), 3)
    spread = []
    for _ in range(4):
        run.step_part("epoch" if spread else "minibatch")
        _until(run, lambda: run.status()["piece"] is not None and run.due(1e12) is None)
        ratio = json.loads(run.scene.text)["samples"]["ratio"]
        spread.append(max(ratio) - min(ratio))
    assert run.status()["piece"]["epoch"] == 3 and spread[:2] == [0, 0] and 0 < spread[2] < spread[3]
    before = run.history.total
    run.step_once()
    _until(run, lambda: run.history.total == before + 1)
    whole = _lab(Request("grpo", "gridworld", 2, (("lr", 0.2),)), before + 1)
    assert _columns(run, 1, before + 1)["loss"].tobytes() == _columns(whole, 1, before + 1)["loss"].tobytes()


def test_an_address_gives_a_run_with_changes_again_bit_by_bit():
    first = _lab(Request("grpo", "bandit", 8), 6)
    first.set({"surrogate": "dual_clip", "lr": 0.3})
    first.play()
    _until(first, lambda: first.history.total >= 15)
    first.set({"eps_high": 0.05})
    _until(first, lambda: first.history.total >= 22)
    first.pause()
    _until(first, lambda: first.due(1e12) is None)
    asked = state.read(state.write(first))
    assert asked.refused == () and asked.request.stop == first.history.total
    second = LiveRun(asked.request, engine.start, rate=20.0)
    second.watch(Watcher())
    second.hold()
    _until(second, lambda: second.state == "paused" and second.due(1e12) is None)
    total = first.history.total
    assert second.history.total == total and second.settings() == first.settings()
    assert _columns(first, 1, total)["loss"].tobytes() == _columns(second, 1, total)["loss"].tobytes()


def test_opening_an_old_step_of_a_long_run_is_cut_into_short_slices():
    run = _lab(Request("grpo", "gridworld"), 60)
    run._training._timeline._kept._spaced = {0: run._training._timeline.state(0)}
    run._training._timeline._kept._recent = {}
    run.open(40)
    slices = 0
    while not run.status()["open"]["ready"]:
        run.quantum()
        slices += 1
    assert slices > 10, "forty steps were made again, a few milliseconds at a time"
