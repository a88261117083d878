"""The two halves of a gradient, written out, against autograd: what the loss asks of each token, and the way back."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rlcore.advantages import Advantages, whitened
from rlcore.algorithm import Algorithm, PolicyOutput, shaped_reward
from rlcore.algorithms import CATALOG, GMPO, GRPO, Recipe
from rlcore.policies import Mlp, Shape, Tabular, flatten
from rlcore.policies.scored import by_autograd as scorer_by_autograd
from rlcore.rng import generator
from rlcore.rollout import Rollout
from rlcore.slopes import Slopes, by_autograd, in_closed_form, judge
from tests.batches import ragged_batch
from tests.mixes import algorithms

by_recipe = pytest.mark.parametrize("recipe", CATALOG, ids=lambda recipe: recipe.key)


def advantages_of(algorithm: Algorithm, rollout: Rollout, beta: float) -> Advantages:
    found = algorithm.advantage(rollout, shaped_reward(algorithm, rollout, beta))
    return whitened(found, algorithm.whiten, rollout.mask)


def same(a: Slopes, b: Slopes, where: str) -> None:
    """Equal, a missing slope being zero."""
    for field in fields(Slopes):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if x is None or y is None:
            assert (x is None or not x.any()) and (y is None or not y.any()), f"{where}: {field.name}"
        else:
            torch.testing.assert_close(x, y, rtol=1e-9, atol=1e-12, msg=lambda m: f"{where}: {field.name}: {m}")  # noqa: B023


def compared(algorithm: Algorithm, seed: int) -> None:
    now, rollout = ragged_batch(seed, holes=True, empty_rows=True, inner_ends=True)
    now = PolicyOutput(*(None if x is None else x.detach() for x in vars(now).values()))
    beta = float(algorithm.kl.kl_beta)
    advantages = advantages_of(algorithm, rollout, beta)
    closed = in_closed_form(algorithm, now, rollout, advantages, beta)
    graph = by_autograd(algorithm, now, rollout, advantages, beta)
    assert torch.equal(closed[0].loss, graph[0].loss.detach())
    same(closed[1], graph[1], str(algorithm))


@by_recipe
def test_a_recipes_slopes_are_those_of_autograd(recipe: Recipe) -> None:
    if recipe is GMPO:
        assert judge(recipe.algorithm) is by_autograd, "its clip is on a sum over the row"
        return
    assert judge(recipe.algorithm) is in_closed_form
    for seed in range(4):
        compared(recipe.algorithm, seed)


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(algorithm=algorithms(), seed=st.integers(0, 1000))
def test_slopes_of_any_mix_are_those_of_autograd(algorithm: Algorithm, seed: int) -> None:
    assume(judge(algorithm) is in_closed_form)
    compared(algorithm, seed)


def test_every_slope_is_exercised_away_from_zero() -> None:
    """GRPO with an entropy bonus, off policy: nothing above compared zeros with zeros only."""
    now, rollout = ragged_batch(3, spread=1.0)
    algorithm = GRPO.algorithm.model_copy(update={"entropy_coef": 0.1})
    advantages = advantages_of(algorithm, rollout, 0.04)
    terms, slopes = in_closed_form(algorithm, now, rollout, advantages, 0.04)
    assert slopes.logp is not None and slopes.entropy is not None and terms.surrogate.dead.any()
    assert slopes.logp[rollout.mask].abs().min() > 0 and (slopes.entropy[rollout.mask] < 0).all()
    same(slopes, by_autograd(algorithm, now, rollout, advantages, 0.04)[1], "grpo")


# ---------------------------------------------------------------- from slopes to parameters


def rows(shape: Shape, dice: torch.Generator) -> Rollout:
    """Observations and actions [5, 3] that fit `shape`, in double; the rest is not looked at."""
    size = (5, 3)
    if shape.states is None:
        obs = torch.randn(*size, shape.features or 0, generator=dice, dtype=torch.float64)
    else:
        obs = torch.randint(shape.states, size, generator=dice)
    if shape.actions is None:
        action = torch.randn(*size, shape.action_dim or 0, generator=dice, dtype=torch.float64)
    else:
        action = torch.randint(shape.actions, size, generator=dice)
    zero, never = torch.zeros(size, dtype=torch.float64), torch.zeros(size, dtype=torch.bool)
    return Rollout(obs, action, ~never, zero, zero, zero, never, never, zero, zero, torch.arange(5))


@pytest.mark.parametrize("critic", [True, False])
@pytest.mark.parametrize(
    ("policy", "shape"),
    [(Tabular(), Shape(states=4, actions=3)), (Mlp(hidden=(6, 5)), Shape(states=4, actions=3)),
     (Mlp(hidden=(6, 5)), Shape(features=2, actions=3)), (Mlp(hidden=()), Shape(features=2, actions=3)),
     (Mlp(hidden=()), Shape(states=4, actions=3)), (Mlp(hidden=(6,)), Shape(features=2, action_dim=2)),
     (Mlp(hidden=(6,)), Shape(states=4, action_dim=2))],
)  # fmt: skip
def test_the_way_back_by_hand_is_autograds(policy: Tabular | Mlp, shape: Shape, critic: bool) -> None:
    dice, start = torch.Generator().manual_seed(1), generator(0, 0, "init")
    theta, layout = flatten(policy.init(shape, start) | (policy.init_critic(shape, start) if critic else {}))
    theta = theta.double() + torch.randn(theta.shape, generator=dice, dtype=torch.float64)
    rollout, grads = rows(shape, dice), [torch.full_like(theta, torch.nan) for _ in range(2)]
    ours = policy.scorer(layout, theta, grads[0], critic=critic)
    theirs = scorer_by_autograd(policy, layout, theta, grads[1], critic=critic)
    slopes = {}
    for name, x in vars(theirs(rollout).now).items():
        mine = getattr(ours(rollout).now, name)
        assert (mine is None) == (x is None)
        if x is not None:
            torch.testing.assert_close(mine, x, rtol=1e-12, atol=1e-12)
            slopes[name] = torch.randn(x.shape, generator=dice, dtype=torch.float64)
    for asked in ({"logp"}, {"logp", "entropy"}, {"value", "logp"}, set(slopes)):
        grads[0].zero_()
        for scorer in (ours, theirs):
            scorer(rollout).back(Slopes(**{"logp": None} | {name: slopes[name] for name in asked & slopes.keys()}))
        torch.testing.assert_close(grads[0], grads[1], rtol=1e-10, atol=1e-12)


def test_a_certain_policys_way_back_is_finite() -> None:
    theta, layout = flatten({"actor.logits": torch.tensor([[0.0, -1000.0, -1000.0]])})
    rollout = rows(Shape(states=1, actions=3), torch.Generator().manual_seed(0))
    grad = torch.zeros(3)
    scored = Tabular().scorer(layout, theta, grad, critic=False)(rollout)
    scored.back(Slopes(torch.ones(5, 3), torch.ones(5, 3)))
    assert torch.isfinite(grad).all() and not scored.now.entropy.any()


@pytest.mark.parametrize("shape", [Shape(features=3, actions=4), Shape(features=3, action_dim=2)])
def test_what_a_collector_plays_is_the_network(shape: Shape) -> None:
    policy = Mlp(hidden=(16, 8))
    params = policy.init(shape, generator(0, 0, "init"))
    obs = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    head = policy.act(params, torch.from_numpy(obs))
    ours = torch.from_numpy(policy.by_numpy(params)(obs))
    if shape.actions is None:
        torch.testing.assert_close(ours, head.mean)  # type: ignore[union-attr]
    else:
        torch.testing.assert_close(torch.log_softmax(ours, -1), head.logp)  # type: ignore[union-attr]
