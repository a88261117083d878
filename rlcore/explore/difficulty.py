"""Right-or-wrong rewards: how often a group teaches nothing, and how loudly a prompt of each difficulty speaks.

All groups of G answers are enumerated by their number of right ones; scores are judged by the advantage slots, dead
groups counted by the engine's own metric.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from rlcore.explore.groups import SCALES
from rlcore.explore.setting import Setting
from rlcore.knobs import knob
from rlcore.metrics import dead_group_fraction
from rlcore.records import Array, freeze
from rlcore.rng import generator


class Prompt(Setting):
    """A prompt whose answers are right with probability p, asked G times."""

    p: float = knob(0.2, "p", 0, 1, "probability that one answer is right", suggested=(0.01, 0.99))
    group_size: int = knob(8, "G", 2, 64, "answers to one prompt", suggested=(2, 64))


def _chances(group_size: int, p: float) -> Array:
    """P(k right of G) for k = 0 … G."""
    counts = range(group_size + 1)
    return np.array([math.comb(group_size, k) * p**k * (1 - p) ** (group_size - k) for k in counts])


@dataclass(frozen=True)
class Dead:
    """Share of groups without a signal by p [N], for each group size: p^G + (1 - p)^G."""

    p: Array
    by_size: dict[int, Array]


def dead(sizes: Sequence[int], p: Array) -> Dead:
    """The probability that all G answers agree, as the first and the last entry of the enumeration."""
    return Dead(p, {size: np.array([_chances(size, x)[[0, -1]].sum() for x in p]) for size in sizes})


@dataclass(frozen=True)
class Observed:
    """What `groups` sampled groups showed: the share that was dead, and its expectation."""

    groups: int
    fraction: float
    expected: float

    @property
    def asked(self) -> float:
        """Groups to sample, on average, for one that teaches (DAPO's dynamic sampling); infinite if none can."""
        return 1 / (1 - self.expected) if self.expected < 1 else math.inf


def observed(prompt: Prompt, *, groups: int, seed: int = 0) -> Observed:
    """Sample answers and count dead groups with the engine's metric."""
    dice = generator(seed, 0, "oracle")
    right = torch.from_numpy(dice.random(groups * prompt.group_size) < prompt.p).double()
    ids = torch.arange(groups).repeat_interleave(prompt.group_size)
    expected = float(_chances(prompt.group_size, prompt.p)[[0, -1]].sum())
    return Observed(groups, float(dead_group_fraction(right, ids)), expected)


@dataclass(frozen=True)
class Loudness:
    """By p [N] and by scale: expected gradient over true gradient of the prompt.

    weight      1 where the prompt speaks as it should, more where it is louder
    rule [N]    1 / sqrt(p (1 - p)), the rule of thumb for large groups
    """

    p: Array
    weight: dict[str, Array]
    rule: Array


@lru_cache(maxsize=32)
def loudness(group_size: int, points: int = 49) -> Loudness:
    """How much louder than its true gradient a prompt speaks, enumerated over the number of right answers.

    The policy is one logit: right with probability p. Its score function is x - p, its true gradient p (1 - p).
    """
    right = torch.tril(torch.ones(group_size + 1, group_size, dtype=torch.float64), -1)  # row k: k right answers
    ids = torch.arange(group_size + 1).repeat_interleave(group_size)
    p = np.linspace(0.02, 0.98, points)
    weight = {}
    for name in ("std", "none", "leave_one_out"):
        advantages = SCALES[name].of_scores(right.flatten(), ids)[-1].view(right.shape)
        weight[name] = np.array([_weight(advantages, right, group_size, x) for x in p])
    return Loudness(p, weight, 1 / np.sqrt(p * (1 - p)))


def _weight(advantages: torch.Tensor, right: torch.Tensor, group_size: int, p: float) -> float:
    logit = torch.tensor(math.log(p / (1 - p)), dtype=torch.float64, requires_grad=True)
    logp = torch.where(right > 0, torch.nn.functional.logsigmoid(logit), torch.nn.functional.logsigmoid(-logit))
    chance = torch.from_numpy(_chances(group_size, p))
    pushed = torch.autograd.grad((chance * (advantages * logp).mean(-1)).sum(), logit, retain_graph=True)[0]
    truth = torch.autograd.grad(torch.sigmoid(logit), logit)[0]
    return float(pushed / truth)


@dataclass(frozen=True)
class OneGroup:
    """A group with `right` right answers of G: advantage of a right and of a wrong one (NaN where there is none)."""

    right: int
    of_right: float
    of_wrong: float
    square_sum: float


def one_group(scale: str, *, right: int, group_size: int) -> OneGroup:
    """Advantages in a group of right-or-wrong answers, by a scale of `groups.SCALES`."""
    score = torch.tensor([1.0] * right + [0.0] * (group_size - right), dtype=torch.float64)
    a = freeze(SCALES[scale].of_scores(score, torch.zeros(group_size, dtype=torch.int64))[-1])
    good, bad = (float(a[0]) if right else math.nan), (float(a[-1]) if right < group_size else math.nan)
    return OneGroup(right, good, bad, float(np.square(a).sum()))
