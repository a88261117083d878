"""What one step looks like, as lists ready for JSON: the world under the policy, and this step's samples.

Numbers come from the record and are only rounded and thinned here, never made up; nothing is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from live.replies import words
from rlcore.config import RunConfig
from rlcore.engine import Made
from rlcore.envs import Bandit, ContextualBandit, Gridworld, GymEnv
from rlcore.envs.picture import optimum, picture, walks
from rlcore.ratios import TokenRatio
from rlcore.records import StepRecord, UpdateTrace
from rlcore.state import TrainState, beta_in_force, has_critic
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, TwoSidedClip
from rlcore.updates import Prepared
from rlcore.words.env import Words

MAX_SAMPLES = 400
BINS = 31
NARROWEST = 0.005  # half of a histogram's range: when all is 1, an axis that reads 1, 1, 1 tells nothing
SIMPLEX = 3  # arms that fit on a triangle
MOST_CONTEXTS = 4  # of a contextual bandit, on one triangle
FREE, OUTSIDE, DEAD_LOW, DEAD_HIGH, DEAD_DUAL = range(5)


def world(config: RunConfig, state: TrainState, record: StepRecord | None) -> dict[str, Any]:
    """The world as `rlcore.envs.picture` tells it; a CartPole is told by the episode it just played."""
    if isinstance(config.env, GymEnv) and config.env.id.startswith("CartPole"):
        return cartpole(record)
    if isinstance(config.env, Words):
        return words(config, record)
    visits = None if record is None else record.visits
    env, policy = config.env, config.policy
    seen = picture(env, policy, state.params, visits, critic=has_critic(state))
    if isinstance(env, Bandit | ContextualBandit) and arms(config) == SIMPLEX:
        seen |= optimum(env, policy, state.params_ref, kl_beta=beta_in_force(state, config))
    if isinstance(env, Gridworld) and record is not None and record.trace is not None:
        of = record.trace.rollout
        seen["paths"] = walks(env, of["obs"], of["action"], of["mask"])
    return {name: _rounded(value, 4) for name, value in seen.items()}


def arms(config: RunConfig) -> int:
    """Arms of a bandit, 0 for anything else."""
    return config.env.shape().actions or 0 if isinstance(config.env, Bandit | ContextualBandit) else 0


def standing_at(config: RunConfig, state: TrainState) -> dict[str, float]:
    """The policy of a three-armed bandit as metrics, arm_1 to arm_3 (context 2 of four: arm_2_1 to arm_2_3), so that
    its path can be drawn; {} for anything else."""
    if arms(config) != SIMPLEX:
        return {}
    found = picture(config.env, config.policy, state.params)["probs"]
    rows = [found] if isinstance(config.env, Bandit) else found[:MOST_CONTEXTS]
    before = [""] if isinstance(config.env, Bandit) else [f"{c}_" for c in range(1, len(rows) + 1)]
    return {f"arm_{c}{a}": p for c, row in zip(before, rows, strict=True) for a, p in enumerate(row, 1)}


def cartpole(record: StepRecord | None) -> dict[str, Any]:
    """Cart position and pole angle of the first row's steps, where episodes in it end, and every row's return.

    x [t] metres, theta [t] radians, ends [t] 0 or 1; returns [B] rewards of each row (of each segment with segments).
    """
    if record is None or record.trace is None:
        return {"kind": "cartpole", "x": [], "theta": [], "ends": [], "returns": []}
    rollout = record.trace.rollout
    mask = rollout["mask"]
    row = int(mask.sum(1).argmax())
    seen = rollout["obs"][row][mask[row]]
    ends = (rollout["terminal"] | rollout["truncated"])[row][mask[row]]
    returns = (rollout["reward"] * mask).sum(1)
    return {
        "kind": "cartpole", "x": _rounded(seen[:, 0], 3), "theta": _rounded(seen[:, 2], 4),
        "ends": ends.astype(int).tolist(), "returns": _rounded(returns, 2),
    }  # fmt: skip


def samples(config: RunConfig, updates: Sequence[UpdateTrace]) -> dict[str, Any] | None:
    """Ratio, advantage and fate of the last pass over the batch, thinned to MAX_SAMPLES; counts are of all of them.

    One sample a token, or a row where the ratio is the row's. `fate`: 0 free, 1 outside the band and still learning,
    2 / 3 / 4 gradient removed by the lower / upper / second bound. `band` is in ratios. None where nothing was updated.
    """
    if not updates:
        return None
    last = [update for update in updates if update.epoch == updates[-1].epoch]
    by_token = isinstance(config.algorithm.ratio, TokenRatio)
    ratio, advantages, fate = (np.concatenate(part) for part in zip(*(_of(u, by_token) for u in last), strict=True))
    counts = np.bincount(fate, minlength=5).tolist()
    keep = np.linspace(0, len(ratio) - 1, min(len(ratio), MAX_SAMPLES)).astype(int)
    return {
        "level": "token" if by_token else "row", "epoch": last[0].epoch + 1, "total": len(ratio), "counts": counts,
        "ratio": _rounded(ratio[keep], 5), "advantage": _rounded(advantages[keep], 4), "fate": fate[keep].tolist(),
        "band": band(config), "spread": spread(ratio, advantages, fate),
    }  # fmt: skip


def spread(ratio: np.ndarray, advantages: np.ndarray, fate: np.ndarray) -> dict[str, Any]:
    """Histograms over all samples: {"ratio", "advantage"} each {low, high, free [n], dead [n]}, counts of BINS bins.

    Ratios lie symmetrically about 1, advantages about 0; `dead` counts samples whose gradient a bound removed.
    """
    return {
        "ratio": _histogram(ratio, 1.0, fate > OUTSIDE), "advantage": _histogram(advantages, 0.0, fate > OUTSIDE),
    }  # fmt: skip


def _histogram(values: np.ndarray, centre: float, dead: np.ndarray) -> dict[str, Any]:
    kept = np.isfinite(values)
    values, dead = values[kept].astype(np.float64), dead[kept]
    reach = max(float(np.abs(values - centre).max()) if len(values) else 0.0, NARROWEST)
    edges = np.linspace(centre - reach, centre + reach, BINS + 1)
    free, gone = (np.histogram(values[part], edges)[0].tolist() for part in (~dead, dead))
    return {"low": round(float(edges[0]), 6), "high": round(float(edges[-1]), 6), "free": free, "dead": gone}


def piece(config: RunConfig, made: Made) -> dict[str, Any]:
    """A piece of a step that is being made: the collected batch (epoch 0), or one optimiser step, with its samples."""
    batch = config.batch
    of = {"epochs": batch.epochs, "minibatches": batch.minibatches}
    if isinstance(made, Prepared):
        return of | {"epoch": 0, "minibatch": 0, "samples": _collected(config, made)}
    if made is None:
        return of | {"epoch": 0, "minibatch": 0, "samples": None}
    numbers = {"loss": made.loss, "grad_norm": made.grad_norm, "ratio": [_least(made, np.min), _least(made, np.max)]}
    seen = samples(config, [made])
    return of | {"epoch": made.epoch + 1, "minibatch": made.minibatch + 1, "samples": seen} | {
        name: _rounded(value, 6) for name, value in numbers.items()
    }  # fmt: skip


def _least(update: UpdateTrace, extreme: Callable[[np.ndarray], Any]) -> float:
    ratio = update.ratio[update.mask]
    return float(extreme(ratio)) if len(ratio) else math.nan


def _collected(config: RunConfig, batch: Prepared) -> dict[str, Any] | None:
    """The batch before any update: every ratio is 1, as the policy has not moved."""
    mask = batch.rollout.mask.numpy()
    by_token = isinstance(config.algorithm.ratio, TokenRatio)
    advantages = batch.advantages.advantages.numpy()[mask if by_token else _first_of_row(mask)]
    keep = np.linspace(0, len(advantages) - 1, min(len(advantages), MAX_SAMPLES)).astype(int)
    if not len(keep):
        return None
    return {
        "level": "token" if by_token else "row", "epoch": 0, "total": len(advantages),
        "counts": [len(advantages), 0, 0, 0, 0], "ratio": [1.0] * len(keep),
        "advantage": _rounded(advantages[keep], 4), "fate": [FREE] * len(keep), "band": band(config),
    }  # fmt: skip


def _of(update: UpdateTrace, by_token: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    keep = update.mask if by_token else _first_of_row(update.mask)
    fate = np.zeros(update.mask.shape, dtype=np.int64)
    for value, flag in (
        (OUTSIDE, update.outside), (DEAD_LOW, update.dead_low), (DEAD_HIGH, update.dead_high),
        (DEAD_DUAL, update.dead_dual),
    ):  # fmt: skip
        fate[flag] = value
    return update.ratio[keep], update.advantages[keep], fate[keep]


def _first_of_row(mask: np.ndarray) -> np.ndarray:
    first: np.ndarray = mask & (mask.cumsum(1) == 1)
    return first


def band(config: RunConfig) -> list[float] | None:
    """Lowest and highest ratio inside the band; None where the surrogate has none."""
    surrogate = config.algorithm.surrogate
    if isinstance(surrogate, PpoClip | DualClip | TwoSidedClip | Cispo):
        return [1 - surrogate.eps_low, 1 + surrogate.eps_high]
    return [math.exp(-surrogate.eps_low), math.exp(surrogate.eps_high)] if isinstance(surrogate, Gmpo) else None


def _rounded(value: Any, digits: int) -> Any:
    """Numbers rounded for the wire; what is not finite becomes null, which JSON can say."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [_rounded(item, digits) for item in value]
    if isinstance(value, float):
        return round(value, digits) if math.isfinite(value) else None
    return value
