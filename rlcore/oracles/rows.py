"""What the oracles read: rows without padding, and the few words of a paper's sum (mean, std, siblings).

Plain lists and floats; only what the policy can change is a torch scalar. Nothing here is fast or clever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from rlcore.algorithm import PolicyOutput
from rlcore.rollout import Rollout

Number = Tensor | float


@dataclass(frozen=True)
class Row:
    """One response or episode: lists over its own tokens, t = 0 .. length - 1, padding and holes removed.

    new, entropy, value are scalars with a gradient: log pi, H and V now. Everything else is a constant.
    """

    group: int
    new: list[Tensor]
    old: list[float]
    ref: list[float]
    reward: list[float]
    entropy: list[Tensor]
    value: list[Tensor]
    value_old: list[float]
    value_next: list[float]
    terminal: list[bool]
    truncated: list[bool]

    @property
    def length(self) -> int:
        """|o_i|"""
        return len(self.new)

    @property
    def score(self) -> float:
        """R_i, the sum of the row's rewards."""
        return sum(self.reward)


def rows_of(now: PolicyOutput, rollout: Rollout) -> list[Row]:
    """The rows of a padded batch [B, T], one by one."""
    return [_row(now, rollout, i) for i in range(rollout.rows)]


def _row(now: PolicyOutput, rollout: Rollout, i: int) -> Row:
    tokens = [t for t in range(rollout.mask.shape[1]) if rollout.mask[i, t]]

    def numbers(x: Tensor) -> list[float]:
        return [float(x[i, t]) for t in tokens]

    def scalars(x: Tensor) -> list[Tensor]:
        return [x[i, t] for t in tokens]

    return Row(
        group=int(rollout.group[i]),
        new=scalars(now.logp), old=numbers(rollout.logp_old), ref=numbers(rollout.logp_ref),
        reward=numbers(rollout.reward),
        entropy=scalars(now.entropy), value=scalars(now.value),
        value_old=numbers(rollout.value_old), value_next=numbers(rollout.value_next),
        terminal=[bool(rollout.terminal[i, t]) for t in tokens],
        truncated=[bool(rollout.truncated[i, t]) for t in tokens],
    )  # fmt: skip


def siblings(rows: list[Row], row: Row) -> list[Row]:
    """The rows of the same question, this one among them."""
    return [other for other in rows if other.group == row.group]


def rest(row: Row, t: int) -> list[int]:
    """The steps from t to the end of the episode that t belongs to."""
    steps = []
    for k in range(t, row.length):
        steps.append(k)
        if row.terminal[k] or row.truncated[k]:
            break
    return steps


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def std(numbers: list[float], *, ddof: int = 1) -> float:
    """Standard deviation with divisor n - ddof; 0 for a single number."""
    centre = mean(numbers)
    return math.sqrt(sum((x - centre) ** 2 for x in numbers) / max(len(numbers) - ddof, 1))


def clip(x: Tensor, low: float, high: float) -> Number:
    """x inside [low, high], else the bound, which is a constant and has no gradient."""
    return low if x < low else high if x > high else x


def min_of_two(a: Number, b: Number) -> Number:
    return a if a <= b else b
