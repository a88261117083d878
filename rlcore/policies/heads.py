"""Action distributions: from what a network puts out to log-probabilities, entropies and samples.

Sampling is by inverse CDF on supplied uniforms, so that the same die can be shown under another policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Categorical:
    """`logp` [..., A] normalised log-probabilities of a finite action set."""

    logp: Tensor

    def log_prob(self, action: Tensor) -> Tensor:
        return self.logp.gather(-1, action.unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """-sum p log p, nats; a probability of 0 contributes 0."""
        return -(self.logp.exp() * self.logp.clamp(min=torch.finfo(self.logp.dtype).min)).sum(-1)

    def sample(self, uniform: Tensor) -> Tensor:
        """Inverse CDF: the first action whose cumulative probability exceeds `uniform` [...] in [0, 1).

        The sum is made exactly 1 first, so that rounding never hands a draw to an action of probability 0.
        """
        cumulative = self.logp.exp().cumsum(-1)
        return (uniform.unsqueeze(-1) >= cumulative / cumulative[..., -1:]).sum(-1)


def inverse_cdf(cumulative: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """`Categorical.sample` for the collectors' inner loops, from cumulative probabilities [..., A] and uniforms [...]."""
    return np.asarray((uniform[..., None] >= cumulative / cumulative[..., -1:]).sum(-1))


@dataclass(frozen=True)
class Gaussian:
    """Independent normals: `mean` [..., D], `log_std` [D] or [..., D]. Samples are not squashed or clipped."""

    mean: Tensor
    log_std: Tensor

    def log_prob(self, action: Tensor) -> Tensor:
        z = (action - self.mean) * torch.exp(-self.log_std)
        return (-0.5 * z.square() - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    def entropy(self) -> Tensor:
        per_dimension: Tensor = self.log_std + 0.5 * math.log(2 * math.pi * math.e)
        return per_dimension.expand_as(self.mean).sum(-1)

    def sample(self, uniform: Tensor) -> Tensor:
        """Inverse CDF per dimension; `uniform` [..., D] in (0, 1)."""
        normal: Tensor = torch.special.ndtri(uniform)
        return self.mean + self.log_std.exp() * normal


def categorical(logits: Tensor) -> Categorical:
    """Log-softmax of [..., A]."""
    return Categorical(torch.log_softmax(logits, dim=-1))
