"""Duel: one frozen batch through several algorithms at once.

The batch is sampled once and the policy is moved along on it by the run's own recipe; then every algorithm is asked, at
that same point, what it would do: its advantages, which tokens it silences, its weights, its gradient, and the policy
after one step of the run's optimiser. Nothing is trained; nothing here knows a formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from rlcore import masked
from rlcore.algorithm import Algorithm, policy_loss
from rlcore.config import RunConfig
from rlcore.envs import Plan
from rlcore.envs.protocol import Env
from rlcore.optim import clip_by_global_norm, no_moments
from rlcore.records import Array, arrays, freeze
from rlcore.rng import generator
from rlcore.rollout import Rollout, take
from rlcore.state import TrainState, has_critic, with_critic
from rlcore.updates import Prepared, Updates, prepare, whole


@dataclass(frozen=True)
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
    loss, policy_loss, kl_loss, and grad_norm before clipping, all without the critic's part · kl_moved: exact KL(after || before) where actions are
    finite, else k3, mean over the batch's tokens, of one optimiser step from fresh moments
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
    after: TrainState


@dataclass(frozen=True)
class Duel:
    """All stances, and the cosine between their gradients [n, n]; NaN where a gradient is 0."""

    rollout: Mapping[str, Array]
    stances: tuple[Stance, ...]
    cosine: Array


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


def fewer(frozen: Frozen, group_size: int) -> Frozen:
    """The same batch with the first `group_size` rows of every group: what a smaller G would have seen."""
    within = torch.arange(frozen.rollout.rows) % frozen.config.batch.group_size
    return replace(frozen, rollout=take(frozen.rollout, (within < group_size).nonzero().squeeze(-1)))


def duel(frozen: Frozen, algorithms: Mapping[str, Algorithm]) -> Duel:
    """Ask every algorithm, by name, about the batch."""
    asked = [_ask(frozen, name, algorithm) for name, algorithm in algorithms.items()]
    stances, gradients = tuple(s for s, _ in asked), [g for _, g in asked]
    return Duel(arrays(frozen.rollout), stances, freeze(_cosines(gradients)))


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
    return Stance(
        name=name, algorithm=algorithm, rows=freeze(_kept(batch)), mask=freeze(piece.rollout.mask),
        advantages=freeze(terms.advantages), ratio=freeze(terms.ratio.ratio),
        active=freeze(piece.rollout.mask & ~s.dead & (terms.advantages != 0)), outside=freeze(s.outside),
        weight=freeze(terms.weight), grad_logp=freeze(grad_logp), loss=(terms.loss - terms.value_loss).item(),
        policy_loss=terms.policy_loss.item(), kl_loss=terms.kl_loss.item(), grad_norm=norm,
        clip_fraction=masked.mean(s.dead.float(), piece.rollout.mask).item(),
        kl_moved=_moved(frozen, after), after=replace(state, theta=after),
    ), grad  # fmt: skip


def _by_rows(config: RunConfig) -> RunConfig:
    """The run with whole rows in one minibatch: a duel compares rows, not transitions."""
    return config.model_copy(update={"batch": config.batch.model_copy(update={"minibatches": 1, "shuffled": "rows"})})


def _kept(batch: Prepared) -> Tensor:
    return batch.kept.nonzero().squeeze(-1)


@torch.no_grad()
def _moved(frozen: Frozen, theta: Tensor) -> float:
    """Mean KL(policy at theta || policy at the duel's point) over the batch's tokens."""
    policy, layout, rollout = frozen.config.policy, frozen.state.layout, frozen.rollout
    before = policy.evaluate(layout.parts(frozen.theta), rollout, critic=False)
    after = policy.evaluate(layout.parts(theta), rollout, critic=False)
    if after.dist is not None and before.dist is not None:
        per_token = (after.dist.exp() * (after.dist - before.dist)).sum(-1)
    else:
        log_ratio = before.logp - after.logp
        per_token = torch.expm1(log_ratio) - log_ratio
    return masked.mean(per_token, rollout.mask).item()


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
