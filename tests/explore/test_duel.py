"""A duel asks everybody the same question: same batch, same point, and nothing is changed by asking."""

import numpy as np
import pytest
import torch

from rlcore.algorithms import CATALOG, by_key
from rlcore.engine import init, step
from rlcore.explore.duel import Duel, duel, fewer, freeze_batch, silenced
from rlcore.explore.recorded import state_at
from rlcore.presets import preset

ALL = {recipe.key: recipe.algorithm for recipe in CATALOG}


def fought(env: str, *, updates: int = 2, steps: int = 2) -> Duel:
    config = preset("grpo", env)
    return duel(freeze_batch(state_at(config, steps), config, updates=updates), ALL)


@pytest.mark.parametrize("env", ["bandit", "gridworld", "CartPole-v1"])
def test_everybody_is_asked_about_the_same_tokens(env: str) -> None:
    found = fought(env, steps=1)
    valid = int(found.rollout["mask"].sum())
    whole = [s for s in found.stances if len(s.rows) == len(found.rollout["mask"])]
    assert len(whole) >= len(ALL) - 1  # DAPO may drop flat groups
    assert {int(s.mask.sum()) for s in whole} == {valid}


def test_on_policy_grpo_gspo_and_cispo_pull_in_one_direction_on_one_step_problems() -> None:
    config = preset("grpo", "bandit")
    found = duel(freeze_batch(init(config), config, updates=0), {k: ALL[k] for k in ("grpo", "gspo", "cispo")})
    assert np.allclose(found.cosine, 1.0, atol=1e-6)
    assert all(silenced(s) == int((s.advantages == 0).sum()) for s in found.stances)


def test_the_loss_may_be_zero_while_the_gradient_is_not() -> None:
    config = preset("grpo", "bandit")
    (stance,) = duel(freeze_batch(init(config), config, updates=0), {"grpo": ALL["grpo"]}).stances
    assert abs(stance.loss) < 1e-6 < 1e-2 < stance.grad_norm


def test_gspo_at_its_papers_clip_silences_more_of_a_moved_batch_than_grpo() -> None:
    by_name = {s.name: s for s in fought("bandit", updates=3).stances}
    assert silenced(by_name["gspo"]) > silenced(by_name["grpo"]) > silenced(by_name["cispo"])


def test_the_gradient_is_the_engines_own() -> None:
    """A duel's GRPO at 0 updates takes the step that the engine takes with fresh moments and one epoch."""
    config = preset("grpo", "gridworld").with_settings({"epochs": 1})
    state = init(config)
    (stance,) = duel(freeze_batch(state, config, updates=0), {"grpo": config.algorithm}).stances
    after, record = step(state, config)
    size = len(after.theta)
    assert torch.equal(stance.after.theta[:size], after.theta)
    assert stance.grad_norm == pytest.approx(record.metrics["grad_norm"], rel=1e-6)


def test_asking_changes_nothing() -> None:
    config = preset("grpo", "gridworld")
    state = state_at(config, 2)
    before = state.theta.clone()
    frozen = freeze_batch(state, config, updates=3)
    point = frozen.theta.clone()
    duel(frozen, ALL)
    assert torch.equal(state.theta, before) and torch.equal(frozen.theta, point)


def test_a_smaller_group_keeps_the_first_rows_of_each() -> None:
    config = preset("grpo", "bandit")
    frozen = fewer(freeze_batch(init(config), config, updates=0), 4)
    assert frozen.rollout.group.tolist() == [g for g in range(4) for _ in range(4)]
    assert duel(frozen, {"grpo": by_key("grpo").algorithm}).stances[0].mask.shape[0] == 16
