"""Experiments behind the app's empirical claims: `python -m benchmarks.evidence NAME` writes `assets/evidence/NAME.json`.

One module an experiment, with one function `evidence() -> Evidence`. Every number comes from running the engine, all
arms over the same seeds; `measured` does that. Nothing here decides a verdict: `rlcore.evidence` does, by rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch

from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.envs.finite import FiniteEnv, tables
from rlcore.envs.truth import expected_return
from rlcore.evidence import Setup
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.state import Diverged, TrainState

TEN = tuple(range(10))
TWENTY = tuple(range(20))

Measure = Callable[[RunConfig, int], float]
"""(the arm's run with a seed, training steps) -> the number of that seed."""


def config_of(setup: Setup, seed: int) -> RunConfig:
    """The run that an arm names, with one of the seeds."""
    return preset(setup.recipe, setup.env, seed).with_settings(setup.overrides)


def measured(settings: Mapping[str, Setup], seeds: Sequence[int], measure: Measure) -> dict[str, tuple[float, ...]]:
    """Every arm on every seed, one value each; progress is printed an arm."""
    found = {}
    for name, setup in settings.items():
        began = time.perf_counter()
        found[name] = tuple(float(measure(config_of(setup, seed), setup.steps)) for seed in seeds)
        print(f"  {name}: {len(seeds)} seeds in {time.perf_counter() - began:.1f} s", flush=True)
    return found


def command(name: str) -> str:
    """What makes an experiment's file again."""
    return f"python -m benchmarks.evidence {name}"


# ---------------------------------------------------------------- what is measured


def trained(config: RunConfig, steps: int) -> Iterator[tuple[TrainState, StepRecord]]:
    """The run, step by step; a run that diverges ends there."""
    state = init(config)
    for _ in range(steps):
        try:
            state, record = step(state, config)
        except Diverged:
            return
        yield state, record


def mean_reward(config: RunConfig, steps: int) -> float:
    """Reward a row, averaged over all training steps: high for a run that learns soon and keeps it. 0 once diverged."""
    return sum(record.metrics["reward_mean"] for _, record in trained(config, steps)) / steps


def exact_return(config: RunConfig, state: TrainState) -> float:
    """Expected return of a state's policy on a finite world, by enumeration."""
    assert isinstance(config.env, FiniteEnv)
    mdp = tables(config.env)
    with torch.no_grad():
        logp = config.policy.act(state.params, torch.arange(mdp.states)).logp  # type: ignore[union-attr]
        return float(expected_return(mdp, logp.double()))


def final_return(config: RunConfig, steps: int) -> float:
    """Exact expected return after the last step (of a run that diverged: before it did)."""
    state = init(config)
    for state, _ in trained(config, steps):
        pass
    return exact_return(config, state)


def mean_exact_return(config: RunConfig, steps: int) -> float:
    """Exact expected return averaged over the states after each step: how soon a run gets good, and whether it stays."""
    return float(np.mean([exact_return(config, state) for state, _ in trained(config, steps)]))
