"""Finite Markov decision processes as tables, and the collector that plays them, all rows at once.

Bandits, contextual bandits and gridworlds are all of this kind, so they share one collector and one source of exact
truth (`envs.truth`). Nothing here knows an algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from rlcore.envs.protocol import Carry, Collected, Dice, Plan
from rlcore.knobs import Value
from rlcore.policies import ActorCritic, Params, Shape
from rlcore.policies.heads import Categorical
from rlcore.rollout import Rollout


@dataclass(frozen=True, eq=False)
class Mdp:
    """Tables of a finite MDP with S states, A actions and K possible outcomes of each step. Read-only numpy.

    following [S, A, K] int64 next state · probability [S, A, K] · reward [S, A, K] · terminal [S, A, K] bool ·
    noise [S, A] standard deviation of the reward's Gaussian noise · start [S] distribution of the first state ·
    horizon: an episode is truncated after so many steps.
    """

    following: np.ndarray
    probability: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    noise: np.ndarray
    start: np.ndarray
    horizon: int

    @property
    def states(self) -> int:
        return int(self.following.shape[0])

    @property
    def actions(self) -> int:
        return int(self.following.shape[1])

    @property
    def outcomes(self) -> int:
        return int(self.following.shape[2])


@dataclass(frozen=True)
class Standing:
    """Where each row of a segment stands between two steps: state [B], age in steps [B]."""

    state: np.ndarray
    age: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.state.nbytes + self.age.nbytes


class FiniteEnv(Value):
    """An environment given by tables. Subclasses build `mdp()`; everything else follows."""

    def mdp(self) -> Mdp:
        raise NotImplementedError

    def shape(self) -> Shape:
        mdp = tables(self)
        return Shape(states=mdp.states, actions=mdp.actions)

    def keeps_going_as(self, other: FiniteEnv) -> bool:
        """Whether a run on this environment can go on with `other` from its next step: same kind, states and actions.

        A row that stands on a cell which became a wall walks out of it.
        """
        return type(self) is type(other) and self.shape() == other.shape()

    def collect(
        self, policy: ActorCritic, params: Params, params_ref: Params, plan: Plan, carry: Carry, dice: Dice
    ) -> Collected:
        """Play `plan.rows` rows; see `envs.protocol`."""
        mdp = tables(self)
        every = torch.arange(mdp.states)
        with torch.no_grad():
            now, ref = policy.act(params, every), policy.act(params_ref, every)
            value = policy.value(params, every) if plan.critic else torch.zeros(mdp.states)
        assert isinstance(now, Categorical) and isinstance(ref, Categorical)
        standing = carry if isinstance(carry, Standing) else None
        played, after = _play(mdp, now.logp.exp().numpy(), plan, standing, dice)
        return Collected(_rollout(played, now.logp, ref.logp, value, plan), after, played.visits(mdp.states))


@lru_cache(maxsize=64)
def tables(env: FiniteEnv) -> Mdp:
    """The environment's tables, built once per distinct environment and read-only."""
    mdp = env.mdp()
    for table in (mdp.following, mdp.probability, mdp.reward, mdp.terminal, mdp.noise, mdp.start):
        table.setflags(write=False)
    return mdp


@dataclass(frozen=True)
class _Played:
    """What was played, time first: each [T, B]."""

    state: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    following: np.ndarray
    terminal: np.ndarray
    truncated: np.ndarray
    mask: np.ndarray

    def visits(self, states: int) -> np.ndarray:
        """How often each state was seen, [S] int32, read-only."""
        counts = np.bincount(self.state[self.mask], minlength=states).astype(np.int32)
        counts.setflags(write=False)
        return counts


def _play(
    mdp: Mdp, probs: np.ndarray, plan: Plan, standing: Standing | None, dice: Dice
) -> tuple[_Played, Standing | None]:
    """Sample actions by inverse CDF and look outcomes up, one time step of all rows after the other."""
    rows, steps = plan.rows, plan.segment or mdp.horizon
    cumulative = probs.astype(np.float64).cumsum(-1)
    cumulative /= cumulative[:, -1:]  # exactly 1 in the end: rounding must not draw an action of probability 0
    outcome_cdf = mdp.probability.reshape(-1, mdp.outcomes).cumsum(-1)
    tables_ = [t.reshape(-1) for t in (mdp.following, mdp.reward, mdp.terminal)]
    die = dice("actions").random((steps, rows))
    env_dice = dice("env")
    chance = env_dice.random((steps, rows)) if mdp.outcomes > 1 else None
    noise = env_dice.standard_normal((steps, rows)) if mdp.noise.any() else None

    starts = _starts(mdp, plan, dice)
    state = starts if standing is None else standing.state
    age = np.zeros(rows, dtype=np.int64) if standing is None else standing.age
    restart = dice("starts", 1).choice(mdp.states, (steps, rows), p=mdp.start) if plan.segment else None
    alive = np.ones(rows, dtype=bool)
    kept: list[tuple[np.ndarray, ...]] = []
    for t in range(steps):
        action = (die[t][:, None] >= cumulative[state]).sum(-1)
        pair = state * mdp.actions + action
        outcome = pair * mdp.outcomes
        if chance is not None:
            outcome = outcome + (chance[t][:, None] >= outcome_cdf[pair]).sum(-1).clip(max=mdp.outcomes - 1)
        following, reward, terminal = (table[outcome] for table in tables_)
        if noise is not None:
            reward = reward + noise[t] * mdp.noise.reshape(-1)[pair]
        age = age + 1
        truncated = (age >= mdp.horizon) & ~terminal
        kept.append((state, action, reward, following, terminal, truncated, alive))
        ended = terminal | truncated
        if restart is None:
            alive = alive & ~ended
            state = following
            if not alive.any():
                break
        else:
            state, age = np.where(ended, restart[t], following), np.where(ended, 0, age)
    played = _Played(*(np.stack(column) for column in zip(*kept, strict=True)))
    return played, (Standing(state, age) if plan.segment else None)


def _starts(mdp: Mdp, plan: Plan, dice: Dice) -> np.ndarray:
    """One start state a prompt, shared by its group: [B]."""
    return dice("starts").choice(mdp.states, plan.prompts, p=mdp.start).repeat(plan.group_size)


def _rollout(
    played: _Played, logp: torch.Tensor, logp_ref: torch.Tensor, value: torch.Tensor, plan: Plan
) -> Rollout:
    def rows_first(x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(x.T))

    obs, action, following = map(rows_first, (played.state, played.action, played.following))
    mask, terminal, truncated = map(rows_first, (played.mask, played.terminal, played.truncated))
    flat = obs.reshape(-1)
    shape = (*obs.shape, logp.shape[-1])
    dist, dist_ref = logp.index_select(0, flat).view(shape), logp_ref.index_select(0, flat).view(shape)
    taken = action.unsqueeze(-1)
    return Rollout(
        obs=obs,
        action=action,
        mask=mask,
        reward=rows_first(played.reward).float() * mask,
        logp_old=dist.gather(-1, taken).squeeze(-1),
        logp_ref=dist_ref.gather(-1, taken).squeeze(-1),
        terminal=terminal & mask,
        truncated=truncated & mask,
        value_old=value[obs],
        value_next=value[following] * ~terminal,
        group=plan.groups(),
        dist_old=dist,
        dist_ref=dist_ref,
    )
