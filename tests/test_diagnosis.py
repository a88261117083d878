"""Findings: silent on runs that learn, outspoken on runs made to fail, never without numbers, never in a hurry."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from live import menu
from rlcore.config import RunConfig
from rlcore.diagnosis import SHORTEST, Finding, findings
from rlcore.engine import init, step
from rlcore.presets import preset
from rlcore.state import Diverged

FAR = "-".join(["S.......", *["........"] * 6, ".......G"])
NO_BOUND = {"eps_low": 1.0, "eps_high": 100.0}


@cache
def run(recipe: str, env: str, seed: int, steps: int, settings: tuple[tuple[str, object], ...] = ()):
    config = preset(recipe, env, seed).with_settings(dict(settings))
    state, columns = init(config), defaultdict(list)
    for _ in range(steps):
        try:
            state, record = step(state, config)
        except Diverged:
            break
        for name, value in record.metrics.items():
            columns[name].append(value)
    return {name: np.array(values) for name, values in columns.items()}, config


def told(columns: Mapping[str, np.ndarray], config: RunConfig) -> list[tuple[Finding, ...]]:
    """What was said after every step, each time knowing what was said before."""
    said: tuple[str, ...] = ()
    log = []
    for n in range(1, len(columns["loss"]) + 1):
        found = findings({name: column[:n] for name, column in columns.items()}, config, said=said)
        said = tuple(each.name for each in found)
        log.append(found)
    return log


HEALTHY = [
    (recipe, env, seed)
    for env, recipes in (("bandit", ("ppo", "grpo", "rloo")), ("contextual", ("grpo", "gspo", "dapo", "cispo", "reinforce_pp")),
                         ("gridworld", ("ppo", "grpo", "gspo", "dapo", "gmpo")))
    for recipe in recipes
    for seed in (0, 3)
]  # fmt: skip


@pytest.mark.parametrize(("recipe", "env", "seed"), HEALTHY)
def test_nothing_is_said_of_a_run_that_learns(recipe: str, env: str, seed: int) -> None:
    columns, config = run(recipe, env, seed, 60)
    said = [(n, [each.name for each in found]) for n, found in enumerate(told(columns, config), 1) if found]
    assert said == []


FAILING = {
    "entropy_collapse": ("grpo", "contextual", 60, {"lr": 3.0}),
    "kl_blow_up": ("ppo", "gridworld", 22, {"epochs": 32, "lr": 0.2, **NO_BOUND}),
    "dead_groups": ("grpo", "gridworld", 30, {"layout": FAR, "group_size": 2, "prompts": 4, "horizon": 16}),
    "idle_clip": ("grpo", "contextual", 30, {"epochs": 1}),
    "saturated": ("gspo", "gridworld", 30, {"eps_low": 3e-4, "eps_high": 4e-4}),
    "held_back": ("grpo", "gridworld", 55, {"kl_beta": 1.0}),
    "timid": ("ppo", "gridworld", 30, {"lr": 1e-5}),
    "useless_critic": ("ppo", "gridworld", 48, {"noise": 3.0}),
    "plateau": ("grpo", "corridor", 62, {}),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("seed", [0, 2])
def test_a_run_made_to_fail_is_told_so_with_numbers_and_one_thing_to_try(name: str, seed: int) -> None:
    recipe, env, steps, settings = FAILING[name]
    columns, config = run(recipe, env, seed, steps, tuple(settings.items()))
    log = told(columns, config)
    spoken = [each for found in log for each in found if each.name == name]
    assert spoken, [[each.name for each in found] for found in log][-1]
    for each in spoken[:: max(1, len(spoken) // 5)]:
        assert re.search(r"\d", each.evidence) and "nan" not in each.evidence, each.evidence
        assert each.says.endswith(".") and each.source and each.experiment is not None
        changed = menu.with_settings(config, each.experiment.values)
        assert changed != config, "the experiment changes something"


@pytest.mark.parametrize("name", ["entropy_collapse", "dead_groups", "held_back", "timid"])
def test_what_is_said_does_not_flicker(name: str) -> None:
    recipe, env, steps, settings = FAILING[name]
    columns, config = run(recipe, env, 0, steps, tuple(settings.items()))
    heard = [any(each.name == name for each in found) for found in told(columns, config)]
    changes = int(np.abs(np.diff(np.array(heard, dtype=int))).sum())
    assert changes == 1, f"said once and kept to it: {heard}"


@pytest.mark.parametrize("name", FAILING)
def test_a_short_run_is_not_judged(name: str) -> None:
    recipe, env, steps, settings = FAILING[name]
    columns, config = run(recipe, env, 0, steps, tuple(settings.items()))
    for n in range(SHORTEST):
        assert findings({key: column[:n] for key, column in columns.items()}, config) == ()


def test_a_number_that_stops_being_one_comes_first() -> None:
    columns, config = run("grpo", "gridworld", 0, 60)
    broken = {name: column[:40].copy() for name, column in columns.items()}
    broken["loss"][37:] = np.nan
    found = findings(broken, config)
    assert found[0].name == "diverged" and "step 38" in found[0].evidence


def test_an_exploding_gradient_is_told_unless_the_task_is_solved() -> None:
    columns, config = run("grpo", "corridor", 0, 62)
    broken = {name: column[:40].copy() for name, column in columns.items()}
    broken["grad_norm"][28:] *= 1000
    broken["grad_norm"][28:] += 5
    assert findings(broken, config)[0].name == "diverged"
    easy, config = run("grpo", "gridworld", 0, 60)
    broken = {name: column.copy() for name, column in easy.items()}
    broken["grad_norm"][50:] = 50.0
    assert "diverged" not in [each.name for each in findings(broken, config)]


def test_a_reward_that_is_lost_again_is_told_with_the_step_to_go_back_to() -> None:
    columns, config = run("grpo", "gridworld", 0, 60)
    lost = {name: column.copy() for name, column in columns.items()}
    lost["reward_mean"][45:] = lost["reward_mean"][0]
    lost["entropy"][:] = 1.0
    (found,) = [each for each in findings(lost, config) if each.name == "decline"]
    assert found.experiment is not None and found.experiment.at is not None and 25 <= found.experiment.at <= 46


def test_replies_at_the_limit_are_told() -> None:
    config = preset("grpo", "addition")
    n, limit = 30, config.env.horizon
    columns = {name: np.full(n, 0.01) for name in ("loss", "grad_norm", "entropy", "approx_kl", "reward_mean", "kl_ref")}
    assert findings(columns | {"length_mean": np.full(n, 0.7 * limit)}, config) == ()
    (found,) = findings(columns | {"length_mean": np.full(n, 0.97 * limit)}, config)
    assert found.name == "truncated"


@given(st.integers(0, 60), st.lists(st.sampled_from(["loss", "entropy", "kl_ref", "reward_mean", "clip_fraction"]), unique=True),
       st.sampled_from([np.nan, np.inf, 0.0, -1.0, 1e30]))  # fmt: skip
def test_any_columns_at_all_are_judged_without_an_error(n: int, names: list[str], value: float) -> None:
    config = preset("ppo", "gridworld")
    columns = {"step": np.arange(1, n + 1, dtype=float)} | {name: np.full(n, value) for name in names}
    for each in findings(columns, config):
        assert each.evidence
