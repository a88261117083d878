"""The unfolded page is source that runs: executing it gives the same bits, for recipes and random mixes."""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from rlcore.advantages import whitened
from rlcore.algorithm import Algorithm, PolicyOutput, policy_loss, shaped_reward
from rlcore.algorithms import CATALOG, DAPO, GRPO, GSPO, PPO, Recipe
from rlcore.rollout import Rollout
from rlcore.unfold import page_of, sections, unfold
from tests.batches import gradients, ragged_batch
from tests.mixes import algorithms

by_recipe = pytest.mark.parametrize("recipe", CATALOG, ids=lambda recipe: recipe.key)
Batch = tuple[PolicyOutput, Rollout]


def as_run(algorithm: Algorithm, batch: Batch, beta: float) -> tuple[object, object]:
    """(advantages, terms) from the house's own functions."""
    now, rollout = batch
    advantages = algorithm.advantage(rollout, shaped_reward(algorithm, rollout, beta))
    advantages = whitened(advantages, algorithm.whiten, rollout.mask)
    return advantages, policy_loss(algorithm, now, rollout, advantages, beta)


def as_printed(algorithm: Algorithm, batch: Batch, beta: float) -> tuple[object, object]:
    """(advantages, terms) from executing the page, in the order its head states."""
    now, rollout = batch
    page, names = page_of(algorithm), dict[str, Any]()
    exec(compile(page.text, "<page>", "exec"), names)
    entry = {what: names[name] for what, name in page.entries.items()}
    advantages = entry["advantage"](rollout, entry["reward"](rollout, beta))
    if "whiten" in entry:
        advantages = entry["whiten"](advantages, rollout.mask)
    return advantages, entry["loss"](now, rollout, advantages, beta)


def same_bits(ours: object, printed: object, where: str = "") -> None:
    """Every tensor of the printed dataclass is the house's, bit for bit (NaN included)."""
    for field in fields(printed):  # type: ignore[arg-type]
        a, b = getattr(ours, field.name), getattr(printed, field.name)
        if is_dataclass(b):
            same_bits(a, b, f"{where}{field.name}.")
        elif isinstance(b, Tensor):
            assert a.shape == b.shape, where + field.name
            assert torch.equal(a.isnan(), b.isnan()), where + field.name
            assert torch.equal(a.nan_to_num(), b.nan_to_num()), where + field.name
        else:
            assert a == b, where + field.name


def check(algorithm: Algorithm, batch: Batch, beta: float) -> None:
    ours, printed = as_run(algorithm, batch, beta), as_printed(algorithm, batch, beta)
    same_bits(ours[0], printed[0], "advantages.")
    same_bits(ours[1], printed[1])
    a, b = (gradients(terms.loss, batch[0]) for terms in (ours[1], printed[1]))  # type: ignore[attr-defined]
    for name in a:
        assert torch.equal(a[name].nan_to_num(), b[name].nan_to_num()), f"gradient of {name}"


@by_recipe
def test_a_recipes_page_computes_the_same_bits(recipe: Recipe) -> None:
    beta = float(recipe.algorithm.kl.kl_beta)
    for seed in range(3):
        check(recipe.algorithm, ragged_batch(seed, holes=True, empty_rows=True, inner_ends=True), beta)


@settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)
@given(algorithm=algorithms(), seed=st.integers(0, 100), sampler=st.booleans())
def test_any_mixs_page_computes_the_same_bits(algorithm: Algorithm, seed: int, sampler: bool) -> None:
    now, rollout = ragged_batch(seed, holes=True, inner_ends=True)
    if sampler:
        drift = 0.3 * torch.randn(rollout.mask.shape, generator=torch.Generator().manual_seed(seed)).double()
        rollout = replace(rollout, logp_rollout=rollout.logp_old + drift)
    check(algorithm, (now, rollout), 0.3)


@by_recipe
def test_selection_and_clipping_are_on_the_page_where_the_recipe_has_them(recipe: Recipe) -> None:
    algorithm, (now, rollout) = recipe.algorithm, ragged_batch(5, rewards="binary", group_size=4)
    page, names = page_of(algorithm), dict[str, Any]()
    exec(compile(page.text, "<page>", "exec"), names)
    assert ("select" in page.entries) == (recipe.key == "dapo")
    if "select" in page.entries:
        kept = names[page.entries["select"]](rollout.score, rollout.group)
        assert torch.equal(kept, algorithm.select(rollout.score, rollout.group))
    if "clipping" in page.entries:
        terms = as_run(algorithm, (now, rollout), 0.0)[1]
        ratio, gain = terms.ratio, terms.advantages  # type: ignore[attr-defined]
        printed = names[page.entries["clipping"]](ratio, gain, rollout.mask)
        same_bits(algorithm.surrogate.clipping(ratio, gain, rollout.mask), printed)


# ---------------------------------------------------------------- what the page reads like


@by_recipe
def test_the_page_is_self_contained_and_plain(recipe: Recipe) -> None:
    text = unfold(recipe.algorithm)
    body = text.split('"""', 2)[2]
    assert not re.search(r"rlcore|pydantic|isinstance|self\.|algorithm\.", body)
    imported = {
        name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names])
    }  # fmt: skip
    assert imported <= {"__future__", "dataclasses", "typing", "collections.abc", "torch"}
    assert max(len(line) for line in text.splitlines()) <= 120
    assert len(text.splitlines()) < 420


@by_recipe
def test_every_name_on_the_page_is_defined_on_it(recipe: Recipe) -> None:
    """Executing a page never reads its annotations, so it could name what it lacks; here all is looked up."""
    tree = ast.parse(unfold(recipe.algorithm))
    defined = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            defined.add(node.id)
    used = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert used <= defined


def test_the_numbers_are_this_algorithms() -> None:
    text = unfold(GSPO.algorithm)
    assert "eps_low=0.0003, eps_high=0.0004" in text
    assert "GSPO, unfolded" in text
    assert "KL to the reference" not in text, "GSPO has no KL, so k3 is not on its page"
    assert "KL to the reference" in unfold(GRPO.algorithm)
    assert "def gae(" in unfold(PPO.algorithm) and "def gae(" not in text


def test_two_algorithms_that_differ_in_a_number_differ_in_one_line_of_code() -> None:
    def code(algorithm: Algorithm) -> list[str]:
        return unfold(algorithm).split('"""', 2)[2].splitlines()

    wider = GRPO.algorithm.model_copy(update={"surrogate": DAPO.algorithm.surrogate})
    a, b = code(GRPO.algorithm), code(wider)
    changed = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    assert len(changed) == 2, "the objective, and what the bounds did"


@by_recipe
def test_sections_mark_their_lines(recipe: Recipe) -> None:
    lines = unfold(recipe.algorithm).splitlines()
    found = sections(recipe.algorithm)
    assert [s.slot for s in found][-1] == "loss"
    assert {"mask", "advantage", "ratio", "surrogate", "aggregate"} <= {s.slot for s in found}
    for section, after in zip(found, [*found[1:], None], strict=True):
        first, last = section.lines
        assert section.title in lines[first - 1]
        assert section.source in "\n".join(lines[first - 1 : last])
        assert after is None or last < after.lines[0]
