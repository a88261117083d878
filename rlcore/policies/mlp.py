"""Two multilayer perceptrons, one for the policy and one for the value (no shared trunk), after CleanRL's `ppo.py`.

Weights start orthogonal with gain sqrt(2), the policy's last layer with 0.01, the value's with 1, biases at 0
(Andrychowicz et al. 2020, arXiv:2006.05990; "The 37 implementation details of PPO").
On a finite state space the network is run once on every state and rows are gathered: the same function, less work.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from rlcore.knobs import knob
from rlcore.policies.actor import ActorCritic
from rlcore.policies.heads import Categorical, Gaussian, categorical
from rlcore.policies.parameters import Params, refuse_beyond
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
            return Categorical(_gather(categorical(_on_every_state("actor", params)).logp, obs))
        return categorical(_run("actor", params, obs))

    def value(self, params: Params, obs: Tensor) -> Tensor:
        """V at obs, [...]."""
        return _run("critic", params, obs).squeeze(-1)


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


def _run(name: str, params: Params, obs: Tensor) -> Tensor:
    if obs.dtype == torch.int64:
        return _gather(_on_every_state(name, params), obs)
    return _feed(name, params, obs)


def _on_every_state(name: str, params: Params) -> Tensor:
    """The network on every one-hot state, [S, out]: multiplying the identity is the first weight matrix itself."""
    hidden = params[f"{name}.0.weight"] + params[f"{name}.0.bias"]
    return _rest(name, params, hidden, 1)


def _feed(name: str, params: Params, x: Tensor) -> Tensor:
    hidden = torch.addmm(params[f"{name}.0.bias"], x.reshape(-1, x.shape[-1]), params[f"{name}.0.weight"])
    return _rest(name, params, hidden, 1).view(*x.shape[:-1], -1)


def _rest(name: str, params: Params, x: Tensor, layer: int) -> Tensor:
    while f"{name}.{layer}.weight" in params:
        x = torch.addmm(params[f"{name}.{layer}.bias"], x.tanh(), params[f"{name}.{layer}.weight"])
        layer += 1
    return x


def _gather(table: Tensor, obs: Tensor) -> Tensor:
    return table.index_select(0, obs.reshape(-1)).view(*obs.shape, table.shape[-1])
