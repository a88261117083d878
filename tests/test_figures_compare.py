"""Comparison and run figures: what they say, what their table holds, and that a paper gets them without a browser."""

from __future__ import annotations

import numpy as np
import pytest

from figures import compare, paper, run, scene
from figures.plate import Plate
from figures.theme import look

STEPS, SEEDS = 30, 5


def line(key: str, shift: float, *, seeds: int = SEEDS) -> compare.Line:
    dice = np.random.default_rng(len(key))
    runs = shift + np.linspace(0, 1, STEPS)[:, None] + 0.1 * dice.normal(size=(STEPS, seeds))
    mean, half = runs.mean(1), np.full(STEPS, 0.1 if seeds > 1 else np.nan)
    x = np.arange(1.0, STEPS + 1)
    return compare.Line(look(key).label, look(key), x, mean, mean - half, mean + half, np.full(STEPS, seeds), runs, mean)


AXES = compare.Axes("reward_mean", "reward", "training step", 0.3)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_arm_has_its_look_a_band_faint_runs_and_its_raw_trace(mode: str) -> None:
    plate = compare.curves([line("grpo", 0), line("ppo", 1)], AXES, single=True)
    traces = plate.draw(mode).data  # type: ignore[arg-type]
    names = [trace.name for trace in traces]
    for key in ("grpo", "ppo"):
        label, color = look(key).label, look(key).color(mode)  # type: ignore[arg-type]
        assert {f"{label}, single runs", f"{label}, raw", label} <= set(names)
        main = next(t for t in traces if t.name == label and t.mode == "lines" and t.fill is None)
        assert main.line.color == color and main.line.dash == look(key).dash
        shade = next(t for t in traces if t.fill == "toself" and t.name == label)
        assert shade.fillcolor == color and len(shade.x) == 2 * STEPS
    single = next(t for t in traces if t.name == "GRPO, single runs")
    assert np.isnan(single.y).sum() == SEEDS, "each run ends in a gap, so none is joined to the next"


def test_it_says_the_means_with_intervals_and_counts() -> None:
    plate = compare.curves([line("grpo", 0), line("ppo", 1, seeds=1)], AXES, single=False)
    assert "± 0.1 (5 seeds)" in plate.alt and "(1 seed)" in plate.alt
    assert set(plate.table["arm"]) == {"GRPO", "PPO"} and len(plate.table["mean"]) == 2 * STEPS


def test_differences_say_whether_the_interval_excludes_0() -> None:
    sure, unsure = line("grpo", 1), line("gspo", -1)
    plate = compare.differences("PPO", [sure, unsure], AXES)
    assert "GRPO minus PPO" in plate.alt and "excludes 0" in plate.alt and "GSPO minus PPO" in plate.alt
    assert "includes 0" in plate.alt


def test_six_values_are_told_apart_without_color() -> None:
    looks = [compare.shade(place, f"value {place}") for place in range(6)]
    assert len({(each.dash, each.marker) for each in looks}) == 6 and len({each.light for each in looks}) == 6


def columns() -> dict[str, np.ndarray]:
    steps = np.arange(20.0)
    return {"step": steps, "reward_mean": steps / 20, "kl_ref": steps * 0, "approx_kl": steps, "value_loss": steps * np.nan}


def test_a_runs_panels_leave_out_what_was_never_measured_and_mark_changes() -> None:
    found = run.panels(columns())
    assert [each.key for each in found] == ["reward", "kl", "kl_exact"]
    plate = run.panel(found[0], columns(), look("grpo"), [5, 9], of="GRPO on bandit")
    assert "changed at step 5, 9" in plate.alt and "At the end: reward 0.95" in plate.alt
    assert list(plate.table["step"][:2]) == [1, 2]
    assert sum(shape["type"] == "line" for shape in plate.draw("light").layout.shapes) == 2


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_a_paper_gets_them_without_a_browser(kind: str) -> None:
    plates: list[Plate] = [
        compare.curves([line("grpo", 0), line("ppo", 1)], AXES, single=True),
        compare.differences("PPO", [line("grpo", 1)], AXES),
        run.panel(run.panels(columns())[1], columns(), look("ppo"), [3], of="PPO"),
    ]
    for plate in plates:
        content = paper.render(plate.draw("light"), kind, title="Any title", width_cm=12, height_cm=8)
        assert content.startswith({"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[kind])
        assert len(content) > 3000
    assert b"plotly" in paper.page(plates[0].draw("light"), "Any title").lower()


SAMPLES = {"level": "token", "counts": [2, 1, 1, 0, 0], "ratio": [1.0, 1.1, 1.3, 0.7], "advantage": [1, -1, -1, -2], "fate": [0, 0, 1, 2], "band": [0.8, 1.2]}
GRID = {
    "kind": "grid", "width": 2, "height": 2, "walls": [1], "hazards": [], "goals": [3], "starts": [0], "values": None,
    "probs": [[0.1, 0.2, 0.6, 0.1], [0.25] * 4, [0.1, 0.7, 0.1, 0.1], [0.25] * 4], "visits": [5, 0, 4, 1],
}  # fmt: skip
BANDIT = {"kind": "bandit", "probs": [0.2, 0.8], "means": [0.5, 1.0], "noise": 0.1}
CONTEXTS = {"kind": "contextual", "probs": [[0.9, 0.1], [0.8, 0.2]], "means": [[1.0, 0.0], [0.0, 1.0]], "visits": [3, 3]}


def test_the_samples_of_a_step_are_told_and_drawn_by_fate() -> None:
    plate = scene.samples({"step": 7, "samples": SAMPLES}, of="GRPO")
    assert plate is not None and "2 learning; 1 outside the band, learning; 1 dead: lower bound" in plate.alt
    assert [len(trace.x) for trace in plate.draw("light").data] == [2, 1, 1]
    assert plate.table["fate"][-1] == "dead: lower bound"


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (BANDIT, "arm 2 with 0.800, which pays 1 on average"),
        (CONTEXTS, "in 1 of 2 contexts"),
        (GRID, "likeliest move has probability 0.52"),
    ],
    ids=["bandit", "contextual", "grid"],
)
def test_a_world_is_told_drawn_and_printed(seen: dict[str, object], says: str) -> None:
    plate = scene.world({"step": 3, "world": seen}, look("grpo"), of="GRPO")
    assert plate is not None and says in plate.alt
    for mode in ("light", "dark"):
        assert plate.draw(mode).data  # type: ignore[arg-type]
    assert paper.render(plate.draw("light"), "svg", title="x", width_cm=10, height_cm=8).startswith(b"<?xml")


def test_a_grid_shows_the_likeliest_move_of_each_cell() -> None:
    plate = scene.world({"step": 3, "world": GRID}, look("grpo"), of="GRPO")
    assert plate is not None
    assert [list(row) for row in plate.draw("light").data[0].text] == [["↓", "■"], ["→", "★"]]


def test_what_cannot_be_listed_has_no_figure() -> None:
    assert scene.world({"step": 1, "world": {"kind": "cartpole"}}, look("ppo"), of="") is None
    assert scene.samples({"step": 1, "samples": None}, of="") is None
