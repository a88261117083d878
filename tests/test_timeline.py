"""The timeline: a tree that can be walked, whose forgotten states and traces come back equal to the last bit."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from rlcore import timeline as timelines
from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.envs import Bandit
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.timeline import Kept, Timeline
from tests.runs import SMALL, bits, metrics, same_state, trace

KINDS = pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())


def grown(config: RunConfig, steps: int) -> Timeline:
    """A timeline that has gone on for `steps` steps."""
    run = Timeline(config)
    for _ in range(steps):
        run.advance()
    return run


@KINDS
def test_a_trace_taken_later_shows_the_step_that_was(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "KEPT_RECENT", 1)
    run, watched = grown(config, 5), Timeline(config)
    expected = [watched.advance(trace=True) for _ in range(5)]
    random.seed(9), np.random.seed(9), torch.manual_seed(9)
    for node in (5, 2, 1, 4, 3):
        record = run.trace(node)
        assert metrics(record) == metrics(expected[node - 1])
        assert trace(record) == trace(expected[node - 1])
        original = run.node(node).record
        assert original is not None and metrics(record) == metrics(original) and record.seconds == original.seconds


@KINDS
def test_every_state_comes_back_bit_equal(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "KEPT_RECENT", 1)
    monkeypatch.setattr(timelines, "KEPT_STATES", 1)
    monkeypatch.setattr(timelines, "FIRST_SPACING", 2)
    run, states = Timeline(config), [init(config)]
    for _ in range(5):
        run.advance()
        states.append(step(states[-1], config)[0])
    for node in (3, 0, 5, 1, 4, 2):
        assert same_state(run.state(node), states[node])


def test_advance_is_step() -> None:
    config = SMALL["windy grid"]
    run, state = Timeline(config), init(config)
    for _ in range(3):
        state, record = step(state, config)
        assert metrics(run.advance()) == metrics(record)
    assert same_state(run.state(), state)


def test_memory_stays_bounded_over_many_thousands_of_steps() -> None:
    """What is kept of 20 000 steps: a bounded number of states, spread evenly, so that a replay stays short."""
    state = init(SMALL["bandit"])
    kept = Kept(state)
    for n in range(1, 20_001):
        kept.add(n, replace(state, step=n))
        assert len(kept) <= timelines.KEPT_STATES + timelines.KEPT_RECENT
    there = [n for n in range(20_001) if kept.get(n) is not None]
    assert there[0] == 0 and there[-1] == 20_000
    assert max(np.diff(there)) <= 4 * 20_000 / timelines.KEPT_STATES


def test_a_long_run_forgets_states_and_finds_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "KEPT_STATES", 10)
    config = preset("grpo", "bandit").with_settings({"group_size": 2, "epochs": 1})
    run, states = Timeline(config), {}
    for n in range(1, 301):
        run.advance()
        states[n] = run.state()
        assert len(run._kept) <= 10 + timelines.KEPT_RECENT
    for n in (7, 64, 150, 255, 299):
        assert same_state(run.state(n), states[n])


def test_seeking_and_forking_over_and_over_keeps_memory_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "KEPT_STATES", 10)
    config = preset("grpo", "bandit").with_settings({"group_size": 2, "epochs": 1})
    run = grown(config, 20)
    for i in range(150):
        run.seek(i % 20)
        if i % 2:
            run.advance()
        assert len(run._kept) <= 10 + timelines.KEPT_RECENT


def test_big_states_are_kept_in_bytes_not_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    config = SMALL["windy grid"]
    monkeypatch.setattr(timelines, "KEPT_BYTES", 3 * init(config).nbytes + 1)
    run = grown(config, 30)
    assert len(run._kept) <= 6
    assert same_state(run.state(17), grown(config, 17).state())


def test_a_state_knows_about_how_much_memory_it_holds() -> None:
    """Weights, reference and two moments in float32; where rows stand, and a few kilobytes for each Gymnasium copy."""
    for name in ("bandit", "grid segments", "CartPole segments"):
        state = step(init(SMALL[name]), SMALL[name])[0]
        carried = 0 if state.carry is None else state.carry.nbytes
        assert state.nbytes == 4 * 4 * state.theta.numel() + carried
        assert (carried > 0) == (SMALL[name].batch.segment is not None)


def test_kept_always_has_the_root_and_the_newest() -> None:
    config = SMALL["bandit"]
    state = init(config)
    kept = Kept(state)
    for i in range(1, 500):
        state = step(state, config)[0] if i < 3 else state
        kept.add(i, state)
        assert kept.get(0) is not None and kept.get(i) is state


def test_old_traces_are_let_go_and_come_back() -> None:
    run = Timeline(SMALL["bandit"])
    given = [run.advance(trace=True) for _ in range(timelines.KEPT_TRACES + 4)]
    held = [n.id for n in run.nodes if n.record is not None and n.record.trace is not None]
    assert held == list(range(5, timelines.KEPT_TRACES + 5))
    assert trace(run.trace(1)) == trace(given[0]), "and what was handed out stays whole"


def test_traces_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "KEPT_BYTES", 1)
    run = Timeline(SMALL["bandit"])
    for _ in range(3):
        run.advance(trace=True)
    assert [n.id for n in run.nodes if n.trace_bytes] == [3]


# ---------------------------------------------------------------- the tree


def test_a_tree_of_branches() -> None:
    config = SMALL["windy grid"]
    run = grown(config, 4)
    hot = config.with_settings({"lr": 0.5})
    assert run.fork(2, hot).id == 2 and run.config == hot and run.head.id == 2
    run.advance(), run.advance()
    assert [n.id for n in run.path()] == [0, 1, 2, 5, 6] and [n.step for n in run.path()] == [0, 1, 2, 3, 4]
    assert [n.parent for n in run.nodes] == [None, 0, 1, 2, 3, 2, 5]
    assert run.head.record is not None and run.head.record.config == hot
    assert run.seek(4).id == 4 and run.config == config
    assert [n.id for n in run.path()] == [0, 1, 2, 3, 4] and [n.id for n in run.path(5)] == [0, 1, 2, 5]
    run.seek(6)
    assert run.config == hot, "a node is sought with the settings that led there"
    stitched = grown(config, 2).state()
    for _ in range(2):
        stitched = step(stitched, hot)[0]
    assert same_state(run.state(6), stitched)


def test_branches_meet_the_same_dice() -> None:
    config = SMALL["windy grid"]
    run = grown(config, 3)
    run.fork(2)
    again = run.advance(trace=True)
    assert metrics(again) == metrics(run.trace(3)) and run.head.id == 4
    run.fork(2, config.with_settings({"eps_high": 0.001, "kl_beta": 1.0}))
    other = run.advance(trace=True)
    assert other.trace is not None and again.trace is not None
    assert bits(dict(other.trace.rollout)) == bits(dict(again.trace.rollout))


def test_advance_with_a_config_applies_from_then_on() -> None:
    config = SMALL["bandit"]
    run = Timeline(config)
    run.advance(), run.advance(changed := config.with_settings({"lr": 0.3}))
    assert run.config == changed and run.node(1).config == config and run.node(2).config == changed
    assert run.advance().config == changed


def test_slices_change_nothing_before_they_are_exhausted() -> None:
    run = grown(SMALL["CartPole segments"], 2)
    before = run.head, run.config, bits(run.state()), len(run.nodes)
    slices = run.advance_slices(run.config.with_settings({"lr": 0.1}))
    for _ in range(3):
        next(slices)
    slices.close()
    assert (run.head, run.config, bits(run.state()), len(run.nodes)) == before
    assert metrics(run.advance()) == metrics(grown(SMALL["CartPole segments"], 3).nodes[-1].record)  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"seed": 4}, {"env.means": (1.0, 2.0)}, {"policy": {"kind": "mlp"}}])
def test_what_needs_a_new_run_is_refused(changes: dict[str, object]) -> None:
    run = grown(SMALL["bandit"], 1)
    name = next(iter(changes)).split(".")[0]
    for attempt in (run.advance, lambda c: run.fork(0, c)):
        with pytest.raises(SettingError, match=f"{name}.*new run"):
            attempt(run.config.with_settings(changes))
    assert run.head.id == 1 and run.config == SMALL["bandit"] and len(run.nodes) == 2


@pytest.mark.parametrize("node", [-1, 2, 99])
def test_nodes_that_do_not_exist_are_refused(node: int) -> None:
    run = grown(SMALL["bandit"], 1)
    for ask in (run.node, run.seek, run.state, run.trace, run.path, run.fork):
        with pytest.raises(SettingError, match=rf"node: must be between 0 and 1, got {node}"):
            ask(node)
    assert run.head.id == 1


def test_no_step_led_to_the_root() -> None:
    with pytest.raises(SettingError, match="nothing to trace"):
        Timeline(SMALL["bandit"]).trace()


def test_policy_and_environment_that_do_not_fit_are_refused_at_the_start() -> None:
    from rlcore.policies import Tabular

    with pytest.raises(ValueError, match="mlp"):
        Timeline(SMALL["CartPole groups"].model_copy(update={"policy": Tabular()}))


def test_a_run_goes_on_after_its_environment_object_is_long_gone() -> None:
    """Equal configs are the same run, whoever built them."""
    config = SMALL["bandit"].model_copy(update={"env": Bandit(**SMALL["bandit"].env.model_dump())})
    run = grown(SMALL["bandit"], 2)
    assert metrics(run.advance(config)) == metrics(grown(config, 3).head.record)  # type: ignore[arg-type]
