"""Exact truth against three independent witnesses: brute force over trajectories, finite differences, and sampling."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
import torch

from rlcore.envs import (
    Bandit,
    ContextualBandit,
    FiniteEnv,
    Gridworld,
    Mdp,
    Plan,
    tables,
)
from rlcore.envs.truth import (
    best_return,
    expected_return,
    kl_optimum,
    kl_per_episode,
    occupancy,
    policy_gradient,
    soft_optimum,
)
from rlcore.policies import Tabular
from rlcore.rng import generator

SMALL: dict[str, FiniteEnv] = {
    "bandit": Bandit(means=(0.3, -0.2, 1.0), noise=0.4),
    "contexts": ContextualBandit(means=((1.0, 0.0), (0.2, 0.9), (0.0, 0.0))),
    "grid": Gridworld(layout=("S.", "HG"), horizon=3),
    "two starts, wind": Gridworld(layout=("SG", "S."), wind=0.3, horizon=3, step_cost=0.1),
}
EACH = pytest.mark.parametrize("env", SMALL.values(), ids=SMALL.keys())


def logits_for(env: FiniteEnv, seed: int = 0) -> torch.Tensor:
    mdp = tables(env)
    return torch.tensor(np.random.default_rng(seed).normal(0, 1, (mdp.states, mdp.actions)))


def trajectories(mdp: Mdp, probs: np.ndarray) -> list[tuple[float, list[int], list[float]]]:
    """(probability, states, mean rewards) of everything that can happen in one episode, written out."""
    done = []

    def walk(state: int, chance: float, states: list[int], rewards: list[float]) -> None:
        for action, k in product(range(mdp.actions), range(mdp.outcomes)):
            p = chance * probs[state, action] * mdp.probability[state, action, k]
            if p == 0:
                continue
            seen, paid = [*states, state], [*rewards, float(mdp.reward[state, action, k])]
            if mdp.terminal[state, action, k] or len(seen) == mdp.horizon:
                done.append((p, seen, paid))
            else:
                walk(int(mdp.following[state, action, k]), p, seen, paid)

    for state in np.flatnonzero(mdp.start):
        walk(int(state), float(mdp.start[state]), [], [])
    return done


@EACH
@pytest.mark.parametrize("gamma", [1.0, 0.7])
def test_return_and_occupancy_by_writing_out_every_trajectory(env: FiniteEnv, gamma: float) -> None:
    mdp, logp = tables(env), torch.log_softmax(logits_for(env), -1)
    every = trajectories(mdp, logp.exp().numpy())
    assert sum(p for p, _, _ in every) == pytest.approx(1)
    expected = sum(p * sum(gamma**t * r for t, r in enumerate(rewards)) for p, _, rewards in every)
    assert float(expected_return(mdp, logp, gamma=gamma)) == pytest.approx(expected)
    visits = np.zeros(mdp.states)
    for p, states, _ in every:
        np.add.at(visits, states, p)
    found = occupancy(mdp, logp)
    np.testing.assert_allclose(found, visits, atol=1e-12)
    assert float(found.sum()) == pytest.approx(sum(p * len(states) for p, states, _ in every))


@EACH
@pytest.mark.parametrize("gamma", [1.0, 0.7])
def test_the_gradient_is_the_slope_of_the_return(env: FiniteEnv, gamma: float) -> None:
    mdp, logits = tables(env), logits_for(env)
    exact, h = policy_gradient(mdp, logits, gamma=gamma), 1e-5
    for index in np.ndindex(*logits.shape):
        nudge = torch.zeros_like(logits)
        nudge[index] = h
        up, down = (expected_return(mdp, torch.log_softmax(logits + s * nudge, -1), gamma=gamma) for s in (1, -1))
        assert float(exact[index]) == pytest.approx(float(up - down) / (2 * h), abs=1e-8)
    np.testing.assert_allclose(exact.sum(-1), 0, atol=1e-12)


@EACH
def test_the_gradient_is_the_mean_of_many_sampled_ones(env: FiniteEnv) -> None:
    """REINFORCE's estimate, sum_t grad log pi(a_t) * return, row by row: its mean within four standard errors."""
    mdp, logits, rows = tables(env), logits_for(env), 6000
    params = {"actor.logits": logits.float()}
    dice = partial(generator, 0, 0)
    r = env.collect(Tabular(), params, params, Plan(rows, 1, None, critic=False), None, dice).rollout
    probs = torch.softmax(logits, -1)
    score = torch.nn.functional.one_hot(r.action, mdp.actions).double() - probs[r.obs]
    where = torch.nn.functional.one_hot(r.obs, mdp.states).double() * r.mask.unsqueeze(-1)
    of_row = torch.einsum("bts,bta,b->bsa", where, score, r.score.double())
    mean, error = of_row.mean(0), of_row.std(0) / rows**0.5
    exact = policy_gradient(mdp, logits)
    assert ((mean - exact).abs() <= 4 * error + 1e-9).all()
    assert float(exact.abs().max()) > 4 * float(error.max()), "the sample is large enough to tell"


@EACH
def test_expected_return_is_what_play_pays(env: FiniteEnv) -> None:
    logits, rows = logits_for(env, 1), 5000
    params = {"actor.logits": logits.float()}
    r = env.collect(
        Tabular(), params, params, Plan(rows, 1, None, critic=False), None, partial(generator, 5, 0)
    ).rollout
    error = float(r.score.std()) / rows**0.5
    expected = float(expected_return(tables(env), torch.log_softmax(logits, -1)))
    assert float(r.score.mean()) == pytest.approx(expected, abs=4 * error)


@EACH
def test_kl_per_episode_is_the_kl_of_trajectories(env: FiniteEnv) -> None:
    """KL between whole-episode distributions, summed over every trajectory with its actions."""
    mdp = tables(env)
    pi, ref = (torch.log_softmax(logits_for(env, seed), -1) for seed in (0, 1))
    total = 0.0
    for start in np.flatnonzero(mdp.start):
        open_ = [(float(mdp.start[start]), int(start), 0.0, 0)]
        while open_:
            chance, state, log_ratio, age = open_.pop()
            for action, k in product(range(mdp.actions), range(mdp.outcomes)):
                p = chance * float(pi[state, action].exp()) * mdp.probability[state, action, k]
                ratio = log_ratio + float(pi[state, action] - ref[state, action])
                if mdp.terminal[state, action, k] or age + 1 == mdp.horizon:
                    total += p * ratio
                elif p:
                    open_.append((p, int(mdp.following[state, action, k]), ratio, age + 1))
    assert float(kl_per_episode(mdp, pi, ref)) == pytest.approx(total)
    assert float(kl_per_episode(mdp, pi, pi)) == 0


# ---------------------------------------------------------------- optima


@pytest.mark.parametrize("kl_beta", [0.05, 0.3, 2.0])
def test_kl_optimum_by_brute_force(kl_beta: float) -> None:
    """No point of a fine grid on the simplex of three arms does better, and the nearest ones do worse."""
    reward = torch.tensor([[0.3, -0.2, 1.0]], dtype=torch.float64)
    ref = torch.log_softmax(torch.tensor([[0.5, 0.0, -1.0]], dtype=torch.float64), -1)
    best = kl_optimum(reward, ref, kl_beta=kl_beta)

    def objective(pi: torch.Tensor) -> torch.Tensor:
        kl = torch.xlogy(pi, pi) - pi * ref
        return (pi * reward - kl_beta * kl).sum(-1)

    n = 200
    grid = torch.tensor([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)], dtype=torch.float64) / n
    reached = objective(grid)
    top = float(objective(best.exp()))
    assert float(reached.max()) <= top + 1e-12
    assert float(reached.max()) == pytest.approx(top, abs=1e-3)
    assert float((grid[reached.argmax()] - best.exp()).abs().max()) < 0.02
    assert float(best.exp().sum()) == pytest.approx(1)


def test_kl_optimum_without_a_price_takes_the_best_and_shares_ties_as_the_reference() -> None:
    reward = torch.tensor([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]], dtype=torch.float64)
    ref = torch.tensor([[0.6, 0.2, 0.2], [0.1, 0.1, 0.8]], dtype=torch.float64).log()
    found = kl_optimum(reward, ref, kl_beta=0).exp()
    np.testing.assert_allclose(found, [[0.75, 0, 0.25], [0, 1, 0]])
    assert torch.equal(kl_optimum(reward, ref, kl_beta=1e9).exp().round(decimals=6), ref.exp().round(decimals=6))


def soft_objective(mdp: Mdp, policies: torch.Tensor, ref: torch.Tensor, kl_beta: float) -> float:
    """E[return] - beta KL of a time-dependent policy [T, S, A], by forward simulation of the state distribution."""
    here, total = torch.tensor(mdp.start.copy()), 0.0
    reward = torch.tensor((mdp.probability * mdp.reward).sum(-1))
    live = torch.tensor(mdp.probability * ~mdp.terminal)
    for pi in policies:
        per_state = (pi.exp() * (reward - kl_beta * (pi - ref))).sum(-1)
        total += float((here * per_state).sum())
        flow = (here[:, None, None] * pi.exp()[:, :, None] * live).reshape(-1)
        here = torch.zeros_like(here).index_add(0, torch.tensor(mdp.following.reshape(-1).copy()), flow)
    return total


@EACH
@pytest.mark.parametrize("kl_beta", [0.1, 1.0])
def test_the_soft_optimum_beats_every_other_policy(env: FiniteEnv, kl_beta: float) -> None:
    mdp, ref = tables(env), torch.log_softmax(logits_for(env, 1), -1)
    best = soft_optimum(mdp, ref, kl_beta=kl_beta)
    assert best.shape == (mdp.horizon, mdp.states, mdp.actions)
    np.testing.assert_allclose(best.exp().sum(-1), 1)
    top, rng = soft_objective(mdp, best, ref, kl_beta), np.random.default_rng(0)
    for scale in (0.01, 0.1, 1.0, 5.0):
        for _ in range(30):
            other = torch.log_softmax(best + torch.tensor(rng.normal(0, scale, best.shape)), -1)
            assert soft_objective(mdp, other, ref, kl_beta) <= top + 1e-12
    assert soft_objective(mdp, ref.expand_as(best), ref, kl_beta) < top


def test_the_soft_optimum_of_one_step_is_the_closed_form() -> None:
    env = SMALL["contexts"]
    ref = torch.log_softmax(logits_for(env, 2), -1)
    reward = torch.tensor(env.means, dtype=torch.float64)  # type: ignore[attr-defined]
    torch.testing.assert_close(
        soft_optimum(tables(env), ref, kl_beta=0.3)[0], kl_optimum(reward, ref, kl_beta=0.3)
    )


@EACH
def test_no_policy_beats_the_best_return_and_one_reaches_it(env: FiniteEnv) -> None:
    mdp = tables(env)
    best = best_return(mdp)
    for seed in range(20):
        assert float(expected_return(mdp, torch.log_softmax(3 * logits_for(env, seed), -1))) <= best + 1e-12
    near = soft_optimum(mdp, torch.full((mdp.states, mdp.actions), 1 / mdp.actions, dtype=torch.float64).log(), kl_beta=1e-4)
    assert soft_objective(mdp, near, near[0], 0.0) == pytest.approx(best, abs=1e-3)


def test_the_best_return_of_the_default_map_is_the_shortest_way() -> None:
    assert best_return(tables(Gridworld())) == pytest.approx(1 - 10 * 0.01)
    assert best_return(tables(Gridworld(horizon=9))) == pytest.approx(-9 * 0.01), "too short a time to arrive"


def test_truth_is_differentiable_in_float32_too() -> None:
    logits = torch.zeros(3, 2, requires_grad=True)
    value = expected_return(tables(SMALL["contexts"]), torch.log_softmax(logits, -1))
    assert value.dtype == torch.float32
    value.backward()
    assert logits.grad is not None and torch.isfinite(logits.grad).all()
