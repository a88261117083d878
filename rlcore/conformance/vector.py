"""A reference vector: one file of numbers that a library printed, and the settings it ran with.

The schema is stated in `tests/parity/vectors/README.md`. This module reads; it computes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

NON_FINITE = ("NaN", "Infinity", "-Infinity")


class UnknownOp(ValueError):
    """A vector file asks for an `op` that the conformance table does not hold. The message names both."""


@dataclass(frozen=True)
class Vector:
    """`config` is the file's; entries of `outputs` may add their own. Asked for: |got - e| <= atol + rtol |e|."""

    name: str
    op: str
    config: dict[str, Any]
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    dtype: torch.dtype
    rtol: float
    atol: float

    def has(self, name: str) -> bool:
        """True where the input is there and not null."""
        return self.inputs.get(name) is not None

    def tensor(self, name: str) -> Tensor:
        """The input in the vector's precision; "NaN", "Infinity" and null inside lists become what they mean."""
        return as_tensor(self.inputs[name], self.dtype)

    def leaf(self, name: str) -> Tensor:
        """The input as something to differentiate with respect to."""
        return self.tensor(name).requires_grad_()

    def mask(self, name: str) -> Tensor:
        return as_tensor(self.inputs[name], torch.float64) > 0

    def rows(self, name: str) -> list[Tensor]:
        """A list of lists of any lengths, one tensor each."""
        return [as_tensor(row, self.dtype) for row in self.inputs[name]]

    def each_case(self, recompute: Callable[[Vector, dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """`recompute(vector, settings)` for every entry of `outputs`, whose settings come before the file's own.

        A file without entries is a case by itself.
        """
        if not all(isinstance(case, dict) for case in self.outputs.values()):
            return recompute(self, self.config)
        return {
            label: recompute(self, self.config | (case.get("config") or {}) | (case.get("kwargs") or {}))
            for label, case in self.outputs.items()
        }

    def ids(self, name: str) -> Tensor:
        """Labels of any kind as numbers from 0 in order of first appearance, [B] int64."""
        seen: dict[Any, int] = {}
        return torch.tensor([seen.setdefault(label, len(seen)) for label in self.inputs[name]])


def as_tensor(nested: Any, dtype: torch.dtype) -> Tensor:
    """A nested list, or one number, with non-finite numbers written as strings and null as NaN."""
    return torch.tensor(_numbers(nested), dtype=dtype)


def _numbers(nested: Any) -> Any:
    if isinstance(nested, list):
        return [_numbers(x) for x in nested]
    return float("nan") if nested is None else float(nested)


def read(path: Path) -> Vector:
    """The vector in a file. Raises ValueError naming the file where a key is missing."""
    try:
        found = json.loads(path.read_text())
        return Vector(
            found["name"], found["op"], found.get("config") or {}, found["inputs"], found["outputs"],
            getattr(torch, found["dtype"]), found["tolerance"]["rtol"], found["tolerance"]["atol"],
        )  # fmt: skip
    except (KeyError, AttributeError, json.JSONDecodeError) as problem:
        raise ValueError(f"{path.name}: not a reference vector, {problem!r}") from problem
