"""Optimisers as pure functions on one flat parameter vector: nothing is written in place, so a state is a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from rlcore.knobs import Value, knob


@dataclass(frozen=True)
class Moments:
    """Adam's running moments, m and v [..., P], and the number of updates so far."""

    m: Tensor
    v: Tensor
    updates: int


def no_moments(theta: Tensor) -> Moments:
    """Moments before the first update."""
    return Moments(torch.zeros_like(theta), torch.zeros_like(theta), 0)


class ConstantRate(Value):
    """The learning rate as it is set."""

    kind: Literal["constant"] = "constant"

    def __call__(self, step: int) -> float:
        return 1.0


class LinearDecay(Value):
    """From 1 to 0 over `steps` training steps (CleanRL's anneal_lr); then 0."""

    kind: Literal["linear"] = "linear"
    steps: int = knob(200, "N", 1, 10_000_000, "training steps until the rate is 0", scale="log")

    def __call__(self, step: int) -> float:
        return max(0.0, 1 - step / self.steps)


Schedule = Annotated[ConstantRate | LinearDecay, Field(discriminator="kind")]

_LR = "step size of the optimiser"


class Adam(Value):
    """Adam with bias correction; `eps` outside the root as in torch.optim.Adam (CleanRL and SB3 use 1e-5).

    Source: Kingma & Ba 2014, arXiv:1412.6980, algorithm 1.
    """

    kind: Literal["adam"] = "adam"
    lr: float = knob(0.05, "lr", 0, 100, _LR, suggested=(1e-4, 1.0), scale="log")
    beta1: float = knob(0.9, "β₁", 0, 0.9999, "memory of the gradient's mean")
    beta2: float = knob(0.999, "β₂", 0, 0.999999, "memory of the gradient's square")
    eps: float = knob(1e-5, "ε_Adam", 1e-12, 1, "keeps the division finite", scale="log")
    max_grad_norm: float = knob(0.5, "‖g‖_max", 1e-6, 1e9, "the gradient is scaled down to this norm", scale="log")
    schedule: Schedule = ConstantRate()

    def __call__(self, theta: Tensor, grad: Tensor, moments: Moments, *, lr: float) -> tuple[Tensor, Moments]:
        """(new theta, new moments); theta, grad [..., P]."""
        updates = moments.updates + 1
        m = torch.lerp(moments.m, grad, 1 - self.beta1)
        v = (moments.v * self.beta2).addcmul_(grad, grad, value=1 - self.beta2)
        root = math.sqrt(1 - self.beta2**updates)  # of the bias correction, taken out of v: one pass over P less
        scale = v.sqrt().add_(self.eps * root)
        return torch.addcdiv(theta, m, scale, value=-lr * root / (1 - self.beta1**updates)), Moments(m, v, updates)


class Sgd(Value):
    """theta <- theta - lr * g, no memory: what shows the true size of gradients (Adam re-normalises them)."""

    kind: Literal["sgd"] = "sgd"
    lr: float = knob(0.1, "lr", 0, 1e4, _LR, suggested=(1e-4, 10.0), scale="log")
    max_grad_norm: float = knob(1e9, "‖g‖_max", 1e-6, 1e9, "the gradient is scaled down to this norm", scale="log")
    schedule: Schedule = ConstantRate()

    def __call__(self, theta: Tensor, grad: Tensor, moments: Moments, *, lr: float) -> tuple[Tensor, Moments]:
        """(new theta, moments with one more update counted)."""
        return theta - lr * grad, Moments(moments.m, moments.v, moments.updates + 1)


OptimSlot = Annotated[Adam | Sgd, Field(discriminator="kind")]


def clip_by_global_norm(grad: Tensor, max_norm: float) -> tuple[Tensor, float]:
    """(gradient [P] scaled to at most max_norm, its norm before).

    Source: Pascanu et al. 2013, arXiv:1211.5063; the 1e-6 as in torch.nn.utils.clip_grad_norm_.
    """
    norm = float(torch.linalg.vector_norm(grad))
    scale = max_norm / (norm + 1e-6)
    return (grad if scale >= 1 else grad * scale), norm
