"""A logit for every state and action, and a value for every state: the policy whose every number can be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from rlcore.knobs import SettingError
from rlcore.policies.actor import ActorCritic
from rlcore.policies.heads import Categorical, categorical
from rlcore.policies.parameters import Layout, Params, refuse_beyond
from rlcore.policies.scored import Scorer, by_hand
from rlcore.policies.shape import Shape


class Tabular(ActorCritic):
    """pi(a|s) = softmax(logits[s]), V(s) = value[s]; both start at 0 (uniform policy)."""

    kind: Literal["tabular"] = "tabular"

    def init(self, shape: Shape, dice: np.random.Generator) -> Params:
        """`logits` [S, A]. Raises SettingError unless states and actions are finite."""
        if shape.states is None or shape.actions is None:
            raise SettingError("policy: tabular needs finitely many states and actions; use mlp for this environment")
        refuse_beyond(shape.states * shape.actions, f"{shape.states} states * {shape.actions} actions")
        return {"actor.logits": torch.zeros(shape.states, shape.actions)}

    def init_critic(self, shape: Shape, dice: np.random.Generator) -> Params:
        """`value` [S]."""
        assert shape.states is not None
        return {"critic.value": torch.zeros(shape.states)}

    def act(self, params: Params, obs: Tensor) -> Categorical:
        """Action distribution at state indices obs [...]."""
        return Categorical(_rows(categorical(params["actor.logits"]).logp, obs))

    def value(self, params: Params, obs: Tensor) -> Tensor:
        """V at state indices obs [...]."""
        return _rows(params["critic.value"].unsqueeze(-1), obs).squeeze(-1)

    def scorer(self, layout: Layout, theta: Tensor, grad: Tensor, *, critic: bool) -> Scorer:
        """As `evaluate`, with the way back from slopes to `grad` in closed form (`policies.scored`)."""
        params, into = layout.parts(theta), layout.parts(grad)
        run = Tables(params["actor.logits"], params["critic.value"] if critic else None, into)
        return lambda rollout: by_hand(run, rollout)


@dataclass(frozen=True)
class Tables:
    """Tables as networks that have been run: the slope in an entry is its gradient."""

    logits: Tensor
    value: Tensor | None
    into: Params

    def back(self, logits: Tensor, value: Tensor | None) -> None:
        self.into["actor.logits"].copy_(logits)
        if value is not None:
            self.into["critic.value"].copy_(value)


def _rows(table: Tensor, obs: Tensor) -> Tensor:
    """table [S, A] at obs [...]: [..., A]."""
    return table.index_select(0, obs.reshape(-1)).view(*obs.shape, table.shape[-1])
