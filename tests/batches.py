"""Random ragged batches for tests, and the loss of an algorithm on one, whole chain included.

Padding holds ordinary numbers here; tests that care put junk there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from rlcore import masked
from rlcore.advantages import Advantages, whitened
from rlcore.algorithm import Algorithm, LossTerms, PolicyOutput, policy_loss, shaped_reward
from rlcore.rollout import Rollout, take

Rewards = Literal["binary", "normal", "flat", "dense"]
F64 = torch.float64


def ragged_batch(
    seed: int,
    *,
    prompts: int = 2,
    group_size: int = 3,
    width: int = 5,
    rewards: Rewards = "normal",
    spread: float = 0.4,
    holes: bool = False,
    empty_rows: bool = False,
    inner_ends: bool = False,
    actions: int = 3,
) -> tuple[PolicyOutput, Rollout]:
    """A batch [B, T] with B = prompts * group_size, float64; `now` holds leaves that require gradients.

    spread  standard deviation of log pi - log pi_old
    """
    dice = torch.Generator().manual_seed(seed)
    rows, shape = prompts * group_size, (prompts * group_size, width)

    def normal(*size: int) -> Tensor:
        return torch.randn(*size, generator=dice, dtype=F64)

    def chance(p: float) -> Tensor:
        return torch.rand(shape, generator=dice) < p

    lengths = torch.randint(0 if empty_rows else 1, width + 1, (rows,), generator=dice)
    mask = torch.arange(width) < lengths[:, None]
    if holes:
        mask = mask & chance(0.7)
        mask[:, 0] |= ~mask.any(-1) & (not empty_rows)
    last = mask & (mask.flip(-1).cumsum(-1).flip(-1) == 1)
    score = {
        "binary": torch.randint(0, 2, (rows,), generator=dice).to(F64),
        "normal": normal(rows),
        "flat": torch.full((rows,), 0.9, dtype=F64),
        "dense": torch.zeros(rows, dtype=F64),
    }[rewards]
    reward = last * score[:, None] + (normal(*shape) if rewards == "dense" else 0)
    ends = last | (mask & chance(0.25)) if inner_ends else last
    terminal = ends & chance(0.5)
    dist_old = normal(*shape, actions).log_softmax(-1)
    dist_new = (dist_old + spread * normal(*shape, actions)).log_softmax(-1)
    dist_ref = (dist_old + 0.5 * normal(*shape, actions)).log_softmax(-1)
    action = torch.randint(0, actions, shape, generator=dice)

    def taken(dist: Tensor) -> Tensor:
        return dist.gather(-1, action[..., None]).squeeze(-1)

    rollout = Rollout(
        obs=torch.zeros(shape, dtype=torch.int64), action=action, mask=mask, reward=reward,
        logp_old=taken(dist_old), logp_ref=taken(dist_ref), terminal=terminal, truncated=ends & ~terminal,
        value_old=normal(*shape), value_next=normal(*shape),
        group=torch.arange(prompts).repeat_interleave(group_size),
        dist_old=dist_old, dist_ref=dist_ref,
    )  # fmt: skip
    entropy = -(dist_new.exp() * dist_new).sum(-1)
    value = rollout.value_old + 0.5 * normal(*shape)
    now = PolicyOutput(*(x.clone().requires_grad_() for x in (taken(dist_new), entropy, value, dist_new)))
    return now, rollout


def on_policy(now: PolicyOutput, rollout: Rollout) -> PolicyOutput:
    """The same batch before its first update: log pi = log pi_old."""
    return replace(now, logp=rollout.logp_old.clone().requires_grad_())


def loss_of(algorithm: Algorithm, now: PolicyOutput, rollout: Rollout) -> LossTerms:
    """The whole chain on one minibatch: shape, estimate, select, whiten, loss (as the engine does)."""
    beta = float(algorithm.kl.kl_beta)
    advantages = algorithm.advantage(rollout, shaped_reward(algorithm, rollout, beta))
    keep = algorithm.select(masked.row_sum(rollout.reward, rollout.mask), rollout.group)
    if not bool(keep.all()):
        index = keep.nonzero().squeeze(-1)
        now = PolicyOutput(*(x.index_select(0, index) for x in vars(now).values()))
        rollout = take(rollout, index)
        advantages = Advantages(*(x.index_select(0, index) for x in vars(advantages).values()))
    return policy_loss(algorithm, now, rollout, whitened(advantages, algorithm.whiten, rollout.mask), beta)


def gradients(loss: Tensor, now: PolicyOutput) -> dict[str, Tensor]:
    """d loss / d now, by field; zeros where the loss does not depend on it."""
    leaves = {name: x for name, x in vars(now).items() if x is not None}
    if not loss.requires_grad:
        return {name: torch.zeros_like(x) for name, x in leaves.items()}
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, retain_graph=True)
    return {
        n: torch.zeros_like(x) if g is None else g for (n, x), g in zip(leaves.items(), found, strict=True)
    }
