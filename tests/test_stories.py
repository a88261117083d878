"""Stories: complete, decided by numbers alone, as measured where they were measured, and true again today."""

from __future__ import annotations

import math

import pytest

from benchmarks.stories.__main__ import columns
from rlcore.config import parse
from rlcore.knobs import SettingError
from rlcore.stories import STORIES, Outcome, Story, found, story
from rlcore.stories.counted import stale
from rlcore.stories.story import Condition, Measure, at_least, below, first, last

NAMES = [each.name for each in STORIES]
FAST = ("idle-clip", "sure-and-wrong", "difficulty-bias", "adam-hides-it", "two-is-a-group", "no-clip-no-harm", "dead-groups",
        "beta-too-large", "kl-in-reward-or-loss")  # fmt: skip


def test_there_are_enough_of_them_in_every_kind_of_world() -> None:
    assert len(STORIES) >= 14 and len(set(NAMES)) == len(NAMES)
    worlds = [each.env for each in STORIES]
    assert {"bandit", "contextual", "gridworld", "corridor", "CartPole-v1"} <= set(worlds)
    assert sum(each in ("addition", "sorting", "brackets", "sentences") for each in worlds) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_every_arm_is_a_run_and_differs_from_the_others(name: str) -> None:
    told = story(name)
    configs = [told.config(arm.name) for arm in told.arms]
    assert len(set(configs)) == len(configs)
    assert all(parse(config.model_dump()) == config for config in configs)
    assert told.config() == configs[0], "the first arm is the one that opens"
    for text in (told.claim, told.question, told.because, *(o.says for o in told.outcomes)):
        assert text.strip() == text and text
    assert told.question.rstrip().endswith(("?", ":", "…")), "it asks"


@pytest.mark.parametrize("name", NAMES)
def test_it_was_measured_as_it_stands_over_five_seeds_or_more_and_holds(name: str) -> None:
    told, counted = story(name), found(name)
    assert counted is not None, f"run python -m benchmarks.stories {name}"
    assert not stale(counted, told), f"the story has changed: run python -m benchmarks.stories {name}"
    assert len(counted.seeds) >= 5 and set(counted.outcomes) == {arm.name for arm in told.arms}
    assert all(len(keys) == len(counted.seeds) for keys in counted.outcomes.values())
    assert counted.holds(told), counted.words(told)


@pytest.mark.parametrize("name", FAST)
def test_a_fast_story_comes_out_today_as_it_was_stored(name: str) -> None:
    told, counted = story(name), found(name)
    assert counted is not None
    arm = told.arms[0]
    ending = told.check(columns(told.config(arm.name, seed=counted.seeds[0]), told.steps))
    assert ending.outcome.key == counted.outcomes[arm.name][0]


def test_the_check_reads_the_run_and_nothing_else() -> None:
    told = story("clip-prevents-collapse")
    flat = {"reward_mean": [-0.3] * 60, "entropy": [0.01] * 60}
    assert told.check(flat).outcome.key == "collapsed"
    assert told.check({**flat, "reward_mean": [0.9] * 60}).outcome.key == "solved"
    assert told.check({**flat, "entropy": [1.0] * 60}).outcome.key == "between"
    assert "reward mean over the last 10 updates: -0.3 (below 0.3)" in told.check(flat).evidence


def test_measures() -> None:
    columns = {"x": [1.0, 2.0, math.nan, 4.0]}
    assert last("x", 2)(columns) == 4.0 and first("x", 2)(columns) == 1.5
    assert Measure(column="x", over="all", take="largest")(columns) == 4.0
    assert Measure(column="x", over="all", take="smallest")(columns) == 1.0
    assert math.isnan(last("y")(columns))
    assert not at_least(last("y"), -1e9).holds(columns), "what was not measured decides nothing"
    assert not below(last("y"), 1e9).holds(columns)
    assert Condition(measure=last("x", 1), minus=first("x", 1), at_least=3.0).holds(columns)


def test_a_story_without_a_way_out_is_refused() -> None:
    with pytest.raises(ValueError, match="otherwise"):
        Story(
            name="x", title="x", recipe="grpo", env="bandit", steps=10, claim="x", question="x?", because="x",
            outcomes=(Outcome(key="a", says="a", when=(at_least(last("x"), 0),)), Outcome(key="b", says="b", when=(below(last("x"), 0),))),
            arms=({"name": "a", "expects": "a"},),
        )  # fmt: skip


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match="idle-clip"):
        story("nope")
    with pytest.raises(SettingError, match="four passes"):
        story("idle-clip").config("nope")
