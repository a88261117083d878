"""Optimisers against torch's own, step by step."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlcore.engine import init, step
from rlcore.optim import (
    Adam,
    ConstantRate,
    LinearDecay,
    Sgd,
    clip_by_global_norm,
    no_moments,
)
from rlcore.presets import preset
from tests.runs import bits


def gradients(steps: int = 40, size: int = 30) -> list[torch.Tensor]:
    """Of all magnitudes, zeros included."""
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.normal(0, 10.0 ** rng.integers(-6, 4, size)) * rng.integers(0, 2, size)).float() for _ in range(steps)]


@pytest.mark.parametrize(
    ("beta1", "beta2", "eps", "lr"), [(0.9, 0.999, 1e-8, 1e-3), (0.9, 0.999, 1e-5, 0.05), (0.0, 0.9, 1e-3, 1.0), (0.5, 0.0, 1e-8, 0.1)]
)
def test_adam_is_torchs_adam(beta1: float, beta2: float, eps: float, lr: float) -> None:
    ours = Adam(lr=lr, beta1=beta1, beta2=beta2, eps=eps)
    theta = torch.linspace(-1, 1, 30)
    leaf = theta.clone().requires_grad_()
    theirs = torch.optim.Adam([leaf], lr=lr, betas=(beta1, beta2), eps=eps)
    moments = no_moments(theta)
    for n, grad in enumerate(gradients(), 1):
        before = bits((theta, moments.m, moments.v))
        new, after = ours(theta, grad, moments, lr=lr)
        assert bits((theta, moments.m, moments.v)) == before, "nothing is written in place"
        theta, moments, leaf.grad = new, after, grad.clone()
        theirs.step()
        torch.testing.assert_close(theta, leaf.detach(), rtol=1e-5, atol=1e-6 * lr)
        assert moments.updates == n


def test_sgd_is_torchs_sgd() -> None:
    theta = torch.linspace(-1, 1, 30)
    leaf = theta.clone().requires_grad_()
    theirs = torch.optim.SGD([leaf], lr=0.3)
    moments = no_moments(theta)
    for grad in gradients(10):
        theta, moments = Sgd()(theta, grad, moments, lr=0.3)
        leaf.grad = grad.clone()
        theirs.step()
    torch.testing.assert_close(theta, leaf.detach())
    assert moments.updates == 10 and not moments.m.any()


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("max_norm", [0.5, 10.0])
def test_clipping_is_torchs_clipping(scale: float, max_norm: float) -> None:
    grad = scale * torch.linspace(-2, 3, 50)
    leaf = torch.zeros(50, requires_grad=True)
    leaf.grad = grad.clone()
    total = torch.nn.utils.clip_grad_norm_([leaf], max_norm)
    clipped, norm = clip_by_global_norm(grad, max_norm)
    torch.testing.assert_close(clipped, leaf.grad)
    assert float(norm) == pytest.approx(float(total), rel=1e-6)
    assert float(clipped.norm()) <= max_norm * (1 + 1e-6)


def test_schedules() -> None:
    decay = LinearDecay(steps=10)
    assert [decay(n) for n in (0, 1, 5, 9, 10, 11, 10**6)] == pytest.approx([1, 0.9, 0.5, 0.1, 0, 0, 0])
    assert ConstantRate()(10**6) == 1


def test_the_schedule_reaches_the_update_and_the_record() -> None:
    config = preset("grpo", "bandit").with_settings({"schedule": {"kind": "linear", "steps": 4}, "lr": 0.2})
    state, rates = init(config), []
    for _ in range(6):
        before = state.theta
        state, record = step(state, config)
        rates.append(record.metrics["lr"])
        assert torch.equal(before, state.theta) == (rates[-1] == 0)
    assert rates == pytest.approx([0.2, 0.15, 0.1, 0.05, 0, 0])
