"""Identities the family must obey, on random ragged batches. Float64; tolerances are rounding only."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rlcore.advantages import Gae, Returns
from rlcore.aggregation import ConstantLength, SequenceMean, SequenceSum, TokenMean
from rlcore.algorithm import Algorithm, PolicyOutput, policy_loss, shaped_reward
from rlcore.algorithms import CATALOG, CISPO, GRPO, GSPO, GSPO_TOKEN, by_key
from rlcore.kl import NoKl
from rlcore.ratios import Ratio, SequenceRatio, SequenceTokenRatio, TokenRatio
from rlcore.rollout import Rollout
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, Rule, ScoreFunction, TwoSidedClip, Unclipped
from tests.batches import gradients, loss_of, on_policy, ragged_batch

property_test = settings(max_examples=15, deadline=None, derandomize=True)
few_examples = settings(max_examples=5, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)
ragged = st.fixed_dictionaries(
    {
        "seed": seeds,
        "prompts": st.integers(1, 3),
        "group_size": st.integers(2, 4),
        "width": st.integers(1, 6),
        "spread": st.sampled_from([3e-4, 0.3, 1.5]),
        "holes": st.booleans(),
        "empty_rows": st.booleans(),
    }
)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-10)


def with_(algorithm: Algorithm, **slots: object) -> Algorithm:
    return algorithm.model_copy(update=slots)


def logp_gradient(algorithm: Algorithm, now: PolicyOutput, rollout: Rollout) -> Tensor:
    return gradients(loss_of(algorithm, now, rollout).loss, now)["logp"]


# ---------------------------------------------------------------- ratio levels


@property_test
@given(batch=ragged)
def test_gspo_and_gspo_token_agree_while_advantages_are_constant_along_a_row(batch: dict) -> None:
    now, rollout = ragged_batch(**batch)
    close(
        loss_of(GSPO.algorithm, now, rollout).loss,
        loss_of(GSPO_TOKEN.algorithm, now, rollout).loss,
    )
    close(logp_gradient(GSPO.algorithm, now, rollout), logp_gradient(GSPO_TOKEN.algorithm, now, rollout))


def test_gspo_and_gspo_token_part_when_advantages_are_not_constant() -> None:
    now, rollout = ragged_batch(3, rewards="dense", spread=1e-4)
    per_token = [with_(recipe.algorithm, advantage=Returns()) for recipe in (GSPO, GSPO_TOKEN)]
    a, b = (logp_gradient(algorithm, now, rollout) for algorithm in per_token)
    assert (a - b).abs().max() > 1e-3


@property_test
@given(batch=ragged)
def test_with_one_token_a_row_gspo_is_grpo(batch: dict) -> None:
    now, rollout = ragged_batch(**(batch | {"width": 1}))
    token = with_(GSPO.algorithm, ratio=TokenRatio())
    close(loss_of(GSPO.algorithm, now, rollout).loss, loss_of(token, now, rollout).loss)
    close(logp_gradient(GSPO.algorithm, now, rollout), logp_gradient(token, now, rollout))


# ---------------------------------------------------------------- on policy


@pytest.mark.parametrize("ratio", [TokenRatio(), SequenceRatio(), SequenceTokenRatio()], ids=lambda r: r.kind)
@pytest.mark.parametrize(
    "surrogate", [PpoClip(), DualClip(), TwoSidedClip(), Cispo(), Unclipped()], ids=lambda s: s.kind
)
@few_examples
@given(batch=ragged)
def test_on_policy_every_bound_has_the_score_functions_gradient(ratio, surrogate, batch: dict) -> None:  # type: ignore[no-untyped-def]
    now, rollout = ragged_batch(**batch)
    now = on_policy(now, rollout)
    base = with_(GRPO.algorithm, kl=NoKl())
    bounded, plain = with_(base, ratio=ratio, surrogate=surrogate), with_(base, surrogate=ScoreFunction())
    close(logp_gradient(bounded, now, rollout), logp_gradient(plain, now, rollout))


def test_on_policy_the_loss_is_minus_the_mean_advantage_and_says_nothing() -> None:
    """Misconception 5: rewards 1, 0, 0, 1 give loss 0 and gradients of 0.216."""
    now, rollout = ragged_batch(0, prompts=1, group_size=4, width=1)
    rollout = replace(rollout, reward=torch.tensor([[1.0], [0.0], [0.0], [1.0]], dtype=torch.float64))
    now = on_policy(now, rollout)
    plain = with_(GRPO.algorithm, kl=NoKl())
    assert abs(loss_of(plain, now, rollout).loss.item()) < 1e-15
    expected = torch.tensor([-0.216, 0.216, 0.216, -0.216], dtype=torch.float64)
    torch.testing.assert_close(logp_gradient(plain, now, rollout).squeeze(-1), expected, atol=6e-4, rtol=0)


# ---------------------------------------------------------------- aggregation


@property_test
@given(batch=ragged, length=st.integers(1, 5))
def test_equal_lengths_make_aggregations_agree_up_to_scale(batch: dict, length: int) -> None:
    now, rollout = ragged_batch(**(batch | {"width": 5, "holes": False}))
    rollout = replace(rollout, mask=(torch.arange(5) < length).expand(rollout.mask.shape))
    base = loss_of(with_(CISPO.algorithm, aggregate=TokenMean()), now, rollout)
    for aggregate, scale in (
        (SequenceMean(), 1.0),
        (ConstantLength(length=float(length)), 1.0),
        (ConstantLength(length=20.0), length / 20.0),
        (SequenceSum(), float(length)),
    ):
        other = loss_of(with_(CISPO.algorithm, aggregate=aggregate), now, rollout)
        close(other.weight, base.weight * scale)
        close(other.loss, base.loss * scale)


def test_row_means_give_a_short_rows_token_more_weight() -> None:
    """Misconception 15: rows of 10 and 100 tokens."""
    mask = torch.arange(100) < torch.tensor([[10], [100]])
    like = torch.zeros(1, dtype=torch.float64)
    weights = [
        a(mask, like)[:, 0].tolist() for a in (SequenceMean(), TokenMean(), ConstantLength(length=1000.0))
    ]
    assert weights == [[0.05, 0.005], [1 / 110, 1 / 110], [0.0005, 0.0005]]


# ---------------------------------------------------------------- bounds


@property_test
@given(batch=ragged, c=st.sampled_from([1.25, 2.0, 4.0]))
def test_dual_clip_is_two_sided_clip_where_the_second_bound_lies_outside_the_band(
    batch: dict, c: float
) -> None:
    now, rollout = ragged_batch(**batch)
    dual = with_(GRPO.algorithm, surrogate=DualClip(eps_low=0.2, eps_high=0.25, c=c))
    two_sided = with_(GRPO.algorithm, surrogate=TwoSidedClip(eps_low=0.2, eps_high=0.25, delta=c))
    close(loss_of(dual, now, rollout).loss, loss_of(two_sided, now, rollout).loss)
    close(logp_gradient(dual, now, rollout), logp_gradient(two_sided, now, rollout))


def test_dual_clip_and_two_sided_clip_part_inside_the_band() -> None:
    now, rollout = ragged_batch(1, group_size=8, spread=1.0)
    a, b = DualClip(eps_high=1.0, c=1.1), TwoSidedClip(eps_high=1.0, delta=1.1)
    losses = [loss_of(with_(GRPO.algorithm, surrogate=s), now, rollout).loss for s in (a, b)]
    assert abs(losses[0] - losses[1]) > 1e-3


BOUNDED = (
    PpoClip(), PpoClip(eps_low=0.2, eps_high=1.0), DualClip(eps_high=1.0, c=1.1), DualClip(c=3.0), Gmpo(),
    TwoSidedClip(eps_low=0.2, eps_high=0.25, delta=4.0), TwoSidedClip(eps_low=0.2, eps_high=1.0, delta=1.1),
)  # fmt: skip


@pytest.mark.parametrize("surrogate", BOUNDED, ids=repr)
def test_a_token_is_marked_dead_exactly_where_its_ratio_has_no_slope(surrogate: Rule) -> None:
    """Wherever the second bound lies: inside the band, on its edge or beyond."""
    ratio = torch.exp(torch.linspace(-2, 2, 401, dtype=torch.float64)).repeat(2, 1).requires_grad_()
    advantages = torch.tensor([[1.5], [-0.5]], dtype=torch.float64).expand_as(ratio)
    mask = torch.ones_like(ratio, dtype=torch.bool)
    parts = Ratio(ratio.log(), ratio, ratio.log(), "token")
    (slope,) = torch.autograd.grad(surrogate.objective(parts, advantages, ratio.log(), mask).sum(), ratio)
    flags = surrogate.clipping(parts, advantages, mask)
    dead = flags.dead_low | flags.dead_high | flags.dead_dual
    assert dead.any() and not dead.all()
    assert torch.equal(dead, slope == 0)


# ---------------------------------------------------------------- advantages in time


@property_test
@given(
    seed=seeds,
    gamma=st.sampled_from([0.0, 0.9, 1.0]),
    lam=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    width=st.integers(1, 7),
)
def test_gae_is_the_explicit_sum_over_inner_ends(seed: int, gamma: float, lam: float, width: int) -> None:
    """A_t = sum_k (gamma lam)^k delta_{t+k}, to the first terminal or truncated step."""
    _, rollout = ragged_batch(seed, rewards="dense", inner_ends=True, width=width)
    found = Gae(gamma=gamma, lam=lam)(rollout, rollout.reward)
    for i in range(rollout.rows):
        for t in range(width):
            expected, factor = 0.0, 1.0
            for k in range(t, width):
                if not rollout.mask[i, k] or not rollout.mask[i, t]:
                    break
                after = 0.0 if rollout.terminal[i, k] else float(rollout.value_next[i, k])
                delta = float(rollout.reward[i, k]) + gamma * after - float(rollout.value_old[i, k])
                expected, factor = expected + factor * delta, factor * gamma * lam
                if rollout.terminal[i, k] or rollout.truncated[i, k]:
                    break
            assert float(found.advantages[i, t]) == pytest.approx(expected, abs=1e-12)
    close(found.returns, found.advantages + torch.where(rollout.mask, rollout.value_old, 0.0))


def test_lambda_one_is_the_return_minus_the_value_and_lambda_zero_the_td_error() -> None:
    """Runner-up among the misconceptions: r = 0, 0, 1, V = .2, .5, .4, gamma = .9."""
    _, rollout = ragged_batch(0, prompts=1, group_size=1, width=3)
    row = {
        "mask": torch.ones(1, 3, dtype=torch.bool),
        "reward": torch.tensor([[0.0, 0.0, 1.0]], dtype=torch.float64),
        "value_old": torch.tensor([[0.2, 0.5, 0.4]], dtype=torch.float64),
        "value_next": torch.tensor([[0.5, 0.4, 9.0]], dtype=torch.float64),
        "terminal": torch.tensor([[False, False, True]]),
        "truncated": torch.zeros(1, 3, dtype=torch.bool),
    }
    rollout = replace(rollout, **row)
    for lam, expected in ((0.0, [0.25, -0.14, 0.6]), (1.0, [0.61, 0.40, 0.60]), (0.95, [0.569, 0.373, 0.6])):
        found = Gae(gamma=0.9, lam=lam)(rollout, rollout.reward).advantages[0].tolist()
        assert found == pytest.approx(expected, abs=1e-3)


# ---------------------------------------------------------------- several seeds at once


@pytest.mark.parametrize("recipe", CATALOG, ids=lambda recipe: recipe.key)
def test_a_leading_seeds_axis_gives_the_separate_losses(recipe) -> None:  # type: ignore[no-untyped-def]
    """[N, B, T] through advantages and loss equals N times [B, T]; groups are the same rows in every seed."""
    algorithm = by_key(recipe.key).algorithm
    beta = float(algorithm.kl.kl_beta)

    def terms(now: PolicyOutput, rollout: Rollout):  # type: ignore[no-untyped-def]
        advantages = algorithm.advantage(rollout, shaped_reward(algorithm, rollout, beta))
        white = algorithm.whiten(advantages.advantages, rollout.mask)
        return policy_loss(algorithm, now, rollout, replace(advantages, advantages=white), beta)

    pairs = [ragged_batch(seed, empty_rows=True, inner_ends=True) for seed in range(4)]
    stacked_now = PolicyOutput(
        *(torch.stack([getattr(now, f) for now, _ in pairs]) for f in ("logp", "entropy", "value", "dist"))
    )
    names = [n for n, x in vars(pairs[0][1]).items() if x is not None and n != "group"]
    stacked = replace(pairs[0][1], **{n: torch.stack([getattr(r, n) for _, r in pairs]) for n in names})
    together, apart = terms(stacked_now, stacked), [terms(*pair) for pair in pairs]
    for name in ("loss", "policy_loss", "kl_loss", "value_loss", "weight", "advantages"):
        close(getattr(together, name), torch.stack([getattr(each, name) for each in apart]))
    (gradient,) = torch.autograd.grad(together.loss.sum(), stacked_now.logp)
    close(
        gradient,
        torch.stack([gradients(t.loss, now)["logp"] for t, (now, _) in zip(apart, pairs, strict=True)]),
    )
