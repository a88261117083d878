"""CartPole's learning curve against SB3's: mean training return over 20 seeds a side at equal environment steps.

Whether ours lies inside SB3's 95 % interval or above is asked at every mark. Both means are uncertain: two engines that are
the same fall below the other's interval at a mark in about 7 % of experiments. So the whole curve is compared too, with
an interval of the difference.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from benchmarks.peers import CARTPOLE, curve_ours, curve_sb3

SEEDS = range(20)
UPDATES = 60
MARKS = (10, 20, 30, 40, 50, 60)
T_975_19 = 2.093
"""Student's t, 97.5 %, 19 degrees of freedom."""


def report() -> str:
    """A table at equal steps: means, SB3's 95 % interval, whether ours is inside or above; and the curves' difference."""
    ours = np.array([curve_ours(CARTPOLE, seed, UPDATES) for seed in SEEDS])
    sb3 = np.array([curve_sb3(CARTPOLE, seed, UPDATES) for seed in SEEDS])
    rows = [_row(mark, _before(ours, mark), _before(sb3, mark)) for mark in MARKS]
    head = "| env steps | ours, mean | SB3, mean | SB3, 95 % interval | ours inside or above |\n|---|---|---|---|---|\n"
    return f"## CartPole-v1, training return over {len(SEEDS)} seeds a side\n{head}" + "\n".join(rows) + "\n\n" + _whole(ours, sb3)


def _before(curves: np.ndarray, mark: int) -> np.ndarray:
    """Mean return over the five rollouts before a mark, [seeds]."""
    return np.asarray(np.nanmean(curves[:, mark - 5 : mark], axis=1))


def _row(mark: int, ours: np.ndarray, sb3: np.ndarray) -> str:
    half = T_975_19 * sb3.std(ddof=1) / sqrt(len(sb3))
    low, high = sb3.mean() - half, sb3.mean() + half
    verdict = "yes" if ours.mean() >= low else "no"
    return f"| {mark * CARTPOLE.samples:,} | {ours.mean():.0f} | {sb3.mean():.0f} | {low:.0f} to {high:.0f} | {verdict} |"


def _whole(ours: np.ndarray, sb3: np.ndarray) -> str:
    """The mean over the whole curve, and the difference with its 95 % interval (Welch's standard error, two of them)."""
    mine, theirs = np.nanmean(ours, axis=1), np.nanmean(sb3, axis=1)
    half = 2 * sqrt(mine.var(ddof=1) / len(mine) + theirs.var(ddof=1) / len(theirs))
    gap = mine.mean() - theirs.mean()
    return f"Mean over the whole curve: ours {mine.mean():.0f}, SB3 {theirs.mean():.0f}; ours minus SB3 {gap:+.0f} ± {half:.0f}."
