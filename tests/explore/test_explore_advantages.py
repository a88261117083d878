"""Numbers behind the Advantages page, against statements made elsewhere and against plain counting."""

import numpy as np
import pytest
import torch

from rlcore.envs import Bandit, Gridworld
from rlcore.envs.finite import tables
from rlcore.envs.truth import expected_return
from rlcore.explore.credit import credited, true_advantages
from rlcore.explore.difficulty import loudness
from rlcore.explore.exact import SmallBandit, enumerated, leaning
from rlcore.explore.groups import SCALES, Affine, judged, moved
from rlcore.rng import generator


@pytest.mark.parametrize(("size", "shrunk"), [(2, 0.5), (4, 0.75), (5, 0.8)])
def test_the_group_mean_shrinks_by_one_over_g_and_leave_one_out_does_not(size: int, shrunk: float) -> None:
    bandit = SmallBandit(group_size=size)
    loo, none, _ = enumerated(bandit, leaning(bandit)).estimators
    assert np.allclose(none.ratio, shrunk, atol=1e-12)
    assert np.allclose(loo.ratio, 1, atol=1e-12)


def test_the_enumeration_agrees_with_sampling() -> None:
    bandit = SmallBandit(rewards=(0.0, 1.0, 3.0), group_size=3)
    exact = enumerated(bandit).estimators[2]
    arms = generator(7, 0, "oracle").integers(0, 3, (60_000, 3))
    reward = np.array(bandit.rewards)[arms]
    deviation = reward.std(1, ddof=1, keepdims=True)
    a = np.where(deviation > 0, (reward - reward.mean(1, keepdims=True)) / (deviation + 1e-4), 0)
    sampled = np.array([(a * ((arms == arm) - 1 / 3)).mean(1).mean() for arm in range(3)])
    assert np.abs(sampled - exact.mean).max() < 4 * exact.std.max() / np.sqrt(60_000)


def test_too_many_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="must be|at most|less than"):
        enumerated(SmallBandit(rewards=(0.0, 1.0, 2.0, 3.0), group_size=8))


@pytest.mark.parametrize(("p", "weight"), [(0.05, 2.31), (0.2, 1.97), (0.5, 1.74)])
def test_loudness_of_a_prompt_in_groups_of_eight(p: float, weight: float) -> None:
    found = loudness(8, points=97)
    assert np.interp(p, found.p, found.weight["std"]) == pytest.approx(weight, abs=0.01)
    assert np.allclose(found.weight["none"], 7 / 8)
    assert np.allclose(found.weight["leave_one_out"], 1)


def test_loudness_approaches_the_rule_of_thumb_in_large_groups() -> None:
    found = loudness(64, points=9)
    middle = np.abs(found.p - 0.5) < 0.3
    assert np.allclose(found.weight["std"][middle], found.rule[middle], rtol=0.05)
    assert (found.weight["std"] < found.rule).all()


def test_all_negative_rewards_give_the_same_advantages() -> None:
    change = moved(SCALES["std"], [(1, 0, 0, 1)], Affine(shift=-5))
    assert change.largest == 0
    assert change.after.score.max() < 0 < change.after.advantages.max()


def test_groups_do_not_see_each_other_unless_the_scale_is_the_batchs() -> None:
    alone = judged(SCALES["std"], [(1, 0, 0)]).advantages
    beside = judged(SCALES["std"], [(1, 0, 0), (50, 7)]).advantages[:3]
    assert np.array_equal(alone, beside)
    assert not np.allclose(judged(SCALES["batch"], [(1, 0, 0), (50, 7)]).advantages[:3], alone)


def test_true_advantages_of_a_bandit_are_reward_minus_mean() -> None:
    logp = torch.log_softmax(torch.tensor([[0.3, -0.2, 1.0]]), -1)
    found = true_advantages(tables(Bandit(means=(1.0, 2.0, 4.0))), logp, gamma=1.0)
    expected = torch.tensor([1.0, 2.0, 4.0]) - (logp.exp() * torch.tensor([1.0, 2.0, 4.0])).sum()
    assert torch.allclose(found[0, 0].float(), expected.float(), atol=1e-6)


def test_true_advantages_average_to_zero_and_name_the_better_move() -> None:
    world = Gridworld(layout=("SG",), step_cost=0.0, horizon=3)
    logp = torch.full((2, 4), 0.25).log()
    found = true_advantages(tables(world), logp, gamma=1.0)
    assert torch.allclose(found.mean(-1), torch.zeros(3, 2, dtype=torch.float64), atol=1e-7)  # uniform policy
    value = expected_return(tables(world), logp.double())
    assert found[0, 0, 1] == pytest.approx(1 - float(value))  # moving right reaches the goal, worth 1


def test_a_critic_sees_credit_within_an_episode_that_a_group_cannot() -> None:
    found = credited("gridworld", steps=8, gamma=0.99, lam=0.5)
    assert found.by_name["td"].correlation > found.by_name["group_std"].correlation
    assert np.ptp(found.by_name["group_mean"].advantages[0][found.mask[0]]) == 0
