"""Policies: frozen configurations with pure functions over named parameters. No nn.Module, no state, no global RNG."""

from rlcore.policies.actor import ActorCritic
from rlcore.policies.mlp import Mlp
from rlcore.policies.parameters import Layout, Params, flatten
from rlcore.policies.shape import Shape
from rlcore.policies.tabular import Tabular

__all__ = ["ActorCritic", "Layout", "Mlp", "Params", "Shape", "Tabular", "flatten"]
