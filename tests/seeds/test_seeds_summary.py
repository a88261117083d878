"""Means, intervals, smoothing and common axes, against what they should be by hand; and a sweep as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rlcore import engine
from rlcore.config import RunConfig
from rlcore.presets import preset
from rlcore.seeds.summary import band, ending, grid_of, on_grid, smoothed
from rlcore.seeds.sweep import Arm, Sweep


def test_the_interval_is_students() -> None:
    values = np.random.default_rng(0).normal(size=(3, 7))
    found = band(values)
    for row, mean, low, high in zip(values, found.mean, found.low, found.high, strict=True):
        wanted = stats.t.interval(0.95, 6, loc=row.mean(), scale=stats.sem(row))
        assert (mean, low, high) == pytest.approx((row.mean(), *wanted))


def test_one_seed_has_no_interval_and_a_lost_one_is_left_out() -> None:
    found = band(np.array([[1.0, np.nan], [1.0, 3.0], [np.nan, np.nan]]))
    assert np.isnan(found.low[0]) and found.mean[0] == 1.0 and list(found.n) == [1, 2, 0]
    assert np.isnan(found.mean[2])


def test_nine_intervals_in_ten_and_more_hold_the_truth() -> None:
    found = band(np.random.default_rng(1).normal(size=(4000, 5)))
    assert 0.94 < ((found.low < 0) & (found.high > 0)).mean() < 0.96


def test_smoothing_starts_without_bias_and_weight_0_changes_nothing() -> None:
    x = np.array([[4.0], [0.0], [2.0]])
    assert smoothed(x, 0.0) is x
    assert smoothed(x, 0.5)[:, 0] == pytest.approx([4.0, (0.5 * 4 + 0) / 1.5, (0.25 * 4 + 0.5 * 0 + 2) / 1.75])
    assert smoothed(np.full((5, 2), 7.0), 0.9) == pytest.approx(np.full((5, 2), 7.0))


def test_smoothing_steps_over_what_is_missing() -> None:
    found = smoothed(np.array([[np.nan], [1.0], [np.nan], [3.0]]), 0.5)[:, 0]
    assert np.isnan(found[0]) and found[1] == 1.0 and np.isnan(found[2]) and found[3] == pytest.approx(3.5 / 1.5)


def test_runs_are_read_off_where_all_of_them_have_been() -> None:
    fast, slow = np.array([[2.0], [4.0], [6.0]]), np.array([[1.0], [2.0], [5.0]])
    grid = grid_of([fast, slow])
    assert list(grid) == [2.0, 3.5, 5.0]
    assert on_grid(fast, np.array([[0.0], [10.0], [20.0]]), grid)[:, 0] == pytest.approx([0.0, 7.5, 15.0])
    steps = np.arange(1.0, 6)[:, None]
    assert np.array_equal(on_grid(steps, steps**2, grid_of([steps])), steps**2)


def test_the_end_is_the_last_tenth_of_each_seed() -> None:
    values = np.tile(np.arange(20.0)[:, None], (1, 2))
    values[-1, 1] = np.nan
    found = ending(values)
    assert found[0] == 18.5 and np.isnan(found[1])


def test_a_sweep_gives_every_arm_its_seeds_numbers_also_with_changes_on_the_way() -> None:
    first, later = preset("grpo", "bandit"), preset("ppo", "bandit")
    arms = [Arm("plain", ((0, first),)), Arm("changed", ((0, first), (2, later)))]
    sweep = Sweep(arms, (4, 9), 4)
    assert sweep.progress == 0 and sweep.curves(0).steps == 0
    half = None
    for _ in sweep.slices():
        if half is None and sweep.progress >= 0.5:
            half = [sweep.curves(place).steps for place in (0, 1)]
    assert half == [2, 2], "arms go on side by side"
    assert sweep.progress == 1
    for place, arm in enumerate(arms):
        curves = sweep.curves(place)
        for column, seed in enumerate(sweep.seeds):
            rewards = alone(arm, seed)
            assert curves.metrics["reward_mean"][:, column] == pytest.approx(rewards, rel=1e-5)
        assert list(curves.samples[:, 0]) == [64, 128, 192, 256]
        assert (np.diff(curves.seconds, axis=0) > 0).all()


def alone(arm: Arm, seed: int) -> list[float]:
    def config(step: int) -> RunConfig:
        return arm.config(step).model_copy(update={"seed": seed})

    state, found = engine.init(config(0)), []
    for step in range(4):
        state, record = engine.step(state, config(step))
        found.append(record.metrics["reward_mean"])
    return found
