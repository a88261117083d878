"""Experiments behind the app's empirical claims: `python -m benchmarks.evidence NAME` writes `assets/evidence/NAME.json`.

One module an experiment, with one function `evidence() -> Evidence`. Every number comes from running the engine, all
arms over the same seeds; `measured` does that. Nothing here decides a verdict: `rlcore.evidence` does, by rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from rlcore.config import RunConfig
from rlcore.evidence import Setup
from rlcore.presets import preset

TEN = tuple(range(10))
TWENTY = tuple(range(20))

Measure = Callable[[RunConfig, int], float]
"""(the arm's run with a seed, training steps) -> the number of that seed."""


def config_of(setup: Setup, seed: int) -> RunConfig:
    """The run that an arm names, with one of the seeds."""
    return preset(setup.recipe, setup.env, seed).with_settings(setup.overrides)


def measured(
    settings: Mapping[str, Setup], seeds: Sequence[int], measure: Measure
) -> dict[str, tuple[float, ...]]:
    """Every arm on every seed, one value each; progress is printed an arm."""
    found = {}
    for name, setup in settings.items():
        began = time.perf_counter()
        found[name] = tuple(measure(config_of(setup, seed), setup.steps) for seed in seeds)
        print(f"  {name}: {len(seeds)} seeds in {time.perf_counter() - began:.1f} s", flush=True)
    return found


def command(name: str) -> str:
    """What makes an experiment's file again."""
    return f"python -m benchmarks.evidence {name}"
