"""Rollout: what was collected before an update, one shape language for every environment.

Rows are episodes, responses or segments; `B = prompts * group_size`; bandits are T = 1. Everything here is constant
with respect to the policy: this module never scores and never differentiates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rollout:
    """One batch of experience. All tensors are on the CPU and carry no gradient.

    obs         [B, T] int64 state or token ids, or [B, T, D] float vectors
    action      [B, T] int64, or [B, T, D] float for Box actions
    mask        [B, T] bool, True on real steps
    reward      [B, T] environment reward; an outcome reward sits on the row's last real step
    logp_old    [B, T] log pi_old(action), nats, by the trainer's policy before the first update
    logp_ref    [B, T] log pi_ref(action), nats
    terminal    [B, T] bool, the environment's own end at this step: nothing follows, bootstrap with 0
    truncated   [B, T] bool, cut by a time limit at this step: bootstrap with `value_next`
    value_old   [B, T] V(obs) before the first update; 0 without a critic
    value_next  [B, T] V of the observation that followed this step, whatever ended it; 0 after a terminal one
    group       [B] int64, which prompt (start) a row belongs to: 0 <= group < prompts
    dist_old    [B, T, A] log-probabilities of every action under pi_old, or None where actions are not enumerated
    dist_ref    [B, T, A] likewise under pi_ref
    logp_rollout [B, T] log-probability by the sampler, where another engine than the trainer sampled; else None
    prompt      [B, P] int64 prompt tokens of a language model's rows; else None
    """

    obs: Tensor
    action: Tensor
    mask: Tensor
    reward: Tensor
    logp_old: Tensor
    logp_ref: Tensor
    terminal: Tensor
    truncated: Tensor
    value_old: Tensor
    value_next: Tensor
    group: Tensor
    dist_old: Tensor | None = None
    dist_ref: Tensor | None = None
    logp_rollout: Tensor | None = None
    prompt: Tensor | None = None

    @property
    def score(self) -> Tensor:
        """Undiscounted return of each row, [B]."""
        return torch.where(self.mask, self.reward, 0.0).sum(-1)

    @property
    def rows(self) -> int:
        return self.mask.shape[0]


def take(rollout: Rollout, rows: Tensor) -> Rollout:
    """The rollout's `rows` (an int64 index), as a rollout of their own."""
    return _each(rollout, lambda x: x.index_select(0, rows))


def split(rollout: Rollout, sizes: list[int]) -> list[Rollout]:
    """The rollout in pieces of so many rows each, as views: nothing is copied."""
    columns = {name: x.split_with_sizes(sizes) for name, x in _columns(rollout)}
    return [replace(rollout, **{name: parts[i] for name, parts in columns.items()}) for i in range(len(sizes))]


def light(rollout: Rollout) -> Rollout:
    """Without what only advantages are made of: those tensors have no rows left and cost nothing to split and take."""
    spent = {name: getattr(rollout, name)[:0] for name in ("reward", "terminal", "truncated", "value_next")}
    return replace(rollout, **spent, dist_old=None)


def _each(rollout: Rollout, part: Callable[[Tensor], Tensor]) -> Rollout:
    return replace(rollout, **{name: part(x) for name, x in _columns(rollout)})


def _columns(rollout: Rollout) -> list[tuple[str, Tensor]]:
    """The tensors that have rows, by field name."""
    return [(name, x) for name, x in vars(rollout).items() if x is not None and x.shape[0]]
