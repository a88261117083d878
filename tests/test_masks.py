"""What stands under the mask reaches nothing: NaN, infinity and huge numbers in padding change no bit."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rlcore import masked
from rlcore.algorithm import Algorithm, PolicyOutput
from rlcore.algorithms import CATALOG, GRPO, PPO
from rlcore.kl import ExactKl, KlInLoss
from rlcore.rollout import Rollout
from tests.batches import gradients, loss_of, ragged_batch

JUNK = torch.tensor([torch.nan, torch.inf, -torch.inf, 1e300, -1e300], dtype=torch.float64)
EXACT = GRPO.algorithm.model_copy(update={"kl": KlInLoss(estimator=ExactKl()), "entropy_coef": 0.01})
ALGORITHMS = {recipe.key: recipe.algorithm for recipe in CATALOG} | {"exact KL and entropy": EXACT}


def with_junk(x: Tensor, mask: Tensor, offset: int) -> Tensor:
    """`x` with junk wherever the mask is False; integers and flags get other values instead."""
    shape = mask.shape + (1,) * (x.ndim - mask.ndim)
    if x.dtype == torch.bool:
        return torch.where(mask, x, ~x)
    if not x.is_floating_point():
        return torch.where(mask.reshape(shape), x, x + 7)
    index = (torch.arange(x.numel()) + offset) % len(JUNK)
    return torch.where(mask.reshape(shape), x, JUNK[index].reshape(x.shape).to(x.dtype))


def spoiled(now: PolicyOutput, rollout: Rollout, offset: int) -> tuple[PolicyOutput, Rollout]:
    """The same batch with junk in the padding of every field."""
    mask = rollout.mask
    fields = {
        name: with_junk(x, mask, offset + k)
        for k, (name, x) in enumerate(vars(rollout).items())
        if x is not None and name not in ("mask", "group")
    }
    outputs = {
        name: with_junk(x.detach(), mask, offset + k).requires_grad_()
        for k, (name, x) in enumerate(vars(now).items())
    }
    return PolicyOutput(**outputs), replace(rollout, **fields)


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=list(ALGORITHMS))
@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    offset=st.integers(0, 4),
    holes=st.booleans(),
    empty_rows=st.booleans(),
    inner_ends=st.booleans(),
)
def test_padding_is_invisible(
    algorithm: Algorithm, seed: int, offset: int, holes: bool, empty_rows: bool, inner_ends: bool
) -> None:
    now, rollout = ragged_batch(seed, holes=holes, empty_rows=empty_rows, inner_ends=inner_ends)
    dirty_now, dirty = spoiled(now, rollout, offset)
    clean_loss, dirty_loss = loss_of(algorithm, now, rollout).loss, loss_of(algorithm, dirty_now, dirty).loss
    assert torch.equal(clean_loss, dirty_loss)
    clean, found = gradients(clean_loss, now), gradients(dirty_loss, dirty_now)
    for name in clean:
        assert torch.equal(clean[name], found[name]), name
        assert not found[name][~rollout.mask].any(), f"a gradient under the mask of {name}"


def test_one_row_more_of_padding_changes_nothing_but_the_rows_counted() -> None:
    """A wider tensor, all of it padding, leaves PPO's loss as it was."""
    now, rollout = ragged_batch(4, inner_ends=True)

    def wider(x: Tensor) -> Tensor:
        return torch.cat([x, torch.zeros_like(x[:, :2])], dim=1)

    widened = replace(
        rollout, **{n: wider(x) for n, x in vars(rollout).items() if x is not None and n != "group"}
    )
    wide_now = PolicyOutput(*(wider(x) for x in vars(now).values()))
    assert torch.equal(
        loss_of(PPO.algorithm, now, rollout).loss, loss_of(PPO.algorithm, wide_now, widened).loss
    )


def test_an_empty_batch_has_loss_zero_and_no_nan() -> None:
    for recipe in CATALOG:
        now, rollout = ragged_batch(0)
        nothing = replace(rollout, mask=torch.zeros_like(rollout.mask))
        loss = loss_of(recipe.algorithm, now, nothing).loss
        assert loss.item() == 0.0, recipe.key


def test_masked_arithmetic_by_hand() -> None:
    x = torch.tensor([[1.0, 2.0, torch.nan], [torch.inf, 5.0, 6.0], [7.0, 8.0, 9.0]])
    mask = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])
    assert masked.total(x, mask) == 14.0
    assert masked.mean(x, mask) == 3.5
    assert masked.row_sum(x, mask).tolist() == [3.0, 11.0, 0.0]
    assert masked.row_mean(x, mask).tolist() == [1.5, 5.5, 0.0]
    assert masked.variance(x, mask, ddof=0) == pytest.approx((6.25 + 2.25 + 2.25 + 6.25) / 4)
    assert masked.spread(torch.tensor([1.0, 2.0, 3.0]), mask).tolist() == [[1, 1, 0], [0, 2, 2], [0, 0, 0]]
