"""The engine: `step(state, config) -> (state, record)`, a pure function.

A live change of hyperparameters is another `config` for the next step. All randomness is addressed by (seed, step,
stream). This module keeps nothing: the history lives in `timeline`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import explained_variance
from rlcore.config import RunConfig
from rlcore.envs import Plan
from rlcore.envs.protocol import Carry, Dice, Env
from rlcore.kl import NoKl
from rlcore.metrics import rollout_metrics
from rlcore.records import StepRecord, UpdateTrace
from rlcore.rng import generator
from rlcore.rollout import Rollout
from rlcore.state import (
    TrainState,
    beta_in_force,
    has_critic,
    init,
    with_critic,
)
from rlcore.updates import Prepared, Updates, pieces, prepare
from rlcore.words.env import Words

Result = TypeVar("Result")

__all__ = ["TrainState", "finished", "init", "step", "step_slices", "train"]


def step(state: TrainState, config: RunConfig, *, trace: bool = False) -> tuple[TrainState, StepRecord]:
    """Collect one rollout and run its updates. Pure: the same state and config give bit-equal results.

    trace  also freeze the rollout and every update's terms into the record (slower, same numbers).
    Raises Diverged (NaN or infinity) and SettingError; in both cases `state` is still good.
    """
    return finished(step_slices(state, config, trace=trace))


def finished(slices: Generator[object, None, Result]) -> Result:
    """Run a generator to its end; its return value."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: Result = end.value
            return result


def train(
    state: TrainState, config: Callable[[int], RunConfig]
) -> Iterator[tuple[TrainState, StepRecord]]:
    """An endless run; `config` is asked anew before every step, which is all that a live change is."""
    while True:
        state, record = step(state, config(state.step))
        yield state, record


Made = Prepared | UpdateTrace | None
"""What a slice of a step made: first the prepared batch, then an update, which is None without a trace."""


def step_slices(
    state: TrainState, config: RunConfig, *, trace: bool = False
) -> Generator[Made, None, tuple[TrainState, StepRecord]]:
    """`step`, cut at optimiser steps: a generator that yields what was made, after the rollout and after each update.

    Its return value is step's. A shared worker advances several runs in turn with it; abandoning it loses nothing.
    """
    slices, seconds = _slices(state, config, trace), 0.0
    while True:
        began = time.perf_counter()
        try:
            with one_thread():
                made = next(slices)
        except StopIteration as end:
            after, record = end.value
            return after, replace(record, seconds=seconds + time.perf_counter() - began)
        seconds += time.perf_counter() - began
        yield made


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread: sums split over threads round differently, and these tensors are too small to gain."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _slices(
    state: TrainState, config: RunConfig, trace: bool
) -> Generator[Made, None, tuple[TrainState, StepRecord]]:
    if config.algorithm.needs_critic and not has_critic(state):
        state = with_critic(state, config)
    dice: Dice = partial(generator, config.seed, state.step)
    before = _carry(state, config)
    env: Env = config.env
    collected = env.collect(config.policy, state.params, state.params_ref, _plan(config), before, dice)
    batch = prepare(state, config, collected.rollout)
    yield batch
    updates = Updates(state, config, batch, trace)
    for epoch in range(config.batch.epochs):
        for minibatch, piece in enumerate(pieces(config, batch, dice, epoch)):
            if updates.run(epoch, minibatch, piece):
                yield updates.traces[-1] if trace else None
        if updates.stopped():
            break
    running = None if before is None else state.running
    after, metrics = _finish(updates, collected.carry, running)
    samples = int(collected.rollout.mask.sum())
    traced = batch.trace(updates.traces) if trace else None
    return after, StepRecord(state.step, config, metrics, 0.0, samples, collected.visits, traced)


def _plan(config: RunConfig) -> Plan:
    b = config.batch
    return Plan(b.prompts, b.group_size, b.segment, config.algorithm.needs_critic)


def _carry(state: TrainState, config: RunConfig) -> Carry:
    """Where the segments stand, none after a change of their number; or the old weights that a stale sampler keeps."""
    if isinstance(config.env, Words):
        return state.carry
    fits = state.running is not None and state.running.shape[0] == config.batch.rows
    return state.carry if config.batch.segment is not None and fits else None


# ---------------------------------------------------------------- ending

def _finish(updates: Updates, carry: Carry, running: Tensor | None) -> tuple[TrainState, dict[str, float]]:
    """The state after the step and its metrics: means over updates, over the last epoch, or extremes (see glossary)."""
    state, config, batch = updates.start, updates.config, updates.batch
    found = rollout_metrics(batch.collected, batch.collected.score)
    found["advantage_std"] = masked.variance(batch.advantages.advantages, batch.rollout.mask, ddof=0).sqrt()
    if updates.critic:
        old, returns = batch.rollout.value_old, batch.advantages.returns
        found["explained_variance"] = explained_variance(old, returns, batch.rollout.mask)
    metrics = {name: float(x) for name, x in found.items()} | updates.metrics()
    metrics |= {"lr": updates.lr, "kl_beta": updates.kl_beta, "updates": float(updates.count)}
    still_open, ended = _episodes(batch.collected, running)
    metrics["episode_return"] = float(ended.mean()) if len(ended) else math.nan
    beta = _controlled(state, config, metrics, batch)
    reference = updates.theta if _renews(config, state.step) else state.theta_ref
    after = replace(
        state, step=state.step + 1, theta=updates.theta, theta_ref=reference, moments=updates.moments,
        kl_beta=beta, kl_set=float(config.algorithm.kl.kl_beta), carry=carry, running=None if carry is None else still_open,
    )  # fmt: skip
    return after, metrics


def _episodes(rollout: Rollout, running: Tensor | None) -> tuple[Tensor, np.ndarray]:
    """(returns of episodes still open [B], returns of those that ended in this rollout [n]), undiscounted."""
    before = torch.zeros(rollout.rows) if running is None else running
    total = before[:, None] + torch.where(rollout.mask, rollout.reward, 0.0).cumsum(-1)
    row, when = (rollout.terminal | rollout.truncated).nonzero(as_tuple=True)
    at_end = total[row, when]
    changes = torch.ones(len(row) + 1, dtype=torch.bool)
    changes[1:-1] = row[1:] != row[:-1]
    first, last = changes[:-1], changes[1:]
    earlier = torch.where(first, 0.0, at_end.roll(1))
    left = total[:, -1].index_add(0, row[last], -at_end[last])
    return left, (at_end - earlier).numpy()


def _controlled(state: TrainState, config: RunConfig, metrics: dict[str, float], batch: Prepared) -> float:
    """The KL coefficient of the next step; unchanged where no update measured a KL."""
    kl, beta = config.algorithm.kl, beta_in_force(state, config)
    if isinstance(kl, NoKl) or math.isnan(metrics["kl_ref"]):
        return beta
    return kl.controller(beta, metrics["kl_ref"], batch.collected.rows)


def _renews(config: RunConfig, step: int) -> bool:
    return config.ref_sync is not None and (step + 1) % config.ref_sync == 0
