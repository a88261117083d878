"""How good a policy is on a task: greedy, sampled and pass@k accuracy, told apart. Never touches training dice."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import comb

import numpy as np
import torch
from torch import Tensor

from rlcore.policies.parameters import Params
from rlcore.policies.transformer import Transformer
from rlcore.words.sample import Replies, by_uniforms, greedy, reply_slices
from rlcore.words.task import Split, Task, terms
from rlcore.words.vocabulary import EOS


@dataclass(frozen=True)
class Accuracy:
    """Shares of exactly right replies on one split.

    sampled    mean over prompts and samples: what reinforcement raises
    greedy     of the likeliest tokens: what the policy holds to be best
    pass_at    pass@k by k: at least one of k samples is right, what is within reach at all
    length     mean reply length in tokens; truncated: share of sampled replies cut at the limit
    """

    sampled: float
    greedy: float
    pass_at: dict[int, float]
    length: float
    truncated: float


def pass_at_k(right: int, samples: int, k: int) -> float:
    """1 - C(n - c, k) / C(n, k): the unbiased chance that one of k draws out of n samples, c of them right, is right.

    Source: Chen et al. 2021, arXiv:2107.03374, eq. 1.
    Trap: 1 - (1 - c/n)^k is biased downwards.
    """
    if not 1 <= k <= samples or not 0 <= right <= samples:
        raise ValueError(f"k must be within 1 and the number of samples {samples} and 0 <= right <= samples, got {k}, {right}")
    return 1 - comb(samples - right, k) / comb(samples, k)


def accuracy(
    policy: Transformer, params: Params, task: Task, *, dice: np.random.Generator, split: Split = "heldout",
    prompts: int = 128, samples: int = 4,
) -> Accuracy:  # fmt: skip
    """Measure on the first `prompts` of a split, `samples` replies each. The same dice give the same numbers."""
    pieces = accuracy_slices(policy, params, task, dice=dice, split=split, prompts=prompts, samples=samples)
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            found: Accuracy = done.value
            return found


def accuracy_slices(
    policy: Transformer, params: Params, task: Task, *, dice: np.random.Generator, split: Split = "heldout",
    prompts: int = 128, samples: int = 4,
) -> Generator[None, None, Accuracy]:  # fmt: skip
    """`accuracy`, cut after every token of every reply."""
    asked = task.prompts(split).ids[:prompts]
    uniforms = torch.from_numpy(dice.random((len(asked) * samples, task.max_length), dtype=np.float32))
    drawn = yield from reply_slices(
        policy, params, asked, group_size=samples, max_length=task.max_length, choose=by_uniforms(uniforms)
    )
    yield
    best = yield from reply_slices(policy, params, asked, group_size=1, max_length=task.max_length, choose=greedy)
    yield
    right = _exact(task, asked.repeat_interleave(samples, 0), drawn).view(-1, samples)
    count = right.sum(-1).int().tolist()
    ks = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= samples]
    return Accuracy(
        sampled=right.mean().item(),
        greedy=_exact(task, asked, best).mean().item(),
        pass_at={k: sum(pass_at_k(c, samples, k) for c in count) / len(count) for k in ks},
        length=drawn.mask.sum(-1).float().mean().item(),
        truncated=(~((drawn.action == EOS) & drawn.mask).any(-1)).float().mean().item(),
    )


def _exact(task: Task, asked: Tensor, said: Replies) -> Tensor:
    return terms(task, asked, said.action, said.mask)["exact"]
