"""The optimiser steps of one training step: from a rollout to new parameters, every term kept.

`Updates` is private to one step and short-lived; it is the only thing here that changes. What it read stays untouched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages, whitened
from rlcore.algorithm import LossTerms, PolicyOutput, policy_loss, shaped_reward
from rlcore.config import EpochKlStop, MinibatchKlStop, RunConfig
from rlcore.envs.protocol import Dice
from rlcore.metrics import approx_kl_tokens, update_metrics
from rlcore.optim import clip_by_global_norm
from rlcore.records import StepTrace, UpdateTrace, arrays, freeze, update_trace
from rlcore.rollout import Rollout, take
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
        advantages = Advantages(*(x.index_select(0, index) for x in vars(advantages).values()))
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
    return replace(rollout, **rest, **per_row), Advantages(*(flat(x) for x in vars(advantages).values()))


def pieces(config: RunConfig, rollout: Rollout, dice: Dice, epoch: int) -> Iterator[Tensor | None]:
    """Row indices of each minibatch of an epoch; None for the whole batch in order."""
    if rollout.rows == 0:
        return
    if config.batch.minibatches == 1:
        yield None
        return
    order = torch.from_numpy(dice("shuffle", epoch).permutation(rollout.rows))
    yield from (piece for piece in order.tensor_split(config.batch.minibatches) if len(piece))


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

    def run(self, epoch: int, minibatch: int, rows: Tensor | None) -> bool:
        """One optimiser step; False where an early stop forbids it."""
        if self.halted:
            return False
        rollout, advantages = self._piece(rows)
        theta = self.theta.detach().requires_grad_()
        now = self.config.policy.evaluate(self.start.layout.parts(theta), rollout, critic=self.critic)
        terms = policy_loss(self.config.algorithm, now, rollout, advantages, self.kl_beta)
        if self._too_far(terms, rollout):
            self.halted = True
            return False
        grad, grad_logp = self._gradient(terms, now, theta)
        clipped, norm = clip_by_global_norm(grad, self.config.optim.max_grad_norm)
        updated, self.moments = self.config.optim(self.theta, clipped, self.moments, lr=self.lr)
        moved = (updated - self.theta).norm(dim=-1)
        self._note(epoch, terms, now, rollout, norm, moved)
        if self.trace:
            everything = torch.arange(rollout.rows) if rows is None else rows
            scalars = {
                "grad_norm": float(norm), "update_norm": float(moved), "lr": self.lr, "kl_beta": self.kl_beta
            }  # fmt: skip
            self.traces.append(
                update_trace(
                    terms, advantages, rollout, now=now, place=(epoch, minibatch), rows=everything,
                    grad_logp=grad_logp if grad_logp is not None else torch.zeros_like(now.logp), scalars=scalars,
                    grad_by_part={n: float(g.norm()) for n, g in self.start.layout.parts(grad).items()},
                )
            )  # fmt: skip
        self.theta = updated
        return True

    def stopped(self, epoch: int) -> bool:
        """True where no further epoch is to be run."""
        rule = self.config.batch.early_stop
        if isinstance(rule, EpochKlStop) and self.rows:
            return bool(self.rows[-1][self.names.index("approx_kl")] > rule.target)
        return self.halted

    def _piece(self, rows: Tensor | None) -> tuple[Rollout, Advantages]:
        rollout, advantages = self.batch.rollout, self.batch.advantages
        if rows is not None:
            rollout = take(rollout, rows)
            advantages = Advantages(*(x.index_select(0, rows) for x in vars(advantages).values()))
        if self.config.algorithm.whiten.scope == "minibatch":
            advantages = whitened(advantages, self.config.algorithm.whiten, rollout.mask)
        return rollout, advantages

    def _too_far(self, terms: LossTerms, rollout: Rollout) -> bool:
        rule = self.config.batch.early_stop
        if not isinstance(rule, MinibatchKlStop):
            return False
        log_ratio = terms.ratio.token_log_ratio.detach()
        return bool(masked.mean(approx_kl_tokens(log_ratio), rollout.mask) > 1.5 * rule.target)

    def _gradient(self, terms: LossTerms, now: PolicyOutput, theta: Tensor) -> tuple[Tensor, Tensor | None]:
        if not self.trace:
            return torch.autograd.grad(terms.loss, theta)[0], None
        grad, grad_logp = torch.autograd.grad(terms.loss, (theta, now.logp), allow_unused=True)
        return grad, grad_logp

    def _note(
        self, epoch: int, terms: LossTerms, now: PolicyOutput, rollout: Rollout, norm: Tensor, moved: Tensor
    ) -> None:
        found = update_metrics(terms, now, rollout) | {"grad_norm": norm, "update_norm": moved}
        self.names = tuple(found)
        self.rows.append(torch.stack(list(found.values())))
        self.epochs.append(epoch)
