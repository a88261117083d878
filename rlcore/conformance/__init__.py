"""Conformance: every number a library printed, recomputed from the house's slots.

A vector file names an `op`; the table below says which function composes slots into it. Nothing here re-implements a
library: where one does things its own way, that way is an option of a slot, open to everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlcore.conformance import cleanrl, openrlhf, sb3, shared, trl, trl_batch, trl_reinforce, verl, verl_batch
from rlcore.conformance.report import Comparison, Report, Row, Skipped, compare
from rlcore.conformance.vector import UnknownOp, Vector, read

__all__ = ["OPS", "Comparison", "Report", "Row", "Skipped", "UnknownOp", "Vector", "check_file", "check_folder"]

OPS: dict[str, Callable[[Vector], dict[str, Any]]] = {
    **verl.OPS,
    **verl_batch.OPS,
    **trl.OPS,
    **trl_batch.OPS,
    **trl_reinforce.OPS,
    **openrlhf.OPS,
    **cleanrl.OPS,
    **sb3.OPS,
    **shared.OPS,
}


def check_file(path: Path | str) -> list[Comparison]:
    """Recompute every output of one vector file at the file's own tolerance.

    Raises UnknownOp for an op outside the table, ValueError for a file that is no vector.
    """
    return _check(read(Path(path)))


def check_folder(path: Path | str) -> Report:
    """Recompute every *.json of a folder. Raises as `check_file` does, and FileNotFoundError where there is none."""
    files = sorted(Path(path).glob("*.json"))
    if not files:
        raise FileNotFoundError(f"{path}: no vector files (*.json) there")
    report = Report()
    for file in files:
        vector = read(file)
        report.files[file.stem], report.ops[file.stem] = _check(vector), vector.op
    return report


def _check(vector: Vector) -> list[Comparison]:
    if vector.op not in OPS:
        raise UnknownOp(f"op: {vector.op!r} in {vector.name} is not one of {', '.join(OPS)}")
    return compare(vector, OPS[vector.op](vector))
