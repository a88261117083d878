"""Fifteen cards: their numbers against values worked out elsewhere, from formulas and from the libraries themselves."""

import numpy as np
import pytest

from rlcore.explore.misconceptions import CARDS, facts

WORKED_OUT = [
    (1, "plain", 0.8659), (1, "stretched", 0.8660), (1, "shifted", 0), (1, "negative", 0.8659),
    (2, "highest", [1.00, 1.10, 1.197, 1.292, 1.365]),
    (3, "slopes", [-0.5, 0, 0, 1.5]), (3, "outside", 1.0), (3, "dead", 0.5),
    (4, "ppo", [1, 2.71828, 148.413, 4.85e8]), (4, "dual", [1, 2.71828, 3, 3]),
    (5, "loss", 0), (5, "gradient", [-0.216, 0.216, 0.216, -0.216]), (5, "token_mean", 0.466),
    (6, "sample", 1.4997), (6, "population", 1.7317),
    (7, "mean2", [0.5] * 3), (7, "mean4", [0.75] * 3), (7, "loo4", [1] * 3), (7, "std4", [0.356, -0.802, 0.151]),
    (7, "cosine", 0.78), (7, "p05", 2.31), (7, "p20", 1.97), (7, "p50", 1.74),
    (8, "reverse", [-0.0509, -0.2028, 0.3834, -0.1297]), (8, "k3_gradient", [0.0601, -0.1964, 0.3319, -0.1956]),
    (8, "k1_gradient", 0), (8, "k2_gradient", [-0.0509, -0.2028, 0.3834, -0.1297]),
    (8, "ratio_k3_gradient", [-0.0509, -0.2028, 0.3834, -0.1297]), (8, "exact", 0.41775), (8, "k2_mean", 0.47769),
    (8, "k1_std", 0.884), (8, "k3_std", 0.325),
    (9, "true", [0.0436, -0.1626, 0.1187, 0.0003]), (9, "k1_in_reward", [0.0436, -0.1626, 0.1187, 0.0003]),
    (9, "k2_in_loss", [0.0436, -0.1626, 0.1187, 0.0003]), (9, "k3_in_loss", [0.0547, -0.1620, 0.1135, -0.0063]),
    (10, "old_new", 0), (10, "ref_k1", 0.200), (10, "ref_k3", 0.0756),
    (11, "gspo", 0), (11, "reinforce", 0), (11, "clipped", 0),
    (12, "product", 22026.47), (12, "geometric", 1.0101), (12, "truth", 0.512), (12, "with_product", 0.512),
    (12, "with_sequence", 0.200),
    (13, "sd", 0.0035), (13, "gspo_wide", 0), (13, "s", 1.35), (13, "grpo_keeps", 3), (13, "gspo_keeps", 0),
    (14, "ones", 0), (14, "trl", -0.0006), (14, "verl", -0.056), (14, "openrlhf", -0.921), (14, "ours", 0),
    (15, "sequence_mean", [0.05, 0.005]), (15, "token_mean", [0.00909, 0.00909]),
    (15, "constant_length", [0.0005, 0.0005]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("card", "name", "value"), WORKED_OUT, ids=lambda x: str(x) if not isinstance(x, list) else "…"
)
def test_a_number_of_a_card(card: int, name: str, value: float | list[float]) -> None:
    found = np.asarray(facts(card)[name], dtype=float)
    size = np.size(value)
    assert np.allclose(found.reshape(-1)[:size], value, rtol=4e-3, atol=6e-4)


def test_the_clip_lets_the_ratio_run_to_one_and_a_half_times() -> None:
    found = facts(2)
    assert found["highest"][-1] == pytest.approx(1.574, abs=5e-3)
    assert found["lowest"][-1] == pytest.approx(0.429, abs=4e-3)


def test_one_of_eight_and_four_of_eight() -> None:
    found = facts(6)
    assert (found["few_none"].of_right, found["few_none"].of_wrong) == (0.875, -0.125)
    assert found["few"].of_right == pytest.approx(2.474, abs=1e-3)
    assert found["half"].of_right == pytest.approx(0.935, abs=1e-3)
    assert found["few_none"].square_sum == pytest.approx(0.875)
    assert found["half"].square_sum == pytest.approx(7, abs=5e-3)


def test_shares_silenced_in_sampled_rows() -> None:
    found = facts(13)
    assert found["grpo"] == pytest.approx(7e-5, abs=7e-5)
    assert found["gspo"] == pytest.approx(0.452, abs=0.03)
    assert found["grpo_narrow"] == pytest.approx(0.497, abs=0.01)


def test_rounding_of_equal_rewards() -> None:
    assert 0 < facts(14)["numpy_std"] < 1e-15
    assert facts(14)["flat"] is True


def test_there_are_fifteen() -> None:
    assert list(CARDS) == list(range(1, 16))
