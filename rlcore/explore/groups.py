"""A group's rewards under every convention: baseline, scale, advantages, and what a shift or a factor changes.

Scores are judged by the advantage slots themselves. This module states no formula of an advantage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from rlcore.advantages import GroupRelative, LeaveOneOut, Whiten
from rlcore.explore.setting import Setting
from rlcore.groups import exact_mean_std
from rlcore.knobs import knob
from rlcore.records import Array, freeze

Groups = Sequence[Sequence[float]]
Outcome = GroupRelative | LeaveOneOut


class Affine(Setting):
    """What a person may do to all rewards at once: times `factor`, plus `shift`."""

    shift: float = knob(0.0, "+", -1e6, 1e6, "added to every reward", suggested=(-10, 10))
    factor: float = knob(1.0, "×", 1e-6, 1e6, "every reward is multiplied by it", suggested=(0.1, 100), scale="log")


SCALES: Mapping[str, Outcome] = {
    "std": GroupRelative(scale="std"),
    "none": GroupRelative(scale="none"),
    "batch": GroupRelative(scale="batch"),
    "leave_one_out": LeaveOneOut(),
}
"""The family by what is subtracted and what it is divided by: GRPO, Dr. GRPO, whole-batch scaling, RLOO."""


@dataclass(frozen=True)
class Convention:
    """How one library (or paper) turns scores into advantages; `whiten` is what it does to the batch afterwards."""

    label: str
    source: str
    outcome: Outcome
    whiten: Whiten | None = None


CONVENTIONS: Mapping[str, Convention] = {
    "trl": Convention("TRL", "scale_rewards=group: ÷ (std₁ + 1e-4)", GroupRelative(eps=1e-4, flat="as_written")),
    "verl": Convention("verl", "÷ (std₁ + 1e-6)", GroupRelative(eps=1e-6, flat="as_written", singleton="keep")),
    "openrlhf": Convention("OpenRLHF", "group_norm: ÷ (std₁ + 1e-9)", GroupRelative(eps=1e-9, flat="as_matrix")),
    "population": Convention("population std", "numpy's default: ÷ (std₀ + 1e-4)", GroupRelative(ddof=0)),
    "dr_grpo": Convention("Dr. GRPO", "mean only", GroupRelative(scale="none")),
    "batch": Convention("TRL, batch", "scale_rewards=batch: ÷ (std₁ of all rows + 1e-4)", GroupRelative(scale="batch")),
    "rloo": Convention("RLOO", "mean of the others", LeaveOneOut()),
    "reinforce_pp": Convention(
        "REINFORCE++ baseline", "mean only, then whitened over the batch",
        GroupRelative(scale="none"), Whiten(scope="batch", form="inside"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """Scores [B] in groups [B] as an estimator sees them; mean and std (divisor G - 1) are each row's group's."""

    score: Array
    group: Array
    mean: Array
    std: Array
    baseline: Array
    scale: Array
    advantages: Array

    @property
    def square_sum(self) -> float:
        """Sum of squared advantages: how loudly this batch speaks."""
        return float(np.square(self.advantages).sum())


def judged(outcome: Outcome, groups: Groups, *, whiten: Whiten | None = None, precision: str = "float64") -> Judged:
    """Baseline, scale and advantage of every score; `precision` "float32" is what libraries hold rewards in."""
    dtype = torch.float32 if precision == "float32" else torch.float64
    score = torch.tensor([x for group in groups for x in group], dtype=dtype)
    ids = torch.tensor([number for number, group in enumerate(groups) for _ in group])
    if isinstance(outcome, LeaveOneOut):
        baseline, advantages = outcome.of_scores(score, ids)
        scale = torch.ones_like(score)
    else:
        baseline, scale, advantages = outcome.of_scores(score, ids)
    if whiten is not None:
        rows = advantages.unsqueeze(-1)
        advantages = whiten(rows, torch.ones_like(rows, dtype=torch.bool)).squeeze(-1)
    mean, std = exact_mean_std(score.double(), ids, ddof=1)
    return Judged(*(freeze(x) for x in (score, ids, mean, std, baseline, scale, advantages)))


def by_convention(groups: Groups) -> dict[str, Judged]:
    """Every library's advantages for the same scores, in the precision it keeps rewards in (float32)."""
    return {name: judged(c.outcome, groups, whiten=c.whiten, precision="float32") for name, c in CONVENTIONS.items()}


@dataclass(frozen=True)
class Change:
    """The same groups before and after all rewards were moved; `largest` is the largest change of an advantage."""

    before: Judged
    after: Judged
    largest: float


def moved(outcome: Outcome, groups: Groups, affine: Affine) -> Change:
    """What `factor * R + shift` does to the advantages."""
    after = [[affine.factor * x + affine.shift for x in group] for group in groups]
    a, b = judged(outcome, groups), judged(outcome, after)
    return Change(a, b, float(np.abs(b.advantages - a.advantages).max()))
