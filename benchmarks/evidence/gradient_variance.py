"""How noisy one batch's gradient is, by baseline: none, the group's mean, a critic; at the same point of the same run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from benchmarks.evidence import TEN, command
from rlcore import masked
from rlcore.advantages import Advantages, Gae, GroupRelative, Returns
from rlcore.algorithm import policy_loss
from rlcore.envs import Plan
from rlcore.evidence import Comparison, Evidence, Setup, measured_with
from rlcore.explore.recorded import state_at
from rlcore.presets import preset
from rlcore.rng import generator
from rlcore.rollout import Rollout

BATCHES, STEPS = 200, 8
PLAN = Plan(prompts=4, group_size=16, segment=None, critic=True)
PLAYED = Setup(recipe="ppo", env="gridworld", steps=STEPS)


def whole_return(rollout: Rollout, reward: Tensor) -> Advantages:
    """REINFORCE as first written: every step of a row gets the row's return, nothing is subtracted."""
    row = masked.spread(masked.row_sum(reward, rollout.mask), rollout.mask)
    return Advantages(row, torch.zeros_like(row), torch.ones_like(row), row)


BASELINES: Mapping[str, Callable[[Rollout, Tensor], Advantages]] = {
    "return, no baseline": whole_return,
    "return, group mean": GroupRelative(scale="none"),
    "reward to go, no baseline": Returns(gamma=1.0),
    "reward to go, critic": Gae(gamma=1.0, lam=1.0),
    "GAE, λ = 0.95": Gae(gamma=0.99, lam=0.95),
}


def noise_to_signal(seed: int) -> dict[str, float]:
    """tr Cov(g) / |E g|^2 of one batch's policy gradient, by baseline, over 200 batches that all baselines share."""
    config = preset(PLAYED.recipe, PLAYED.env, seed)
    state = state_at(config, STEPS)
    actor = sum(size for name, size in zip(state.layout.names, state.layout.sizes, strict=True) if "critic" not in name)
    found: dict[str, list[Tensor]] = {name: [] for name in BASELINES}
    for batch in range(BATCHES):
        dice = partial(generator, seed, 1_000_000 + batch)
        rollout = config.env.collect(config.policy, state.params, state.params_ref, PLAN, None, dice).rollout  # type: ignore[arg-type]
        leaf = state.theta.clone().requires_grad_()
        now = config.policy.evaluate(state.layout.parts(leaf), rollout, critic=False)
        for name, baseline in BASELINES.items():
            terms = policy_loss(config.algorithm, now, rollout, baseline(rollout, rollout.reward), 0.0)
            found[name].append(torch.autograd.grad(terms.policy_loss, leaf, retain_graph=True)[0][:actor].double())
    return {name: _spread(torch.stack(gradients)) for name, gradients in found.items()}


def _spread(gradients: Tensor) -> float:
    return float(gradients.var(0).sum() / gradients.mean(0).square().sum())


def evidence() -> Evidence:
    by_seed = [noise_to_signal(seed) for seed in TEN]
    return Evidence(
        name="gradient_variance",
        claim="Subtracting the group's mean makes one batch's gradient less noisy than subtracting nothing.",
        measure=f"Variance over squared mean of the gradient of one batch of 64 episodes, {BATCHES} batches, after {STEPS} steps",
        unit="noise to signal",
        command=command("gradient_variance"),
        versions=dict(measured_with()),
        settings=dict.fromkeys(BASELINES, PLAYED),
        seeds=TEN,
        arms={name: tuple(seed[name] for seed in by_seed) for name in BASELINES},
        comparison=Comparison(arm="return, group mean", minus="return, no baseline", direction="below"),
        further=(
            Comparison(
                arm="reward to go, critic", minus="reward to go, no baseline", direction="below",
                says="a critic's value, subtracted from the reward to go, leaves less noise than nothing",
            ),
            Comparison(
                arm="reward to go, critic", minus="return, group mean", direction="below",
                says="a critic's value leaves less noise than the group's mean",
            ),
            Comparison(
                arm="GAE, λ = 0.95", minus="reward to go, critic", direction="below", says="λ < 1 on top of the critic leaves less noise still",
            ),
        ),
        caveat="On policy, no whitening, one small world; λ < 1 trades this noise for a bias that is not measured here.",
    )  # fmt: skip
