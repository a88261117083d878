"""Two multilayer perceptrons, one for the policy and one for the value (no shared trunk), after CleanRL's `ppo.py`.

Weights start orthogonal with gain sqrt(2), the policy's last layer with 0.01, the value's with 1, biases at 0
(Andrychowicz et al. 2020, arXiv:2006.05990; "The 37 implementation details of PPO").
On a finite state space the network is run once on every state and rows are gathered: the same function, less work.
`scorer` and `by_numpy` are the same network again, where an update or a collector runs it thousands of times a second.
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
from rlcore.policies.parameters import Layout, Params, refuse_beyond
from rlcore.policies.scored import Scorer, by_autograd, by_hand
from rlcore.policies.shape import Shape

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
            table = categorical(_on_every_state("actor", params)).logp
            return Categorical(table.index_select(0, obs.reshape(-1)).view(*obs.shape, -1))
        return categorical(_run("actor", params, obs))

    def value(self, params: Params, obs: Tensor) -> Tensor:
        """V at obs, [...]."""
        return _run("critic", params, obs).squeeze(-1)

    def scorer(self, layout: Layout, theta: Tensor, grad: Tensor, *, critic: bool) -> Scorer:
        """As `evaluate`, with the way back from slopes to `grad`: in closed form for finite actions."""
        if "actor.log_std" in layout.names:
            return by_autograd(self, layout, theta, grad, critic=critic)
        networks, into = (_side_by_side(layout, vector, len(self.hidden), critic=critic) for vector in (theta, grad))
        return lambda rollout: by_hand(networks.run(rollout.obs, into), rollout)

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
    if obs.dtype == torch.int64:
        return _on_every_state(name, params).index_select(0, obs.reshape(-1)).view(*obs.shape, -1)
    (weight, bias), *rest = _weights(name, params)
    return _rest(torch.addmm(bias, obs.reshape(-1, obs.shape[-1]), weight), rest).view(*obs.shape[:-1], -1)


def _on_every_state(name: str, params: Params) -> Tensor:
    """The network on every one-hot state, [S, out]: multiplying the identity is the first weight matrix itself."""
    (weight, bias), *rest = _weights(name, params)
    return _rest(weight + bias, rest)


def _rest(x: Tensor, layers: list[tuple[Tensor, Tensor]]) -> Tensor:
    for weight, bias in layers:
        x = torch.addmm(bias, x.tanh(), weight)
    return x


# ---------------------------------------------------------------- actor and critic side by side, forward and back


@dataclass(frozen=True)
class Networks:
    """Views of one flat vector, of parameters or of their gradient, for n = 1 (actor) or 2 (and critic) networks.

    hidden  (weight [n, in, out], bias [n, 1, out]) of each hidden layer · last  (weight [in, out], bias [out]) of each
    network. The hidden layers of both are run as one batched product: half the calls, the same numbers.
    """

    hidden: list[tuple[Tensor, Tensor]]
    last: list[tuple[Tensor, Tensor]]

    def run(self, obs: Tensor, into: Networks) -> Pass:
        """On every row of float vectors [..., D], or, for int64 states, on every one-hot state once."""
        first = None if obs.dtype == torch.int64 else obs.reshape(-1, obs.shape[-1]).expand(len(self.last), -1, -1)
        fed: list[Tensor] = []
        for weight, bias in self.hidden:
            below = fed[-1] if fed else first
            fed.append((weight + bias if below is None else torch.baddbmm(bias, below, weight)).tanh_())
        top = fed[-1] if fed else first
        outs = [w + b if top is None else torch.addmm(b, top[i], w) for i, (w, b) in enumerate(self.last)]
        return Pass(self, first, fed, outs, into)


@dataclass(frozen=True)
class Pass:
    """Networks that have been run. `first` [n, N, D] went in (None: every one-hot state, the identity), `fed` [n, N, width]
    came out of each hidden layer, `outs` [N, K] out of each network.
    """

    networks: Networks
    first: Tensor | None
    fed: list[Tensor]
    outs: list[Tensor]
    into: Networks

    @property
    def logits(self) -> Tensor:
        return self.outs[0]

    @property
    def value(self) -> Tensor | None:
        return self.outs[1].squeeze(-1) if len(self.outs) > 1 else None

    def back(self, logits: Tensor, value: Tensor | None) -> None:
        """The chain rule, layer by layer from the last: tanh' = 1 - tanh^2, and a layer's weights see what it was fed."""
        slopes = [logits]
        if len(self.outs) > 1:
            slopes.append(torch.zeros_like(self.outs[1]) if value is None else value.unsqueeze(-1))
        top = self.fed[-1] if self.fed else self.first
        for i, (slope, (weight, bias)) in enumerate(zip(slopes, self.into.last, strict=True)):
            torch.sum(slope, 0, out=bias)
            weight.copy_(slope) if top is None else torch.mm(top[i].t(), slope, out=weight)
        if not self.fed:
            return
        slope = torch.stack([s.mm(w.t()) for s, (w, _) in zip(slopes, self.networks.last, strict=True)])
        for layer in range(len(self.fed) - 1, -1, -1):
            slope = torch.addcmul(slope, slope, self.fed[layer].square(), value=-1)
            weight, bias = self.into.hidden[layer]
            torch.sum(slope, 1, keepdim=True, out=bias)
            below = self.fed[layer - 1] if layer else self.first
            weight.copy_(slope) if below is None else torch.bmm(below.mT, slope, out=weight)
            if layer:
                slope = slope.bmm(self.networks.hidden[layer][0].mT)


def _side_by_side(layout: Layout, vector: Tensor, hidden: int, *, critic: bool) -> Networks:
    """The networks whose layers `layout` names, as views of `vector` [P]."""
    names = ("actor", "critic") if critic else ("actor",)

    def both(layer: int, what: str) -> Tensor:
        return layout.stacked(vector, tuple(f"{name}.{layer}.{what}" for name in names))

    parts = layout.parts(vector)
    last = [(parts[f"{name}.{hidden}.weight"], parts[f"{name}.{hidden}.bias"]) for name in names]
    return Networks([(both(i, "weight"), both(i, "bias").unsqueeze(1)) for i in range(hidden)], last)
