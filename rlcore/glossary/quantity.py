"""A quantity: one name, its symbol, shape, unit and meaning, and what the libraries call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["metric", "field", "knob"]
LIBRARIES = ("TRL", "verl", "OpenRLHF", "CleanRL", "SB3")


@dataclass(frozen=True)
class Quantity:
    """One entry of the glossary.

    name     as in records, rollouts and configs; a knob's has its owner in front: "PpoClip.eps_low"
    shape    "scalar", or axes: B rows, T steps, A actions
    unit     "nats", "reward" …; empty for a plain number
    meaning  one or two sentences
    formula  LaTeX, empty where the meaning says it all
    aka      library -> its name for this, with a remark where it is not quite the same
    source   paper or code the definition follows
    """

    name: str
    symbol: str
    shape: str
    unit: str
    meaning: str
    formula: str = ""
    source: str = ""
    aka: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = "field"

    def __str__(self) -> str:
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.name} ({self.symbol}; {self.shape}{unit}): {self.meaning}"
