"""A caution: one thing worth knowing about an algorithm in a run, and where that is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["note", "warning"]


@dataclass(frozen=True)
class Caution:
    """key for tests and links · the slot concerned · level · what to know, in a sentence or two · source."""

    key: str
    slot: str
    level: Level
    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.slot}: {self.text} [{self.source}]"


@dataclass(frozen=True)
class Run:
    """What is known of the run around an algorithm; None: not known, so nothing is said about it.

    updates       gradient steps per batch of data: epochs * minibatches
    group_size    rows per prompt
    outcome_only  the reward is 0 except on a row's last step
    """

    updates: int | None = None
    group_size: int | None = None
    outcome_only: bool | None = None
