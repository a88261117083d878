"""One training step of all seeds: the engine's own losses with a leading axis, cut where a worker may look elsewhere."""


from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages, explained_variance, whitened
from rlcore.aggregation import ConstantLength
from rlcore.algorithm import TOKEN_MEAN, Algorithm, LossTerms, PolicyOutput, policy_loss, shaped_reward
from rlcore.config import RunConfig
from rlcore.critic import NoCritic
from rlcore.engine import one_thread
from rlcore.metrics import LOSSES, OF_AN_UPDATE, Seen, clip_metrics, drift_metrics, joined, rollout_metrics, seen
from rlcore.optim import Moments
from rlcore.rollout import Rollout
from rlcore.seeds.batched import Batched, collected, evaluated, exact_kl_of, islands, with_critic
from rlcore.seeds.playing import ManyDice
from rlcore.seeds.record import SeedsRecord
from rlcore.seeds.tally import Tally, can_be_tallied, tally
from rlcore.shaping import KeepAll
from rlcore.slopes import in_closed_form, judge
from rlcore.state import diverged
from rlcore.updates import BLAME, SCALARS


def step_slices(state: Batched, config: RunConfig) -> Generator[object, None, tuple[Batched, SeedsRecord]]:
    """`engine.step_slices` with a leading axis of seeds."""
    slices, seconds = _slices(state, config), 0.0
    while True:
        began = time.perf_counter()
        try:
            with one_thread():
                next(slices)
        except StopIteration as end:
            after, record = end.value
            each = (seconds + time.perf_counter() - began) / state.n
            return after, replace(record, seconds=np.where(np.isnan(record.samples), np.nan, each))
        seconds += time.perf_counter() - began
        yield None


def _slices(state: Batched, config: RunConfig) -> Generator[object, None, tuple[Batched, SeedsRecord]]:
    if config.algorithm.needs_critic and not any(name.startswith("critic.") for name in state.layout.names):
        state = with_critic(state, config)
    dice = ManyDice(state.seeds, state.step)
    rollout = collected(state, config, dice)
    step = Step(state, config, rollout)
    yield None
    for epoch in range(config.batch.epochs):
        for piece, advantages in step.pieces(dice, epoch):
            step.update(epoch, piece, advantages)
            yield None
    return step.finish()


@dataclass(frozen=True)
class OwnLength:
    """`ConstantLength` with the padded length that each seed would have alone: [N, 1, 1]."""

    rows: Tensor
    length: Tensor

    def __call__(self, mask: Tensor, like: Tensor) -> Tensor:
        return mask.to(like.dtype) / (self.rows * self.length).to(like.dtype)


@dataclass(frozen=True)
class Judged:
    """The losses of an update, and its gradient's first half: d loss / d each of `outputs`, which hang on theta."""

    terms: LossTerms
    outputs: list[Tensor]
    slopes: list[Tensor]


class Step:
    """The optimiser steps of one training step of all seeds: private and short-lived, hence allowed to change."""

    def __init__(self, state: Batched, config: RunConfig, collected: Rollout) -> None:
        self.start, self.config, self.collected = state, config, collected
        self.theta, self.m, self.v, self.updates = state.theta, state.m, state.v, state.updates.copy()
        self.before = self.theta
        self.lr = config.optim.lr * config.optim.schedule(state.step)
        self.kl_beta = float(config.algorithm.kl.kl_beta)
        self.algorithm = _lengths_fixed(config.algorithm, collected.mask)
        self.bad: dict[int, str] = dict(state.diverged)
        self.seen: list[list[Seen]] = []
        self.scalars: list[Tensor] = []
        self.exact: list[Tensor] = []  # exact KL to the reference in the last epoch's pieces, [N] each
        self.tallies = can_be_tallied(config, collected.mask)
        self._counted: tuple[Advantages, Tally] | None = None  # of the advantages they were counted with
        self._refuse(masked.total(collected.reward, collected.mask), "reward")
        self._refuse(masked.total(collected.logp_old, collected.mask), "logp_old")
        self.rollout, self.advantages = self._prepared()
        self._refuse(self.advantages.advantages.sum((-2, -1)), "advantages")
        self.moving = self.rollout.mask.flatten(1).any(1)  # [N]; a seed whose rows were all dropped is left as it is
        self.count = np.zeros(state.n)
        self.whole: tuple[Rollout, Advantages] | None = None  # the batch as one piece, whitened where asked

    def _prepared(self) -> tuple[Rollout, Advantages]:
        """`updates.prepare` for all seeds; dropped rows stay, masked."""
        algorithm, rollout = self.algorithm, self.collected
        reward = shaped_reward(algorithm, rollout, self.kl_beta)
        advantages = algorithm.advantage(rollout, reward)
        if not isinstance(algorithm.select, KeepAll):
            kept = torch.stack([algorithm.select(score, rollout.group) for score in rollout.score])
            mask = rollout.mask & kept[..., None]
            rollout, advantages = replace(rollout, mask=mask), advantages.each(lambda x: masked.fill(x, mask))
        if algorithm.whiten.scope == "batch":
            advantages = whitened(advantages, algorithm.whiten, rollout.mask)
        return rollout, advantages

    def pieces(self, dice: ManyDice, epoch: int) -> Iterator[tuple[Rollout, Advantages]]:
        """The minibatches of an epoch: everything, or equal parts of each seed's own shuffle; whitened where asked."""
        count = self.config.batch.minibatches
        if count == 1:
            self.whole = self.whole or self._whitened(self.rollout, self.advantages)
            yield self.whole
            return
        rows = self.config.batch.rows
        order = dice.orders(epoch, rows)
        edges = [round(i * rows / count) for i in range(count + 1)]
        for first, last in zip(edges, edges[1:], strict=False):
            part = _picker(order[:, first:last])
            yield self._whitened(_each(self.rollout, part), self.advantages.each(part))

    def _whitened(self, rollout: Rollout, advantages: Advantages) -> tuple[Rollout, Advantages]:
        whiten = self.algorithm.whiten
        return rollout, whitened(advantages, whiten, rollout.mask) if whiten.scope == "minibatch" else advantages

    def update(self, epoch: int, rollout: Rollout, advantages: Advantages) -> None:
        """One optimiser step of every seed."""
        theta = self.before = self.theta.detach().requires_grad_()
        if self.tallies:
            judged, facts, obs = self._of_kinds(theta, rollout, advantages)
        else:
            now, obs = evaluated(self.config, self.start.layout, theta, rollout), rollout.obs
            judged = self._judged(self.algorithm, now, rollout, advantages)
            facts = seen(judged.terms, now, rollout)
        (grad,) = torch.autograd.grad(judged.outputs, theta, grad_outputs=judged.slopes)
        norm = torch.linalg.vector_norm(grad, dim=-1)
        scale = (self.config.optim.max_grad_norm / (norm.double() + 1e-6)).to(grad.dtype)
        self._optimise(torch.where((scale < 1)[:, None], grad * scale[:, None], grad))
        self._note(epoch, judged.terms, facts, obs, norm)

    def _judged(self, algorithm: Algorithm, now: PolicyOutput, rollout: Rollout, advantages: Advantages) -> Judged:
        """The losses, and what is to be carried back to theta: slopes in closed form where they are known."""
        if judge(self.config.algorithm) is not in_closed_form:
            terms = policy_loss(algorithm, now, rollout, advantages, self.kl_beta)
            return Judged(terms, [terms.loss], [torch.ones_like(terms.loss)])
        plain = PolicyOutput(*(None if x is None else x.detach() for x in vars(now).values()))  # type: ignore[arg-type]
        terms, slopes = in_closed_form(algorithm, plain, rollout, advantages, self.kl_beta)
        pairs = ((now.logp, slopes.logp), (now.entropy, slopes.entropy), (now.value, slopes.value))
        asked = [(x, slope) for x, slope in pairs if slope is not None]
        return Judged(terms, [x for x, _ in asked], [slope for _, slope in asked])

    def _of_kinds(self, theta: Tensor, rollout: Rollout, advantages: Advantages) -> tuple[Judged, Seen, Tensor]:
        """The same sums over kinds of token (`tally`); only the critic's error is taken token by token."""
        layout = self.start.layout
        if self._counted is None or self._counted[0] is not advantages:
            tight = self.config.batch.minibatches == 1
            found = tally(self.algorithm, rollout, advantages, self.config.env.shape(), packed_tight=tight)
            was, ref = (evaluated(self.config, layout, x, found.rollout) for x in (self.start.theta, self.start.theta_ref))
            known = replace(found.rollout, logp_old=was.logp, logp_ref=ref.logp, dist_old=was.dist, dist_ref=ref.dist)
            self._counted = advantages, replace(found, rollout=known)
        kinds = self._counted[1]
        now = evaluated(self.config, layout, theta, kinds.rollout)
        judged = self._judged(kinds.algorithm, now, kinds.rollout, kinds.advantages)
        facts = replace(seen(judged.terms, now, kinds.rollout), token_weight=kinds.token_weight)
        if not isinstance(self.algorithm.critic, NoCritic):
            value = islands(layout, theta)["critic.value"][rollout.obs]
            weight = TOKEN_MEAN(rollout.mask, value)
            error = self.algorithm.critic(value * rollout.mask, rollout.value_old, advantages.returns, weight)
            terms = replace(judged.terms, loss=judged.terms.loss.detach() + error.detach(), value_loss=error.detach())
            judged = Judged(terms, [*judged.outputs, error], [*judged.slopes, torch.ones_like(error)])
        return judged, facts, kinds.rollout.obs

    def _optimise(self, grad: Tensor) -> None:
        """Seeds with the same number of updates behind them go together; nearly always that is all of them."""
        moving = self.moving.numpy()
        for updates in np.unique(self.updates[moving]):
            here = moving & (self.updates == updates)
            every = bool(here.all())
            which: Any = slice(None) if every else torch.from_numpy(here.nonzero()[0])
            moments = Moments(self.m[which], self.v[which], int(updates))
            theta, after = self.config.optim(self.theta[which], grad[which], moments, lr=self.lr)
            if every:
                self.theta, self.m, self.v = theta, after.m, after.v
            else:
                self.theta, self.m, self.v = (
                    whole.index_copy(0, which, part)
                    for whole, part in ((self.theta, theta), (self.m, after.m), (self.v, after.v))
                )
        self.updates[moving] += 1
        self.count[moving] += 1

    def _note(self, epoch: int, terms: LossTerms, facts: Seen, obs: Tensor, norm: Tensor) -> None:
        if len(self.seen) <= epoch:
            self.seen.append([])
        self.seen[-1].append(replace(facts, dist_new=None, dist_ref=None))
        if epoch == self.config.batch.epochs - 1:
            self.exact.append(exact_kl_of(self.start.layout, self.before, self.start.theta_ref, facts, obs))
        self.scalars.append(torch.stack([*(getattr(terms, name).detach() for name in LOSSES), norm], -1).double())

    # ------------------------------------------------------------ ending

    def finish(self) -> tuple[Batched, SeedsRecord]:
        """The state after the step, and every seed's metrics."""
        found = {name: x.double().numpy() for name, x in self._metrics().items()}
        for name in OF_AN_UPDATE:
            found[name] = np.where(self.count > 0, found[name], np.nan)
        if "kl_ref_exact" in found:
            found["kl_ref_exact"] = np.where(self.count > 0, found["kl_ref_exact"], np.nan)
        n = self.start.n
        found |= {"lr": np.full(n, self.lr), "kl_beta": np.full(n, self.kl_beta), "updates": self.count}
        gone = np.zeros(n, dtype=bool)
        gone[list(self.bad)] = True
        metrics = {name: np.where(gone, np.nan, x) for name, x in found.items()}
        samples = np.where(gone, np.nan, self.collected.mask.sum((-2, -1)).numpy())
        record = SeedsRecord(self.start.step, metrics, samples, np.zeros(n), self.bad)
        return self._after(torch.from_numpy(gone)), record

    def _after(self, gone: Tensor) -> Batched:
        """Seeds that diverged keep the last parameters that were good."""
        old, keep = self.start, gone[:, None]
        theta, m, v = (
            torch.where(keep, before, now)
            for before, now in ((old.theta, self.theta), (old.m, self.m), (old.v, self.v))
        )
        sync = self.config.ref_sync
        reference = theta if sync is not None and (old.step + 1) % sync == 0 else old.theta_ref
        return Batched(old.step + 1, old.seeds, theta, reference, old.layout, m, v, self.updates, self.bad)

    @torch.no_grad()
    def _metrics(self) -> dict[str, Tensor]:
        collected, score = self.collected, self.collected.score
        found = rollout_metrics(collected, score)
        found["episode_return"] = torch.from_numpy(score_at_end(collected).mean(-1))
        advantages, mask = self.advantages, self.rollout.mask
        found["advantage_std"] = masked.variance(advantages.advantages, mask, ddof=0).sqrt()
        if self.algorithm.needs_critic:
            found["explained_variance"] = explained_variance(self.rollout.value_old, advantages.returns, mask)
        table = torch.stack(self.scalars)
        self._refuse_updates(table)
        found |= dict(zip(SCALARS, table.mean(0).unbind(-1), strict=True))
        rule = self.algorithm.surrogate
        found |= clip_metrics(rule, joined([s for epoch in self.seen for s in epoch]))
        found |= drift_metrics(joined(self.seen[-1]))
        return found | {"kl_ref_exact": torch.stack(self.exact).mean(0)}

    def _refuse(self, numbers: Tensor, term: str) -> None:
        """Note the seeds [N] whose number is not finite."""
        for place in (~torch.isfinite(numbers)).nonzero()[:, 0].tolist():
            self.bad.setdefault(place, str(diverged(self.start.step, term)))

    def _refuse_updates(self, table: Tensor) -> None:
        """table [updates, N, SCALARS]: the first term of the first update that is not finite, by seed."""
        good = torch.isfinite(table)
        fine = good.flatten(2).all(2).all(0) & torch.isfinite(self.theta).all(1)
        for place in (~fine).nonzero()[:, 0].tolist():
            bad = (~good[:, place]).any(1).nonzero()
            terms = [t for name, t in BLAME.items() if len(bad) and not good[bad[0, 0], place, SCALARS.index(name)]]
            if self.moving[place]:
                self.bad.setdefault(place, str(diverged(self.start.step, terms[0] if terms else "parameters")))


def score_at_end(rollout: Rollout) -> np.ndarray:
    """Each episode's return, added up step by step as the engine does: [N, B]."""
    total = torch.where(rollout.mask, rollout.reward, 0.0).cumsum(-1)
    return np.ascontiguousarray(total[..., -1].numpy())


def _lengths_fixed(algorithm: Algorithm, mask: Tensor) -> Algorithm:
    """Aggregation by the padded length: each seed's own, not that of all seeds together."""

    def own(slot: Any) -> Any:
        if not isinstance(slot, ConstantLength) or slot.length is not None:
            return slot
        length = mask.any(-2).sum(-1)[:, None, None].to(torch.float32)
        rows = torch.tensor(float(mask.shape[-2]) if slot.rows is None else slot.rows)
        return OwnLength(rows, length)

    changed = {name: own(getattr(algorithm, name)) for name in ("aggregate", "entropy_aggregate")}
    if all(changed[name] is getattr(algorithm, name) for name in changed):
        return algorithm
    return algorithm.model_copy(update=changed)


def _picker(rows: Tensor) -> Callable[[Tensor], Tensor]:
    """Takes each seed's own rows [N, b] from [N, B, ...]."""
    place = torch.arange(len(rows))[:, None]
    return lambda x: x[place, rows]


def _each(rollout: Rollout, part: Callable[[Tensor], Tensor]) -> Rollout:
    tensors = {f.name: getattr(rollout, f.name) for f in fields(rollout) if f.name != "group"}
    return replace(rollout, **{name: part(x) for name, x in tensors.items() if x is not None})


