import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from live import effect

WORDS = {"a": "alpha", "b": "beta"}


def _noise(seed, mean, n=20, spread=0.1):
    return mean + spread * np.random.default_rng(seed).standard_normal(n)


def _said(before, after, **how):
    return effect.sentence("ε 1 → 2", 9, before, after, WORDS, **how)


def test_a_jump_is_told_and_its_size_is_the_means():
    said = _said({"a": _noise(1, 1.0), "b": _noise(2, 5.0)}, {"a": _noise(3, 2.0), "b": _noise(4, 5.0)})
    assert said == "ε 1 → 2 from step 9: alpha 1 → 2 (20 updates before and after)." and "beta" not in said


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_noise_alone_is_hardly_ever_called_an_effect(seed):
    before, after = {"a": _noise(seed, 1.0)}, {"a": _noise(seed + 1, 1.0)}
    moved = effect.moved("a", before["a"], after["a"])
    assert moved.beyond_noise is ("nothing moved" not in _said(before, after))
    if seed != 0:
        assert abs(moved.size) < 4.5


def test_the_share_of_false_alarms_is_small():
    found = [effect.moved("a", _noise(i, 0.0), _noise(10_000 + i, 0.0)).beyond_noise for i in range(400)]
    assert np.mean(found) < 0.03


def test_a_trend_that_goes_on_is_said_to_be_one():
    line = np.linspace(0, 4, 40) + _noise(1, 0, 40, 0.02)
    assert "as it did before" in _said({"a": line[:20]}, {"a": line[20:]})
    assert "as it did before" not in _said({"a": _noise(1, 0.0)}, {"a": _noise(2, 2.0)})


def test_a_fork_is_compared_with_its_parent_step_by_step():
    shared = np.linspace(0, 5, 12) + _noise(1, 0, 12, 1.0)
    said = _said({"a": shared}, {"a": shared + 0.2 + _noise(2, 0, 12, 0.01)}, paired=True)
    assert "alpha" in said and "the parent, then this fork, over the same 12 updates" in said
    assert "nothing moved" in _said({"a": shared}, {"a": shared.copy()}, paired=True)


def test_too_little_is_not_judged():
    assert "too few updates" in _said({"a": np.ones(4)}, {"a": np.zeros(4)})


@given(st.integers(1, 500), st.integers(0, 500), st.integers(0, 500))
def test_windows_never_reach_into_another_change_or_beyond_what_was_made(mark, before, after):
    length = effect.window(mark + before + 1, before, mark + before + after)
    assert length <= min(effect.LONGEST, mark + 1) and length <= after


def test_columns_of_nan_say_nothing():
    assert effect.moved("a", np.full(9, np.nan), np.ones(9)) is None
