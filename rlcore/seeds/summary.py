"""Runs over seeds in a few numbers: smoothed, put on one axis, their mean with its interval, differences in pairs.

Axis 0 is the step, axis 1 the seed. A seed that diverged is NaN from then on and is left out from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

LEVEL = 0.95
Array = np.ndarray


@dataclass(frozen=True)
class Band:
    """mean, low, high [...]: the mean over n seeds and its 95 % t-interval; NaN where fewer than two are left."""

    mean: Array
    low: Array
    high: Array
    n: Array


def band(values: Array) -> Band:
    """Mean and interval over the last axis: mean ± t(0.975, n - 1) * std(ddof=1) / sqrt(n)."""
    there = ~np.isnan(values)
    n = there.sum(-1)
    known = np.where(there, values, 0.0)
    mean = np.where(n > 0, known.sum(-1) / np.maximum(n, 1), np.nan)
    spread = np.where(there, values - mean[..., None], 0.0)
    std = np.sqrt((spread**2).sum(-1) / np.maximum(n - 1, 1))
    half = np.where(n > 1, stdtrit(np.maximum(n - 1, 1), (1 + LEVEL) / 2) * std / np.sqrt(np.maximum(n, 1)), np.nan)
    return Band(mean, mean - half, mean + half, n)


def smoothed(values: Array, weight: float) -> Array:
    """Exponential moving average along the steps, started without bias: s_t = sum_k w^k x_{t-k} / sum_k w^k.

    weight 0 leaves the values as they are. NaN counts nowhere; a step before the first number stays NaN.
    """
    if weight == 0:
        return values
    out, total, mass = np.empty_like(values), np.zeros(values.shape[1:]), np.zeros(values.shape[1:])
    for step, x in enumerate(values):
        there = ~np.isnan(x)
        total = np.where(there, weight * total + np.where(there, x, 0.0), total)
        mass = np.where(there, weight * mass + 1.0, mass)
        out[step] = np.where(there & (mass > 0), total / np.maximum(mass, 1e-300), np.nan)
    return out


def grid_of(axes: list[Array]) -> Array:
    """Places that every run of every arm has reached and passed: as many as the shortest arm has steps."""
    first = max(float(np.nanmax(x[0])) for x in axes)
    last = min(float(np.nanmin(np.nanmax(x, axis=0))) for x in axes)
    return np.linspace(first, max(first, last), min(len(x) for x in axes))


def on_grid(x: Array, y: Array, grid: Array) -> Array:
    """Each run's y [steps, seeds], read off at the places of `grid` by linear interpolation: [len(grid), seeds]."""
    columns = []
    for at, values in zip(x.T, y.T, strict=True):
        there = ~(np.isnan(values) | np.isnan(at))
        if not there.any():
            columns.append(np.full(len(grid), np.nan))
            continue
        columns.append(np.interp(grid, at[there], values[there], right=np.nan))
    return np.stack(columns, axis=1)


def ending(values: Array, share: float = 0.1) -> Array:
    """Each seed's mean over the last share of the steps (at least one): what it arrived at, [seeds]."""
    last = values[-max(1, math.ceil(share * len(values))) :]
    there = ~np.isnan(last)
    count = there.sum(0)
    found = np.where(count > 0, np.where(there, last, 0.0).sum(0) / np.maximum(count, 1), np.nan)
    return np.where(np.isnan(values[-1]), np.nan, found)
