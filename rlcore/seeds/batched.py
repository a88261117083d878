"""Seeds of a finite world as one more leading axis: theta [N, P], rollouts [N, B, T], the engine's own losses.

Each seed's numbers are those of its run alone up to float rounding: sums over padded rows add up in another order. Where
no row is padded (bandits) that leaves nothing, or the last bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from rlcore import masked
from rlcore.aggregation import TokenMean
from rlcore.algorithm import Algorithm, PolicyOutput
from rlcore.config import NoStop, RunConfig
from rlcore.engine import init
from rlcore.envs import FiniteEnv, Plan, tables
from rlcore.kl import ExactKl, FixedBeta, NoKl, exact_kl
from rlcore.metrics import Seen
from rlcore.policies import Layout, Params, Tabular
from rlcore.rollout import Rollout
from rlcore.seeds.playing import ManyDice, play
from rlcore.seeds.tally import can_be_tallied
from rlcore.shaping import DropFlatGroups, KeepAll

MOST_TOKENS = 8_000_000
"""Of one rollout of all seeds together; what a laptop's memory holds with everything made from them."""


def why_in_turn(config: RunConfig) -> str:
    """Why seeds of this config cannot share tensors, in words; "" where they can."""
    batch, algorithm = config.batch, config.algorithm
    reasons = {
        "this world is not a finite table": not isinstance(config.env, FiniteEnv),
        "the policy is not a table": not isinstance(config.policy, Tabular),
        "rows are segments that go on from step to step": batch.segment is not None,
        "minibatches are of single transitions": batch.shuffled != "rows",
        "each seed may stop its epochs at another time": not isinstance(batch.early_stop, NoStop),
        "a controller moves each seed's β": not _fixed_beta(algorithm),
        "rows are dropped, of each seed others": not _rows_can_be_masked(config),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _fixed_beta(algorithm: Algorithm) -> bool:
    return isinstance(algorithm.kl, NoKl) or isinstance(algorithm.kl.controller, FixedBeta)


def _rows_can_be_masked(config: RunConfig) -> bool:
    """A dropped row may stay, masked, where only tokens are counted."""
    algorithm = config.algorithm
    if isinstance(algorithm.select, KeepAll):
        return True
    plain = isinstance(algorithm.aggregate, TokenMean) and algorithm.entropy_aggregate is None
    return isinstance(algorithm.select, DropFlatGroups) and plain and config.batch.minibatches == 1


@dataclass(frozen=True, eq=False)
class Batched:
    """theta, theta_ref, moments m and v: [N, P] each · updates [N] of the optimiser · diverged, what stopped a seed."""

    step: int
    seeds: tuple[int, ...]
    theta: Tensor
    theta_ref: Tensor
    layout: Layout
    m: Tensor
    v: Tensor
    updates: np.ndarray
    diverged: dict[int, str] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.seeds)


def start(config: RunConfig, seeds: Sequence[int]) -> Batched:
    """Every seed's first state; each is initialised as it would be alone."""
    states = [init(config.model_copy(update={"seed": seed})) for seed in seeds]
    theta = torch.stack([state.theta for state in states])
    zeros = torch.zeros_like(theta)
    return Batched(0, tuple(seeds), theta, theta, states[0].layout, zeros, zeros, np.zeros(len(seeds), dtype=np.int64))


def with_critic(state: Batched, config: RunConfig) -> Batched:
    """With every seed's fresh critic appended, as the engine does when a recipe with a critic is switched to."""
    def grown(x: Tensor, tail: Tensor) -> Tensor:
        return torch.cat([x, tail], -1)

    fresh = [init(config.model_copy(update={"seed": seed})) for seed in state.seeds]
    own = sum(state.layout.sizes)
    extra = torch.stack([each.theta[own:] for each in fresh])
    none = torch.zeros_like(extra)
    return replace(
        state, theta=grown(state.theta, extra), theta_ref=grown(state.theta_ref, extra), layout=fresh[0].layout,
        m=grown(state.m, none), v=grown(state.v, none),
    )  # fmt: skip


def _world(config: RunConfig) -> FiniteEnv:
    assert isinstance(config.env, FiniteEnv)
    return config.env


# ---------------------------------------------------------------- from one axis of islands to [N, B, T] and back


def collected(state: Batched, config: RunConfig, dice: ManyDice) -> Rollout:
    """All seeds' rows, [N, B, T]; `obs` counts states through all seeds."""
    b, mdp, policy = config.batch, tables(_world(config)), config.policy
    assert isinstance(policy, Tabular)
    plan = Plan(b.prompts, b.group_size, None, config.algorithm.needs_critic)
    every = torch.arange(state.n * mdp.states)
    with torch.no_grad():
        logp, logp_ref = (_logp(policy, islands(state.layout, x), every) for x in (state.theta, state.theta_ref))
        value = policy.value(islands(state.layout, state.theta), every) if plan.critic else torch.zeros(len(every))
    played = play(mdp, logp.exp().view(state.n, mdp.states, -1).numpy(), plan, dice)
    taken = played.state * mdp.actions + played.action
    whole = reads_dists(config.algorithm) and not can_be_tallied(config, taken)
    return Rollout(
        obs=played.state, action=played.action, mask=played.mask, reward=played.reward,
        logp_old=logp.take(taken), logp_ref=logp_ref.take(taken), terminal=played.terminal, truncated=played.truncated,
        value_old=value.take(played.state) if plan.critic else torch.zeros(()).expand(taken.shape),
        value_next=value.take(played.following) * ~played.terminal if plan.critic else torch.zeros(()).expand(taken.shape),
        group=plan.groups(), dist_old=logp[played.state] if whole else None,
        dist_ref=logp_ref[played.state] if whole else None,
    )  # fmt: skip


def _logp(policy: Tabular, params: Params, every: Tensor) -> Tensor:
    found = policy.act(params, every)
    return found.logp


def islands(layout: Layout, theta: Tensor) -> Params:
    """The tables of all seeds below each other: [N, S, A] -> [N * S, A]."""
    return {name: part.reshape(-1, *part.shape[2:]) for name, part in layout.parts(theta).items()}


def evaluated(config: RunConfig, layout: Layout, theta: Tensor, rollout: Rollout) -> PolicyOutput:
    """The policies' view of all seeds' rows, [N, B, T], differentiable in theta [N, P].

    What a state has is worked out once a state and then looked up; whole distributions only where the loss reads them.
    """
    policy, params = config.policy, islands(layout, theta)
    assert isinstance(policy, Tabular)
    states, actions = params["actor.logits"].shape
    table = policy.act(params, torch.arange(states))

    def looked_up(x: Tensor, place: Tensor) -> Tensor:
        return x.reshape(-1).index_select(0, place.reshape(-1)).view(place.shape)

    logp = looked_up(table.logp, rollout.obs * actions + rollout.action)
    critic = "critic.value" in params and config.algorithm.needs_critic
    value = looked_up(params["critic.value"], rollout.obs) if critic else torch.zeros_like(logp)
    dist = table.logp[rollout.obs] if reads_dists(config.algorithm) else None
    return PolicyOutput(logp, looked_up(table.entropy(), rollout.obs), value, dist)


def reads_dists(algorithm: Algorithm) -> bool:
    return isinstance(getattr(algorithm.kl, "estimator", None), ExactKl)


def exact_kl_of(layout: Layout, theta: Tensor, theta_ref: Tensor, facts: Seen, obs: Tensor) -> Tensor:
    """Exact KL to the reference over the tokens of a piece, by seed: [N]."""
    now, ref = (torch.log_softmax(islands(layout, x)["actor.logits"], -1) for x in (theta.detach(), theta_ref))
    of_state = exact_kl(now, ref)
    return masked.weighted(masked.fill(of_state[obs], facts.mask), facts.token_weight)


def affordable(config: RunConfig, seeds: int) -> bool:
    """Whether all seeds' rollouts fit into memory at once."""
    horizon = config.env.mdp().horizon if isinstance(config.env, FiniteEnv) else math.inf
    return seeds * config.batch.rows * horizon <= MOST_TOKENS
