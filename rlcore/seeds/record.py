"""What one training step of many seeds leaves: a number a seed for every metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SeedsRecord:
    """metrics by glossary name, [N] each, NaN where undefined or after a divergence · samples [N], valid steps · seconds
    of wall time, [N]: measured where seeds run in turn, each one's equal share where they run together · diverged, what
    stopped a seed, by its place.
    """

    step: int
    metrics: Mapping[str, np.ndarray]
    samples: np.ndarray
    seconds: np.ndarray
    diverged: Mapping[int, str]
