"""The optimiser steps of one training step: from a rollout to new parameters, every term kept.

`Updates` is private to one step and short-lived; it is the only thing here that changes. What it read stays untouched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from rlcore import masked
from rlcore.advantages import Advantages, whitened
from rlcore.algorithm import LossTerms, PolicyOutput, shaped_reward
from rlcore.config import EpochKlStop, MinibatchKlStop, RunConfig
from rlcore.envs.protocol import Dice
from rlcore.metrics import (
    LOSSES,
    OF_AN_UPDATE,
    Seen,
    approx_kl_tokens,
    clip_metrics,
    drift_metrics,
    joined,
    seen,
)
from rlcore.optim import clip_by_global_norm
from rlcore.records import StepTrace, UpdateTrace, arrays, freeze, update_trace
from rlcore.rollout import Rollout, light, split, take
from rlcore.slopes import Slopes, judge
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
    kept = algorithm.select(rollout.score, rollout.group)  # the environment's: dynamic sampling asks who was right
    chosen = rollout
    if not bool(kept.all()):
        index = kept.nonzero().squeeze(-1)
        chosen = take(rollout, index)
        advantages = advantages.each(lambda x: x.index_select(0, index))
    if algorithm.whiten.scope == "batch":
        advantages = whitened(advantages, algorithm.whiten, chosen.mask)
    if not torch.isfinite(advantages.advantages.sum()):
        raise diverged(state.step, "advantages")
    chosen = light(chosen)
    if config.batch.shuffled == "transitions":
        chosen, advantages = transitions(chosen, advantages)
    return Prepared(rollout, chosen, reward, kept, advantages)


def transitions(rollout: Rollout, advantages: Advantages) -> tuple[Rollout, Advantages]:
    """Every valid step as a row of its own: [B, T] -> [N, 1]. Without padding these are views."""
    valid = rollout.mask.reshape(-1).nonzero().squeeze(-1)
    width, whole = rollout.mask.shape[1], len(valid) == rollout.mask.numel()

    def flat(x: Tensor) -> Tensor:
        rows = x.reshape(-1, 1, *x.shape[2:])
        return rows if whole else rows.index_select(0, valid)

    group = flat(rollout.group.repeat_interleave(width)).squeeze(-1)
    rest = {n: flat(x) for n, x in vars(rollout).items() if x is not None and len(x) and n not in ("group", "prompt")}
    return replace(rollout, **rest, group=group, prompt=None), advantages.each(flat)


@dataclass(frozen=True)
class Piece:
    """A minibatch: its `rows` of the prepared rollout, and their data."""

    rows: Tensor
    rollout: Rollout
    advantages: Advantages


def whole(config: RunConfig, batch: Prepared) -> Piece:
    """The batch in order, as one piece."""
    rollout = batch.rollout
    return Piece(torch.arange(rollout.rows), rollout, _whitened(config, batch.advantages, rollout.mask, [rollout.rows]))


def pieces(config: RunConfig, batch: Prepared, dice: Dice, epoch: int) -> Iterator[Piece]:
    """The minibatches of an epoch: the whole batch in order, or about equal parts of it after one shuffle."""
    rows, count = batch.rollout.rows, config.batch.minibatches
    if rows == 0:
        return
    if count == 1:
        yield whole(config, batch)
        return
    order = torch.from_numpy(dice("shuffle", epoch).permutation(rows))
    edges = [round(i * rows / count) for i in range(count + 1)]
    sizes = [stop - start for start, stop in zip(edges, edges[1:], strict=False)]
    rollout, advantages = take(batch.rollout, order), batch.advantages.each(lambda x: x.index_select(0, order))
    advantages = _whitened(config, advantages, rollout.mask, sizes)
    columns = zip(*(x.split_with_sizes(sizes) for x in vars(advantages).values()), strict=True)
    for places, part, own in zip(order.split_with_sizes(sizes), split(rollout, sizes), columns, strict=True):
        yield Piece(places, part, Advantages(*own))


def _whitened(config: RunConfig, advantages: Advantages, mask: Tensor, sizes: list[int]) -> Advantages:
    """Advantages whitened within each run of `sizes` rows, where the recipe whitens by minibatch; all runs at once."""
    whiten, values = config.algorithm.whiten, advantages.advantages
    if whiten.scope != "minibatch":
        return advantages
    if len(set(sizes)) == 1:
        split = (len(sizes), sizes[0], -1)
        return replace(advantages, advantages=whiten(values.view(split), mask.view(split)).view(mask.shape))
    padded = pad_sequence(list(values.split_with_sizes(sizes)), batch_first=True)
    real = pad_sequence(list(mask.split_with_sizes(sizes)), batch_first=True)
    runs = zip(whiten(padded, real), sizes, strict=True)
    return replace(advantages, advantages=torch.cat([run[:size] for run, size in runs]))


class Updates:
    """The optimiser steps of one training step: private and short-lived, hence allowed to change."""

    def __init__(self, state: TrainState, config: RunConfig, batch: Prepared, trace: bool) -> None:
        self.start, self.config, self.batch, self.trace = state, config, batch, trace
        self.theta, self.moments = state.theta.clone(), state.moments
        self.grad = torch.zeros_like(self.theta)
        self.critic, self.judge = config.algorithm.needs_critic, judge(config.algorithm)
        self.scored = config.policy.scorer(state.layout, self.theta, self.grad, critic=self.critic)
        self.lr = config.optim.lr * config.optim.schedule(state.step)
        self.kl_beta = beta_in_force(state, config)
        self.seen: list[list[Seen]] = []
        self.scalars: list[list[float]] = []
        self.traces: list[UpdateTrace] = []
        self.halted = False

    def run(self, epoch: int, minibatch: int, piece: Piece) -> bool:
        """One optimiser step; False where an early stop forbids it."""
        if self.halted:
            return False
        rollout, advantages = piece.rollout, piece.advantages
        now, terms, slopes = self._differentiate(rollout, advantages)
        if self._too_far(terms, rollout):
            self.halted = True
            return False
        clipped, norm = clip_by_global_norm(self.grad, self.config.optim.max_grad_norm)
        updated, self.moments = self.config.optim(self.theta, clipped, self.moments, lr=self.lr)
        self._note(epoch, terms, now, rollout, norm)
        if self.trace:
            moved = float(torch.linalg.vector_norm(updated - self.theta))
            scalars = {"grad_norm": norm, "update_norm": moved, "lr": self.lr, "kl_beta": self.kl_beta}
            by_part = {name: float(g.norm()) for name, g in self.start.layout.parts(self.grad).items()}
            grad_logp = torch.zeros_like(now.logp) if slopes.logp is None else slopes.logp
            self.traces.append(
                update_trace(
                    terms, advantages, rollout, now=now, place=(epoch, minibatch), rows=piece.rows,
                    grad_logp=grad_logp, scalars=scalars, grad_by_part=by_part, entropy_coef=self._entropy_coef,
                )
            )  # fmt: skip
        self.theta.copy_(updated)
        return True

    @torch.inference_mode()
    def _differentiate(self, rollout: Rollout, advantages: Advantages) -> tuple[PolicyOutput, LossTerms, Slopes]:
        """Score the rows, ask the loss what it wants of them, and carry that back into `grad`."""
        scored = self.scored(rollout)
        terms, slopes = self.judge(self.config.algorithm, scored.now, rollout, advantages, self.kl_beta)
        scored.back(slopes)
        return scored.now, terms, slopes

    @property
    def _entropy_coef(self) -> float:
        return self.config.algorithm.entropy_coef

    @property
    def count(self) -> int:
        """Optimiser steps run so far."""
        return len(self.scalars)

    def stopped(self) -> bool:
        """True where no further epoch is to be run."""
        rule = self.config.batch.early_stop
        if isinstance(rule, EpochKlStop) and self.seen:
            return bool(drift_metrics(self.seen[-1][-1])["approx_kl"] > rule.target)
        return self.halted

    def metrics(self) -> dict[str, float]:
        """All optimiser steps in one number each: losses, gradient norm and clip fractions as means over them, ratio
        extremes over all of them, drift (KLs, entropy) over the last epoch; NaN where there was none. Raises Diverged
        where one is not finite.
        """
        if not self.scalars:
            return dict.fromkeys(OF_AN_UPDATE, math.nan)
        table = torch.tensor(self.scalars, dtype=torch.float64)
        refuse_non_finite(self.start.step, table, self.theta)
        losses = dict(zip(SCALARS, table.mean(0), strict=True))
        clips = clip_metrics(self.config.algorithm.surrogate, joined([s for epoch in self.seen for s in epoch]))
        found = losses | clips | drift_metrics(joined(self.seen[-1]))
        return {name: float(x) for name, x in found.items()}

    def _note(self, epoch: int, terms: LossTerms, now: PolicyOutput, rollout: Rollout, norm: float) -> None:
        """Keep what the metrics need; distributions of the last epoch only."""
        if len(self.seen) <= epoch:
            if self.seen:
                self.seen[-1] = [replace(s, dist_new=None, dist_ref=None) for s in self.seen[-1]]
            self.seen.append([])
        self.seen[-1].append(seen(terms, now, rollout))
        self.scalars.append([*(getattr(terms, name).item() for name in LOSSES), norm])

    def _too_far(self, terms: LossTerms, rollout: Rollout) -> bool:
        rule = self.config.batch.early_stop
        if not isinstance(rule, MinibatchKlStop):
            return False
        log_ratio = terms.ratio.token_log_ratio.detach()
        return bool(masked.mean(approx_kl_tokens(log_ratio), rollout.mask) > 1.5 * rule.target)


SCALARS = (*LOSSES, "grad_norm")
BLAME = {"policy_loss": "ratio", "kl_loss": "kl", "value_loss": "value", "loss": "loss", "grad_norm": "gradient"}


def refuse_non_finite(step: int, table: Tensor, theta: Tensor) -> None:
    """Raise Diverged, naming the first term of the first optimiser step that is not finite: table [updates, SCALARS]."""
    good = torch.isfinite(table)
    if bool(good.all()) and bool(torch.isfinite(theta).all()):
        return
    bad = (~good).any(1).nonzero()
    terms = [term for name, term in BLAME.items() if len(bad) and not good[bad[0, 0], SCALARS.index(name)]]
    raise diverged(step, terms[0] if terms else "parameters")
