"""One update of the sparse word model seen from its router: which tokens were sent elsewhere, and what that did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.envs import Plan
from rlcore.policies.transformer import Transformer
from rlcore.rng import generator
from rlcore.rollout import Rollout


@dataclass(frozen=True)
class Moved:
    """log_ratio, mask [B, T] of one batch under the policy `updates` later; flipped [B, T]: some layer's experts changed."""

    log_ratio: np.ndarray
    mask: np.ndarray
    flipped: np.ndarray

    @property
    def sequence(self) -> np.ndarray:
        return np.asarray((self.log_ratio * self.mask).sum(1) / self.mask.sum(1))


def moved(config: RunConfig, *, warm: int, updates: int) -> Moved:
    """The batch that the policy samples after `warm` training steps, scored again `updates` training steps later."""
    state = init(config)
    for _ in range(warm):
        state, _ = step(state, config)
    assert isinstance(config.policy, Transformer)
    plan = Plan(config.batch.prompts, config.batch.group_size, None, False)
    dice = lambda stream, index=0: generator(config.seed, state.step, stream, index)  # noqa: E731
    rollout: Rollout = config.env.collect(config.policy, state.params, state.params_ref, plan, None, dice).rollout  # type: ignore[arg-type]
    before = state
    for _ in range(updates):
        state, _ = step(state, config)
    with torch.no_grad():
        logp = [config.policy.evaluate(s.params, rollout, critic=False).logp.numpy() for s in (before, state)]
        routes = [config.policy.replies(s.params, rollout)[1] for s in (before, state)]
    changed = [(a.sort(-1).values != b.sort(-1).values).any(-1).numpy() for a, b in zip(*routes, strict=True)]
    mask = rollout.mask.numpy()
    flipped = np.logical_or.reduce(changed) if changed else np.zeros_like(mask)
    return Moved((logp[1] - logp[0]) * mask, mask, flipped & mask)
