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
from rlcore.policies.heads import Categorical
from rlcore.policies.parameters import Params
from rlcore.rollout import Rollout
from rlcore.slopes import Slopes


@dataclass(frozen=True)
class Scored:
    """`now`, cut off from any graph; `back(slopes, into)` writes d loss / d theta into the named views `into`."""

    now: PolicyOutput
    back: Callable[[Slopes, Params], None]


class Scorer(Protocol):
    def evaluate(self, params: Params, rollout: Rollout, *, critic: bool) -> PolicyOutput:
        """The differentiable view."""
        ...


def by_autograd(policy: Scorer, params: Params, rollout: Rollout, *, critic: bool) -> Scored:
    """`evaluate` and its backward pass by autograd: what every policy can do."""
    leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
    now = policy.evaluate(leaves, rollout, critic=critic)
    shown = {name: x for name, x in vars(now).items() if x is not None and x.requires_grad}

    def back(slopes: Slopes, into: Params) -> None:
        asked = {name: slope for name, slope in vars(slopes).items() if slope is not None and name in shown}
        outputs = [shown[name] for name in asked]
        grads = torch.autograd.grad(outputs, list(leaves.values()), list(asked.values()), materialize_grads=True)
        for name, grad in zip(leaves, grads, strict=True):
            into[name].copy_(grad)

    return Scored(replace(now, **{name: x.detach() for name, x in shown.items()}), back)


# ---------------------------------------------------------------- finite actions, by hand


class Network(Protocol):
    """A network that has been run: `out` [S, K], and the chain rule from d loss / d out to its parameters."""

    @property
    def out(self) -> Tensor: ...

    def back(self, slope: Tensor, into: Params) -> None: ...


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


def by_hand(actor: Network, critic: Network | None, rollout: Rollout) -> Scored:
    """Log-softmax over finite actions and a value, forward and back.

        d logp_a / d logit_b = [a = b] - pi_b,     d H / d logp_a = -pi_a (1 + logp_a)
    """
    obs, action, shape = rollout.obs, rollout.action.reshape(-1), rollout.action.shape
    place = EveryState(obs.reshape(-1)) if obs.dtype == torch.int64 else EveryRow()
    head = Categorical(torch.log_softmax(actor.out, dim=-1))
    size, actions = head.logp.shape
    pairs = place.pairs(action, actions)
    logp = head.logp.view(-1).index_select(0, pairs).view(shape)
    entropy = place.rows(head.entropy()).view(shape)
    value = torch.zeros_like(logp) if critic is None else place.rows(critic.out.squeeze(-1)).view(shape)
    now = PolicyOutput(logp, entropy, value, place.rows(head.logp).view(*shape, actions))

    def back(slopes: Slopes, into: Params) -> None:
        asked = torch.zeros_like(head.logp)
        if slopes.logp is not None:
            asked.view(-1).index_add_(0, pairs, slopes.logp.reshape(-1))
        if slopes.dist is not None:
            asked += place.gathered(slopes.dist.reshape(-1, actions), size)
        prob = head.logp.exp()
        if slopes.entropy is not None:
            surprise = head.logp.clamp(min=torch.finfo(prob.dtype).min)
            asked -= place.gathered(slopes.entropy.reshape(-1), size).unsqueeze(-1) * prob * (1 + surprise)
        actor.back(torch.addcmul(asked, prob, asked.sum(-1, keepdim=True), value=-1), into)
        if critic is not None and slopes.value is not None:
            critic.back(place.gathered(slopes.value.reshape(-1), size).unsqueeze(-1), into)

    return Scored(now, back)
