"""Witness: the step once more, with what its trace leaves out: parameters, moments and gradient of every update.

The optimiser of the run is wrapped in one that computes the same and notes what it saw; the engine does the rest, so
the record is the one it would have made. Nothing is kept beyond the value returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from rlcore.config import RunConfig
from rlcore.engine import step
from rlcore.optim import Adam, Moments, Schedule, Sgd, clip_by_global_norm
from rlcore.records import StepRecord, StepTrace
from rlcore.rollout import Rollout
from rlcore.state import TrainState, has_critic, with_critic


@dataclass(frozen=True)
class Applied:
    """One optimiser step on all parameters [P]: before and after, its gradient before and after scaling, the moments."""

    before: Tensor
    after: Tensor
    grad: Tensor
    scaled: Tensor
    moments_before: Moments
    moments: Moments
    lr: float


@dataclass
class _Noting:
    """The run's optimiser, noting. Private to one step, hence allowed to grow.

    It offers no bound of its own, so that the gradient arrives as it is, and scales it itself, by the same function.
    """

    optim: Adam | Sgd
    seen: list[Applied] = field(default_factory=list)
    max_grad_norm: float = float("inf")

    @property
    def lr(self) -> float:
        return self.optim.lr

    @property
    def schedule(self) -> Schedule:
        return self.optim.schedule

    def __call__(self, theta: Tensor, grad: Tensor, moments: Moments, *, lr: float) -> tuple[Tensor, Moments]:
        scaled, _ = clip_by_global_norm(grad, self.optim.max_grad_norm)
        after, noted = self.optim(theta, scaled, moments, lr=lr)
        before, plain = theta.detach().clone(), grad.detach().clone()
        self.seen.append(Applied(before, after.detach().clone(), plain, scaled.detach().clone(), moments, noted, lr))
        return after, noted


@dataclass(frozen=True, eq=False)
class Witnessed:
    """A step whole: where it started, its record with trace, each update as applied, and where it ended."""

    state: TrainState
    config: RunConfig
    record: StepRecord
    applied: tuple[Applied, ...]
    after: TrainState

    @property
    def trace(self) -> StepTrace:
        assert self.record.trace is not None
        return self.record.trace

    def rollout(self) -> Rollout:
        """The rollout as the engine collected it, as tensors again."""
        return Rollout(**{name: torch.tensor(x) for name, x in self.trace.rollout.items()})

    def reward(self) -> Tensor:
        """The shaped reward, [B, T]."""
        return torch.tensor(self.trace.shaped_reward)


def witness(state: TrainState, config: RunConfig) -> Witnessed:
    """Run one step from `state` and keep everything. Raises Diverged and SettingError as the engine does."""
    if config.algorithm.needs_critic and not has_critic(state):
        state = with_critic(state, config)
    noting = _Noting(config.optim)
    after, record = step(state, config.model_copy(update={"optim": noting}), trace=True)
    return Witnessed(state, config, replace(record, config=config), tuple(noting.seen), after)
