"""Many seeds at once give each seed's own numbers; what cannot be batched is run in turn; a seed that dies harms nobody."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from rlcore import engine, seeds
from rlcore.algorithms import CATALOG
from rlcore.config import EpochKlStop, RunConfig
from rlcore.envs import Bandit, ContextualBandit, FiniteEnv, Gridworld, Plan, tables
from rlcore.kl import K3, AdaptiveBeta, KlInLoss
from rlcore.policies.heads import Categorical
from rlcore.presets import preset
from rlcore.rng import generator
from rlcore.seeds.batched import Batched
from rlcore.seeds.in_turn import InTurn
from rlcore.seeds.playing import ManyDice, play
from rlcore.surrogates import Gmpo

STEPS, TOLERANCE = 8, 2e-5
"""Float rounding, which training carries on: sums over seeds' padded rows add up in another order than a seed's own. Much
later it may turn a die, and from there two runs are as far apart as two seeds; here it must not."""

SEEDS = (3, 0, 2**32 - 1)


def alone(config: RunConfig, seed: int, steps: int) -> list[engine.TrainState | object]:
    config = config.model_copy(update={"seed": seed})
    state, records = engine.init(config), []
    for _ in range(steps):
        state, record = engine.step(state, config)
        records.append(record)
    return [state, records]


def hold(config: RunConfig, *, steps: int = STEPS, tolerance: float = TOLERANCE) -> None:
    """Every metric of every step of every seed, and the parameters at the end."""
    state, found = seeds.start(config, SEEDS), []
    for _ in range(steps):
        state, record = seeds.step(state, config)
        found.append(record)
    for place, seed in enumerate(SEEDS):
        end, records = alone(config, seed, steps)
        for mine, theirs in zip(found, records, strict=True):
            assert mine.samples[place] == theirs.samples and mine.step == theirs.step
            for name, value in theirs.metrics.items():
                got = mine.metrics[name][place]
                assert (np.isnan(got) and np.isnan(value)) or abs(got - value) <= tolerance * (1 + abs(value)), (
                    f"seed {seed}, step {mine.step}, {name}: {got} together, {value} alone"
                )
        theta = state.theta[place] if isinstance(state, Batched) else state.states[place].theta
        assert torch.allclose(theta, end.theta, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("env", ["bandit", "contextual", "gridworld", "corridor"])
@pytest.mark.parametrize("recipe", [recipe.key for recipe in CATALOG])
def test_every_recipe_on_every_finite_world_gives_each_seed_its_own_numbers(recipe: str, env: str) -> None:
    config = preset(recipe, env)
    assert seeds.why_in_turn(config) == ""
    hold(config, steps=4 if env == "corridor" else STEPS)


@pytest.mark.parametrize(
    "settings",
    [
        {"batch.minibatches": 3},
        {"batch.prompts": 5, "batch.group_size": 3},
        {"epochs": 1, "lr": 0.3},
        {"entropy_coef": 0.02},
        {"kl_beta": 0.5},
        {"optim": {"kind": "sgd", "lr": 1.0}},
        {"ref_sync": 2},
        {"env.wind": 0.2, "env.noise": 0.3},
        {"env.layout": ("S.S", ".#.", "G.H")},
        {"algorithm.surrogate": {"kind": "dual_clip"}},
        {"algorithm.gate": {"kind": "top_entropy"}},
        {"algorithm.kl.estimator": {"kind": "exact"}},
    ],
    ids=str,
)
def test_other_settings_too(settings: dict[str, object]) -> None:
    hold(preset("grpo", "gridworld").with_settings(settings), steps=4)


def test_the_critic_with_minibatches_too() -> None:
    hold(preset("ppo", "gridworld").with_settings({"batch.minibatches": 4}), steps=4)


class Fixed:
    """A policy that is only a table of log-probabilities."""

    def __init__(self, logp: torch.Tensor) -> None:
        self.logp = logp

    def act(self, params: object, obs: torch.Tensor) -> Categorical:
        return Categorical(self.logp[obs])


@pytest.mark.parametrize(
    "env",
    [Bandit(), ContextualBandit(), Gridworld(), Gridworld(layout=("S.S", "S.G"), wind=0.3, noise=0.5, horizon=9)],
    ids=["bandit", "contextual", "grid", "wind, noise, several starts"],
)
def test_what_is_played_is_what_each_seed_plays_alone(env: FiniteEnv) -> None:
    mdp, plan = tables(env), Plan(3, 4, None, False)
    probs = np.random.default_rng(1).dirichlet(np.ones(mdp.actions), (3, mdp.states)).astype(np.float32)
    together = play(mdp, probs, plan, ManyDice(SEEDS, 7))
    for n, seed in enumerate(SEEDS):
        policy = Fixed(torch.from_numpy(probs[n]).log())
        mine = env.collect(policy, {}, {}, plan, None, partial(generator, seed, 7)).rollout
        width = mine.mask.shape[1]
        assert torch.equal(together.mask[n, :, :width], mine.mask) and not together.mask[n, :, width:].any()
        assert torch.equal((together.state[n, :, :width] - n * mdp.states)[mine.mask], mine.obs[mine.mask])
        assert torch.equal(together.action[n, :, :width][mine.mask], mine.action[mine.mask])
        assert torch.equal(together.reward[n, :, :width], mine.reward)
        assert torch.equal(together.terminal[n, :, :width], mine.terminal)
        assert torch.equal(together.truncated[n, :, :width], mine.truncated)


def test_a_step_is_pure() -> None:
    config = preset("ppo", "bandit")
    state, _ = seeds.step(seeds.start(config, SEEDS), config)
    before = state.theta.clone()
    first, a = seeds.step(state, config)
    second, b = seeds.step(state, config)
    assert torch.equal(first.theta, second.theta) and torch.equal(state.theta, before)
    assert all(np.array_equal(a.metrics[name], b.metrics[name], equal_nan=True) for name in a.metrics)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (preset("grpo", "CartPole-v1"), "finite table"),
        (preset("ppo", "gridworld").with_settings({"batch.segment": 8}), "segments"),
        (preset("grpo", "gridworld").with_settings({"policy": {"kind": "mlp"}}), "not a table"),
        (preset("grpo", "bandit").with_settings({"batch.early_stop": EpochKlStop().model_dump()}), "stop its epochs"),
        (preset("dapo", "bandit").with_settings({"batch.minibatches": 2}), "rows are dropped"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_cannot_be_batched_says_why_and_runs_in_turn_to_the_bit(config: RunConfig, says: str) -> None:
    assert says in seeds.why_in_turn(config)
    assert isinstance(seeds.start(config, SEEDS), InTurn)
    hold(config, steps=1, tolerance=0.0)


def test_an_adaptive_beta_runs_in_turn() -> None:
    kl = KlInLoss(estimator=K3(), controller=AdaptiveBeta(), kl_beta=0.1)
    config = preset("grpo", "bandit").with_settings({"algorithm.kl": kl.model_dump()})
    assert "controller" in seeds.why_in_turn(config)
    hold(config, steps=3, tolerance=0.0)


def test_a_seed_that_diverges_stops_alone_with_its_reason() -> None:
    config = preset("grpo", "bandit").with_settings({"kl_beta": 0})
    state = seeds.start(config, SEEDS)
    assert isinstance(state, Batched)
    broken = state.theta.clone()
    broken[1, 0] = torch.nan
    sick = Batched(**{**vars(state), "theta": broken})
    for _ in range(2):
        sick, record = seeds.step(sick, config)
        state, healthy = seeds.step(state, config)
        assert list(record.diverged) == [1] and "logp_old is not finite" in record.diverged[1]
        for name, values in record.metrics.items():
            assert np.isnan(values[1])
            assert np.array_equal(values[[0, 2]], healthy.metrics[name][[0, 2]], equal_nan=True), name


def test_a_gmpo_row_is_never_counted_by_kinds_of_token() -> None:
    """Its clip is of whole rows: counting tokens apart from their rows would be another algorithm."""
    config = preset("gmpo", "gridworld")
    assert isinstance(config.algorithm.surrogate, Gmpo)
    hold(config.with_settings({"lr": 0.3}), steps=3)
