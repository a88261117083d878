"""Every recipe equals its paper's double loop, in value and gradient, on random ragged batches.

Tolerance 1e-10 absolute in float64: sums of at most a hundred terms of order one, taken in another order.
The one exception is written where it stands.
"""

from __future__ import annotations

import inspect
from operator import attrgetter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rlcore.algorithm import Algorithm
from rlcore.algorithms import CATALOG, Recipe
from rlcore.config import Batch, RunConfig
from rlcore.engine import init, step
from rlcore.envs import Bandit
from rlcore.groups import group_is_flat
from rlcore.kl import KlInReward
from rlcore.oracles import NUMBERS, ORACLES, oracle_loss
from rlcore.shaping import SoftOverlong
from tests.batches import gradients, loss_of, ragged_batch

ATOL = 1e-10

by_recipe = pytest.mark.parametrize("recipe", CATALOG, ids=lambda recipe: recipe.key)
batches = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "prompts": st.integers(1, 3),
        "group_size": st.integers(1, 4),
        "width": st.integers(1, 6),
        "rewards": st.sampled_from(["binary", "normal", "flat", "dense"]),
        "spread": st.sampled_from([0.0, 3e-4, 0.3, 1.5]),
        "holes": st.booleans(),
        "empty_rows": st.booleans(),
        "inner_ends": st.booleans(),
    }
)


def agree(recipe: Recipe, algorithm: Algorithm, batch: dict) -> None:
    now, rollout = ragged_batch(**batch)
    ours, theirs = loss_of(algorithm, now, rollout).loss, oracle_loss(recipe.key, algorithm, now, rollout)
    torch.testing.assert_close(ours, theirs, atol=ATOL, rtol=1e-10)
    for name, expected in gradients(theirs, now).items():
        torch.testing.assert_close(
            gradients(ours, now)[name], expected, atol=ATOL, rtol=1e-10, msg=f"grad {name}"
        )


def test_every_recipe_has_an_oracle() -> None:
    assert {recipe.key for recipe in CATALOG} == set(ORACLES)


@by_recipe
@settings(max_examples=30, deadline=None, derandomize=True)
@given(batch=batches)
def test_recipe_equals_its_double_loop(recipe: Recipe, batch: dict) -> None:
    agree(recipe, recipe.algorithm, batch)


@by_recipe
@settings(max_examples=15, deadline=None, derandomize=True)
@given(batch=batches, data=st.data())
def test_recipe_equals_its_double_loop_at_other_numbers(
    recipe: Recipe, batch: dict, data: st.DataObject
) -> None:
    agree(recipe, with_other_numbers(recipe.algorithm, data), batch)


def with_other_numbers(algorithm: Algorithm, data: st.DataObject) -> Algorithm:
    """The recipe's structure at drawn numbers."""
    few = st.sampled_from([0.01, 0.15, 0.3, 0.9])
    drawn = {
        "surrogate": {name: data.draw(few) for name in ("eps_low", "eps_high", "tau_pos", "tau_neg")},
        "kl": {"kl_beta": data.draw(few)},
        "advantage": {"gamma": data.draw(few), "lam": data.draw(few), "eps": data.draw(few)},
        "whiten": {"eps": data.draw(few)},
        "critic": {"coef": data.draw(few), "eps_value": data.draw(few)},
        "aggregate": {"length": data.draw(st.sampled_from([None, 3.0, 50.0]))},
    }
    changed = {"entropy_coef": data.draw(few)} if algorithm.critic.coef == 0.5 else {}
    for slot, numbers in drawn.items():
        value = getattr(algorithm, slot)
        fitting = {
            k: v for k, v in numbers.items() if k in type(value).model_fields and getattr(value, k) != 0
        }
        changed[slot] = value.model_copy(update=fitting)
    return algorithm.model_copy(update=changed)


def test_dapo_pays_for_length_like_its_oracle() -> None:
    dapo = next(recipe for recipe in CATALOG if recipe.key == "dapo")
    near = dapo.algorithm.model_copy(update={"shaping": SoftOverlong(max_length=5, cache=3, factor=0.7)})
    for seed in range(10):
        agree(dapo, near, {"seed": seed, "group_size": 4, "rewards": "binary", "width": 6})


def test_an_oracle_at_its_defaults_is_the_recipe() -> None:
    """The oracle's own default numbers are the recipe's, so a typo in either shows."""
    for recipe in CATALOG:
        for name, parameter in inspect.signature(ORACLES[recipe.key]).parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                found = attrgetter(NUMBERS[name])(recipe.algorithm)
                assert found == parameter.default, (recipe.key, name)


def test_dynamic_sampling_asks_who_was_right_not_what_was_paid() -> None:
    """A price on KL makes every answer's shaped reward differ; flat groups are still the environment's."""
    dapo = next(recipe for recipe in CATALOG if recipe.key == "dapo")
    priced = dapo.algorithm.model_copy(update={"kl": KlInReward(kl_beta=0.5)})
    env = Bandit(means=(1.0, 1.0, 0.0), noise=0.0)
    config = RunConfig(env=env, algorithm=priced, batch=Batch(prompts=16, group_size=3))
    state, dropped = init(config), 0
    for _ in range(4):
        state, record = step(state, config, trace=True)
        trace = record.trace
        assert trace is not None
        paid = torch.from_numpy(trace.rollout["reward"].copy()).sum(-1)
        flat = group_is_flat(paid, torch.from_numpy(trace.rollout["group"].copy()))
        assert trace.kept.tolist() == (~flat).tolist()
        dropped += int(flat.sum())
    assert dropped > 0
