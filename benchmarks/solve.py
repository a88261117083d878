"""Seconds until each recipe solves the bandit and the gridworld, over 10 seeds, at the presets."""

from __future__ import annotations

import statistics
import time

import torch

from rlcore.algorithms import CATALOG
from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.envs import FiniteEnv, tables
from rlcore.envs.truth import best_return, expected_return
from rlcore.presets import preset
from rlcore.state import TrainState

SEEDS = range(10)
LIMIT = 400
SHARE = 0.95


def report() -> str:
    """A table a world: solved seeds, median and largest CPU seconds, and CPU milliseconds a training step."""
    head = "| recipe | world | solved | median s | slowest s | median steps | ms a step |\n|---|---|---|---|---|---|---|\n"
    rows = [_row(recipe.key, world) for world in ("bandit", "gridworld") for recipe in CATALOG]
    return (
        f"## Solving: exact expected return >= {SHARE:.0%} of the best, 10 seeds\n" + head + "\n".join(rows)
    )


def _row(recipe: str, world: str) -> str:
    runs = [_solve(preset(recipe, world, seed)) for seed in SEEDS]
    solved = [(seconds, steps) for seconds, steps, good in runs if good]
    each = statistics.median(seconds / steps for seconds, steps, _ in runs) * 1e3
    if not solved:
        return f"| {recipe} | {world} | 0 of {len(runs)} | | | | {each:.1f} |"
    seconds, steps = zip(*solved, strict=True)
    return (
        f"| {recipe} | {world} | {len(solved)} of {len(runs)} | {statistics.median(seconds):.2f} | {max(seconds):.2f} "
        f"| {statistics.median(steps):.0f} | {each:.1f} |"
    )


def _solve(config: RunConfig) -> tuple[float, int, bool]:
    """(CPU seconds spent training, steps, solved); the exact return is looked at every fifth step, off the clock."""
    assert isinstance(config.env, FiniteEnv)
    goal, state, spent = best_return(tables(config.env)) * SHARE, init(config), 0.0
    for taken in range(1, LIMIT + 1):
        began = time.process_time()
        state, _ = step(state, config)
        spent += time.process_time() - began
        if taken % 5 == 0 and _return(config, state) >= goal:
            return spent, taken, True
    return spent, LIMIT, False


def _return(config: RunConfig, state: TrainState) -> float:
    assert isinstance(config.env, FiniteEnv)
    mdp = tables(config.env)
    logp = config.policy.act(state.params, torch.arange(mdp.states)).logp  # type: ignore[union-attr]
    return float(expected_return(mdp, logp.double()))
