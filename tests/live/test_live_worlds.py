"""Pictures of worlds against the truth: the optimum on the simplex, walks through the maze, histograms of all samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from live import pictures
from rlcore.engine import init, step
from rlcore.envs import Gridworld, tables
from rlcore.envs.picture import walks
from rlcore.presets import preset


def run(recipe: str, env: str, steps: int, **settings: object):
    config = preset(recipe, env).with_settings(settings)
    state, record = init(config), None
    for _ in range(steps):
        state, record = step(state, config, trace=True)
    return config, state, record


def test_the_optimum_of_three_arms_is_the_closed_form_at_the_beta_in_force() -> None:
    config, state, record = run("grpo", "three-arms", 3, kl_beta=0.5)
    seen = pictures.world(config, state, record)
    weight = np.exp(np.array(config.env.means) / 0.5) / 3
    assert seen["best"][0] == pytest.approx(weight / weight.sum(), abs=1e-4)
    assert seen["ref"][0] == pytest.approx([1 / 3] * 3, abs=1e-4) and seen["beta"] == 0.5
    assert pictures.standing_at(config, state) == pytest.approx({f"arm_{i}": p for i, p in enumerate(seen["probs"], 1)}, abs=1e-4)


def test_exact_gradient_ascent_ends_at_the_optimum_that_is_drawn() -> None:
    config, state, record = run("grpo", "three-arms", 1, kl_beta=0.5)
    best, means = pictures.world(config, state, record)["best"][0], torch.tensor(config.env.means, dtype=torch.float64)
    logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    for _ in range(3000):
        logp = torch.log_softmax(logits, 0)
        value = (logp.exp() * (means - 0.5 * (logp + np.log(3)))).sum()
        (slope,) = torch.autograd.grad(value, logits)
        logits = (logits + slope).detach().requires_grad_()
    assert torch.softmax(logits, 0).tolist() == pytest.approx(best, abs=1e-3)


def test_without_a_penalty_the_optimum_is_the_best_arm() -> None:
    config, state, record = run("ppo", "three-arms", 1)
    assert pictures.world(config, state, record)["best"] == [[0.0, 0.0, 1.0]]


def test_ten_arms_have_no_simplex() -> None:
    config, state, record = run("grpo", "bandit", 1)
    assert "best" not in pictures.world(config, state, record) and pictures.standing_at(config, state) == {}


def test_contexts_have_a_point_each() -> None:
    config, state, record = run("grpo", "contextual", 2)
    at = pictures.standing_at(config, state)
    assert len(at) == 12 and sum(at[f"arm_2_{a}"] for a in (1, 2, 3)) == pytest.approx(1)
    assert len(pictures.world(config, state, record)["best"]) == 4


def test_walks_are_moves_of_the_maze_and_end_where_the_episode_did() -> None:
    config, state, record = run("ppo", "gridworld", 12)
    moves = tables(config.env).following[:, :, 0]
    paths = pictures.world(config, state, record)["paths"]
    assert 1 < len(paths) <= 6
    for cells in paths:
        assert cells[0] in config.env.cells("S")
        assert all(there in moves[here] for here, there in zip(cells, cells[1:], strict=False))
    assert any(cells[-1] in config.env.cells("G") for cells in paths), "after twelve updates some arrive"


def test_where_wind_blows_nobody_pretends_to_know_the_last_cell() -> None:
    env = Gridworld(layout=("S.G",), wind=0.5)
    cells = walks(env, np.array([[0, 1]]), np.array([[1, 1]]), np.array([[True, True]]), count=1)
    assert cells == [[0, 1]]
    assert walks(Gridworld(layout=("S.G",)), np.array([[0, 1]]), np.array([[1, 1]]), np.array([[True, True]]), count=1) == [[0, 1, 2]]


def test_histograms_count_every_sample_and_tell_the_silenced_ones() -> None:
    config, state, record = run("grpo", "gridworld", 6, eps_high=0.01, eps_low=0.01)
    seen = pictures.samples(config, record.trace.updates)
    for kind in ("ratio", "advantage"):
        part = seen["spread"][kind]
        assert sum(part["free"]) + sum(part["dead"]) == seen["total"] > len(seen["ratio"])
        assert sum(part["dead"]) == sum(seen["counts"][2:])
    assert seen["counts"][2] + seen["counts"][3] > 0
    ratio = seen["spread"]["ratio"]
    assert (ratio["low"] + ratio["high"]) / 2 == pytest.approx(1)


def test_painted_gusts_and_rewards_are_in_the_picture() -> None:
    config, state, record = run("ppo", "gridworld", 1, layout="S>....-.WW.W.-.W..W.-.W.H..-.W.WW.-.....G".replace(">", "R"), extra="r1c3_0.5")
    seen = pictures.world(config, state, record)
    assert seen["gusts"] == [[1, 1]] and seen["extra"] == [[2, 0.5]] and len(seen["values"]) == 36
