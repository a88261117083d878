"""CartPole's learning curve against SB3's: mean training return over 10 seeds at equal environment steps."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import CARTPOLE, curve_ours, curve_sb3

SEEDS = range(10)
UPDATES = 60
MARKS = (10, 20, 30, 40, 50, 60)
T_975_9 = 2.262
"""Student's t, 97.5 %, 9 degrees of freedom."""


def report() -> str:
    """A table at equal steps: means, SB3's 95 % interval, and whether ours is inside or above."""
    mine = _table([curve_ours(CARTPOLE, seed, UPDATES) for seed in SEEDS])
    theirs = _table([curve_sb3(CARTPOLE, seed, UPDATES) for seed in SEEDS])
    rows = [_row(mark, mine[:, i], theirs[:, i]) for i, mark in enumerate(MARKS)]
    head = "| env steps | ours, mean | SB3, mean | SB3, 95 % interval | ours inside or above |\n|---|---|---|---|---|\n"
    return "## CartPole-v1, training return over 10 seeds\n" + head + "\n".join(rows)


def _table(curves: list[np.ndarray]) -> np.ndarray:
    """Mean return over the five rollouts before each mark: [seeds, marks]."""
    return np.array([[np.nanmean(curve[mark - 5 : mark]) for mark in MARKS] for curve in curves])


def _row(mark: int, mine: np.ndarray, theirs: np.ndarray) -> str:
    half = T_975_9 * theirs.std(ddof=1) / np.sqrt(len(theirs))
    low, high = theirs.mean() - half, theirs.mean() + half
    verdict = "yes" if mine.mean() >= low else "no"
    steps = mark * CARTPOLE.samples
    return f"| {steps:,} | {mine.mean():.0f} | {theirs.mean():.0f} | {low:.0f} to {high:.0f} | {verdict} |"
