"""What a run can be told to go on to: the first step at which a metric passes a threshold, a step, or a failure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Name = Literal["clip", "dead", "kl", "kl_old", "reward", "diverge", "step"]
REWARD = "reward"


@dataclass(frozen=True)
class Event:
    """column  the metric looked at ("" for none) · value  the threshold it starts with; None: fixed at 0."""

    name: Name
    label: str
    column: str
    value: float | None


EVENTS = (
    Event("clip", "the first clip", "clip_fraction", None),
    Event("dead", "the first dead group", "dead_group_fraction", None),
    Event("kl", "KL to reference above", "kl_ref", 0.1),
    Event("kl_old", "KL to old policy above", "approx_kl", 0.02),
    Event("reward", "reward above", REWARD, 0.9),
    Event("diverge", "divergence", "", None),
)


@dataclass(frozen=True)
class Awaited:
    """An event that is waited for. `column` is empty where only a failure, or `step`, ends the wait."""

    label: str
    column: str = ""
    above: float = 0.0
    step: int | None = None

    def seen(self, step: int, metrics: Mapping[str, float]) -> str:
        """What happened at this step, in words with the number; "" where it did not."""
        if self.step is not None:
            return f"Stopped at step {step}, as asked." if step >= self.step else ""
        value = metrics.get(self.column, math.nan)
        if not value > self.above:
            return ""
        return f"Stopped at step {step}, {self.label}: {self.column.replace('_', ' ')} is {value:.3g}."


def awaited(name: str, value: float | None, *, reward: str) -> Awaited | None:
    """The event by name with its threshold (its own, or the one given); None for a name that does not exist."""
    for event in EVENTS:
        if event.name == name:
            above = 0.0 if event.value is None else event.value if value is None else value
            label = event.label if event.value is None else f"{event.label} {above:g}"
            return Awaited(label, reward if event.column == REWARD else event.column, above)
    return None
