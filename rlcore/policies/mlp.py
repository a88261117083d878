"""Two multilayer perceptrons, one for the policy and one for the value (no shared trunk), after CleanRL's `ppo.py`.

Weights start orthogonal with gain sqrt(2), the policy's last layer with 0.01, the value's with 1, biases at 0
(Andrychowicz et al. 2020, arXiv:2006.05990; "The 37 implementation details of PPO").
On a finite state space the network is run once on every state and rows are gathered: the same function, less work.
`scored` and `by_numpy` are the same network again, where an update or a collector runs it thousands of times a second.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from rlcore.knobs import knob
from rlcore.policies.actor import ActorCritic
from rlcore.policies.heads import Categorical, Gaussian, categorical
from rlcore.policies.parameters import Params, refuse_beyond
from rlcore.policies.scored import Scored, by_autograd, by_hand
from rlcore.policies.shape import Shape
from rlcore.rollout import Rollout

Width = Annotated[int, Field(ge=1, le=1024)]


class Mlp(ActorCritic):
    """tanh layers; softmax over finite actions, or a normal with a state-independent log_std over Box actions."""

    kind: Literal["mlp"] = "mlp"
    hidden: tuple[Width, ...] = Field((64, 64), max_length=6, description="width of each hidden layer")
    log_std: float = knob(0.0, "log σ", -5, 2, "initial log standard deviation of Box actions", live=False)

    def init(self, shape: Shape, dice: np.random.Generator) -> Params:
        """Actor weights [in, out] and biases [out]; `actor.log_std` [D] for Box actions."""
        inputs = shape.states or shape.features
        outputs = shape.actions or shape.action_dim
        assert inputs is not None and outputs is not None
        params = _layers("actor", (inputs, *self.hidden, outputs), last_gain=0.01, dice=dice)
        if shape.action_dim is not None:
            params["actor.log_std"] = torch.full((shape.action_dim,), self.log_std)
        return params

    def init_critic(self, shape: Shape, dice: np.random.Generator) -> Params:
        """Critic weights [in, out] and biases [out]."""
        inputs = shape.states or shape.features
        assert inputs is not None
        return _layers("critic", (inputs, *self.hidden, 1), last_gain=1.0, dice=dice)

    def act(self, params: Params, obs: Tensor) -> Categorical | Gaussian:
        """Action distribution at obs: int64 states [...] or float vectors [..., D]."""
        if "actor.log_std" in params:
            return Gaussian(_run("actor", params, obs), params["actor.log_std"])
        if obs.dtype == torch.int64:
            table = categorical(_pass("actor", params, obs).out).logp
            return Categorical(table.index_select(0, obs.reshape(-1)).view(*obs.shape, -1))
        return categorical(_run("actor", params, obs))

    def value(self, params: Params, obs: Tensor) -> Tensor:
        """V at obs, [...]."""
        return _run("critic", params, obs).squeeze(-1)

    def scored(self, params: Params, rollout: Rollout, *, critic: bool) -> Scored:
        """As `evaluate`, with the way back to the parameters: in closed form for finite actions."""
        if "actor.log_std" in params:
            return by_autograd(self, params, rollout, critic=critic)
        actor = _pass("actor", params, rollout.obs)
        return by_hand(actor, _pass("critic", params, rollout.obs) if critic else None, rollout)

    def by_numpy(self, params: Params) -> Callable[[np.ndarray], np.ndarray]:
        """The actor's last layer (logits or means) at float vectors [B, D], for a collector's inner loop: [B, out].

        On a handful of rows a call of numpy costs a third of one of torch. Equal to `act` up to rounding, so what it
        sampled is scored by `act` all the same.
        """
        layers = [(w.numpy(), b.numpy()) for w, b in _weights("actor", params)]

        def run(x: np.ndarray) -> np.ndarray:
            for weight, bias in layers[:-1]:
                x = np.tanh(x @ weight + bias)
            weight, bias = layers[-1]
            return np.asarray(x @ weight + bias)

        return run


def _layers(name: str, widths: tuple[int, ...], *, last_gain: float, dice: np.random.Generator) -> Params:
    widest = max(rows * columns for rows, columns in zip(widths, widths[1:], strict=False))
    refuse_beyond(widest, f"a layer of {' x '.join(str(w) for w in widths)}")
    params: Params = {}
    for i, (rows, columns) in enumerate(zip(widths, widths[1:], strict=False)):
        gain = last_gain if i == len(widths) - 2 else math.sqrt(2)
        params[f"{name}.{i}.weight"] = gain * orthogonal(rows, columns, dice)
        params[f"{name}.{i}.bias"] = torch.zeros(columns)
    return params


def orthogonal(rows: int, columns: int, dice: np.random.Generator) -> Tensor:
    """A random matrix with orthonormal rows or columns, whichever are fewer: [rows, columns] float32."""
    tall = dice.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))
    return torch.from_numpy((q if rows >= columns else q.T).astype(np.float32).copy())


def _weights(name: str, params: Params) -> list[tuple[Tensor, Tensor]]:
    """(weight [in, out], bias [out]) of each layer, from the first."""
    layers = itertools.takewhile(lambda i: f"{name}.{i}.weight" in params, itertools.count())
    return [(params[f"{name}.{i}.weight"], params[f"{name}.{i}.bias"]) for i in layers]


def _run(name: str, params: Params, obs: Tensor) -> Tensor:
    """The last layer at obs: int64 states [...] or float vectors [..., D] -> [..., out]."""
    out = _pass(name, params, obs).out
    if obs.dtype == torch.int64:
        return out.index_select(0, obs.reshape(-1)).view(*obs.shape, -1)
    return out.view(*obs.shape[:-1], -1)


@dataclass(frozen=True)
class Pass:
    """A network that has been run: `out` [N, K] and `fed`, what each layer after the first was given, [N, width]."""

    name: str
    params: Params
    first: Tensor | None
    fed: list[Tensor]
    out: Tensor

    def back(self, slope: Tensor, into: Params) -> None:
        """The chain rule, from d loss / d out [N, K] to every weight and bias, written into the views of those names.

        tanh' = 1 - tanh^2; a one-hot first layer (`first` is None) has its slope as its weight's gradient.
        """
        for layer in range(len(self.fed), 0, -1):
            fed = self.fed[layer - 1]
            self._layer_back(layer, fed, slope, into)
            slope = slope.mm(self.params[f"{self.name}.{layer}.weight"].t())
            slope = torch.addcmul(slope, slope, fed.square(), value=-1)
        self._layer_back(0, self.first, slope, into)

    def _layer_back(self, layer: int, fed: Tensor | None, slope: Tensor, into: Params) -> None:
        weight, bias = into[f"{self.name}.{layer}.weight"], into[f"{self.name}.{layer}.bias"]
        torch.sum(slope, 0, out=bias)
        if fed is None:
            weight.copy_(slope)
        else:
            torch.mm(fed.t(), slope, out=weight)


def _pass(name: str, params: Params, obs: Tensor) -> Pass:
    """Run the network on every row of float vectors [..., D], or, for int64 states, on every one-hot state.

    Multiplying the identity is the first weight matrix itself.
    """
    (weight, bias), *rest = _weights(name, params)
    first = None if obs.dtype == torch.int64 else obs.reshape(-1, obs.shape[-1])
    out = weight + bias if first is None else torch.addmm(bias, first, weight)
    fed = []
    for weight, bias in rest:
        fed.append(out.tanh())
        out = torch.addmm(bias, fed[-1], weight)
    return Pass(name, params, first, fed, out)
