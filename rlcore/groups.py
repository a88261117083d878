"""Statistics over groups of rows: what siblings of one prompt have in common, handed back to every row.

Groups may have any size and order; `group [B]` holds ids from 0, a row's number is [..., B]. NaN marks a row without a
score and is left out. This module knows no advantage.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlcore import masked


def group_sum(x: Tensor, group: Tensor) -> Tensor:
    """Sum of `x` [..., B] over each row's group, handed back to its rows: [..., B]."""
    prompts = int(group.max()) + 1
    sums = x.new_zeros(*x.shape[:-1], prompts).index_add(-1, group, x)
    return sums.index_select(-1, group)


def group_is_flat(score: Tensor, group: Tensor) -> Tensor:
    """True on rows whose whole group got exactly the same score, NaN left out: [..., B] -> [..., B] bool."""
    prompts = int(group.max()) + 1
    index = group.expand(score.shape)
    empty, missing = score.new_zeros(*score.shape[:-1], prompts), score.isnan()
    low, high = score.masked_fill(missing, torch.inf), score.masked_fill(missing, -torch.inf)
    lowest = empty.scatter_reduce(-1, index, low, "amin", include_self=False)
    highest = empty.scatter_reduce(-1, index, high, "amax", include_self=False)
    return (lowest >= highest).index_select(-1, group)


def exact_mean_std(score: Tensor, group: Tensor, *, ddof: int) -> tuple[Tensor, Tensor]:
    """(mean, std) of each row's group, [..., B], NaN left out; a flat group has its own score and exactly 0."""
    valid = ~score.isnan()
    size = group_sum(valid.to(score.dtype), group)
    mean = group_sum(masked.fill(score, valid), group) / size.clamp(min=1)
    mean = torch.where(group_is_flat(score, group) & valid, score, mean)
    centred = masked.fill(score - mean, valid)
    return mean, (group_sum(centred.square(), group) / (size - ddof).clamp(min=1)).sqrt()


def written_mean_std(score: Tensor, group: Tensor, *, ddof: int) -> tuple[Tensor, Tensor]:
    """(mean, std) group by group in the scores' own precision, rounding noise kept."""
    mean, std = torch.zeros_like(score), torch.zeros_like(score)
    for number in range(int(group.max()) + 1):
        member = group == number
        part = score[..., member]
        centre = part.nanmean(-1, keepdim=True).nan_to_num(nan=0.0)
        size = (~part.isnan()).sum(-1, keepdim=True)
        variance = (part - centre).square().nansum(-1, keepdim=True) / (size - ddof).clamp(min=1)
        mean[..., member], std[..., member] = centre.expand_as(part), variance.sqrt().expand_as(part)
    return mean, std


def matrix_mean_std(score: Tensor, group: Tensor, *, ddof: int) -> tuple[Tensor, Tensor]:
    """(mean, std) with groups of equal size as rows of one [groups, G] matrix, by torch's own mean and std."""
    order = group.argsort(stable=True)
    groups = int((group.bincount() > 0).sum())
    rows = score.index_select(-1, order).reshape(*score.shape[:-1], groups, -1)
    back = order.argsort()

    def of_rows(x: Tensor) -> Tensor:
        return x.unsqueeze(-1).expand_as(rows).flatten(-2).index_select(-1, back)

    return of_rows(rows.mean(-1)), of_rows(rows.std(-1, correction=ddof))
