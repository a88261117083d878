"""Many seeds at once against each alone, and the two ways to batch them: a leading axis, or `torch.func.vmap`.

CPU seconds of one thread, the best of several repeats of each, in alternation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial

import torch
from torch import Tensor

from rlcore import engine, seeds
from rlcore.advantages import Advantages
from rlcore.algorithm import policy_loss
from rlcore.config import RunConfig
from rlcore.presets import preset
from rlcore.rollout import Rollout
from rlcore.seeds.batched import Batched, collected, evaluated
from rlcore.seeds.playing import ManyDice

REPEATS = 5
COUNTS = (1, 16, 64, 256)
WORKS = (("grpo", "bandit"), ("gspo", "bandit"), ("grpo", "gridworld"), ("ppo", "gridworld"), ("gspo", "gridworld"))


def report() -> str:
    """Two tables: whole steps by number of seeds, and one update by way of batching."""
    head = "| run | alone, ms a step | " + " | ".join(f"{n} seeds, ms a step and seed (times less)" for n in COUNTS) + " |\n"
    rows = "\n".join(_row(recipe, env) for recipe, env in WORKS)
    return f"## Many seeds at once\n{head}|{'---|' * (2 + len(COUNTS))}\n{rows}\n\n{_ways()}"


def _row(recipe: str, env: str) -> str:
    config = preset(recipe, env)
    alone = _warm_alone(config)
    together = {n: _warm(config, n) for n in COUNTS}
    best = dict.fromkeys(("alone", *COUNTS), float("inf"))
    for _ in range(REPEATS):
        best["alone"] = min(best["alone"], _cpu(partial(engine.step, alone, config), 10))
        for n, state in together.items():
            best[n] = min(best[n], _cpu(partial(seeds.step, state, config), 3))
    cells = [f"{best[n] / n * 1e3:.3f} (x{best['alone'] * n / best[n]:.1f})" for n in COUNTS]
    return f"| {recipe}, {env} | {best['alone'] * 1e3:.2f} | {' | '.join(cells)} |"


def _warm_alone(config: RunConfig) -> engine.TrainState:
    state = engine.init(config)
    for _ in range(5):
        state, _ = engine.step(state, config)
    return state


def _warm(config: RunConfig, n: int) -> seeds.State:
    state = seeds.start(config, range(n))
    for _ in range(5):
        state, _ = seeds.step(state, config)
    return state


def _cpu(work: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def _ways(n: int = 64) -> str:
    """Loss and gradient of one update of n seeds: the same tensors, the same equation."""
    lines = ["| one update of 64 seeds | leading axis, ms | vmap(grad), ms | one seed after the other, ms |", "|---|---|---|---|"]
    for recipe, env in (("grpo", "bandit"), ("grpo", "gridworld")):
        config = preset(recipe, env)
        state = _warm(config, n)
        assert isinstance(state, Batched)
        rollout = collected(state, config, ManyDice(state.seeds, state.step))
        rollout = replace(rollout, dist_old=None, dist_ref=None)
        advantages = config.algorithm.advantage(rollout, rollout.reward)
        ways = (_axis, _vmap, _in_turn)
        gradients = [way(config, state, rollout, advantages) for way in ways]
        assert all(torch.allclose(gradients[0], other, atol=1e-5) for other in gradients[1:])
        works = [partial(way, config, state, rollout, advantages) for way in ways]
        best = [min(_cpu(work, 3) for _ in range(REPEATS)) for work in works]
        lines.append(f"| {recipe}, {env} | " + " | ".join(f"{seconds * 1e3:.2f}" for seconds in best) + " |")
    return "\n".join(lines)


def _axis(config: RunConfig, state: Batched, rollout: Rollout, advantages: Advantages) -> Tensor:
    theta = state.theta.detach().requires_grad_()
    now = evaluated(config, state.layout, theta, rollout)
    loss = policy_loss(config.algorithm, now, rollout, advantages, float(config.algorithm.kl.kl_beta)).loss
    return torch.autograd.grad(loss.sum(), theta)[0]


def _vmap(config: RunConfig, state: Batched, rollout: Rollout, advantages: Advantages) -> Tensor:
    own, parts = _parts(config, rollout), vars(advantages)
    return torch.func.vmap(torch.func.grad(_loss_of(config, state, rollout.group)))(state.theta, own, dict(parts))


def _in_turn(config: RunConfig, state: Batched, rollout: Rollout, advantages: Advantages) -> Tensor:
    own, loss = _parts(config, rollout), _loss_of(config, state, rollout.group)
    found = []
    for n in range(state.n):
        theta = state.theta[n].detach().requires_grad_()
        args = {k: x[n] for k, x in own.items()}, {k: x[n] for k, x in vars(advantages).items()}
        found.append(torch.autograd.grad(loss(theta, *args), theta)[0])
    return torch.stack(found)


def _parts(config: RunConfig, rollout: Rollout) -> dict[str, Tensor]:
    """Each seed's tensors with its own count of states."""
    found = {f.name: getattr(rollout, f.name) for f in fields(rollout) if f.name != "group"}
    states = config.env.shape().states
    assert states is not None
    return {name: x % states if name == "obs" else x for name, x in found.items() if x is not None}


def _loss_of(config: RunConfig, state: Batched, group: Tensor) -> Callable[..., Tensor]:
    def loss(theta: Tensor, parts: dict[str, Tensor], advantages: dict[str, Tensor]) -> Tensor:
        rollout = Rollout(**parts, group=group)
        now = config.policy.evaluate(state.layout.parts(theta), rollout, critic=False)
        return policy_loss(config.algorithm, now, rollout, Advantages(**advantages), float(config.algorithm.kl.kl_beta)).loss

    return loss
