"""From prompts to a rollout: sample replies, grade them, and score them under the policies that matter.

A reply ends by EOS (`terminal`) or is cut at the length limit (`truncated`); either way nothing can follow, so a value
is never bootstrapped from beyond it. This module never differentiates.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from rlcore.algorithm import PolicyOutput
from rlcore.policies.heads import Categorical
from rlcore.policies.parameters import Params
from rlcore.policies.transformer import VALUE_HEAD, Transformer
from rlcore.rollout import Rollout
from rlcore.words.sample import Replies, by_uniforms, reply
from rlcore.words.task import Task, terms
from rlcore.words.vocabulary import EOS


def collect_words(
    policy: Transformer, params: Params, params_ref: Params, task: Task, *, prompts: int, group_size: int,
    dice_starts: np.random.Generator, dice_actions: np.random.Generator, max_length: int | None = None,
    temperature: float = 1.0, params_rollout: Params | None = None,
) -> Rollout:  # fmt: skip
    """Replies to `prompts` training prompts, `group_size` each, rows of a group together: B = prompts * group_size.

    params_rollout  weights of the sampler where they are not the trainer's (rounded, or some updates old)
    temperature     of the sampler; the policy that is trained and scored has temperature 1
    With either, `logp_rollout` says what was sampled from; otherwise sampler and trainer are one and it is None.
    T is the longest reply of the batch.
    """
    limit = task.max_length if max_length is None else max_length
    known = task.prompts("train").ids
    asked = known.index_select(0, torch.from_numpy(dice_starts.choice(len(known), prompts, replace=len(known) < prompts)))
    uniforms = torch.from_numpy(dice_actions.random((prompts * group_size, limit), dtype=np.float32))
    sampler = params if params_rollout is None else params_rollout
    said = reply(
        policy, sampler, asked, group_size=group_size, max_length=limit, choose=by_uniforms(uniforms), temperature=temperature
    )
    group = torch.arange(prompts).repeat_interleave(group_size)
    prompt = asked.index_select(0, group)
    score = task.reward(terms(task, prompt, said.action, said.mask))
    draft = unscored(prompt, group, said.action, said.mask, score)
    return _scored(draft, said, policy, params, params_ref, same=params_rollout is None and temperature == 1.0)


def unscored(prompt: Tensor, group: Tensor, action: Tensor, mask: Tensor, score: Tensor) -> Rollout:
    """Replies as a rollout before any policy looked at them: `score` [B] on the last real token, and how each row ended."""
    last = mask.clone()
    last[:, :-1] &= ~mask[:, 1:]
    ended = last & (action == EOS)
    zero = torch.zeros(mask.shape)
    return Rollout(
        obs=torch.cat((prompt[:, -1:], action[:, :-1]), 1), action=action, mask=mask,
        reward=torch.where(last, score.unsqueeze(-1), 0.0), logp_old=zero, logp_ref=zero, terminal=ended,
        truncated=last & ~ended, value_old=zero, value_next=zero, group=group, prompt=prompt,
    )  # fmt: skip


@torch.no_grad()
def _scored(
    draft: Rollout, said: Replies, policy: Transformer, params: Params, params_ref: Params, *, same: bool
) -> Rollout:
    """The draft with log-probabilities and values. `same`: the sampler's own numbers are the trainer's, to rounding."""
    sampled = Categorical(said.dist).log_prob(said.action)
    now = PolicyOutput(sampled, sampled, said.value, said.dist)
    if not same:
        now = policy.evaluate(params, draft, critic=VALUE_HEAD in params)
    ref = now if params_ref is params else policy.evaluate(params_ref, draft, critic=False)
    value = torch.where(draft.mask, now.value, 0.0)
    following = torch.cat((value[:, 1:], torch.zeros(len(value), 1)), 1)
    return replace(
        draft, logp_old=now.logp, logp_ref=ref.logp, dist_old=now.dist, dist_ref=ref.dist, value_old=value,
        value_next=following, logp_rollout=None if same else sampled,
    )  # fmt: skip
