"""Comparing what a library printed with what the slots give, leaf by leaf, and counting.

An expected number that was not recomputed is a failure, never silence. This module knows no op.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from rlcore.conformance.vector import NON_FINITE, Vector, as_tensor

_DESCRIPTIVE = ("config", "kwargs")  # keys inside `outputs` that describe a case


@dataclass(frozen=True)
class Got:
    """A recomputed value with a reason to be compared otherwise than the file says.

    where        compare there only: elsewhere the library leaves leftovers and the house writes 0
    rtol, atol   at least these: the library took the number in float32
    """

    value: Tensor | float | bool | None
    where: Tensor | None = None
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True)
class Skipped:
    """What is not recomputed, with the reason."""

    reason: str


@dataclass(frozen=True)
class Comparison:
    """One expected number or tensor. `error` is the largest |got - expected| over what the tolerance allows there."""

    name: str
    expected: Any
    got: Any
    error: float
    ok: bool
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name}: skipped, {self.skipped}"
        verdict = "ok" if self.ok else f"expected {self.expected}, got {self.got}"
        return f"{self.name}: {self.error:.2g} of tolerance, {verdict}"


@dataclass(frozen=True)
class Row:
    """One line of the parity report: an op, or everything."""

    op: str
    files: int
    comparisons: int
    failed: int
    skipped: int
    worst: float

    def __str__(self) -> str:
        return (
            f"{self.op:32} {self.files:5d} files {self.comparisons:6d} comparisons {self.failed:4d} failed "
            f"{self.skipped:4d} skipped   worst {self.worst:8.2g} of tolerance"
        )


@dataclass(frozen=True)
class Report:
    """Comparisons by file, and the op of each file."""

    files: dict[str, list[Comparison]] = field(default_factory=dict)
    ops: dict[str, str] = field(default_factory=dict)

    @property
    def comparisons(self) -> list[Comparison]:
        return [c for found in self.files.values() for c in found]

    @property
    def failed(self) -> list[Comparison]:
        return [c for c in self.comparisons if not c.ok and not c.skipped]

    @property
    def skipped(self) -> list[Comparison]:
        return [c for c in self.comparisons if c.skipped]

    @property
    def worst(self) -> float:
        """The largest error of all, as a share of its tolerance; above 1 is a failure."""
        return max((c.error for c in self.comparisons if not c.skipped), default=0.0)

    @property
    def rows(self) -> list[Row]:
        """One row an op in alphabetical order, and a last one for everything."""
        by_op = {op: [f for f in self.files if self.ops[f] == op] for op in sorted(set(self.ops.values()))}
        return [self._row(op, names) for op, names in by_op.items()] + [self._row("all", list(self.files))]

    def _row(self, op: str, names: list[str]) -> Row:
        found = [c for name in names for c in self.files[name]]
        done = [c for c in found if not c.skipped]
        failed = sum(not c.ok for c in done)
        return Row(op, len(names), len(done), failed, len(found) - len(done), max((c.error for c in done), default=0.0))

    def __str__(self) -> str:
        lines = [str(row) for row in self.rows] + [str(c) for c in self.failed + self.skipped]
        return "\n".join(lines)


def compare(vector: Vector, got: dict[str, Any]) -> list[Comparison]:
    """Every leaf of the vector's outputs against the same place in `got`."""
    return list(_walk(vector, vector.name, vector.outputs, got))


def _walk(vector: Vector, name: str, expected: Any, got: Any) -> Iterator[Comparison]:
    if isinstance(got, Skipped):
        yield Comparison(name, expected, None, 0.0, True, got.reason)
    elif isinstance(expected, dict):
        for key, value in expected.items():
            if key not in _DESCRIPTIVE or not isinstance(value, dict):
                inner = got.get(key, _MISSING) if isinstance(got, dict) else _MISSING
                yield from _walk(vector, f"{name}/{key}", value, inner)
    elif isinstance(expected, list) and expected and isinstance(expected[0], dict):
        for index, value in enumerate(expected):
            inner = got[index] if isinstance(got, list) and index < len(got) else _MISSING
            yield from _walk(vector, f"{name}/{index}", value, inner)
    else:
        yield _leaf(vector, name, expected, got)


_MISSING = object()


def _leaf(vector: Vector, name: str, expected: Any, got: Any) -> Comparison:
    if got is _MISSING:
        return Comparison(name, expected, "not recomputed", torch.inf, False)
    found = got if isinstance(got, Got) else Got(got)
    words = isinstance(expected, str) and expected not in NON_FINITE
    if expected is None or found.value is None or isinstance(expected, bool) or words:
        same = expected is None and found.value is None or expected == found.value
        return Comparison(name, expected, found.value, 0.0 if same else torch.inf, bool(same))
    wanted = as_tensor(expected, torch.float64)
    value = found.value.detach().double() if isinstance(found.value, Tensor) else as_tensor(found.value, torch.float64)
    if wanted.shape != value.shape:
        return Comparison(name, wanted, value, torch.inf, False)
    rtol, atol = max(vector.rtol, found.rtol), max(vector.atol, found.atol)
    error = float(_error(wanted, value, found.where, rtol, atol))
    return Comparison(name, wanted, value, error, error <= 1)


def _error(expected: Tensor, got: Tensor, where: Tensor | None, rtol: float, atol: float) -> Tensor:
    """The largest |got - expected| / (atol + rtol |expected|); equal infinities and two NaN agree, others never."""
    off = (got - expected).abs() / (atol + rtol * expected.abs())
    same = (got == expected) | (got.isnan() & expected.isnan())
    off = off.masked_fill(same, 0.0).nan_to_num(nan=torch.inf)
    off = off if where is None else off[where]
    return off.max() if off.numel() else off.new_zeros(())
