"""One batch used again and again: what holds the ratio near 1, and what does not.

Every mechanism is the engine training on the same batch from the same policy; only the named thing differs. The
reference policy is the one that sampled the batch, so a KL penalty here is a distance to the old policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from rlcore import masked
from rlcore.algorithm import Algorithm
from rlcore.algorithms import GRPO
from rlcore.config import Batch, EpochKlStop, NoStop, StopSlot
from rlcore.engine import step
from rlcore.explore.curves import samples
from rlcore.explore.recorded import state_at
from rlcore.kl import K1, K2, K3, Estimator, ExactKl, KlInLoss, NoKl
from rlcore.metrics import approx_kl_tokens
from rlcore.optim import Adam
from rlcore.presets import preset
from rlcore.records import Array, StepRecord, UpdateTrace, freeze
from rlcore.surrogates import PpoClip, Unclipped

PROMPTS, GROUP_SIZE = 4, 16


@dataclass(frozen=True)
class Brakes:
    """The settings of what may hold the ratio: clip widths, price of KL, target of the early stop."""

    eps_low: float = 0.2
    eps_high: float = 0.2
    kl_beta: float = 5.0
    kl_stop: float = 0.015


def _clip(b: Brakes) -> Algorithm:
    return GRPO.algorithm.model_copy(
        update={"surrogate": PpoClip(eps_low=b.eps_low, eps_high=b.eps_high), "kl": NoKl()}
    )


def _penalty(estimator: Estimator) -> Callable[[Brakes], Algorithm]:
    def with_price(b: Brakes) -> Algorithm:
        kl = KlInLoss(kl_beta=b.kl_beta, estimator=estimator)
        return GRPO.algorithm.model_copy(update={"surrogate": Unclipped(), "kl": kl})

    return with_price


MECHANISMS: Mapping[str, Callable[[Brakes], Algorithm]] = {
    "none": lambda b: GRPO.algorithm.model_copy(update={"surrogate": Unclipped(), "kl": NoKl()}),
    "clip": _clip,
    "clip_stop": _clip,
    "k1": _penalty(K1()),
    "k2": _penalty(K2()),
    "k3": _penalty(K3()),
    "exact": _penalty(ExactKl()),
}
"""No bound; clip; clip with an early stop on approx_kl; no clip but beta * KL by each estimator, in the loss."""


@dataclass(frozen=True)
class Fan:
    """A batch of N tokens over K updates. Row k is what the (k + 1)-th update sees: row 0 is all ones.

    ratio [K, N] · outside [K, N] of the clip's band, whether or not the mechanism clips · dead [K, N], gradient removed
    by a bound · advantage [N] · approx_kl [K], k3 of KL(old || new)
    """

    mechanism: str
    ratio: Array
    outside: Array
    dead: Array
    advantage: Array
    approx_kl: Array

    @property
    def highest(self) -> Array:
        return np.asarray(self.ratio.max(1))

    @property
    def lowest(self) -> Array:
        return np.asarray(self.ratio.min(1))


@lru_cache(maxsize=256)
def fan(mechanism: str, brakes: Brakes, *, env: str, lr: float, epochs: int, seed: int = 0, steps: int = 0) -> Fan:
    """Use the batch of a GRPO preset's step `steps` for `epochs` updates under one mechanism.

    Raises KeyError for a mechanism that does not exist, SettingError for an environment.
    """
    stop: StopSlot = EpochKlStop(target=brakes.kl_stop) if mechanism == "clip_stop" else NoStop()
    record = _trained(MECHANISMS[mechanism](brakes), stop, env=env, lr=lr, epochs=epochs, seed=seed, steps=steps)
    assert record.trace is not None
    return as_fan(mechanism, record.trace.updates, PpoClip(eps_low=brakes.eps_low, eps_high=brakes.eps_high))


def as_fan(mechanism: str, updates: tuple[UpdateTrace, ...], band: PpoClip) -> Fan:
    """The fan of full-batch updates on one batch."""
    valid = updates[0].mask
    ratio = np.stack([u.ratio[valid] for u in updates]).astype(np.float64)
    outside = np.stack([samples(band, u).outside for u in updates])
    dead = np.stack([(u.dead_low | u.dead_high | u.dead_dual)[valid] for u in updates])
    mask = torch.from_numpy(valid.copy())
    kl = [masked.mean(approx_kl_tokens(torch.from_numpy(u.token_log_ratio.copy())), mask) for u in updates]
    return Fan(mechanism, ratio, outside, dead, updates[0].advantages[valid], freeze(torch.stack(kl).double()))


def _trained(
    algorithm: Algorithm, stop: StopSlot, *, env: str, lr: float, epochs: int, seed: int, steps: int
) -> StepRecord:
    start = preset("grpo", env, seed)
    state = state_at(start, steps)
    state = replace(state, theta_ref=state.theta, kl_beta=algorithm.kl.kl_beta)
    batch = Batch(prompts=PROMPTS, group_size=GROUP_SIZE, epochs=epochs, early_stop=stop)
    config = start.model_copy(update={"algorithm": algorithm, "optim": Adam(lr=lr), "batch": batch})
    return step(state, config, trace=True)[1]
