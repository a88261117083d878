"""What a world looks like under a policy, as plain lists for drawing: arms, cells, arrows, visits. Draws nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlcore.envs.bandit import Bandit, ContextualBandit
from rlcore.envs.finite import FiniteEnv, tables
from rlcore.envs.gridworld import Gridworld
from rlcore.policies import ActorCritic, Params


def picture(
    env: Any, policy: ActorCritic, params: Params, visits: np.ndarray | None = None, *, critic: bool = False
) -> dict[str, Any]:
    """JSON-able lists for one world, by `kind`: "bandit", "contextual", "grid", or "other" (nothing to draw).

    probs [S][A] are the policy's probabilities; visits [S] the step's counts; values [S] the critic's, where it has one.
    """
    if not isinstance(env, FiniteEnv):
        return {"kind": "other", "name": getattr(env, "id", env.kind)}
    states = torch.arange(tables(env).states)
    with torch.no_grad():
        probs = policy.act(params, states).logp.exp().tolist()  # type: ignore[union-attr]
        values = policy.value(params, states).tolist() if critic else None
    seen = None if visits is None else visits.tolist()
    if isinstance(env, Bandit):
        return {"kind": "bandit", "probs": probs[0], "means": list(env.means), "noise": env.noise}
    if isinstance(env, ContextualBandit):
        return {"kind": "contextual", "probs": probs, "means": [list(m) for m in env.means], "visits": seen}
    assert isinstance(env, Gridworld)
    cells = {name: env.cells(mark) for name, mark in (("walls", "#"), ("hazards", "H"), ("goals", "G"), ("starts", "S"))}
    return {"kind": "grid", "width": env.width, "height": env.height, **cells, "probs": probs, "visits": seen,
            "values": values}  # fmt: skip
