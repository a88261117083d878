"""A word task's step as the page gets it: the trace's own numbers, cut told apart from finished, accuracy measured in slices."""

from __future__ import annotations

import json

import numpy as np
import pytest

from live import engine
from live.contract import Request
from live.heldout import EVERY, heldout
from live.replies import CUT, MAX_GROUPS, MAX_REPLIES, RIGHT, WRONG, words
from rlcore.presets import preset
from rlcore.rng import generator
from rlcore.timeline import Timeline
from rlcore.words.measure import accuracy


def _advance(training, config, *, traced=False):
    step = training.advance(config, traced=traced)
    slices = 0
    while True:
        try:
            next(step)
            slices += 1
        except StopIteration as made:
            return made.value, slices


def _told(recipe="grpo", env="addition", **settings):
    run = Timeline(preset(recipe, env).with_settings(settings))
    record = run.advance(trace=True)
    return words(record.config, record), record.trace


def _each(value, length):
    return value if isinstance(value, list) else [value] * length


@pytest.mark.parametrize("recipe", ["ppo", "grpo", "gspo"])
def test_every_number_shown_is_the_traces(recipe):
    told, trace = _told(recipe)
    update = trace.updates[-1]
    shown = 0
    for at, row in enumerate(update.rows):
        group, place = divmod(int(row), MAX_REPLIES)
        if group >= MAX_GROUPS:
            continue
        reply, mask = told["groups"][group]["rows"][place], update.mask[at]
        length = int(mask.sum())
        assert len(reply["tokens"]) == length
        assert _each(reply["ratio"], length) == pytest.approx(update.ratio[at][mask].tolist(), rel=1e-3)
        assert _each(reply["advantage"], length) == pytest.approx(update.advantages[at][mask].tolist(), rel=1e-3, abs=1e-6)
        assert _each(reply["entropy"], length) == pytest.approx(_entropy(trace, int(row)).tolist(), rel=1e-2, abs=1e-4)
        shown += 1
    assert shown == len(update.rows) == 64
    assert told["level"] == ("row" if recipe == "gspo" else "token")


def _entropy(trace, row):
    logp = trace.rollout["dist_old"][row][trace.rollout["mask"][row]]
    return -(np.exp(logp) * logp).sum(-1)


def test_rewards_are_their_weighted_terms():
    told, _ = _told(env="addition", **{"env.task.partial": 0.5, "env.task.work": 0.25})
    weights = [weight for _, weight in told["terms"]]
    for group in told["groups"]:
        for row in group["rows"]:
            assert row["reward"] == pytest.approx(sum(w * t for w, t in zip(weights, row["terms"], strict=True)), rel=1e-3)


def test_replies_cut_at_the_limit_are_neither_right_nor_finished():
    told, trace = _told(env="addition", **{"env.task.max_length": 4})
    cut = int(trace.rollout["truncated"].any(1).sum())
    assert cut > 0 and sum(told["lengths"][CUT]) == cut
    assert sum(map(sum, told["lengths"])) == told["rows"] == 128
    assert sum(told["lengths"][CUT][:3]) == 0, "a reply is cut at the limit and nowhere else"
    for group in told["groups"]:
        for row in group["rows"]:
            assert (row["tokens"][-1] == "") == (row["outcome"] in (RIGHT, WRONG)), "a finished reply ends in its end token"
            assert row["outcome"] != CUT or row["reward"] == 0


def test_before_the_first_step_there_is_nothing_to_read():
    told = words(preset("grpo", "sorting"), None)
    assert told["kind"] == "words" and told["groups"] == [] and told["rows"] == 0


def test_a_picture_of_many_rows_stays_small():
    told, _ = _told(env="sentences", prompts=64, group_size=32)
    assert told["rows"] == 2048 and told["of"] == 64
    assert len(told["groups"]) == MAX_GROUPS and all(len(group["rows"]) == MAX_REPLIES for group in told["groups"])
    assert len(json.dumps(told, allow_nan=False)) < 150_000


def test_held_out_accuracy_comes_every_few_updates_in_slices_and_changes_nothing():
    training, plain = engine.start(Request("grpo", "brackets")), Timeline(preset("grpo", "brackets"))
    for at in range(1, EVERY + 2):
        (step, metrics), slices = _advance(training, training.config)
        assert step == at and metrics["reward_mean"] == plain.advance().metrics["reward_mean"]
        assert ("heldout_sampled" in metrics) == ((at - 1) % EVERY == 0)
        if "heldout_sampled" in metrics:
            assert slices > 10
            assert 0 <= metrics["heldout_sampled"] <= metrics["heldout_pass_at_4"] <= 1


def test_slices_measure_what_a_whole_measurement_does():
    run = Timeline(preset("grpo", "sorting"))
    run.advance()
    state, config = run.state(), run.config
    pieces = heldout(config, state)
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            found = done.value
            break
    whole = accuracy(config.policy, state.params, config.env.task, dice=generator(config.seed, 0, "eval"), prompts=64)
    assert found["heldout_sampled"] == whole.sampled and found["heldout_greedy"] == whole.greedy


def test_other_worlds_measure_nothing():
    run = Timeline(preset("grpo", "bandit"))
    run.advance()
    assert list(heldout(run.config, run.state())) == []
