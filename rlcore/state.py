"""TrainState: everything a training step starts from, as a value; and what is said when a step fails."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rlcore.config import RunConfig
from rlcore.envs.protocol import Carry
from rlcore.kl import FixedBeta, NoKl
from rlcore.optim import Moments, no_moments
from rlcore.policies import Layout, Params, flatten
from rlcore.rng import generator


@dataclass(frozen=True, eq=False)
class TrainState:
    """Everything a step starts from. Never written in place.

    theta [P] float32 and its layout · theta_ref [P], the reference policy · moments of the optimiser · kl_beta, as far as
    a controller has moved it from the setting kl_set · carry of segments · running [B], returns of episodes that a
    segment left open.
    """

    step: int
    theta: Tensor
    theta_ref: Tensor
    layout: Layout
    moments: Moments
    kl_beta: float
    kl_set: float
    carry: Carry = None
    running: Tensor | None = None

    @property
    def nbytes(self) -> int:
        """About how much memory it holds; a carry says so itself."""
        tensors = (self.theta, self.theta_ref, self.moments.m, self.moments.v)
        return sum(x.nbytes for x in tensors) + int(getattr(self.carry, "nbytes", 0))

    @property
    def params(self) -> Params:
        return self.layout.parts(self.theta)

    @property
    def params_ref(self) -> Params:
        return self.layout.parts(self.theta_ref)


def init(config: RunConfig) -> TrainState:
    """The state before step 0. Raises SettingError where policy and environment do not fit."""
    shape = config.env.shape()
    params = config.policy.init(shape, generator(config.seed, 0, "init"))
    theta, layout = flatten(params)
    kl_beta = float(config.algorithm.kl.kl_beta)
    state = TrainState(0, theta, theta, layout, no_moments(theta), kl_beta, kl_beta)
    return with_critic(state, config) if config.algorithm.needs_critic else state


def beta_in_force(state: TrainState, config: RunConfig) -> float:
    """The KL coefficient of the coming step: the setting, or what a controller has made of it since it was set."""
    kl = config.algorithm.kl
    set_anew = kl.kl_beta != state.kl_set
    as_set = isinstance(kl, NoKl) or isinstance(kl.controller, FixedBeta) or set_anew
    return float(kl.kl_beta) if as_set else state.kl_beta


def has_critic(state: TrainState) -> bool:
    """True where the state's parameters include a value function."""
    return any(name.startswith("critic.") for name in state.layout.names)


def with_critic(state: TrainState, config: RunConfig) -> TrainState:
    """The state with a fresh critic appended: what a switch to a recipe with a critic needs mid-run."""
    extra, layout = flatten(config.policy.init_critic(config.env.shape(), generator(config.seed, 0, "init", 1)))

    def grown(x: Tensor, tail: Tensor) -> Tensor:
        return torch.cat([x, tail])

    moments = Moments(
        grown(state.moments.m, torch.zeros_like(extra)), grown(state.moments.v, torch.zeros_like(extra)),
        state.moments.updates,
    )  # fmt: skip
    joined = Layout(state.layout.names + layout.names, state.layout.shapes + layout.shapes)
    return replace(
        state, theta=grown(state.theta, extra), theta_ref=grown(state.theta_ref, extra), layout=joined, moments=moments
    )


class Diverged(ArithmeticError):
    """A step met NaN or infinity. The state before the step is untouched and still good.

    step · term, the first quantity that was not finite · cause, what usually leads there.
    """

    def __init__(self, step: int, term: str, cause: str) -> None:
        super().__init__(f"step {step}: {term} is not finite. Usual cause: {cause}.")
        self.step, self.term, self.cause = step, term, cause


CAUSES = {
    "reward": "the environment returned NaN or infinity; check its reward and any scaling of it",
    "logp_old": "the policy's logits are NaN or infinite, after an earlier step that was too large; lower lr",
    "advantages": "a standard deviation of 0 with no ε, or rewards beyond float range",
    "ratio": "the policy moved so far on one batch that exp(log_ratio) overflowed; lower lr or epochs, or use dual clip",
    "kl": "the policy gave almost no probability to what the reference does; lower lr or raise β earlier",
    "value": "the critic diverged; lower lr or the critic's coefficient",
    "loss": "one of its terms overflowed; lower lr",
    "gradient": "the loss is finite but its slope is not; lower lr or max_grad_norm",
    "parameters": "the optimiser's step overflowed; lower lr",
}


def diverged(step: int, term: str) -> Diverged:
    """The error for a term, with its usual cause."""
    return Diverged(step, term, CAUSES[term])
