"""Small runs of every kind of environment, and what "the same, to the last bit" means for states and records."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from rlcore.algorithms import by_key
from rlcore.config import Batch, RunConfig
from rlcore.policies.transformer import Transformer
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.state import TrainState
from rlcore.words.env import Words
from rlcore.words.sampler import StaleSampler

torch.set_num_threads(1)

SMALL: dict[str, RunConfig] = {
    "bandit": preset("grpo", "bandit"),
    "contextual": preset("rloo", "contextual"),
    "windy grid": preset("gspo", "gridworld").with_settings({"env.wind": 0.2, "env.noise": 0.1}),
    "grid segments": preset("ppo", "gridworld").with_settings({"prompts": 8, "segment": 16, "minibatches": 4}),
    "CartPole segments": preset("ppo", "CartPole-v1").with_settings({"prompts": 4, "segment": 32}),
    "CartPole groups": preset("grpo", "CartPole-v1").with_settings({"group_size": 4, "env.horizon": 40}),
    "Pendulum": preset("ppo", "Pendulum-v1").with_settings({"prompts": 2, "segment": 24, "env.horizon": 20}),
    "FrozenLake": preset("ppo", "FrozenLake-v1").with_settings({"prompts": 4, "segment": 24}),
    "words": RunConfig(
        env=Words(sampler=StaleSampler(updates=2)), policy=Transformer(layers=1, width=16, heads=2, context=32),
        algorithm=by_key("gspo").algorithm, batch=Batch(prompts=2, group_size=4, epochs=2),
    ),
}  # fmt: skip
"""One run per kind: tables, Gymnasium and words, groups and segments, finite and Box actions, a sampler that lags."""


def bits(value: Any) -> Any:
    """A value such that == means equal to the last bit, NaN included; environments by everything reachable in them."""
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return np.float64(value).tobytes()
    if isinstance(value, dict):
        return {key: bits(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(each) for each in value]
    if isinstance(value, np.random.Generator):
        return bits(value.bit_generator.state)
    if dataclasses.is_dataclass(value):
        return {f.name: bits(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if type(value).__module__.startswith("gymnasium") and hasattr(value, "step"):
        return {name: bits(each) for name, each in vars(value).items() if not name.startswith("_spec")}
    if hasattr(value, "model_dump_json"):
        return value.model_dump_json()
    return value if isinstance(value, (int, str, bytes, bool, type(None))) else type(value).__name__


def same_state(a: TrainState, b: TrainState) -> bool:
    """Equal to the last bit, carried environments and their dice included."""
    return bool(bits(a) == bits(b))


def metrics(record: StepRecord) -> Any:
    """A record's numbers without the clock."""
    return bits(dict(record.metrics)), record.samples, record.step


def trace(record: StepRecord) -> Any:
    """A record's whole trace, to the last bit."""
    assert record.trace is not None
    return bits(record.trace)
