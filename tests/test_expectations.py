"""What estimators are on average, by enumerating every outcome: KL, baselines, std scaling. Float64."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rlcore.advantages import GroupRelative, LeaveOneOut
from rlcore.kl import K1, K2, K3, AsWritten, GradientOfK2, Pair, RatioCorrected, exact_kl, k1, k2, k3
from rlcore.ratios import TokenRatio

property_test = settings(max_examples=15, deadline=None, derandomize=True)
logits = st.lists(st.floats(-2, 2), min_size=4, max_size=4).map(
    lambda x: torch.tensor(x, dtype=torch.float64)
)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-10)


# ---------------------------------------------------------------- KL: value and gradient of each estimator


def policy(theta: Tensor) -> Tensor:
    return theta.log_softmax(-1)


def expected(theta: Tensor, ref: Tensor, estimator, gradient) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
    """(value, gradient): E over actions drawn from pi of the estimator, and of its gradient as a loss."""
    theta = theta.clone().requires_grad_()
    new = policy(theta)[None]
    pair, mask = Pair(new, policy(ref)[None]), torch.ones_like(new, dtype=torch.bool)
    ratio = TokenRatio()(new, new.detach(), mask)
    estimate = gradient(estimator(pair), pair, ratio)
    mean = (new.detach().exp() * estimate).sum()
    return mean.detach(), torch.autograd.grad(mean, theta)[0]


def true_gradient(theta: Tensor, ref: Tensor, *, forward: bool) -> Tensor:
    """d/d theta of KL(ref || pi) if forward, else of KL(pi || ref)."""
    theta = theta.clone().requires_grad_()
    new, old = policy(theta), policy(ref)
    kl = exact_kl(old, new) if forward else exact_kl(new, old)
    return torch.autograd.grad(kl, theta)[0]


@property_test
@given(theta=logits, ref=logits)
def test_k1_and_k3_estimate_the_kl_without_bias(theta: Tensor, ref: Tensor) -> None:
    kl = exact_kl(policy(theta), policy(ref))
    for estimator in (K1(), K3()):
        close(expected(theta, ref, estimator, AsWritten())[0], kl)


@property_test
@given(theta=logits, ref=logits)
def test_the_plain_estimators_are_the_slots(theta: Tensor, ref: Tensor) -> None:
    """What the metrics call and what the loss calls are one thing."""
    new, old = policy(theta), policy(ref)
    for plain, slot in ((k1, K1()), (k2, K2()), (k3, K3())):
        close(plain(new, old), slot(Pair(new, old)))


def test_k2_is_biased() -> None:
    theta, ref = torch.tensor([0.0, 1.0]).double(), torch.tensor([1.0, -1.0]).double()
    bias = expected(theta, ref, K2(), AsWritten())[0] - exact_kl(policy(theta), policy(ref))
    assert abs(bias) > 0.05


@property_test
@given(theta=logits, ref=logits)
def test_k1_as_a_loss_pulls_nowhere(theta: Tensor, ref: Tensor) -> None:
    close(expected(theta, ref, K1(), AsWritten())[1], torch.zeros(4, dtype=torch.float64))


@property_test
@given(theta=logits, ref=logits)
def test_k2_as_a_loss_has_the_gradient_of_the_reverse_kl(theta: Tensor, ref: Tensor) -> None:
    reverse = true_gradient(theta, ref, forward=False)
    close(expected(theta, ref, K2(), AsWritten())[1], reverse)
    for estimator in (K1(), K3()):
        close(expected(theta, ref, estimator, GradientOfK2())[1], reverse)


@property_test
@given(theta=logits, ref=logits)
def test_k3_as_a_loss_has_the_gradient_of_the_other_direction(theta: Tensor, ref: Tensor) -> None:
    close(expected(theta, ref, K3(), AsWritten())[1], true_gradient(theta, ref, forward=True))


@property_test
@given(theta=logits, ref=logits)
def test_the_ratio_repairs_k1_and_k3(theta: Tensor, ref: Tensor) -> None:
    reverse = true_gradient(theta, ref, forward=False)
    for estimator in (K1(), K3()):
        close(expected(theta, ref, estimator, RatioCorrected())[1], reverse)


def test_the_two_directions_differ() -> None:
    theta, ref = torch.tensor([0.0, 1.0, 2.0]).double(), torch.tensor([1.0, 1.0, -1.0]).double()
    gap = true_gradient(theta, ref, forward=True) - true_gradient(theta, ref, forward=False)
    assert gap.abs().max() > 0.05


# ---------------------------------------------------------------- baselines: every possible group of answers

REWARDS = torch.tensor([0.0, 1.0, 10.0], dtype=torch.float64)
THETA = torch.tensor([0.5, 0.0, -1.0], dtype=torch.float64)


def mean_gradient(estimator: GroupRelative | LeaveOneOut, size: int, theta: Tensor = THETA) -> Tensor:
    """E over all groups of the mean of A_i * d log pi(a_i) / d theta, for a three-armed bandit: [3]."""
    p = theta.softmax(-1)
    groups = torch.tensor(list(itertools.product(range(3), repeat=size)))
    ids = torch.arange(len(groups)).repeat_interleave(size)
    advantages = estimator.of_scores(REWARDS[groups].flatten(), ids)[-1].reshape(groups.shape)
    score = (torch.eye(3, dtype=torch.float64) - p)[groups]
    return (p[groups].prod(-1)[:, None, None] * advantages[..., None] * score).sum(0).mean(0)


def true_bandit_gradient(theta: Tensor = THETA) -> Tensor:
    theta = theta.clone().requires_grad_()
    return torch.autograd.grad((theta.softmax(-1) * REWARDS).sum(), theta)[0]


@pytest.mark.parametrize("size", [2, 3, 4])
@property_test
@given(theta=st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_leave_one_out_is_unbiased_and_the_group_mean_shrinks(size: int, theta: list[float]) -> None:
    at = torch.tensor(theta, dtype=torch.float64)
    true = true_bandit_gradient(at)
    close(mean_gradient(LeaveOneOut(), size, at), true)
    close(mean_gradient(GroupRelative(scale="none"), size, at), (size - 1) / size * true)


def test_std_scaling_turns_the_middle_arms_gradient_round() -> None:
    """Misconception 7: expected over true gradient 0.356, -0.802, 0.151, cosine 0.78."""
    found, true = mean_gradient(GroupRelative(scale="std"), 4), true_bandit_gradient()
    assert (found / true).tolist() == pytest.approx([0.356, -0.802, 0.151], abs=5e-4)
    assert float(torch.cosine_similarity(found, true, dim=0)) == pytest.approx(0.78, abs=5e-3)


# ---------------------------------------------------------------- scores: affine changes, flat groups


@property_test
@given(
    scores=st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    scale=st.floats(0.5, 100),
    shift=st.floats(-100, 100),
)
def test_affine_rewards_change_nothing_under_std_scaling(
    scores: list[float], scale: float, shift: float
) -> None:
    """Up to eps: A and A' differ by at most the eps / std of the smaller of the two standard deviations."""
    score, group = torch.tensor(scores, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    eps = 1e-4
    estimator = GroupRelative(scale="std", eps=eps)
    std = float(score.std())
    if 0 < std < 1e-3:
        return
    plain, moved = (estimator.of_scores(s, group)[-1] for s in (score, scale * score + shift))
    slack = eps / (min(1.0, scale) * std) if std else 0.0
    assert float((plain - moved).abs().max()) <= 2 * slack + 1e-9


def test_rewards_ten_times_larger_push_ten_times_harder_without_std() -> None:
    score, group = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    plain, moved = (GroupRelative(scale="none").of_scores(s, group)[-1] for s in (score, 10 * score + 3))
    close(moved, 10 * plain)


@pytest.mark.parametrize("scale", ["std", "none", "batch"])
def test_eight_float32_rewards_of_0_9_are_exactly_flat(scale) -> None:  # type: ignore[no-untyped-def]
    score, group = torch.full((8,), 0.9), torch.zeros(8, dtype=torch.int64)
    assert GroupRelative(scale=scale).of_scores(score, group)[-1].tolist() == [0.0] * 8
    assert LeaveOneOut().of_scores(score, group)[-1].tolist() == [0.0] * 8


@pytest.mark.parametrize(
    ("library", "eps", "noise"),
    [("OpenRLHF 0.11.2", 1e-9, -0.921), ("verl 0.9.1", 1e-6, -0.056), ("TRL 1.16", 1e-4, -0.0006)],
)
def test_each_librarys_rounding_noise_is_to_be_had(library: str, eps: float, noise: float) -> None:
    """Misconception 14: the float32 mean of eight 0.9 is off by one unit in the last place."""
    score, group = torch.full((8,), 0.9), torch.zeros(8, dtype=torch.int64)
    found = GroupRelative(eps=eps, flat="as_written").of_scores(score, group)[-1]
    assert found.tolist() == pytest.approx([noise] * 8, rel=0.02)
