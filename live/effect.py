"""What the last change did, in one sentence from the numbers before and after it; honest where noise hides it.

Windows of the same length lie on both sides of the change. A difference counts where it exceeds NOISE standard errors;
the spread is taken from step-to-step differences, which a slow trend hardly touches. A metric that moved the same way
before the change is told to have done so. A fork is compared with its parent instead, step by step. This module knows no algorithm: it compares columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LONGEST, SHORTEST = 20, 5  # updates in a window
NOISE = 3.0  # standard errors
TOLD = 3  # metrics in a sentence
GROWN = (5, 10, 20)  # updates after a change at which the sentence is made anew


@dataclass(frozen=True)
class Moved:
    """A metric before and after: means, the standard error of their difference, and the drift before the change."""

    name: str
    before: float
    after: float
    error: float
    drift: float

    @property
    def size(self) -> float:
        """The difference in standard errors; signed."""
        change = self.after - self.before
        return change / self.error if self.error > 0 else math.copysign(math.inf, change) if change else 0.0

    @property
    def beyond_noise(self) -> bool:
        return abs(self.size) > NOISE

    @property
    def already_moving(self) -> bool:
        """True where the same drift, gone on, would explain at least half of the change."""
        change = self.after - self.before
        return change * self.drift > 0 and abs(self.drift) >= 0.5 * abs(change)


def window(mark: int, before: int, now: int) -> int:
    """Length of both windows around a change at step `mark`: `before` is the change before it, `now` the newest step."""
    return min(mark - max(before, 1), now - mark + 1, LONGEST)


def moved(name: str, before: np.ndarray, after: np.ndarray) -> Moved | None:
    """The metric over both windows; None where it has too few finite values."""
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    if min(len(before), len(after)) < SHORTEST:
        return None
    variance = [float(np.mean(np.diff(x.astype(float)) ** 2)) / 2 / len(x) for x in (before, after)]
    half = len(before) // 2
    drift = 2 * float(before[-half:].mean() - before[:half].mean())
    return Moved(name, float(before.mean()), float(after.mean()), math.sqrt(sum(variance)), drift)


def apart(name: str, parent: np.ndarray, fork: np.ndarray) -> Moved | None:
    """The same for a fork and its parent over the same steps: both met the same dice, so differences are paired."""
    both = np.isfinite(parent) & np.isfinite(fork)
    if both.sum() < SHORTEST:
        return None
    parent, fork = parent[both].astype(float), fork[both].astype(float)
    error = float(np.std(fork - parent, ddof=1)) / math.sqrt(both.sum())
    return Moved(name, float(parent.mean()), float(fork.mean()), error, 0.0)


def sentence(
    what: str, step: int, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], words: Mapping[str, str],
    *, paired: bool = False,
) -> str:  # fmt: skip
    """What the change did: `what` changed at `step`; metrics over the windows before and after, by name.

    words   what each metric is called, in the order of their importance
    paired  `before` is the parent over the same steps as `after`
    """
    length = max((len(values) for values in after.values()), default=0)
    if length < SHORTEST:
        return f"{what} from step {step}: too few updates so far to tell what it did."
    compare = apart if paired else moved
    found = [each for each in (compare(name, before[name], after[name]) for name in words if name in before) if each]
    told = sorted((each for each in found if each.beyond_noise), key=lambda each: -abs(each.size))[:TOLD]
    over = (
        f"the parent, then this fork, over the same {length} updates"
        if paired
        else f"{length} updates before and after"
    )
    if told:
        return f"{what} from step {step}: {', '.join(_told(each, words) for each in _ordered(told, words))} ({over})."
    quiet = ", ".join(f"{words[m.name]} {_n(m.before)} → {_n(m.after)} (±{_n(2 * m.error)})" for m in found[:2])
    return f"{what} from step {step}: nothing moved beyond noise; {quiet} ({over})." if quiet else ""


def _told(each: Moved, words: Mapping[str, str]) -> str:
    already = ", as it did before" if each.already_moving else ""
    return f"{words[each.name]} {_n(each.before)} → {_n(each.after)}{already}"


def _ordered(told: Sequence[Moved], words: Mapping[str, str]) -> list[Moved]:
    order = list(words)
    return sorted(told, key=lambda each: order.index(each.name))


def _n(x: float) -> str:
    return (f"{x:.2g}" if abs(x) < 100 else f"{x:.0f}").replace("-", "−")
