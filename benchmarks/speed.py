"""Environment steps per second against SB3's PPO: the same work, alternating, CPU seconds of one thread."""

from __future__ import annotations

import statistics

from benchmarks.peers import CARTPOLE, GRIDWORLD, Work, seconds_ours, seconds_sb3

REPEATS = 5


def report() -> str:
    """A table of medians and of the ratio's range over the repeats."""
    rows = [_row(work, updates) for work, updates in ((CARTPOLE, 12), (GRIDWORLD, 8))]
    head = "| work | ours, env steps/s | SB3, env steps/s | ratio (range of repeats) |\n|---|---|---|---|\n"
    return "## Speed against SB3 2.9.2 PPO\n" + head + "\n".join(rows)


def _row(work: Work, updates: int) -> str:
    pairs = [(seconds_ours(work, updates), seconds_sb3(work, updates)) for _ in range(REPEATS)]
    ratios = sorted(theirs / mine for mine, theirs in pairs)
    mine, theirs = (work.samples * updates / statistics.median(column) for column in zip(*pairs, strict=True))
    what = f"{work.name}, {work.envs} x {work.steps} steps, 4 epochs x 4 minibatches, 64-64 tanh"
    return f"| {what} | {mine:,.0f} | {theirs:,.0f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f}) |"
