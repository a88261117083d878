"""Scoring with the way back: a policy's view of a rollout's rows, and how a slope in that view reaches the parameters.

`slopes` says what a loss asks of every token's log-probability, entropy and value; `back` carries that through the
network. Every policy can do it by autograd; small ones with finite actions do it by hand here, at a fraction of the cost.
Tests hold one against the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from rlcore.algorithm import PolicyOutput
from rlcore.policies.parameters import Layout, Params
from rlcore.rollout import Rollout
from rlcore.slopes import Slopes


@dataclass(frozen=True)
class Scored:
    """`now`, cut off from any graph; `back(slopes)` writes d loss / d theta into the gradient the scorer was made with."""

    now: PolicyOutput
    back: Callable[[Slopes], None]


Scorer = Callable[[Rollout], Scored]
"""A policy at parameters that are being trained: made once for a step, asked anew for every minibatch."""


class Evaluates(Protocol):
    def evaluate(self, params: Params, rollout: Rollout, *, critic: bool) -> PolicyOutput:
        """The differentiable view."""
        ...


def by_autograd(policy: Evaluates, layout: Layout, theta: Tensor, grad: Tensor, *, critic: bool) -> Scorer:
    """`evaluate` and its backward pass by autograd: what every policy can do. theta, grad [P]."""
    params, into = layout.parts(theta), layout.parts(grad)

    def scored(rollout: Rollout) -> Scored:
        with torch.inference_mode(False):
            leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
            now = policy.evaluate(leaves, rollout, critic=critic)
        shown = {name: x for name, x in vars(now).items() if x is not None and x.requires_grad}

        def back(slopes: Slopes) -> None:
            asked = {name: slope for name, slope in vars(slopes).items() if slope is not None and name in shown}
            outputs = [shown[name] for name in asked]
            with torch.inference_mode(False):
                found = torch.autograd.grad(outputs, list(leaves.values()), list(asked.values()), materialize_grads=True)
            for name, slope in zip(leaves, found, strict=True):
                into[name].copy_(slope)

        return Scored(replace(now, **{name: x.detach() for name, x in shown.items()}), back)

    return scored


# ---------------------------------------------------------------- finite actions, by hand


class Run(Protocol):
    """A policy's networks, just run on N rows or states; `back` is the chain rule from their outputs to the gradient."""

    @property
    def logits(self) -> Tensor:
        """[N, A]."""
        ...

    @property
    def value(self) -> Tensor | None:
        """[N], or None without a critic."""
        ...

    def back(self, logits: Tensor, value: Tensor | None) -> None:
        """From d loss / d logits [N, A] and, with a critic, d loss / d value [N]."""
        ...


@dataclass(frozen=True)
class EveryRow:
    """The network was run on the batch's own N observations."""

    def rows(self, out: Tensor) -> Tensor:
        return out

    def gathered(self, slope: Tensor, size: int) -> Tensor:
        return slope

    def pairs(self, action: Tensor, actions: int) -> Tensor:
        return torch.arange(0, len(action) * actions, actions).add_(action)


@dataclass(frozen=True)
class EveryState:
    """The network was run on every state once; `at` [N] says which of them each row of the batch is."""

    at: Tensor

    def rows(self, out: Tensor) -> Tensor:
        """out [S, ...] on the batch's rows, [N, ...]."""
        return out.index_select(0, self.at)

    def gathered(self, slope: Tensor, size: int) -> Tensor:
        """Slopes [N, ...] summed over the rows of each of `size` states: the way back of `rows`."""
        return slope.new_zeros(size, *slope.shape[1:]).index_add_(0, self.at, slope)

    def pairs(self, action: Tensor, actions: int) -> Tensor:
        """Where the taken actions [N] stand in a flat [S * actions] table."""
        return torch.add(action, self.at, alpha=actions)


def by_hand(run: Run, rollout: Rollout) -> Scored:
    """Log-softmax over finite actions and a value, forward and back.

        d logp_a / d logit_b = [a = b] - pi_b,     d H / d logp_a = -pi_a (1 + logp_a)
    """
    obs, action, shape = rollout.obs, rollout.action.reshape(-1), rollout.action.shape
    place = EveryState(obs.reshape(-1)) if obs.dtype == torch.int64 else EveryRow()
    every = torch.log_softmax(run.logits, dim=-1)
    prob, finite = every.exp(), every.clamp(min=torch.finfo(every.dtype).min)
    size, actions = every.shape
    pairs = place.pairs(action, actions)
    logp = every.view(-1).index_select(0, pairs).view(shape)
    entropy = place.rows((prob * finite).sum(-1).neg_()).view(shape)
    value = torch.zeros_like(logp) if run.value is None else place.rows(run.value).view(shape)
    now = PolicyOutput(logp, entropy, value, place.rows(every).view(*shape, actions))

    def back(slopes: Slopes) -> None:
        asked = torch.zeros_like(every)
        if slopes.logp is not None:
            asked.view(-1).index_add_(0, pairs, slopes.logp.reshape(-1))
        if slopes.dist is not None:
            asked += place.gathered(slopes.dist.reshape(-1, actions), size)
        if slopes.entropy is not None:
            asked -= place.gathered(slopes.entropy.reshape(-1), size).unsqueeze(-1) * prob * (1 + finite)
        of_value = None
        if run.value is not None and slopes.value is not None:
            of_value = place.gathered(slopes.value.reshape(-1), size)
        run.back(torch.addcmul(asked, prob, asked.sum(-1, keepdim=True), value=-1), of_value)

    return Scored(now, back)
