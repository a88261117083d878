"""A word task: prompts, and a verifier whose terms are weighted into a reward.

Terms are exact functions of prompt and reply, each in [0, 1] unless the task says otherwise, and are returned by name:
what a reward is made of stays visible. A reply that was cut before its end has earned no exactness and no format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from rlcore.knobs import Value, knob
from rlcore.policies.shape import Shape
from rlcore.rollout import Rollout
from rlcore.words.vocabulary import EOS, TOKENS, decode, padded, unpadded

Split = Literal["train", "heldout"]


@dataclass(frozen=True)
class Prompts:
    """The prompts of one split: texts, and token ids [N, P] of one width."""

    texts: tuple[str, ...]
    ids: Tensor


class Task(Value):
    """Subclasses say which prompts there are and what a reply is worth.

    The weights say how much each term adds to the reward; a verifiable reward is `exact` alone.
    """

    exact: float = knob(1.0, "w_exact", -10, 10, "weight of the exact verifier", suggested=(0, 2))
    partial: float = knob(0.0, "w_partial", -10, 10, "weight of partial credit", suggested=(0, 2))
    format: float = knob(0.0, "w_format", -10, 10, "weight of a reply of the right form", suggested=(0, 2))
    max_length: int = knob(
        11, "T_max", 1, 64, "reply tokens, the end included, after which a reply is cut", suggested=(2, 24), live=False
    )

    def texts(self) -> tuple[Sequence[str], Sequence[str]]:
        """Training and held-out prompts, disjoint, always the same."""
        raise NotImplementedError

    def grade(self, prompt: str, reply: str, finished: bool) -> Mapping[str, float]:
        """Every term of a reply's worth by name; `finished` says whether it ended by itself."""
        raise NotImplementedError

    def shape(self) -> Shape:
        """Tokens in, tokens out."""
        return Shape(states=len(TOKENS), actions=len(TOKENS))

    def prompts(self, split: Split) -> Prompts:
        """The prompts of a split, encoded once."""
        return _encoded(type(self), split)

    def reward(self, terms: Mapping[str, Tensor]) -> Tensor:
        """sum of weight * term, [B]; each term's weight is the field of the same name."""
        return torch.stack([getattr(self, name) * term for name, term in terms.items()]).sum(0)


@cache
def _encoded(task: type[Task], split: Split) -> Prompts:
    both = task().texts()  # the same whatever the weights
    rows = [padded(texts, 0) for texts in both]
    width = max(len(row) for side in rows for row in side)
    texts = both[0] if split == "train" else both[1]
    return Prompts(tuple(texts), torch.tensor(padded(texts, width)))


def terms(task: Task, prompt: Tensor, action: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """The verifier's terms by name, [B] each, of prompts [B, P] and replies [B, T] (EOS included, mask True on both)."""
    lengths = mask.sum(-1).tolist()
    known: dict[tuple[tuple[int, ...], ...], Mapping[str, float]] = {}  # a sure policy says the same thing many times
    graded = []
    for asked, said, length in zip(prompt.tolist(), action.tolist(), lengths, strict=True):
        key = (tuple(asked), tuple(said[:length]))
        if key not in known:
            known[key] = _graded(task, *key)
        graded.append(known[key])
    return {name: torch.tensor([float(g[name]) for g in graded]) for name in graded[0]}


def _graded(task: Task, asked: tuple[int, ...], said: tuple[int, ...]) -> Mapping[str, float]:
    finished = said[-1:] == (EOS,)
    return task.grade(decode(unpadded(asked)), decode(said[:-1] if finished else said), finished)


def terms_of(task: Task, rollout: Rollout) -> dict[str, Tensor]:
    """The verifier's terms of a rollout's rows by name, [B] each; `rollout.reward` is their weighted sum."""
    assert rollout.prompt is not None
    return terms(task, rollout.prompt, rollout.action, rollout.mask)


def split_prompts(texts: Sequence[str], *, heldout: int, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A fixed shuffle of distinct texts; the first `heldout` are held out: (train, heldout)."""
    order = np.random.Generator(np.random.Philox(key=seed)).permutation(len(texts))
    return tuple(texts[i] for i in order[heldout:]), tuple(texts[i] for i in order[:heldout])
