"""The pretrained starts: small, loadable, made by the command they name, and neither hopeless nor finished."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from rlcore.policies.transformer import Transformer
from rlcore.policies.weights import FOLDER, about, load_start, starts
from rlcore.rng import generator
from rlcore.words.measure import Accuracy, accuracy
from rlcore.words.pretrain import RECIPES, pretrained

LEVELS = {"addition-hurried": (0.1, 0.3), "addition-fluent": (0.9, 1.0)}
"""Sampled accuracy of the starts that are meant to be worse or better than half-way."""


def recipe_of(name: str) -> str:
    return name.rpartition("-")[0]


def measured(name: str) -> Accuracy:
    recipe = RECIPES[recipe_of(name)]
    params = load_start(name, like=recipe.policy.init(recipe.task.shape(), generator(0, 0, "init")))
    return accuracy(recipe.policy, params, recipe.task, dice=generator(0, 0, "eval"), prompts=256)


def test_every_recipe_has_a_start_and_addition_several() -> None:
    assert {recipe_of(name) for name in starts()} == set(RECIPES)
    assert sum(recipe_of(name) == "addition" for name in starts()) >= 3


@pytest.mark.parametrize("name", starts())
def test_a_start_is_small_names_its_command_and_is_half_way(name: str) -> None:
    path: Path = FOLDER / f"{name}.safetensors"
    assert path.stat().st_size < 700_000
    made = about(path)
    recipe = RECIPES[recipe_of(name)]
    assert made["command"] == f"python -m rlcore.words.pretrain {recipe_of(name)} --seed {name.rpartition('-')[2]}"
    assert Transformer.model_validate_json(made["policy"]) == recipe.policy
    lowest, highest = LEVELS.get(recipe_of(name), (0.3, 0.5))
    assert lowest <= measured(name).sampled <= highest


@pytest.mark.parametrize("name", ["brackets-0", "addition-hurried-0"])
def test_the_likeliest_reply_of_these_starts_is_mostly_wrong(name: str) -> None:
    assert measured(name).greedy <= 0.5


def test_starts_of_other_seeds_are_other_models() -> None:
    like = RECIPES["addition"].policy.init(RECIPES["addition"].task.shape(), generator(0, 0, "init"))
    first, second = load_start("addition-0", like=like), load_start("addition-1", like=like)
    assert not torch.allclose(first["wte.weight"], second["wte.weight"], atol=0.1)


def test_pretraining_repeats_and_learns() -> None:
    runs = []
    for _ in range(2):
        losses, params = [], {}
        for loss, params in pretrained(RECIPES["sorting"], seed=3):
            losses.append(loss)
            if len(losses) == 12:
                break
        runs.append((losses, params))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(x, runs[1][1][name]) for name, x in runs[0][1].items())
    assert runs[0][0][-1] < runs[0][0][0] - 0.3
