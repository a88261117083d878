"""Supervised pretraining of the starts: imitate a task's demonstrations. `python -m rlcore.words.pretrain addition`.

Deterministic: the same command writes the same file on one machine. Not part of any run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rlcore.policies.parameters import Params, flatten
from rlcore.policies.transformer import Transformer
from rlcore.rng import generator
from rlcore.words.task import Task
from rlcore.words.vocabulary import EOS, encode


def demonstrations(task: Task, dice: np.random.Generator, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """prompt [B, P], reply [B, T] with EOS, mask [B, T] of random training prompts."""
    known = task.prompts("train")
    which = dice.integers(len(known.texts), size=rows)
    said = [[*encode(task.demonstrate(known.texts[i], dice)), EOS] for i in which]
    longest = max(map(len, said))
    reply = torch.tensor([row + [EOS] * (longest - len(row)) for row in said])
    mask = torch.arange(longest) < torch.tensor([len(row) for row in said]).unsqueeze(1)
    return known.ids[torch.from_numpy(which)], reply, mask
