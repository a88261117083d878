"""A duel asks everybody the same question: same batch, same point, and nothing is changed by asking."""

import numpy as np
import pytest
import torch

from rlcore.algorithms import CATALOG, by_key
from rlcore.engine import init, step
from rlcore.envs import tables
from rlcore.envs.truth import expected_return
from rlcore.explore.duel import Duel, action_logp, duel, fewer, freeze_batch, silenced
from rlcore.explore.recorded import state_at
from rlcore.explore.whatif import WhatIf, changed, untouched
from rlcore.kl import KlInLoss
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


def test_the_exact_gradient_on_a_bandit_is_the_closed_form() -> None:
    """dJ/dlogits = pi * (mean reward - J), so any gradient's cosine with it can be had by hand."""
    config = preset("grpo", "bandit")
    frozen = freeze_batch(state_at(config, 3), config, updates=0)
    algorithm = config.algorithm
    found = duel(frozen, {"grpo": algorithm})
    pi = action_logp(frozen, frozen.theta)[0].double().exp()
    reward = torch.tensor(config.env.means).double()
    value = (pi * reward).sum()
    assert found.before == pytest.approx(float(value))
    exact = (pi * (reward - value)).numpy()
    engine = step(state_at(config, 3), config.with_settings({"epochs": 1}), trace=True)[1]
    push = np.zeros(len(pi))
    (update,) = engine.trace.updates
    rows, actions = update.grad_logp[:, 0], engine.trace.rollout["action"][:, 0]
    for g, a in zip(-rows, actions, strict=True):  # d logp(a) / d logits = onehot(a) - pi
        push += g * (np.eye(len(pi))[a] - pi.numpy())
    assert found.truth[0] == pytest.approx(push @ exact / np.linalg.norm(push) / np.linalg.norm(exact), abs=1e-4)


def test_what_an_update_gains_is_the_exact_return_of_where_it_leads() -> None:
    config = preset("grpo", "gridworld", 1)
    frozen = freeze_batch(state_at(config, 4), config, updates=0)
    found = duel(frozen, {"grpo": ALL["grpo"]})
    after = action_logp(frozen, found.stances[0].after.theta).double()
    assert found.before + found.gained[0] == pytest.approx(float(expected_return(tables(config.env), after)), abs=1e-6)
    assert np.all(found.stances[0].change[~found.rollout["mask"]] == 0) and np.any(found.stances[0].change != 0)


@pytest.mark.parametrize(
    ("what", "lacking"),
    [
        (WhatIf(eps_high=0.3), {"eps_high": ("sapo",)}),
        (WhatIf(scale="none"), {"scale": ("ppo",)}),
        (WhatIf(kl_beta=0.5), {}),
        (WhatIf(aggregate="sequence_sum"), {}),
    ],
)
def test_a_change_goes_into_whoever_has_the_setting_and_the_others_are_told(what: WhatIf, lacking: dict) -> None:
    algorithms = {key: ALL[key] for key in ("ppo", "grpo", "sapo")}
    assert untouched(algorithms, what) == lacking
    untold = {key for key in algorithms if not any(key in keys for keys in lacking.values())}
    assert {key for key, each in algorithms.items() if changed(each, what) != each} == untold


def test_a_penalty_may_join_a_recipe_that_has_none() -> None:
    assert isinstance(changed(ALL["gspo"], WhatIf(kl_beta=0.5)).kl, KlInLoss)
    assert changed(ALL["gspo"], WhatIf(kl_beta=0.0)) == ALL["gspo"]
    assert changed(ALL["ppo_rlhf"], WhatIf(kl_beta=0.5)).kl.kl_beta == 0.5
