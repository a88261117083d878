"""Feed-forward layers of the transformer: one dense network, or several experts of which each token visits a few.

Both are values with the same three functions. Which experts a token visited is part of the result, so that routing can
be watched and compared before and after an update. No load-balancing loss here: that belongs to pretraining.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from rlcore.knobs import Value, knob
from rlcore.policies.parameters import Params


def normal(dice: np.random.Generator, *shape: int, std: float) -> Tensor:
    """A float32 tensor of independent normals from the given dice."""
    return torch.from_numpy(dice.standard_normal(shape, dtype=np.float32) * np.float32(std))


class Dense(Value):
    """relu(x W_fc) W_proj, of `expansion` times the model's width."""

    kind: Literal["dense"] = "dense"
    expansion: int = knob(2, "f/d", 1, 16, "hidden width of the feed-forward layer over the model's width", live=False)

    def init(self, width: int, dice: np.random.Generator, *, proj_std: float) -> Params:
        """Parameters by name, without the layer's prefix."""
        hidden = self.expansion * width
        return {
            "c_fc.weight": normal(dice, width, hidden, std=width**-0.5),
            "c_proj.weight": normal(dice, hidden, width, std=proj_std * hidden**-0.5),
        }

    def __call__(self, params: Params, prefix: str, x: Tensor) -> tuple[Tensor, None]:
        """x [B, S, d] -> ([B, S, d], no routing)."""
        return torch.relu_(x @ params[prefix + "c_fc.weight"]) @ params[prefix + "c_proj.weight"], None


class MixtureOfExperts(Value):
    """sum over a token's top_k experts of gate_e * expert_e(x); gates are the softmax over the chosen logits.

        p = softmax(top_k(x W_gate)),    y = sum_e p_e relu(x W_fc[e]) W_proj[e]

    Tokens are sorted by expert, so each expert runs one dense product on its own tokens and nobody else's.
    Source: Shazeer et al. 2017, arXiv:1701.06538; gates after the choice as in Mixtral, arXiv:2401.04088.
    Trap: the choice is not differentiable; an update that moves a token's logits past each other changes its function
    at once (arXiv:2507.18071, sec. 5.3).
    """

    kind: Literal["moe"] = "moe"
    experts: int = knob(8, "E", 2, 64, "experts a layer", live=False)
    top_k: int = knob(2, "k", 1, 8, "experts that a token visits", live=False)
    expansion: int = knob(1, "f/d", 1, 16, "hidden width of one expert over the model's width", live=False)

    @model_validator(mode="after")
    def _enough_experts(self) -> MixtureOfExperts:
        if self.top_k > self.experts:
            raise ValueError(f"top_k must be at most experts = {self.experts}, got {self.top_k}")
        return self

    def init(self, width: int, dice: np.random.Generator, *, proj_std: float) -> Params:
        """Parameters by name, without the layer's prefix; experts are stacked along the first axis."""
        hidden = self.expansion * width
        return {
            "gate.weight": normal(dice, width, self.experts, std=width**-0.5),
            "experts.c_fc.weight": normal(dice, self.experts, width, hidden, std=width**-0.5),
            "experts.c_proj.weight": normal(dice, self.experts, hidden, width, std=proj_std * hidden**-0.5),
        }

    def __call__(self, params: Params, prefix: str, x: Tensor) -> tuple[Tensor, Tensor]:
        """x [B, S, d] -> ([B, S, d], experts [B, S, k] int64, the largest gate first)."""
        flat = x.reshape(-1, x.shape[-1])
        logits = flat @ params[prefix + "gate.weight"]
        strongest, chosen = logits.topk(self.top_k, dim=-1)
        gates = strongest.softmax(-1)
        order = chosen.reshape(-1).argsort(stable=True)
        counts = torch.bincount(chosen.reshape(-1), minlength=self.experts).tolist()
        token = order.div(self.top_k, rounding_mode="floor")
        inputs = torch.split(flat.index_select(0, token), counts)
        fc, proj = params[prefix + "experts.c_fc.weight"], params[prefix + "experts.c_proj.weight"]
        visited = [torch.relu_(rows @ fc[e]) @ proj[e] for e, rows in enumerate(inputs) if len(rows)]
        weighted = torch.cat(visited) * gates.reshape(-1).index_select(0, order).unsqueeze(-1)
        out = torch.zeros_like(flat).index_add(0, token, weighted)
        return out.view_as(x), chosen.view(*x.shape[:-1], self.top_k)


FeedForward = Annotated[Dense | MixtureOfExperts, Field(discriminator="kind")]
