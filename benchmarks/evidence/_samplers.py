"""Replies of a sampler that is not quite the trainer: rounded weights, or weights some updates old."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.evidence._words import started
from rlcore.correction import MaskedIs, TruncatedIs
from rlcore.engine import init, step
from rlcore.evidence import Setup

SAMPLERS: dict[str, dict[str, float | str]] = {
    "bf16": {"kind": "bf16"},
    "int8": {"kind": "int", "bits": 8},
    "int4": {"kind": "int", "bits": 4},
    "4 updates old": {"kind": "stale", "updates": 4},
}
WARM = 8
SETTINGS = {
    name: Setup(recipe="grpo", env="addition", steps=WARM, overrides={"kl_beta": 0.0, "env.sampler": value})
    for name, value in SAMPLERS.items()
}


@dataclass(frozen=True)
class Mismatch:
    """log rho = logp(trainer) - logp(sampler), mask [B, T]."""

    logp_old: torch.Tensor
    logp_rollout: torch.Tensor
    mask: torch.Tensor

    @property
    def log_rho(self) -> np.ndarray:
        return (torch.where(self.mask, self.logp_old - self.logp_rollout, 0.0)).numpy()

    def row_weights(self, cure: str) -> np.ndarray:
        """Importance weight of every reply: rho of the sequence, bare, truncated at 2, or masked to [1/2, 2]."""
        rules = {"TIS": TruncatedIs(level="sequence"), "masked IS": MaskedIs(level="sequence")}
        if cure in rules:
            return rules[cure](self.logp_old, self.logp_rollout, self.mask)[:, 0].numpy()
        return np.exp(self.log_rho.sum(1))


def mismatch(name: str, seed: int) -> Mismatch:
    """The batch of training step WARM (before any update on it), sampled by the named sampler."""
    config = started(SETTINGS[name], seed)
    state = init(config)
    for _ in range(WARM):
        state, _ = step(state, config)
    _, record = step(state, config, trace=True)
    assert record.trace is not None
    parts = (record.trace.rollout[key] for key in ("logp_old", "logp_rollout", "mask"))
    return Mismatch(*(torch.tensor(part) for part in parts))


def effective(weights: np.ndarray) -> float:
    """(sum w)^2 / (n sum w^2): the share of replies that the weighted ones are worth."""
    total = float(weights.sum())
    return total**2 / (len(weights) * float((weights**2).sum())) if total > 0 else 0.0
