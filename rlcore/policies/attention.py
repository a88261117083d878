"""What a transformer's layers have seen, and attention over it. Differentiable; knows no parameters and no tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 16
"""Widths are padded to a multiple of it: softmax over a ragged last axis is several times slower on vector units."""


@dataclass
class Past:
    """seen [2, B, h, filled, d / h]: keys and values of every layer; empty tensors before anything was seen."""

    heads: int
    seen: list[Tensor]
    filled: int = 0

    def attend(self, layer: int, qkv: Tensor, new: int) -> Tensor:
        """softmax(q k^T / sqrt(d / h)) v over the past and the new tokens up to each: qkv [B S, 3 d] -> [B S, d].

        `new` is S. The tokens are added to layer `layer`; `filled` moves on when all layers have seen them.
        """
        parts = qkv.view(-1, new, 3, self.heads, qkv.shape[-1] // (3 * self.heads)).permute(2, 0, 3, 1, 4)
        _, rows, heads, _, size = parts.shape
        end = self.filled + new
        beyond = qkv.new_zeros(2, rows, heads, -end % BLOCK, size)
        wide = torch.cat((self.seen[layer], parts[1:], beyond), 3)
        self.seen[layer] = wide[:, :, :, :end]
        keys, values = wide.flatten(1, 2).unbind()
        ahead = torch.full((new, wide.shape[3]), -torch.inf).triu_(self.filled + 1)
        scores = torch.baddbmm(ahead, parts[0].reshape(-1, new, size), keys.mT, alpha=size**-0.5)
        mixed = torch.bmm(torch.softmax(scores, dim=-1), values)
        return mixed.view(rows, heads, new, size).transpose(1, 2).reshape(-1, heads * size)

    def of_rows(self, index: Tensor) -> Past:
        """A copy with one row for each index [B'], e.g. a prompt's past for every reply of its group."""
        return Past(self.heads, [x.index_select(1, index) for x in self.seen], self.filled)
