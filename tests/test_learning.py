"""Learning, on fixed seeds: every recipe solves the small problems, and what KL-regularised runs converge to is known."""

from __future__ import annotations

import pytest
import torch

import tests.worlds  # noqa: F401  registers the environments
from rlcore.algorithms import CATALOG, by_key
from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.envs import Bandit, GymEnv, tables
from rlcore.envs.truth import best_return, expected_return, kl_optimum
from rlcore.kl import KlInReward
from rlcore.presets import preset, preset_for
from rlcore.state import TrainState

RECIPES = pytest.mark.parametrize("recipe", [r.key for r in CATALOG])
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])


def trained(config: RunConfig, steps: int) -> TrainState:
    """The state after so many steps."""
    state = init(config)
    for _ in range(steps):
        state, _ = step(state, config)
    return state


def policy(state: TrainState) -> torch.Tensor:
    """Log-probabilities of a tabular policy, [S, A] float64."""
    return torch.log_softmax(state.params["actor.logits"].double(), -1)


@RECIPES
@SEEDS
def test_the_bandit_is_solved(recipe: str, seed: int) -> None:
    config = preset(recipe, "bandit", seed)
    assert float(policy(init(config)).exp()[0, 9]) == pytest.approx(0.1)
    assert float(policy(trained(config, 30)).exp()[0, 9]) > 0.9


@RECIPES
@SEEDS
def test_the_gridworld_is_solved(recipe: str, seed: int) -> None:
    """By the exact expected return of the policy, not by a lucky rollout."""
    config = preset(recipe, "gridworld", seed)
    mdp = tables(config.env)  # type: ignore[arg-type]
    assert float(expected_return(mdp, policy(init(config)))) < 0
    assert float(expected_return(mdp, policy(trained(config, 45)))) >= 0.95 * best_return(mdp)


@pytest.mark.parametrize("seed", [0, 1])
def test_ppo_balances_the_pole(seed: int) -> None:
    config, returns = preset("ppo", "CartPole-v1", seed), []
    state = init(config)
    for _ in range(45):
        state, record = step(state, config)
        returns.append(record.metrics["episode_return"])
    assert returns[0] < 60 and max(returns) >= 400


@pytest.mark.parametrize("recipe", ["ppo", "grpo", "gspo"])
def test_box_actions_are_learned(recipe: str) -> None:
    """Pays the sum of two actions within [-0.5, 0.5] at each of four steps: the best is 4."""
    config = preset_for(by_key(recipe).algorithm, GymEnv(id="tests/Push-v0", horizon=4)).with_settings(
        {"lr": 0.02, "segment": None, "prompts": 4, "group_size": 16 if recipe != "ppo" else 1, "minibatches": 1}
    )
    state = init(config)
    first = step(state, config)[1].metrics["reward_mean"]
    for _ in range(40):
        state, record = step(state, config)
    assert first < 1.5 and record.metrics["reward_mean"] > 3


@pytest.mark.parametrize("kl_beta", [0.2, 0.5])
def test_rloo_with_kl_in_the_reward_converges_to_the_closed_form(kl_beta: float) -> None:
    """pi* = ref exp(r / beta) / Z: the run ends there, not at the best arm, within a few thousandths of a nat."""
    algorithm = by_key("rloo").algorithm.model_copy(update={"kl": KlInReward(kl_beta=kl_beta)})
    config = preset_for(algorithm, Bandit(means=(0.0, 0.3, 0.6, 1.0), noise=0.1)).with_settings(
        {"kl_beta": kl_beta, "prompts": 1, "group_size": 512, "epochs": 1, "lr": 0.1, "schedule": {"kind": "linear", "steps": 150}}
    )
    found = policy(trained(config, 150))
    uniform = torch.full((1, 4), 0.25, dtype=torch.float64).log()
    best = kl_optimum(torch.tensor([[0.0, 0.3, 0.6, 1.0]], dtype=torch.float64), uniform, kl_beta=kl_beta)
    assert float((best.exp() * (best - found)).sum()) < 5e-3
    assert float((best.exp() * (best - uniform)).sum()) > 0.1, "which is far from where it started"


def test_a_critic_learns_the_value_of_its_policy() -> None:
    """At a policy that stands still, the critic's fit explains the returns and tends to the true values."""
    config = preset("ppo", "gridworld").with_settings({"prompts": 256, "epochs": 8, "gamma": 1.0, "lam": 1.0})
    state = trained(config, 12)
    algorithm = config.algorithm.model_copy(update={"surrogate": config.algorithm.surrogate.model_copy(update={"eps_low": 0.0, "eps_high": 0.0})})
    still = config.model_copy(update={"algorithm": algorithm})
    for _ in range(25):
        state, record = step(state, still)
    assert record.metrics["explained_variance"] > 0.5
    start = tables(config.env).start.argmax()  # type: ignore[arg-type]
    truth = float(expected_return(tables(config.env), policy(state)))  # type: ignore[arg-type]
    assert float(state.params["critic.value"][start]) == pytest.approx(truth, abs=0.1)
