"""What a transformer's layers have seen, and attention over it. Differentiable; knows no parameters and no tokens."""

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
