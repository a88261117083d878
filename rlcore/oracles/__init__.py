"""Oracles: every recipe's objective as its paper's plain double loop over rows and tokens. Slow, and obvious.

They share no arithmetic with the tensor code, take no shortcuts and handle one batch without leading axes.
Tests compare value and gradient; the step-through page shows them beside the formula.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter

from torch import Tensor

from rlcore.algorithm import Algorithm, PolicyOutput
from rlcore.oracles.group import cispo, dapo, dr_grpo, gmpo, grpo, gspo, gspo_token, sapo
from rlcore.oracles.in_time import ppo, ppo_rlhf, reinforce_pp, rloo
from rlcore.oracles.rows import Row, rows_of
from rlcore.rollout import Rollout

Oracle = Callable[..., Tensor]

ORACLES: dict[str, Oracle] = {
    "ppo": ppo, "ppo_rlhf": ppo_rlhf, "grpo": grpo, "dr_grpo": dr_grpo, "dapo": dapo, "rloo": rloo,
    "reinforce_pp": reinforce_pp, "gspo": gspo, "gspo_token": gspo_token, "cispo": cispo, "sapo": sapo,
    "gmpo": gmpo,
}  # fmt: skip

# Where an oracle's numbers stand in an algorithm.
NUMBERS = {
    "eps_low": "surrogate.eps_low", "eps_high": "surrogate.eps_high", "tau_pos": "surrogate.tau_pos",
    "tau_neg": "surrogate.tau_neg", "beta": "kl.kl_beta", "gamma": "advantage.gamma", "lam": "advantage.lam",
    "std_eps": "advantage.eps", "whiten_eps": "whiten.eps", "entropy_coef": "entropy_coef",
    "value_coef": "critic.coef", "value_band": "critic.eps_value", "length": "aggregate.length",
    "max_length": "shaping.max_length", "cache": "shaping.cache", "factor": "shaping.factor",
}  # fmt: skip


def oracle_loss(key: str, algorithm: Algorithm, now: PolicyOutput, rollout: Rollout) -> Tensor:
    """The loss of recipe `key`, by double loop, with this algorithm's numbers: a scalar with gradient.

    The algorithm must have the recipe's structure. now, rollout: [B, T], padded; padding is dropped first.
    """
    oracle = ORACLES[key]
    wanted = [name for name in inspect.signature(oracle).parameters if name != "rows"]
    numbers = {name: attrgetter(NUMBERS[name])(algorithm) for name in wanted}
    if "length" in numbers and numbers["length"] is None:
        numbers["length"] = rollout.mask.shape[-1]
    return oracle(rows_of(now, rollout), **numbers)


__all__ = ["NUMBERS", "ORACLES", "Row", "oracle_loss", "rows_of"]
