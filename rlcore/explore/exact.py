"""Expected gradients by enumeration: every group a small bandit can produce, weighted by its probability.

What an estimator gives on average, how it scatters, and how that compares with the true gradient. Scores are judged by
the advantage slots, log-probabilities are differentiated by autograd; nothing is sampled except where it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from rlcore.advantages import GroupRelative, LeaveOneOut
from rlcore.envs import Bandit
from rlcore.envs.finite import tables
from rlcore.envs.truth import policy_gradient
from rlcore.explore.groups import Outcome
from rlcore.explore.setting import Setting
from rlcore.knobs import knob
from rlcore.records import Array, freeze
from rlcore.rng import generator

MOST_GROUPS = 20_000
BASELINES: Mapping[str, Outcome] = {
    "leave_one_out": LeaveOneOut(),
    "none": GroupRelative(scale="none"),
    "std": GroupRelative(scale="std"),
}


class SmallBandit(Setting):
    """A bandit small enough to enumerate its groups: rewards by arm, and how many pulls make a group."""

    rewards: tuple[float, ...] = Field((0.0, 1.0, 10.0), min_length=2, max_length=4)
    group_size: int = knob(4, "G", 2, 6, "pulls that share a baseline; all arms^G groups are enumerated")


def leaning(bandit: SmallBandit) -> tuple[float, ...]:
    """Logits of a policy that prefers the first arms: 0.5, 0, -1 for three of them."""
    three = {2: (0.5, -1.0), 3: (0.5, 0.0, -1.0), 4: (0.5, 0.0, -0.5, -1.0)}
    return three[len(bandit.rewards)]


@dataclass(frozen=True)
class Expected:
    """One estimator's gradient per arm [A]: expectation, standard deviation for one group, and a few single groups [n, A].

    ratio [A] is expectation / truth (NaN where the truth is 0), cosine the angle between them.
    """

    name: str
    mean: Array
    std: Array
    drawn: Array
    ratio: Array
    cosine: float

    @property
    def turned(self) -> Array:
        """True where the expected gradient has the wrong sign."""
        return np.asarray(self.ratio < 0)


@dataclass(frozen=True)
class Enumerated:
    """The true gradient per arm [A] under the policy's probabilities [A], and every estimator's."""

    rewards: Array
    policy: Array
    truth: Array
    estimators: tuple[Expected, ...]


@lru_cache(maxsize=64)
def enumerated(
    bandit: SmallBandit, logits: tuple[float, ...] | None = None, *, drawn: int = 60, seed: int = 0
) -> Enumerated:
    """Expected gradients of every baseline for a softmax policy (uniform by default). Raises ValueError where too large."""
    arms, size = len(bandit.rewards), bandit.group_size
    if arms**size > MOST_GROUPS:
        raise ValueError(f"group_size: {arms} arms in groups of {size} are {arms**size} groups, at most {MOST_GROUPS}")
    start = torch.tensor(logits or (0.0,) * arms, dtype=torch.float64)
    logp = torch.log_softmax(start, -1)
    push = torch.func.jacrev(lambda x: torch.log_softmax(x, -1))(start)  # [A, A]: d log pi(a) / d logits
    group = torch.cartesian_prod(*[torch.arange(arms)] * size)  # [N, G]
    chance = logp[group].sum(-1).exp()
    truth = policy_gradient(tables(Bandit(means=bandit.rewards, noise=0)), start.unsqueeze(0)).squeeze(0)
    dice = generator(seed, 0, "oracle").choice(len(group), drawn, p=(chance / chance.sum()).numpy())
    found = tuple(
        _expected(name, outcome, bandit, group, chance, push, truth, torch.from_numpy(dice))
        for name, outcome in BASELINES.items()
    )
    return Enumerated(np.array(bandit.rewards), freeze(logp.exp()), freeze(truth), found)


def _expected(
    name: str, outcome: Outcome, bandit: SmallBandit, group: Tensor, chance: Tensor, push: Tensor, truth: Tensor,
    dice: Tensor,
) -> Expected:  # fmt: skip
    score = torch.tensor(bandit.rewards, dtype=torch.float64)[group]
    ids = torch.arange(len(group)).repeat_interleave(bandit.group_size)
    advantages = outcome.of_scores(score.flatten(), ids)[-1].view(group.shape)
    estimate = (advantages.unsqueeze(-1) * push[group]).mean(1)  # [N, A]: the gradient of each possible group
    mean = (chance.unsqueeze(-1) * estimate).sum(0)
    std = (chance.unsqueeze(-1) * (estimate - mean).square()).sum(0).sqrt()
    ratio = torch.where(truth.abs() > 1e-12, mean / truth, torch.nan)
    cosine = torch.cosine_similarity(mean, truth, dim=0)
    return Expected(name, freeze(mean), freeze(std), freeze(estimate[dice]), freeze(ratio), float(cosine))
