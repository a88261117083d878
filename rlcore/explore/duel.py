"""Duel: one frozen batch through several algorithms at once.

The batch is sampled once and the policy is moved along on it by the run's own recipe; then every algorithm is asked, at
that same point, what it would do: its advantages, which tokens it silences, its weights, its gradient, and the policy
after one step of the run's optimiser. Nothing is trained; nothing here knows a formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from rlcore import masked
from rlcore.algorithm import Algorithm, PolicyOutput, policy_loss
from rlcore.config import RunConfig
from rlcore.envs import FiniteEnv, Plan, tables
from rlcore.envs.protocol import Env
from rlcore.envs.truth import expected_return
from rlcore.explore.recorded import state_at
from rlcore.optim import clip_by_global_norm, no_moments
from rlcore.records import Array, arrays, freeze
from rlcore.rng import generator
from rlcore.rollout import Rollout, take
from rlcore.state import TrainState, has_critic, with_critic
from rlcore.updates import Prepared, Updates, prepare, whole


@dataclass(frozen=True, eq=False)
class Frozen:
    """A sampled batch and a policy that has moved on from the one that sampled it.

    state    before the step; its parameters sampled the rollout
    theta    [P] the parameters at which everybody is asked
    updates  full-batch updates that lie between the two; 0: on policy, every ratio is 1
    """

    state: TrainState
    config: RunConfig
    rollout: Rollout
    theta: Tensor
    updates: int


@dataclass(frozen=True)
class Stance:
    """What one algorithm says about the frozen batch. Arrays [B, T] of its rows unless said otherwise.

    rows [B] of the batch that it kept · active: the token still has a policy gradient · grad_logp: d loss / d logp_new
    loss, policy_loss, kl_loss, and grad_norm before clipping, all without the critic's part
    after one optimiser step from fresh moments: kl_moved, exact KL(after || before) where actions are finite, else k3, mean
    over the batch's tokens · change, log pi_after - log pi_before of the batch's tokens, [B, T] of the whole batch
    """

    name: str
    algorithm: Algorithm
    rows: Array
    mask: Array
    advantages: Array
    ratio: Array
    active: Array
    outside: Array
    weight: Array
    grad_logp: Array
    loss: float
    policy_loss: float
    kl_loss: float
    grad_norm: float
    clip_fraction: float
    kl_moved: float
    change: Array
    after: TrainState

    def whole(self, part: Array, rows: int) -> Array:
        """An array [B, T] of the kept rows over all `rows` of the batch: NaN where dropped or beyond a row's end."""
        full = np.full((rows, part.shape[1]), np.nan)
        full[self.rows] = np.where(self.mask, part, np.nan)
        return full


@dataclass(frozen=True)
class Duel:
    """All stances, and the cosine between their gradients [n, n]; NaN where a gradient is 0.

    On a finite world also, None elsewhere: truth [n], the cosine of each gradient with the exact one of the expected
    return · gained [n], how much one step changes the exact expected return, which before it is `before`
    """

    rollout: Mapping[str, Array]
    stances: tuple[Stance, ...]
    cosine: Array
    truth: Array | None
    before: float | None
    gained: Array | None


@lru_cache(maxsize=32)
def frozen_at(config: RunConfig, *, steps: int, updates: int) -> Frozen:
    """The batch of step `steps` (from 0) of a run that is played again from its start, `updates` updates into it."""
    return freeze_batch(state_at(config, steps), config, updates=updates)


def freeze_batch(state: TrainState, config: RunConfig, *, updates: int) -> Frozen:
    """Sample the batch of the coming step, and take `updates` full-batch updates of the run's own recipe on it.

    The batch carries values of a critic (a fresh one where the run has none), so that PPO can join.
    """
    if not has_critic(state):
        state = with_critic(state, config)
    dice, b = partial(generator, config.seed, state.step), config.batch
    plan = Plan(b.prompts, b.group_size, b.segment, True)
    env: Env = config.env
    rollout = env.collect(config.policy, state.params, state.params_ref, plan, state.carry, dice).rollout
    batch = prepare(state, _by_rows(config), rollout)
    moving = Updates(state, config, batch, False)
    for epoch in range(updates):
        moving.run(epoch, 0, whole(config, batch))
    return Frozen(state, config, rollout, moving.theta.clone(), updates)


@lru_cache(maxsize=64)
def fewer(frozen: Frozen, group_size: int) -> Frozen:
    """The same batch with the first `group_size` rows of every group: what a smaller G would have seen."""
    if group_size >= frozen.config.batch.group_size:
        return frozen
    within = torch.arange(frozen.rollout.rows) % frozen.config.batch.group_size
    return replace(frozen, rollout=take(frozen.rollout, (within < group_size).nonzero().squeeze(-1)))


def duel(frozen: Frozen, algorithms: Mapping[str, Algorithm]) -> Duel:
    """Ask every algorithm, by name, about the batch."""
    asked = [_asked(frozen, name, algorithm) for name, algorithm in algorithms.items()]
    stances, gradients = tuple(s for s, _ in asked), [g for _, g in asked]
    cosine = freeze(_cosines(gradients))
    if not isinstance(frozen.config.env, FiniteEnv):
        return Duel(arrays(frozen.rollout), stances, cosine, None, None, None)
    before, exact = _exact(frozen)
    truth = _cosines([-exact, *gradients])[0, 1:]  # the true gradient climbs, a loss's goes down
    gained = np.array([float(_return(frozen, s.after.theta)) - before for s in stances])
    return Duel(arrays(frozen.rollout), stances, cosine, freeze(truth), before, gained)


@lru_cache(maxsize=64)
def _asked(frozen: Frozen, name: str, algorithm: Algorithm) -> tuple[Stance, Tensor]:
    """What was asked before is not worked out again: a slider that concerns one algorithm costs one algorithm."""
    return _ask(frozen, name, algorithm)


def _return(frozen: Frozen, theta: Tensor) -> Tensor:
    """Exact expected return on a finite world, differentiable in theta [P]."""
    assert isinstance(frozen.config.env, FiniteEnv)
    return expected_return(tables(frozen.config.env), action_logp(frozen, theta).double())


@lru_cache(maxsize=32)
def _exact(frozen: Frozen) -> tuple[float, Tensor]:
    """Exact expected return at the duel's point, and its gradient [P]."""
    leaf = frozen.theta.detach().requires_grad_()
    value = _return(frozen, leaf)
    return float(value.detach()), torch.autograd.grad(value, leaf, materialize_grads=True)[0]


def action_logp(frozen: Frozen, theta: Tensor) -> Tensor:
    """log pi of every action in every state of a finite world, [S, A]."""
    assert isinstance(frozen.config.env, FiniteEnv)
    states = torch.arange(tables(frozen.config.env).states)
    found: Tensor = frozen.config.policy.act(frozen.state.layout.parts(theta), states).logp  # type: ignore[union-attr]
    return found


def probabilities(frozen: Frozen, found: Duel, state: int) -> dict[str, Array]:
    """pi(. | state) [A] on a finite world: "before", and after one step of each algorithm by name."""
    with torch.no_grad():
        points = {"before": frozen.theta} | {s.name: s.after.theta for s in found.stances}
        return {name: freeze(action_logp(frozen, theta)[state].exp()) for name, theta in points.items()}


def _ask(frozen: Frozen, name: str, algorithm: Algorithm) -> tuple[Stance, Tensor]:
    config = _by_rows(frozen.config.model_copy(update={"algorithm": algorithm}))
    state = replace(frozen.state, kl_beta=algorithm.kl.kl_beta, kl_set=algorithm.kl.kl_beta)
    batch = prepare(state, config, frozen.rollout)
    piece = whole(config, batch)
    leaf = frozen.theta.detach().requires_grad_()
    now = config.policy.evaluate(state.layout.parts(leaf), piece.rollout, critic=algorithm.needs_critic)
    terms = policy_loss(algorithm, now, piece.rollout, piece.advantages, algorithm.kl.kl_beta)
    grad, grad_logp = torch.autograd.grad(terms.loss - terms.value_loss, (leaf, now.logp), materialize_grads=True)
    clipped, norm = clip_by_global_norm(grad, config.optim.max_grad_norm)
    after, _ = config.optim(frozen.theta, clipped, no_moments(frozen.theta), lr=config.optim.lr)
    s = terms.surrogate
    kl_moved, change = _moved(frozen, after)
    return Stance(
        name=name, algorithm=algorithm, rows=freeze(_kept(batch)), mask=freeze(piece.rollout.mask),
        advantages=freeze(terms.advantages), ratio=freeze(terms.ratio.ratio),
        active=freeze(piece.rollout.mask & ~s.dead & (terms.advantages != 0)), outside=freeze(s.outside),
        weight=freeze(terms.weight), grad_logp=freeze(grad_logp), loss=(terms.loss - terms.value_loss).item(),
        policy_loss=terms.policy_loss.item(), kl_loss=terms.kl_loss.item(), grad_norm=norm,
        clip_fraction=masked.mean(s.dead.float(), piece.rollout.mask).item(),
        kl_moved=kl_moved, change=change, after=replace(state, theta=after),
    ), grad  # fmt: skip


def _by_rows(config: RunConfig) -> RunConfig:
    """The run with whole rows in one minibatch: a duel compares rows, not transitions."""
    return config.model_copy(update={"batch": config.batch.model_copy(update={"minibatches": 1, "shuffled": "rows"})})


def _kept(batch: Prepared) -> Tensor:
    return batch.kept.nonzero().squeeze(-1)


@torch.no_grad()
def _moved(frozen: Frozen, theta: Tensor) -> tuple[float, Array]:
    """(mean KL(policy at theta || policy at the duel's point) over the batch's tokens, change of their log pi [B, T])."""
    policy, rollout = frozen.config.policy, frozen.rollout
    before, after = _view(frozen), policy.evaluate(frozen.state.layout.parts(theta), rollout, critic=False)
    change = masked.fill(after.logp - before.logp, rollout.mask)
    if after.dist is not None and before.dist is not None:
        per_token = (after.dist.exp() * (after.dist - before.dist)).sum(-1)
    else:
        per_token = torch.expm1(-change) + change
    return masked.mean(per_token, rollout.mask).item(), freeze(change)


@lru_cache(maxsize=32)
@torch.no_grad()
def _view(frozen: Frozen) -> PolicyOutput:
    """The policy's view of the batch at the duel's point."""
    return frozen.config.policy.evaluate(frozen.state.layout.parts(frozen.theta), frozen.rollout, critic=False)


def _cosines(gradients: list[Tensor]) -> Tensor:
    stacked = torch.stack(gradients).double()
    norms = stacked.norm(dim=-1)
    products = stacked @ stacked.T / (norms[:, None] * norms[None])
    return torch.where(torch.isfinite(products), products.clamp(-1, 1), torch.nan)


def silenced(stance: Stance) -> int:
    """Valid tokens whose policy gradient the algorithm removed, by a bound or by an advantage of 0."""
    return int((stance.mask & ~stance.active).sum())


def token_totals(stance: Stance) -> Array:
    """|d loss / d logp| summed over each row's tokens, [B]: how loud each row speaks."""
    return np.asarray(np.abs(np.where(stance.mask, stance.grad_logp, 0.0)).sum(-1))
