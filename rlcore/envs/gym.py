"""Any Gymnasium environment by id, through Gymnasium's own vector API, with Discrete or Box actions.

Autoreset is Gymnasium's NEXT_STEP mode: the step after an episode's end only resets. It carries no experience, so it is
masked out; the observation that an ended episode really ended in stays in place, which makes bootstrapping at a time
limit right (V of the final observation) and at a terminal state 0.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode
from pydantic import Field, field_validator

from rlcore.envs.protocol import Carry, Collected, Dice, Plan
from rlcore.knobs import SettingError, Value, knob
from rlcore.policies import ActorCritic, Params, Shape
from rlcore.policies.heads import Categorical, inverse_cdf
from rlcore.rollout import Rollout


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector environment between two steps: never stepped in place, always copied first.

    obs [B, ...] as last seen · resets [B] bool: the row's next step only resets.
    """

    env: Any
    obs: np.ndarray
    resets: np.ndarray

    @property
    def nbytes(self) -> int:
        """About what a copy of Gymnasium's own small environments takes."""
        return self.obs.nbytes + 16_384 * len(self.resets)


RESERVED = {
    "id", "num_envs", "vectorization_mode", "vector_kwargs", "wrappers", "render_mode", "max_episode_steps", "autoreset",
    "disable_env_checker",
}  # fmt: skip
"""Arguments of `gymnasium.make` that are no environment's own."""


class GymEnv(Value):
    """`id` as in `gymnasium.make`; `horizon` truncates (and bounds an episode row's length).

    In episode rows a group shares its first observation (same reset seed); later chance differs by row.
    """

    kind: Literal["gym"] = "gym"
    id: str = Field(
        "CartPole-v1", max_length=200, pattern=r"^[A-Za-z0-9_./-]+$", description="a Gymnasium environment id"
    )
    options: dict[str, bool | int | float | str] = Field(
        default_factory=dict, max_length=20, description="keyword arguments of make"
    )
    horizon: int = knob(500, "T", 1, 10_000, "steps until an episode is truncated", suggested=(50, 1000), live=False)

    @field_validator("options")
    @classmethod
    def _only_the_environments_own(cls, options: dict[str, bool | int | float | str]) -> dict[str, bool | int | float | str]:
        for name in RESERVED & options.keys():
            raise ValueError(f"{name} is set by the engine and cannot be an option")
        return options

    def __hash__(self) -> int:
        return hash((self.kind, self.id, self.horizon, tuple(sorted(self.options.items()))))

    def shape(self) -> Shape:
        """Raises SettingError where Gymnasium cannot make it or its spaces are not supported."""
        return _shape(self)

    def collect(
        self, policy: ActorCritic, params: Params, params_ref: Params, plan: Plan, carry: Carry, dice: Dice
    ) -> Collected:
        """Play `plan.rows` rows; see `envs.protocol`."""
        vector = _begin(self, plan, dice) if carry is None else _copied(self, carry)
        steps = plan.segment or self.horizon
        act = _actor(policy, params, vector.env, dice("actions"), (steps, plan.rows))
        played, vector = _play(vector, act, steps, episodes=plan.segment is None)
        if plan.segment is None:
            vector.env.close()
        rollout = _rollout(played, vector.env.single_observation_space, policy, params, params_ref, plan)
        return Collected(rollout, vector if plan.segment else None, None)


def _make(env: GymEnv, rows: int, mode: Literal["sync"] | None = None) -> Any:
    """The vector environment. Raises SettingError with the registry's or the environment's own words."""
    options: dict[str, Any] = {**env.options, "max_episode_steps": env.horizon}
    try:
        vector = gymnasium.make_vec(env.id, num_envs=rows, vectorization_mode=mode, **options)
    except Exception as error:  # an environment's constructor may raise anything
        raise SettingError(
            f"env.id: Gymnasium cannot make {env.id!r}{_with(env.options)}: {type(error).__name__}: {error}"
        ) from error
    if vector.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP:
        return vector
    vector.close()
    if mode == "sync":
        raise SettingError(f"env.id: {env.id!r} does not reset in Gymnasium's NEXT_STEP mode")
    return _make(env, rows, "sync")


def _with(options: dict[str, bool | int | float | str]) -> str:
    return f" with {options}" if options else ""


@lru_cache(maxsize=64)
def _shape(env: GymEnv) -> Shape:
    vector = _make(env, 1)
    vector.close()
    return Shape(
        **_observation(env.id, vector.single_observation_space), **_action(env.id, vector.single_action_space)
    )


def _observation(name: str, space: Any) -> dict[str, int]:
    if isinstance(space, Discrete):
        return {"states": int(space.n)}
    if isinstance(space, Box):
        return {"features": int(np.prod(space.shape))}
    raise SettingError(f"env.id: {name} observes {type(space).__name__}; Discrete and Box observations are supported")


def _action(name: str, space: Any) -> dict[str, int]:
    if isinstance(space, Discrete):
        return {"actions": int(space.n)}
    if isinstance(space, Box):
        return {"action_dim": int(np.prod(space.shape))}
    raise SettingError(f"env.id: {name} acts in {type(space).__name__}; Discrete and Box actions are supported")


def _begin(env: GymEnv, plan: Plan, dice: Dice) -> Vector:
    """A fresh vector environment; in episode rows the rows of a group start alike."""
    seeds = [int(s) for s in dice("starts").integers(2**31, size=plan.prompts).repeat(plan.group_size)]
    vector = _make(env, plan.rows)
    obs, _ = vector.reset(seed=seeds if hasattr(vector, "envs") else seeds[0])
    if plan.group_size > 1 and not hasattr(vector, "envs") and not _is_its_state(vector, obs):
        vector.close()
        vector = _make(env, plan.rows, "sync")
        obs, _ = vector.reset(seed=seeds)
    if plan.group_size > 1:
        obs = _alike(vector, obs, plan, dice)
    return Vector(vector, obs, np.zeros(plan.rows, dtype=bool))


def _is_its_state(vector: Any, obs: np.ndarray) -> bool:
    """True for a vectorised environment whose whole state is what it shows, so that writing it sets the start."""
    state = getattr(vector.unwrapped, "state", None)
    return isinstance(state, np.ndarray) and state.T.shape == obs.shape and np.array_equal(state.T.astype(obs.dtype), obs)


def _alike(vector: Any, obs: np.ndarray, plan: Plan, dice: Dice) -> np.ndarray:
    """Rows of a group in their first row's state, or, reset alike already, with chance of their own from here on."""
    if hasattr(vector, "envs"):
        for i, single in enumerate(vector.envs):
            single.unwrapped.np_random = dice("env", i)
        return obs
    first = np.arange(plan.rows) // plan.group_size * plan.group_size
    vector.unwrapped.state = vector.unwrapped.state[:, first]
    return obs[first]


def _copied(env: GymEnv, carry: Vector) -> Vector:
    try:
        return Vector(copy.deepcopy(carry.env), carry.obs, carry.resets)
    except Exception as error:
        raise SettingError(
            f"env.id: {env.id} cannot be copied ({error}), so a segment cannot continue from a kept state; "
            "set batch.segment to none to play whole episodes"
        ) from error


Act = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def _actor(
    policy: ActorCritic, params: Params, vector: Any, dice: np.random.Generator, shape: tuple[int, int]
) -> Act:
    """(obs [B, ...], t) -> (action as the policy means it, action as the environment takes it); shape is (T, B).

    All in numpy: a handful of rows at a time, calls of torch would cost more than the environment.
    """
    space, heads = vector.single_action_space, _heads(policy, params, vector.single_observation_space)
    if isinstance(space, Discrete):
        die = dice.random(shape, dtype=np.float32)

        def choose(obs: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
            logits = heads(obs)
            action = inverse_cdf(np.exp(logits - logits.max(-1, keepdims=True)).cumsum(-1), die[t])
            return action, action + int(space.start)

        return choose
    uniform = dice.uniform(1e-7, 1 - 1e-7, (*shape, int(np.prod(space.shape)))).astype(np.float32)
    noise = (params["actor.log_std"].exp() * torch.special.ndtri(torch.from_numpy(uniform))).numpy()

    def aim(obs: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
        action = heads(obs) + noise[t]
        return action, np.clip(action.reshape(-1, *space.shape), space.low, space.high)

    return aim


def _heads(policy: ActorCritic, params: Params, space: Any) -> Callable[[np.ndarray], np.ndarray]:
    """obs [B, ...] -> logits or means [B, out]; where states are finite, from a table made once."""
    if isinstance(space, Discrete):
        with torch.no_grad():
            head = policy.act(params, torch.arange(int(space.n)))
        table = (head.logp if isinstance(head, Categorical) else head.mean).numpy()
        return lambda obs: table[obs - int(space.start)]
    run = policy.by_numpy(params)
    return lambda obs: run(obs.reshape(len(obs), -1).astype(np.float32))


def observed(obs: np.ndarray, space: Any) -> torch.Tensor:
    """Observations [B, ...] of one environment's `space` as policies take them: int64 states [B] from 0, or float32 [B, D]."""
    if isinstance(space, Discrete):
        return torch.from_numpy(obs.astype(np.int64) - int(space.start))
    return torch.from_numpy(obs.reshape(obs.shape[0], -1).astype(np.float32))


@dataclass(frozen=True)
class _Played:
    """Time first: obs [T + 1, B, ...], the rest [T, B(, D)]."""

    obs: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminal: np.ndarray
    truncated: np.ndarray
    mask: np.ndarray


def _play(vector: Vector, act: Act, steps: int, *, episodes: bool) -> tuple[_Played, Vector]:
    env, obs, resets = vector.env, vector.obs, vector.resets
    alive = np.ones(len(resets), dtype=bool)
    seen, kept = [obs], []
    for t in range(steps):
        meant, taken = act(obs, t)
        obs, reward, terminal, truncated, _ = env.step(taken)
        mask = alive & ~resets
        last = episodes & (t == steps - 1)
        truncated = (truncated | last) & ~terminal
        with np.errstate(over="ignore"):  # too large for float32 is infinity, and the run stops by that name
            earned = np.asarray(reward, dtype=np.float32)
        kept.append((meant, earned, terminal & mask, truncated & mask, mask))
        seen.append(obs.copy())
        resets = terminal | truncated
        if episodes:
            alive = alive & ~resets
            resets = np.zeros_like(resets)
            if not alive.any():
                break
    columns = [np.stack(c) for c in zip(*kept, strict=True)]
    return _Played(np.stack(seen), *columns), Vector(env, obs.copy(), resets)


def _rollout(
    played: _Played, space: Any, policy: ActorCritic, params: Params, params_ref: Params, plan: Plan
) -> Rollout:
    steps, rows = played.mask.shape
    flat = observed(played.obs.reshape((steps + 1) * rows, *played.obs.shape[2:]), space)
    every = flat.view(steps + 1, rows, *flat.shape[1:]).transpose(0, 1)
    obs = every[:, :-1].contiguous()

    def rows_first(x: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(x.swapaxes(0, 1)))

    action, mask = rows_first(played.action), rows_first(played.mask)
    with torch.no_grad():
        now, ref = policy.act(params, obs), policy.act(params_ref, obs)
        value = policy.value(params, every) if plan.critic else torch.zeros(rows, steps + 1)
        logp_old, logp_ref = now.log_prob(action), ref.log_prob(action)
    terminal = rows_first(played.terminal)
    return Rollout(
        obs=obs,
        action=action,
        mask=mask,
        reward=rows_first(played.reward) * mask,
        logp_old=logp_old,
        logp_ref=logp_ref,
        terminal=terminal,
        truncated=rows_first(played.truncated),
        value_old=value[:, :-1].contiguous(),
        value_next=value[:, 1:] * ~terminal,
        group=plan.groups(),
        dist_old=now.logp if isinstance(now, Categorical) else None,
        dist_ref=ref.logp if isinstance(ref, Categorical) else None,
    )
