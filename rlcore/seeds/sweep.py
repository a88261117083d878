"""Several arms on the same seeds, step by step side by side, and how far they have come: what a comparison is made of.

Mutable, unlike everything below it: one thread runs `slices`, any other may read what is there so far.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from rlcore import seeds as many
from rlcore.config import RunConfig

KEPT = (
    "reward_mean", "episode_return", "entropy", "kl_ref", "kl_ref_exact", "approx_kl", "clip_fraction",
    "clip_fraction_outside", "dead_group_fraction", "grad_norm", "explained_variance", "length_mean", "ratio_max", "loss",
)  # fmt: skip
"""The metrics that are kept of every seed and step; all of them for 6 arms of 64 seeds would be hundreds of megabytes."""


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: its settings, and those that it changes to on the way, by step from 0."""

    label: str
    path: tuple[tuple[int, RunConfig], ...]

    def config(self, step: int) -> RunConfig:
        return next(config for start, config in reversed(self.path) if start <= step)


@dataclass(frozen=True)
class Curves:
    """What an arm has shown so far: metrics, samples (so far) and seconds (so far), [steps, seeds] each."""

    label: str
    metrics: dict[str, np.ndarray]
    samples: np.ndarray
    seconds: np.ndarray
    diverged: dict[int, str]

    @property
    def steps(self) -> int:
        return len(self.samples)


class Sweep:
    """`for _ in sweep.slices(): ...` runs it; `progress` and `curves` may be asked at any time."""

    def __init__(self, arms: Sequence[Arm], seeds: Sequence[int], steps: int) -> None:
        self.arms, self.seeds, self.steps = tuple(arms), tuple(seeds), steps
        self.in_turn = tuple(next(filter(None, (many.why_in_turn(c) for _, c in arm.path)), "") for arm in self.arms)
        shape = (len(self.arms), steps, len(self.seeds))
        self._kept = {name: np.full(shape, np.nan) for name in KEPT}
        self._samples, self._seconds = np.full(shape, np.nan), np.full(shape, np.nan)
        self._done = [0] * len(self.arms)
        self._diverged: list[dict[int, str]] = [{} for _ in self.arms]

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        return sum(self._done) / (self.steps * len(self.arms))

    def slices(self) -> Generator[object, None, None]:
        """One step of every arm, then the next, cut where a shared worker may look after somebody else."""
        states = []
        for arm, in_turn in zip(self.arms, self.in_turn, strict=True):
            states.append(many.start(arm.config(0), self.seeds, in_turn=bool(in_turn)))
            yield None
        for step in range(self.steps):
            for place, arm in enumerate(self.arms):
                states[place], record = yield from many.step_slices(states[place], arm.config(step))
                self._keep(place, step, record)

    def curves(self, place: int) -> Curves:
        """An arm's numbers so far; copies, which nobody writes to."""
        done = self._done[place]

        def so_far(x: np.ndarray) -> np.ndarray:
            return x[place, :done].copy()

        metrics = {name: so_far(x) for name, x in self._kept.items()}
        found = {name: x for name, x in metrics.items() if not np.isnan(x).all()} if done else {}
        samples, seconds = (np.cumsum(so_far(x), axis=0) for x in (self._samples, self._seconds))
        return Curves(self.arms[place].label, found, samples, seconds, dict(self._diverged[place]))

    def _keep(self, place: int, step: int, record: many.SeedsRecord) -> None:
        for name in KEPT:
            if name in record.metrics:
                self._kept[name][place, step] = record.metrics[name]
        self._samples[place, step], self._seconds[place, step] = record.samples, record.seconds
        self._diverged[place] = dict(record.diverged)
        self._done[place] = step + 1
