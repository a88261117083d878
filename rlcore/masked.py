"""Arithmetic on padded `[..., B, T]` tensors with a boolean mask.

What stands under a False mask never reaches a result or a gradient, not even NaN or infinity. Leading axes (several
seeds at once) are carried through: sums run over the last two dimensions only.
"""

from __future__ import annotations

import torch
from torch import Tensor


def fill(x: Tensor, mask: Tensor, value: float = 0.0) -> Tensor:
    """`x` where the mask is True, `value` elsewhere; the gradient under a False mask is exactly 0. Shapes [..., T]."""
    return torch.where(mask, x, value)


def total(x: Tensor, mask: Tensor) -> Tensor:
    """Sum over valid tokens: [..., B, T] -> [...]."""
    return fill(x, mask).sum(dim=(-2, -1))


def count(mask: Tensor) -> Tensor:
    """Number of valid tokens, at least 1 so that an empty batch divides cleanly: [..., B, T] -> [...]."""
    return mask.sum(dim=(-2, -1)).clamp(min=1)


def mean(x: Tensor, mask: Tensor) -> Tensor:
    """Mean over valid tokens, 0 for an empty batch: [..., B, T] -> [...]."""
    return total(x, mask) / count(mask)


def weighted(x: Tensor, weight: Tensor) -> Tensor:
    """Sum of weight * x; `x` must be clean (see `fill`) where weight is 0: [..., B, T], [..., B, T] -> [...]."""
    return (weight * x).sum(dim=(-2, -1))


def quotient(x: Tensor, divisor: Tensor) -> Tensor:
    """x / divisor, and 0 where x is 0 whatever the divisor: a deviation of nothing is nothing, also without an eps."""
    return (x / divisor).masked_fill(x == 0, 0.0)


def lengths(mask: Tensor) -> Tensor:
    """Valid tokens a row, `L_i`: [..., B, T] -> [..., B]."""
    return mask.sum(dim=-1)


def row_sum(x: Tensor, mask: Tensor) -> Tensor:
    """Sum over each row's valid tokens: [..., B, T] -> [..., B]."""
    return fill(x, mask).sum(dim=-1)


def row_mean(x: Tensor, mask: Tensor) -> Tensor:
    """Mean over each row's valid tokens, 0 for an empty row: [..., B, T] -> [..., B]."""
    return row_sum(x, mask) / lengths(mask).clamp(min=1)


def spread(row: Tensor, mask: Tensor) -> Tensor:
    """A row's number on each of its valid tokens, 0 elsewhere: [..., B] -> [..., B, T]."""
    return fill(row.unsqueeze(-1).expand(mask.shape), mask)


def variance(x: Tensor, mask: Tensor, *, ddof: int) -> Tensor:
    """Variance over valid tokens with divisor n - ddof; 0 where fewer than ddof + 1 are valid: [..., B, T] -> [...]."""
    centred = x - mean(x, mask)[..., None, None]
    return total(centred.square(), mask) / (mask.sum(dim=(-2, -1)) - ddof).clamp(min=1)
