"""Policies and heads: distributions against torch's own, parameters by name, one network for states and one-hot vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rlcore.knobs import SettingError
from rlcore.policies import Layout, Mlp, Shape, Tabular, flatten
from rlcore.policies.heads import Categorical, Gaussian, categorical
from rlcore.policies.mlp import orthogonal
from rlcore.rng import generator
from rlcore.rollout import Rollout


def dice() -> np.random.Generator:
    return generator(0, 0, "init")


# ---------------------------------------------------------------- heads


def test_categorical_is_torchs() -> None:
    logits = torch.randn(5, 3, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ours, theirs = categorical(logits), torch.distributions.Categorical(logits=logits)
    action = torch.arange(15).view(5, 3) % 7
    torch.testing.assert_close(ours.log_prob(action), theirs.log_prob(action))
    torch.testing.assert_close(ours.entropy(), theirs.entropy())


def test_gaussian_is_torchs() -> None:
    g = torch.Generator().manual_seed(0)
    mean, log_std = torch.randn(5, 3, generator=g, dtype=torch.float64), torch.tensor([-1.0, 0.0, 0.7], dtype=torch.float64)
    ours, theirs = Gaussian(mean, log_std), torch.distributions.Normal(mean, log_std.exp())
    action = torch.randn(5, 3, generator=g, dtype=torch.float64)
    torch.testing.assert_close(ours.log_prob(action), theirs.log_prob(action).sum(-1))
    torch.testing.assert_close(ours.entropy(), theirs.entropy().sum(-1))
    uniform = torch.rand(5, 3, generator=g, dtype=torch.float64)
    torch.testing.assert_close(ours.sample(uniform), theirs.icdf(uniform))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-90, 90), min_size=2, max_size=8), st.floats(0, 1, exclude_max=True))
def test_inverse_cdf_draws_the_action_whose_slice_the_uniform_falls_into(logits: list[float], uniform: float) -> None:
    head = categorical(torch.tensor(logits, dtype=torch.float64))
    action = int(head.sample(torch.tensor(uniform, dtype=torch.float64)))
    probs = head.logp.exp().numpy()
    edges = np.concatenate([[0], np.cumsum(probs)])
    assert 0 <= action < len(logits)
    assert edges[action] - 1e-12 <= uniform <= edges[action + 1] + 1e-12
    assert probs[action] > 0


def test_the_last_float_below_one_never_draws_an_impossible_action() -> None:
    logits = torch.tensor(np.random.default_rng(0).normal(0, 3, (500, 40)), dtype=torch.float32)
    logits[:, -1] = -200.0
    uniform = torch.full((500,), float(np.nextafter(np.float32(1), np.float32(0))))
    head = categorical(logits)
    assert (head.logp.exp().cumsum(-1)[:, -1] < 1).any()
    assert head.log_prob(head.sample(uniform)).min() > -100
    assert head.log_prob(head.sample(torch.zeros(500))).min() > -100


def test_sampling_frequencies() -> None:
    probs = torch.tensor([0.5, 0.0, 0.2, 0.3])
    uniform = torch.tensor(dice().random(50_000), dtype=torch.float32)
    drawn = Categorical(probs.log()).sample(uniform)
    shares = torch.bincount(drawn, minlength=4) / 50_000
    torch.testing.assert_close(shares, probs, atol=0.01, rtol=0)
    assert shares[1] == 0


def test_entropy_of_a_certain_policy_is_zero_and_has_a_gradient() -> None:
    logits = torch.tensor([[0.0, -1000.0, -1000.0]], requires_grad=True)
    entropy = categorical(logits).entropy()
    assert entropy.tolist() == [0]
    entropy.sum().backward()
    assert logits.grad is not None and torch.isfinite(logits.grad).all()
    assert float(Categorical(torch.tensor([0.0, -math.inf])).entropy()) == 0


# ---------------------------------------------------------------- parameters


def test_flat_parameters_are_views_by_name() -> None:
    params = {"a.x": torch.arange(6.0).view(2, 3), "b": torch.tensor([7.0])}
    theta, layout = flatten(params)
    assert layout == Layout(("a.x", "b"), ((2, 3), (1,))) and theta.tolist() == [0, 1, 2, 3, 4, 5, 7]
    parts = layout.parts(theta)
    assert parts["a.x"].data_ptr() == theta.data_ptr() and torch.equal(parts["a.x"], params["a.x"])
    seeds = layout.parts(torch.stack((theta, 2 * theta)))
    assert seeds["a.x"].shape == (2, 2, 3) and torch.equal(seeds["b"], torch.tensor([[7.0], [14.0]]))
    leaf = theta.clone().requires_grad_()
    layout.parts(leaf)["b"].sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [0] * 6 + [1]


@pytest.mark.parametrize(("rows", "columns"), [(4, 64), (64, 4), (16, 16), (1, 5)])
def test_orthogonal_starts(rows: int, columns: int) -> None:
    w = orthogonal(rows, columns, dice()).double()
    small = w @ w.T if rows <= columns else w.T @ w
    torch.testing.assert_close(small, torch.eye(min(rows, columns), dtype=torch.float64), atol=1e-6, rtol=0)


def test_mlp_starts_as_its_page_says() -> None:
    shape = Shape(features=4, actions=2)
    params = Mlp(hidden=(32, 16)).init(shape, dice()) | Mlp(hidden=(32, 16)).init_critic(shape, dice())
    assert list(params) == [f"{who}.{i}.{what}" for who in ("actor", "critic") for i in range(3) for what in ("weight", "bias")]
    assert [tuple(params[f"actor.{i}.weight"].shape) for i in range(3)] == [(4, 32), (32, 16), (16, 2)]
    assert all(not p.any() for n, p in params.items() if n.endswith("bias"))
    for name, gain in {"actor.1": 2**0.5, "actor.2": 0.01, "critic.2": 1.0}.items():
        singular = torch.linalg.svdvals(params[f"{name}.weight"])
        torch.testing.assert_close(singular, torch.full_like(singular, gain), atol=1e-5, rtol=1e-4)


def test_mlp_is_the_plain_network() -> None:
    shape, policy = Shape(features=3, actions=5), Mlp(hidden=(8, 6))
    params = policy.init(shape, dice()) | policy.init_critic(shape, dice())
    params = {name: p + 0.1 for name, p in params.items()}
    obs = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1))

    def by_hand(who: str) -> torch.Tensor:
        x = obs
        for i in range(3):
            x = (x if i == 0 else x.tanh()) @ params[f"{who}.{i}.weight"] + params[f"{who}.{i}.bias"]
        return x

    head = policy.act(params, obs)
    assert isinstance(head, Categorical)
    torch.testing.assert_close(head.logp, torch.log_softmax(by_hand("actor"), -1))
    torch.testing.assert_close(policy.value(params, obs), by_hand("critic").squeeze(-1))


def test_mlp_on_states_is_mlp_on_one_hot_vectors() -> None:
    policy, states = Mlp(hidden=(8,)), torch.tensor([[0, 3, 3], [5, 1, 2]])
    finite = Shape(states=6, actions=4)
    params = policy.init(finite, dice()) | policy.init_critic(finite, dice())
    one_hot = torch.nn.functional.one_hot(states, 6).float()
    a, b = policy.act(params, states), policy.act(params, one_hot)
    assert isinstance(a, Categorical) and isinstance(b, Categorical)
    torch.testing.assert_close(a.logp, b.logp)
    torch.testing.assert_close(policy.value(params, states), policy.value(params, one_hot))


def test_box_actions_get_a_normal_of_their_own_spread() -> None:
    params = Mlp(log_std=-0.5).init(Shape(features=2, action_dim=3), dice())
    head = Mlp(log_std=-0.5).act(params, torch.zeros(4, 2))
    assert isinstance(head, Gaussian) and head.mean.shape == (4, 3)
    assert params["actor.log_std"].tolist() == [-0.5] * 3


def test_tabular_starts_uniform_and_looks_rows_up() -> None:
    shape = Shape(states=3, actions=4)
    params = Tabular().init(shape, dice()) | Tabular().init_critic(shape, dice())
    assert torch.allclose(Tabular().act(params, torch.tensor([0, 2])).logp.exp(), torch.full((2, 4), 0.25))
    params = {"actor.logits": torch.arange(12.0).view(3, 4), "critic.value": torch.tensor([1.0, 2.0, 3.0])}
    torch.testing.assert_close(
        Tabular().act(params, torch.tensor([[2, 0]])).logp, torch.log_softmax(torch.arange(12.0).view(3, 4), -1)[[2, 0]][None]
    )
    assert Tabular().value(params, torch.tensor([[2, 0]])).tolist() == [[3, 1]]


@pytest.mark.parametrize("policy", [Tabular(), Mlp(hidden=(8,))])
def test_evaluate_is_act_and_value_in_one_pass(policy: Tabular | Mlp) -> None:
    shape = Shape(states=5, actions=3)
    params = policy.init(shape, dice()) | policy.init_critic(shape, dice())
    obs, action = torch.tensor([[0, 1], [4, 2]]), torch.tensor([[0, 2], [1, 1]])
    zeros = torch.zeros(2, 2)
    ends = torch.zeros(2, 2, dtype=torch.bool)
    rollout = Rollout(obs, action, ~ends, zeros, zeros, zeros, ends, ends, zeros, zeros, torch.zeros(2, dtype=torch.int64))
    now = policy.evaluate(params, rollout, critic=True)
    head = policy.act(params, obs)
    torch.testing.assert_close(now.logp, head.log_prob(action))
    torch.testing.assert_close(now.entropy, head.entropy())
    torch.testing.assert_close(now.value, policy.value(params, obs))
    assert not policy.evaluate(params, rollout, critic=False).value.any()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("shape", [Shape(features=4, actions=2), Shape(states=4, action_dim=2)])
def test_tabular_needs_finite_sets(shape: Shape) -> None:
    with pytest.raises(SettingError, match="mlp"):
        Tabular().init(shape, dice())


def test_networks_that_would_not_fit_are_refused() -> None:
    with pytest.raises(SettingError, match="parameters"):
        Tabular().init(Shape(states=10**6, actions=10**3), dice())
    with pytest.raises(SettingError, match="parameters"):
        Mlp(hidden=(1024,)).init(Shape(features=10**6, actions=2), dice())


@pytest.mark.parametrize(
    "fields", [{}, {"states": 3}, {"states": 3, "features": 2, "actions": 2}, {"states": 3, "actions": 2, "action_dim": 1}]
)
def test_a_shape_has_one_of_each(fields: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="exactly one"):
        Shape(**fields)
