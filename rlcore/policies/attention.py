"""What a transformer's layers have seen, and attention over it: two memories with one function, `attend`.

`Past` grows by whole prompts and replies and is differentiable; `Cache` is written in place, one token of every row at a
time. Both compute the same numbers, to rounding; each is laid out for the shape of its own work.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 16
"""Widths are padded to a multiple of it: softmax over a ragged last axis is several times slower on vector units."""


@dataclass
class Past:
    """keys, values [B, h, filled, d / h] of every layer; empty tensors before anything was seen."""

    heads: int
    keys: list[Tensor]
    values: list[Tensor]
    filled: int = 0

    def attend(self, layer: int, qkv: Tensor) -> Tensor:
        """softmax(q k^T / sqrt(d / h)) v over the past and the new tokens up to each: qkv [B, S, 3 d] -> [B, S, d].

        The tokens are added to layer `layer`; `filled` moves on when all layers have seen them.
        """
        rows, new, _ = qkv.shape
        q, k, v = qkv.view(rows, new, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()
        end = self.filled + new
        beyond = k.new_zeros(rows, self.heads, -end % BLOCK, k.shape[-1])
        keys, values = torch.cat((self.keys[layer], k, beyond), 2), torch.cat((self.values[layer], v, beyond), 2)
        self.keys[layer], self.values[layer] = keys[:, :, :end], values[:, :, :end]
        ahead = torch.full((new, keys.shape[2]), -torch.inf).triu_(self.filled + 1)
        weights = torch.softmax(torch.add(ahead, q @ keys.mT, alpha=q.shape[-1] ** -0.5), dim=-1)
        return (weights @ values).permute(0, 2, 1, 3).reshape(rows, new, -1)

    def of_rows(self, index: Tensor) -> Past:
        """A copy with one row for each index [B'], e.g. a prompt's past for every reply of its group."""
        keys, values = ([x.index_select(0, index) for x in side] for side in (self.keys, self.values))
        return Past(self.heads, keys, values, self.filled)

    def cache(self, index: Tensor, tokens: int) -> Cache:
        """A cache that begins with the rows `index` [B'] of this past and has room for `tokens` positions."""

        def opened(x: Tensor) -> Tensor:
            room = x.new_empty(self.heads, tokens, x.shape[-1], len(index))  # read only where it was written
            room[:, : self.filled] = x.index_select(0, index).permute(1, 2, 3, 0)
            return room

        return Cache([opened(x) for x in self.keys], [opened(x) for x in self.values], self.filled)


@dataclass
class Cache:
    """keys, values [h, W, d / h, B] of every layer, `filled` of W positions; never differentiated.

    Rows come last: with one query a row, attention is two products and two sums along vectors of B numbers, a third of
    the time of B * h matrix products of one row each.
    """

    keys: list[Tensor]
    values: list[Tensor]
    filled: int

    def attend(self, layer: int, qkv: Tensor) -> Tensor:
        """As `Past.attend`, for one new token a row: qkv [B, 1, 3 d] -> [B, 1, d]."""
        heads, _, size, rows = self.keys[layer].shape
        q, k, v = qkv.view(rows, -1).T.contiguous().view(3, heads, size, rows).unbind()
        self.keys[layer][:, self.filled], self.values[layer][:, self.filled] = k, v
        keys, values = (x[layer][:, : self.filled + 1] for x in (self.keys, self.values))
        scores = (keys * (q * size**-0.5).unsqueeze(1)).sum(2)
        weights = torch.softmax(scores, dim=1).unsqueeze(2)
        return (values * weights).sum(1).view(-1, rows).T.contiguous().unsqueeze(1)
