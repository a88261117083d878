"""Runs of word tasks that several experiments read: one curve a run, kept on disk so that a long experiment can go on.

Seed s uses pretrained start s modulo their number, so that what is said doesn't hang on one start.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence import config_of
from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.evidence import Setup
from rlcore.policies.transformer import Transformer
from rlcore.policies.weights import starts
from rlcore.rng import generator
from rlcore.state import Diverged
from rlcore.words.env import Words
from rlcore.words.measure import Accuracy, accuracy

KEPT = Path(tempfile.gettempdir()) / "surrogate-evidence"
METRICS = ("reward_mean", "entropy", "length_mean", "dead_group_fraction", "clip_fraction", "clip_fraction_outside", "kl_ref")
PROMPTS, SAMPLES = 128, 4


def started(setup: Setup, seed: int) -> RunConfig:
    """The run of an arm with one of the seeds, from the pretrained start of that seed."""
    config = config_of(setup, seed)
    assert isinstance(config.policy, Transformer)
    assert config.policy.start is not None
    kind = config.policy.start.rpartition("-")[0]
    return config.with_settings({"policy.start": f"{kind}-{seed % len(starts_of(kind))}"})


def starts_of(kind: str) -> list[str]:
    """The pretrained starts of one kind that there are, by name."""
    return [name for name in starts() if name.rpartition("-")[0] == kind]


def kept(name: str, config: RunConfig, make: Callable[[], Any], **how: Any) -> Any:
    """What `make` returns, as JSON, from disk where it was made before with the same config."""
    key = hashlib.sha256(json.dumps([name, config.dumps(), how], sort_keys=True).encode()).hexdigest()[:24]
    path = KEPT / f"{name}-{key}.json"
    if not path.exists():
        made = make()
        KEPT.mkdir(exist_ok=True)
        path.write_text(json.dumps(made))
    return json.loads(path.read_text())


def held_out(config: RunConfig, params: Any, at: int, *, prompts: int = PROMPTS) -> Accuracy:
    """Accuracy on held-out prompts, from dice that no training step throws."""
    assert isinstance(config.env, Words) and isinstance(config.policy, Transformer)
    dice = generator(config.seed, at, "eval")
    return accuracy(config.policy, params, config.env.task, dice=dice, prompts=prompts, samples=SAMPLES)


def curve(config: RunConfig, *, steps: int, measured_at: Sequence[int]) -> dict[str, Any]:
    """A run of `steps` training steps: METRICS of every step, and at the steps asked for {at, seconds, sampled, greedy,
    pass_at_4, length, truncated} on held-out prompts. seconds: CPU time of training alone. A run that diverges ends there.
    """

    def make() -> dict[str, Any]:
        state, spent = init(config), 0.0
        found: dict[str, list[float]] = {name: [] for name in METRICS}
        measured = []
        for at in range(steps + 1):
            if at in set(measured_at):
                a = held_out(config, state.params, at)
                measured.append({
                    "at": at, "seconds": spent, "sampled": a.sampled, "greedy": a.greedy, "pass_at_4": a.pass_at[4],
                    "length": a.length, "truncated": a.truncated,
                })  # fmt: skip
            if at == steps:
                break
            began = time.process_time()
            try:
                state, record = step(state, config)
            except Diverged:
                break
            spent += time.process_time() - began
            for name in METRICS:
                found[name].append(record.metrics.get(name, 0.0))
        return found | {"measured": measured}

    made: dict[str, Any] = kept("curve", config, make, steps=steps, measured_at=list(measured_at))
    return made


def last(values: Sequence[float], count: int = 10) -> float:
    """Mean of the last values."""
    tail = values[-count:]
    return sum(tail) / len(tail)


def final(settings: Mapping[str, Setup], seeds: Sequence[int], read: Callable[[dict[str, Any]], float]) -> dict[str, tuple[float, ...]]:
    """Every arm on every seed: what `read` finds in a curve that was measured at its start and end."""
    found = {}
    for name, setup in settings.items():
        runs = (curve(started(setup, seed), steps=setup.steps, measured_at=(0, setup.steps)) for seed in seeds)
        found[name] = tuple(float(read(run)) for run in runs)
        print(f"  {name}: {', '.join(f'{x:.3g}' for x in found[name])}", flush=True)
    return found


def sampled_at_end(run: dict[str, Any]) -> float:
    """Sampled held-out accuracy after the last step; of a run that diverged: 0."""
    return float(run["measured"][-1]["sampled"]) if len(run["measured"]) > 1 else 0.0


def sampled_at_start(run: dict[str, Any]) -> float:
    return float(run["measured"][0]["sampled"])
