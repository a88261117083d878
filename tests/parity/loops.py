"""What the edge tests share: a batch at the edges as plain lists, central differences, each library's token weights.

No torch on this side of the comparison.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

from rlcore.conformance import OPS, Vector
from rlcore.conformance.report import Got

Grid = list[list[float]]


def recompute(op: str, config: dict[str, Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    return OPS[op](Vector("edge", op, config, inputs, outputs, torch.float64, 1e-9, 1e-12))


def numbers(x: Any) -> Any:
    x = x.value if isinstance(x, Got) else x
    return x.detach().tolist() if isinstance(x, torch.Tensor) else x


def same(got: Any, expected: Any, *, rel: float = 1e-9, abs: float = 1e-12) -> None:
    torch.testing.assert_close(
        torch.tensor(numbers(got), dtype=torch.float64), torch.tensor(expected, dtype=torch.float64),
        rtol=rel, atol=abs, equal_nan=True,
    )  # fmt: skip


def edges(seed: int, rows: int = 6, width: int = 5) -> dict[str, Any]:
    """A batch with holes, an empty row, a row of one token, log-ratios of 20 and beyond, a zero advantage."""
    dice = random.Random(seed)
    mask = [[int(dice.random() < 0.7) for _ in range(width)] for _ in range(rows)]
    mask[0], mask[1], mask[2] = [1] * width, [0] * width, [0, 1] + [0] * (width - 2)
    old = [[-dice.expovariate(1) - 0.01 for _ in range(width)] for _ in range(rows)]
    gap = [[dice.gauss(0, 0.5) for _ in range(width)] for _ in range(rows)]
    gap[0][:4] = [20.0, -20.0, 25.0, -25.0]
    gap[3][0], mask[3][0] = 4.0, 1
    new = [[o + g for o, g in zip(a, b, strict=True)] for a, b in zip(old, gap, strict=True)]
    ref = [[o + dice.gauss(0, 0.3) for o in row] for row in old]
    row_advantage = [dice.gauss(0, 1) for _ in range(rows)]
    row_advantage[0], row_advantage[3], row_advantage[4] = -0.7, -1.1, 0.0
    return {"mask": mask, "old": old, "new": new, "ref": ref, "A": row_advantage, "rows": rows, "width": width}


def cells(b: dict[str, Any]) -> list[tuple[int, int]]:
    return [(i, t) for i in range(b["rows"]) for t in range(b["width"]) if b["mask"][i][t]]


def differences(f: Callable[[Grid], float], x: Grid, at: list[tuple[int, int]], h: float = 1e-6) -> Grid:
    """Central differences of f at these places, 0 elsewhere."""
    found = [[0.0] * len(row) for row in x]
    for i, t in at:
        up, down = ([list(row) for row in x] for _ in range(2))
        up[i][t] += h
        down[i][t] -= h
        found[i][t] = (f(up) - f(down)) / (2 * h)
    return found


def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


# ---------------------------------------------------------------- token weights of every aggregation


def verl_weights(mode: str, b: dict[str, Any], *, scale: float | None = None) -> Grid:
    length = [sum(row) for row in b["mask"]]
    tokens, rows = sum(length), sum(n > 0 for n in length)
    of_row = {
        "token-mean": lambda n: 1 / tokens,
        "token-sum": lambda n: 1.0,
        "seq-mean-token-sum": lambda n: 1 / rows,
        "seq-mean-token-mean": lambda n: 1 / rows / (n + 1e-8),
        "seq-mean-token-sum-norm": lambda n: 1 / rows / (scale or b["width"]),
    }[mode]
    return [[of_row(n) * m for m in row] for n, row in zip(length, b["mask"], strict=True)]


def trl_weights(kind: str, b: dict[str, Any], max_length: int = 16) -> Grid:
    length, rows = [sum(row) for row in b["mask"]], b["rows"]
    of_row = {
        "grpo": lambda n: 1 / rows / max(n, 1), "luspo": lambda n: 1 / rows,
        "dr_grpo": lambda n: 1 / rows / max_length,
        "bnpo": lambda n: 1 / sum(length), "dapo": lambda n: 1 / sum(length),
    }[kind]  # fmt: skip
    return [[of_row(n) * m for m in row] for n, row in zip(length, b["mask"], strict=True)]


MODES = ["token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
