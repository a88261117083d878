"""The optimiser steps of one training step: from a rollout to new parameters, every term kept.

`Updates` is private to one step and short-lived; it is the only thing here that changes. What it read stays untouched.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages, whitened
from rlcore.algorithm import LossTerms, policy_loss, shaped_reward
from rlcore.config import EpochKlStop, MinibatchKlStop, RunConfig
from rlcore.envs.protocol import Dice
from rlcore.metrics import approx_kl_tokens, update_metrics
from rlcore.optim import clip_by_global_norm
from rlcore.records import StepTrace, UpdateTrace, arrays, freeze, update_trace
from rlcore.rollout import Rollout, cut, take
from rlcore.state import TrainState, beta_in_force, diverged


@dataclass(frozen=True)
class Prepared:
    """A rollout ready for updates: rows that selection kept, advantages, and what the record needs."""

    collected: Rollout
    rollout: Rollout
    reward: Tensor
    kept: Tensor
    advantages: Advantages

    def trace(self, updates: list[UpdateTrace]) -> StepTrace:
        adv = {name: x for name, x in arrays(self.advantages).items()}
        return StepTrace(arrays(self.collected), freeze(self.reward), freeze(self.kept), adv, tuple(updates))


def prepare(state: TrainState, config: RunConfig, rollout: Rollout) -> Prepared:
    """Shape rewards, select rows, estimate and whiten advantages. Raises Diverged."""
    algorithm = config.algorithm
    if not torch.isfinite(masked.total(rollout.reward, rollout.mask)):
        raise diverged(state.step, "reward")
    if not torch.isfinite(masked.total(rollout.logp_old, rollout.mask)):
        raise diverged(state.step, "logp_old")
    reward = shaped_reward(algorithm, rollout, beta_in_force(state, config))
    advantages = algorithm.advantage(rollout, reward)
    kept = algorithm.select(masked.row_sum(reward, rollout.mask), rollout.group)
    chosen = rollout
    if not bool(kept.all()):
        index = kept.nonzero().squeeze(-1)
        chosen = take(rollout, index)
        advantages = advantages.each(lambda x: x.index_select(0, index))
    if algorithm.whiten.scope == "batch":
        advantages = whitened(advantages, algorithm.whiten, chosen.mask)
    if not torch.isfinite(advantages.advantages.sum()):
        raise diverged(state.step, "advantages")
    if config.batch.shuffled == "transitions":
        chosen, advantages = transitions(chosen, advantages)
    return Prepared(rollout, chosen, reward, kept, advantages)


def transitions(rollout: Rollout, advantages: Advantages) -> tuple[Rollout, Advantages]:
    """Every valid step as a row of its own: [B, T] -> [N, 1]."""
    valid = rollout.mask.reshape(-1).nonzero().squeeze(-1)
    width = rollout.mask.shape[1]

    def flat(x: Tensor) -> Tensor:
        return x.reshape(-1, 1, *x.shape[2:]).index_select(0, valid)

    per_row = {"group": rollout.group.repeat_interleave(width).index_select(0, valid), "prompt": None}
    rest = {n: flat(x) for n, x in vars(rollout).items() if x is not None and n not in per_row}
    return replace(rollout, **rest, **per_row), advantages.each(flat)


@dataclass(frozen=True)
class Piece:
    """A minibatch: its `rows` of the prepared rollout, and their data."""

    rows: Tensor
    rollout: Rollout
    advantages: Advantages


def pieces(config: RunConfig, batch: Prepared, dice: Dice, epoch: int) -> Iterator[Piece]:
    """The minibatches of an epoch: the whole batch in order, or equal parts of it after one shuffle."""
    rows, count = batch.rollout.rows, config.batch.minibatches
    if rows == 0:
        return
    if count == 1:
        yield Piece(torch.arange(rows), batch.rollout, batch.advantages)
        return
    order = torch.from_numpy(dice("shuffle", epoch).permutation(rows))
    rollout, advantages = take(batch.rollout, order), batch.advantages.each(lambda x: x.index_select(0, order))
    edges = [round(i * rows / count) for i in range(count + 1)]
    for start, stop in zip(edges, edges[1:], strict=False):
        if stop > start:
            part = slice(start, stop)
            yield Piece(order[part], cut(rollout, start, stop), advantages.each(operator.itemgetter(part)))


class Updates:
    """The optimiser steps of one training step: private and short-lived, hence allowed to change."""

    def __init__(self, state: TrainState, config: RunConfig, batch: Prepared, trace: bool) -> None:
        self.start, self.config, self.batch, self.trace = state, config, batch, trace
        self.theta, self.moments = state.theta, state.moments
        self.critic = config.algorithm.needs_critic
        self.lr = config.optim.lr * config.optim.schedule(state.step)
        self.kl_beta = beta_in_force(state, config)
        self.rows: list[Tensor] = []
        self.names: tuple[str, ...] = ()
        self.epochs: list[int] = []
        self.traces: list[UpdateTrace] = []
        self.halted = False

    def run(self, epoch: int, minibatch: int, piece: Piece) -> bool:
        """One optimiser step; False where an early stop forbids it."""
        if self.halted:
            return False
        rollout, advantages = piece.rollout, piece.advantages
        if self.config.algorithm.whiten.scope == "minibatch":
            advantages = whitened(advantages, self.config.algorithm.whiten, rollout.mask)
        theta = self.theta.detach().requires_grad_()
        now = self.config.policy.evaluate(self.start.layout.parts(theta), rollout, critic=self.critic)
        terms = policy_loss(self.config.algorithm, now, rollout, advantages, self.kl_beta)
        if self._too_far(terms, rollout):
            self.halted = True
            return False
        asked = (theta, now.logp) if self.trace else (theta,)
        grad, *of_logp = torch.autograd.grad(terms.loss, asked)
        clipped, norm = clip_by_global_norm(grad, self.config.optim.max_grad_norm)
        updated, self.moments = self.config.optim(self.theta, clipped, self.moments, lr=self.lr)
        moved = torch.linalg.vector_norm(updated - self.theta, dim=-1)
        found = update_metrics(terms, now, rollout) | {"grad_norm": norm, "update_norm": moved}
        self.names = tuple(found)
        self.rows.append(torch.stack(list(found.values())))
        self.epochs.append(epoch)
        if self.trace:
            scalars = {"grad_norm": norm, "update_norm": moved, "lr": self.lr, "kl_beta": self.kl_beta}
            by_part = {name: float(g.norm()) for name, g in self.start.layout.parts(grad).items()}
            self.traces.append(
                update_trace(
                    terms, advantages, rollout, now=now, place=(epoch, minibatch), rows=piece.rows,
                    grad_logp=of_logp[0], scalars={n: float(x) for n, x in scalars.items()}, grad_by_part=by_part,
                )
            )  # fmt: skip
        self.theta = updated
        return True

    def stopped(self) -> bool:
        """True where no further epoch is to be run."""
        rule = self.config.batch.early_stop
        if isinstance(rule, EpochKlStop) and self.rows:
            return bool(self.rows[-1][self.names.index("approx_kl")] > rule.target)
        return self.halted

    def _too_far(self, terms: LossTerms, rollout: Rollout) -> bool:
        rule = self.config.batch.early_stop
        if not isinstance(rule, MinibatchKlStop):
            return False
        log_ratio = terms.ratio.token_log_ratio.detach()
        return bool(masked.mean(approx_kl_tokens(log_ratio), rollout.mask) > 1.5 * rule.target)
