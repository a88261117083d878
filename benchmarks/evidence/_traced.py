"""Off-policy batches of the word model, token by token: what ratios, clips and routes are measured on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.records import UpdateTrace
from rlcore.state import TrainState


@dataclass(frozen=True)
class Rows:
    """Rows of optimiser steps that met a policy one optimiser step older than themselves: log_ratio, mask [N, T]; adv [N]."""

    log_ratio: np.ndarray
    mask: np.ndarray
    adv: np.ndarray

    @property
    def length(self) -> np.ndarray:
        return np.asarray(self.mask.sum(1))

    @property
    def sequence(self) -> np.ndarray:
        """Mean token log-ratio of each row: log of GSPO's ratio."""
        return np.asarray((self.log_ratio * self.mask).sum(1) / self.length)


def off_policy(config: RunConfig, steps: int) -> Rows:
    """Every step's second minibatch in one pass, of the first `steps` training steps, padded to one width."""
    width = config.env.task.max_length  # type: ignore[union-attr]
    found = [_padded(trace, width) for _, trace in _second_updates(config, steps)]
    return Rows(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _second_updates(config: RunConfig, steps: int) -> Iterator[tuple[TrainState, UpdateTrace]]:
    state = init(config)
    for _ in range(steps):
        state, record = step(state, config, trace=True)
        assert record.trace is not None
        yield state, record.trace.updates[1]


def _padded(update: UpdateTrace, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    spare = ((0, 0), (0, width - update.mask.shape[1]))
    return np.pad(update.token_log_ratio, spare), np.pad(update.mask, spare), update.advantages[:, 0]
