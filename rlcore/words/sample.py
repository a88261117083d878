"""Sampling replies: a prompt is run once for its whole group, then one token of every row at a time, from the cache.

Randomness comes in as uniforms, so the same dice can be thrown under another policy. Nothing here knows a reward.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from rlcore.policies.heads import Categorical, categorical
from rlcore.policies.parameters import Params
from rlcore.policies.transformer import VALUE_HEAD, Transformer
from rlcore.words.vocabulary import EOS

Choose = Callable[[Categorical, int], Tensor]
"""(distribution over tokens [B, A], position t) -> tokens [B]."""


@dataclass(frozen=True)
class Replies:
    """action, mask [B, T], dist [B, T, A] log-probabilities that were sampled from, value [B, T]; T is the longest reply.

    After a reply's end: action EOS, mask False, and whatever the network says there.
    """

    action: Tensor
    mask: Tensor
    dist: Tensor
    value: Tensor


def by_uniforms(uniforms: Tensor) -> Choose:
    """Inverse CDF on uniforms [B, T_max]."""
    return lambda head, t: head.sample(uniforms[:, t])


def greedy(head: Categorical, t: int) -> Tensor:
    """The likeliest token."""
    return head.logp.argmax(-1)


def reply(
    policy: Transformer, params: Params, prompts: Tensor, *, group_size: int, max_length: int, choose: Choose,
    temperature: float = 1.0,
) -> Replies:  # fmt: skip
    """`group_size` replies to each prompt [N, P], rows of a prompt together, cut after `max_length` tokens."""
    pieces = reply_slices(
        policy, params, prompts, group_size=group_size, max_length=max_length, choose=choose, temperature=temperature
    )
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            said: Replies = done.value
            return said


@torch.no_grad()
def reply_slices(
    policy: Transformer, params: Params, prompts: Tensor, *, group_size: int, max_length: int, choose: Choose,
    temperature: float = 1.0,
) -> Generator[None, None, Replies]:  # fmt: skip
    """`reply`, cut after every token, so that a thread that does this can look after others in between.

    The network runs once for all rows of a prompt that have said the same so far: `branch` [B] says which run is a row's.
    """
    branch = torch.arange(len(prompts)).repeat_interleave(group_size)
    past, alive = policy.past(), torch.ones(len(branch), dtype=torch.bool)
    hidden = policy.extend(params, prompts, past)[0][:, -1]
    kept: list[tuple[Tensor, ...]] = []
    for t in range(max_length):
        logp = categorical(hidden @ params["lm_head.weight"].T / temperature).logp
        value = policy.value(params, hidden) if VALUE_HEAD in params else hidden.new_zeros(len(hidden))
        head = Categorical(logp.index_select(0, branch))
        token = torch.where(alive, choose(head, t), EOS)
        kept.append((token, alive, head.logp, value.index_select(0, branch)))
        alive = alive & (token != EOS)
        if t + 1 == max_length or not alive.any():
            break
        yield
        said, branch = torch.unique(branch * logp.shape[1] + token, return_inverse=True)
        past = past.of_rows(said // logp.shape[1])
        hidden = policy.extend(params, (said % logp.shape[1]).unsqueeze(1), past)[0][:, 0]
    return Replies(*(torch.stack(column, 1) for column in zip(*kept, strict=True)))
