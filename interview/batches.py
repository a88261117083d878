"""Random inputs for the whiteboard: families of small batches that tell right expressions from nearly right ones.

Every family contains the cases that matter (both signs of the advantage, ratios far outside the band, a group of equal
rewards, a row of one token), so that an expression cannot pass by luck. The same seed gives the same batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from interview.expression import Array

FamilyName = Literal["rewards", "surrogate", "sequence", "policies", "rows", "lengths", "lambda_return"]
Batch = Mapping[str, Array]


def _rewards(rng: np.random.Generator) -> dict[str, Array]:
    size = int(rng.integers(3, 9))
    normal = rng.normal(rng.normal(0, 3, (3, 1)), 1.5, (3, size))
    binary = (rng.random((3, size)) < 0.5).astype(float)
    binary[:, 0], binary[:, 1] = 0.0, 1.0
    equal = np.full((1, size), rng.choice([0.0, 1.0, 0.9]))
    return {"R": np.concatenate([normal, binary, equal]), "G": np.array(size), "tiny": np.array(1e-4)}


def _band(rng: np.random.Generator) -> dict[str, Array]:
    low, high = rng.uniform(0.05, 0.3), rng.uniform(0.05, 0.3)
    return {"eps_low": np.array(low), "eps_high": np.array(high)}


def _surrogate(rng: np.random.Generator) -> dict[str, Array]:
    ratio = np.exp(rng.uniform(-1.6, 1.6, (6, 5)))
    advantage = rng.normal(0, 1.2, (6, 5))
    ratio[0], advantage[0] = [0.4, 0.4, 1.0, 2.5, 2.5], [1, -1, 1, 1, -1]
    return {"ratio": ratio, "A": advantage, **_band(rng), "c": np.array(rng.uniform(1.5, 2.4))}


def _sequence(rng: np.random.Generator) -> dict[str, Array]:
    length = int(rng.integers(2, 9))
    old = rng.uniform(-4, -0.05, (6, length))
    new = old + rng.normal(0, 0.4, (6, length))
    return {
        "logp_new": np.minimum(new, -0.01),
        "logp_old": old,
        "A": np.where(np.arange(6)[:, None] % 2, -1.0, 1.0) * rng.uniform(0.2, 2, (6, 1)),
        "L": np.array(length),
        **_band(rng),
    }


def _policies(rng: np.random.Generator) -> dict[str, Array]:
    return {"logp": rng.uniform(-5, -0.05, (6, 5)), "logp_ref": rng.uniform(-5, -0.05, (6, 5))}


def _rows(rng: np.random.Generator) -> dict[str, Array]:
    length = rng.integers(1, 8, 6)
    length[0], length[1] = 1, 7
    mask = (np.arange(7)[None, :] < length[:, None]).astype(float)
    return {"loss": rng.normal(0, 1, (6, 7)), "mask": mask, "T": np.array(7)}


def _lengths(rng: np.random.Generator) -> dict[str, Array]:
    cap, cache = float(rng.integers(12, 30)), float(rng.integers(2, 9))
    edges = np.array([1.0, cap - cache - 1, cap - cache, cap - cache / 2, cap, cap + 3])
    return {"L": edges[:, None], "L_max": np.array(cap), "L_cache": np.array(cache)}


def _lambda_return(rng: np.random.Generator) -> dict[str, Array]:
    """Two steps of an episode that ends after the second."""
    draw = {name: rng.normal(0, 1, (8, 1)) for name in ("r_0", "r_1", "V_0", "V_1")}
    return {**draw, "gamma": np.array(rng.uniform(0.5, 1)), "lam": np.array(rng.uniform(0.1, 0.95))}


FAMILIES: Mapping[str, Callable[[np.random.Generator], dict[str, Array]]] = MappingProxyType(
    {
        "rewards": _rewards,
        "surrogate": _surrogate,
        "sequence": _sequence,
        "policies": _policies,
        "rows": _rows,
        "lengths": _lengths,
        "lambda_return": _lambda_return,
    }
)
assert set(FAMILIES) == set(get_args(FamilyName))

ABOUT: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "rewards": {
            "R": "rewards, one row a group; mean, sum and std run over the group",
            "G": "group size",
            "tiny": "the constant added to the standard deviation",
        },
        "surrogate": {
            "ratio": "π_new / π_old of each token",
            "A": "its advantage",
            "eps_low": "lower clip",
            "eps_high": "upper clip",
            "c": "second bound for A < 0, above 1",
        },
        "sequence": {
            "logp_new": "log-probabilities under the new policy, one row a response; mean and sum run over its tokens",
            "logp_old": "under the old policy",
            "A": "one advantage a response",
            "L": "tokens in each response",
            "eps_low": "lower clip",
            "eps_high": "upper clip",
        },
        "policies": {"logp": "log π of sampled tokens", "logp_ref": "log π_ref of the same tokens"},
        "rows": {
            "loss": "loss of each token, one row a response",
            "mask": "1 on real tokens, 0 on padding",
            "T": "padded length",
        },
        "lengths": {"L": "length of each response", "L_max": "longest allowed", "L_cache": "width of the soft band"},
        "lambda_return": {
            "r_0": "reward of the first step",
            "r_1": "reward of the second and last step",
            "V_0": "the critic's value before the first step",
            "V_1": "before the second",
            "gamma": "discount",
            "lam": "λ of GAE",
        },
    }
)


def batches(family: str, *, seed: int = 0, count: int = 8) -> tuple[Batch, ...]:
    """`count` batches of a family."""
    return tuple(FAMILIES[family](np.random.default_rng([seed, number])) for number in range(count))
