"""What a world looks like under a policy, as plain lists for drawing: arms, cells, arrows, visits. Draws nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlcore.envs.bandit import Bandit, ContextualBandit
from rlcore.envs.finite import FiniteEnv, tables
from rlcore.envs.gridworld import Gridworld
from rlcore.envs.maps import GUSTS
from rlcore.envs.truth import kl_optimum
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
    gusts = [[cell, way] for way, mark in enumerate(GUSTS) for cell in env.cells(mark)]
    extra = [[c.row * env.width + c.column, c.reward] for c in env.extra]
    return {"kind": "grid", "width": env.width, "height": env.height, **cells, "gusts": gusts, "extra": extra,
            "probs": probs, "visits": seen, "values": values}  # fmt: skip


def optimum(
    env: Bandit | ContextualBandit, policy: ActorCritic, params_ref: Params, *, kl_beta: float
) -> dict[str, Any]:
    """Where the reference stands and where beta pulls: {"ref" [C][K], "best" [C][K], "beta"} probabilities.

    best is pi* = ref exp(r / beta) / Z for the arms' mean rewards, see `truth.kl_optimum`; beta 0 puts all on the best arm.
    """
    rewards = torch.tensor([env.means] if isinstance(env, Bandit) else env.means, dtype=torch.float64)
    with torch.no_grad():
        logp_ref = policy.act(params_ref, torch.arange(tables(env).states)).logp.double()  # type: ignore[union-attr]
    best = kl_optimum(rewards, logp_ref, kl_beta=kl_beta)
    return {"ref": logp_ref.exp().tolist(), "best": best.exp().tolist(), "beta": kl_beta}


def walks(env: Gridworld, obs: np.ndarray, action: np.ndarray, mask: np.ndarray, *, count: int = 6) -> list[list[int]]:
    """The cells of `count` rows spread over the batch: obs, action, mask [B, T] -> one list of cells a row.

    Where no wind blows the cell that the last move led to is added; with wind nobody recorded it.
    """
    following = tables(env).following
    found = []
    for row in np.unique(np.linspace(0, len(obs) - 1, count).astype(int)):
        cells = [int(cell) for cell in obs[row][mask[row]]]
        if following.shape[2] == 1 and cells:
            cells.append(int(following[cells[-1], int(action[row][mask[row]][-1]), 0]))
        found.append(cells)
    return found
