"""The base of policies over states or vectors: a head for actions, a value, and scoring in one pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from rlcore.algorithm import PolicyOutput
from rlcore.knobs import Value
from rlcore.policies.heads import Categorical, Gaussian
from rlcore.policies.parameters import Layout, Params
from rlcore.policies.scored import Scorer, by_autograd
from rlcore.policies.shape import Shape
from rlcore.rollout import Rollout


class ActorCritic(Value):
    """Subclasses say how parameters start, how actions are distributed and what a state is worth."""

    def init(self, shape: Shape, dice: np.random.Generator) -> Params:
        """The actor's parameters by name. Raises SettingError where the policy does not fit the shape."""
        raise NotImplementedError

    def init_critic(self, shape: Shape, dice: np.random.Generator) -> Params:
        """The critic's parameters by name; their names start with `critic.`."""
        raise NotImplementedError

    def act(self, params: Params, obs: Tensor) -> Categorical | Gaussian:
        """Action distribution at obs: int64 states [...] or float vectors [..., D]."""
        raise NotImplementedError

    def value(self, params: Params, obs: Tensor) -> Tensor:
        """V at obs, [...]."""
        raise NotImplementedError

    def by_numpy(self, params: Params) -> Callable[[np.ndarray], np.ndarray]:
        """The actor's last layer at float vectors [B, D], for a collector's inner loop: logits or means [B, out]."""
        raise NotImplementedError

    def evaluate(self, params: Params, rollout: Rollout, *, critic: bool) -> PolicyOutput:
        """The policy's view of a rollout's rows: logp, entropy, value [B, T]; dist [B, T, A] for finite actions.

        Without `critic` the value is 0 and costs nothing.
        """
        head = self.act(params, rollout.obs)
        logp = head.log_prob(rollout.action)
        value = self.value(params, rollout.obs) if critic else torch.zeros_like(logp)
        return PolicyOutput(logp, head.entropy(), value, head.logp if isinstance(head, Categorical) else None)

    def scorer(self, layout: Layout, theta: Tensor, grad: Tensor, *, critic: bool) -> Scorer:
        """As `evaluate`, cut off from the graph, with the way back from slopes to `grad` (`policies.scored`)."""
        return by_autograd(self, layout, theta, grad, critic=critic)
