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
from rlcore.policies.parameters import Params, refuse_beyond
from rlcore.policies.scored import Scored, by_hand
from rlcore.policies.shape import Shape
from rlcore.rollout import Rollout


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

    def scored(self, params: Params, rollout: Rollout, *, critic: bool) -> Scored:
        """As `evaluate`, with the way back to the tables in closed form."""
        actor = Table("actor.logits", params["actor.logits"])
        value = Table("critic.value", params["critic.value"].unsqueeze(-1)) if critic else None
        return by_hand(actor, value, rollout)


@dataclass(frozen=True)
class Table:
    """A table as a network that has been run: its slope is its gradient."""

    name: str
    out: Tensor

    def back(self, slope: Tensor, into: Params) -> None:
        into[self.name].copy_(slope.view_as(into[self.name]))


def _rows(table: Tensor, obs: Tensor) -> Tensor:
    """table [S, A] at obs [...]: [..., A]."""
    return table.index_select(0, obs.reshape(-1)).view(*obs.shape, table.shape[-1])
