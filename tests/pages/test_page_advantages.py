"""The Advantages page shows the engine's numbers, and says what it refuses."""

import numpy as np
import pytest

from tests.pages.opened import opened, words


def table(app, index: int = 0) -> list[list[str]]:
    frame = app.table[index].value
    return [[str(cell) for cell in row] for row in frame.itertuples(index=False)]


def test_a_typed_group_gets_grpos_advantages() -> None:
    shown = words(opened("advantages", rewards="1,0,0,1"))
    a = 0.5 / (np.std([1, 0, 0, 1], ddof=1) + 1e-4)
    assert f"advantages from {-a:+.4f} to {a:+.4f}, their squares add up to {4 * a * a:.4f}" in shown


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ("none", "from -0.2500 to +0.7500"),
        ("leave_one_out", "from -0.3333 to +1.0000"),
        ("std", "from -0.4999 to +1.4997"),
    ],
)
def test_each_scale_has_its_own_numbers(scale: str, said: str) -> None:
    assert said in words(opened("advantages", rewards="1,0,0,0", scale=scale))


def test_batch_scale_reads_the_second_prompt() -> None:
    deviation = np.std([1, 0, 5, 5], ddof=1) + 1e-4
    shown = words(opened("advantages", rewards="1,0", rewards_b="5,5", scale="batch"))
    assert f"from {-0.5 / deviation:+.4f} to {0.5 / deviation:+.4f}" in shown


def test_two_flat_prompts_teach_nothing_whatever_the_spread_between_them() -> None:
    assert "All advantages are 0" in words(opened("advantages", rewards="1,1,1,1", rewards_b="9,9", scale="std"))


def test_a_shift_changes_no_advantage_and_a_stretch_only_the_trace_of_epsilon() -> None:
    assert "by more than **0**" in words(opened("advantages", shift=100))
    before, after = (s * 0.5 / (s * np.std([1, 0, 0, 1], ddof=1) + 1e-4) for s in (1, 50))
    assert f"by more than **{after - before:.3g}**" in words(opened("advantages", factor=50))


def test_eight_equal_rewards_of_nine_tenths_show_each_librarys_rounding() -> None:
    app = opened("advantages", show="conventions", rewards=",".join(["0.9"] * 8))
    first = {row[0].split("**")[1]: float(row[2].split(",")[0]) for row in table(app)}
    assert first["TRL"] == pytest.approx(-0.0006, abs=1e-4)
    assert first["verl"] == pytest.approx(-0.056, abs=1e-3)
    assert first["OpenRLHF"] == pytest.approx(-0.921, abs=1e-3)
    assert first["RLOO"] == 0


def test_the_dead_group_meter_states_formula_and_observation() -> None:
    shown = {m.label: m.value for m in opened("advantages", show="dead", p=0.05, group_size=8).metric}
    assert shown["Dead, by formula"] == f"{0.05**8 + 0.95**8:.1%}" == "66.3%"
    assert shown["Groups to sample for one that teaches"] == f"{1 / (1 - 0.05**8 - 0.95**8):.2f}"
    assert abs(float(shown["Dead, of 512 sampled groups"].rstrip("%")) - 66.3) < 8


def test_one_right_of_eight_is_louder_than_four_of_eight_without_the_std_only() -> None:
    rows = table(opened("advantages", show="difficulty", group_size=8))
    assert [row[2:] for row in rows] == [
        ["+2.474", "-0.353", "6.996"], ["+0.875", "-0.125", "0.875"],
        ["+0.935", "-0.935", "6.997"], ["+0.500", "-0.500", "2.000"],
    ]  # fmt: skip


def test_the_std_turns_the_middle_arm_and_the_mean_only_shrinks() -> None:
    shown = words(opened("advantages", show="exact", group_size=4))
    assert "0.750, 0.750, 0.750 of the truth" in shown
    assert "1.000, 1.000, 1.000 of the truth" in shown
    assert "0.356, -0.802, 0.151 of the truth, cosine 0.78; wrong sign on arm 2" in shown


def test_an_episode_by_hand_gives_td_errors_and_returns_minus_values() -> None:
    rows = table(opened("advantages", show="gae", gamma=0.9, lam=0.95))
    assert [row[3:] for row in rows] == [
        ["+0.250", "+0.569", "+0.610"], ["-0.140", "+0.373", "+0.400"], ["+0.600", "+0.600", "+0.600"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rewards": "1,two,3"}, "rewards: number 2 must be a number, got 'two'"),
        ({"rewards": "1"}, "rewards: must be 2 to 64 numbers, got 1"),
        ({"rewards": "1,1e9"}, "rewards: number 2 must be between -1e+06 and 1e+06, got 1e9"),
        ({"rewards": "1,nan"}, "rewards: number 2 must be between"),
        ({"show": "dead", "p": "1.5"}, "p: must be between 0 and 1, got 1.5"),
        ({"show": "gae", "hand_values": "1,2"}, "hand_values: needs as many numbers as there are rewards (3), got 2"),
        ({"scale": "var"}, "scale: must be one of std, none, batch, leave_one_out, got 'var'"),
    ],
)
def test_what_is_typed_wrongly_is_told_and_the_page_goes_on(settings: dict[str, str], message: str) -> None:
    app = opened("advantages", **settings)
    assert any(message in error.value for error in app.error)
