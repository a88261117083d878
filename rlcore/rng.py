"""Randomness with an address: `generator(seed, step, stream)`.

No stream is ever continued across steps and none shares state with another or with a global generator, so a replay
is bit-equal, removing one stream shifts nothing, and two forks of one run meet the same dice.
"""

from __future__ import annotations

import zlib
from typing import Literal

import numpy as np

Stream = Literal["init", "starts", "actions", "env", "shuffle", "eval", "oracle"]


def generator(seed: int, step: int, stream: Stream, index: int = 0) -> np.random.Generator:
    """The dice at one address. Philox is counter-based: the address is the key, nothing has to be kept.

    seed    the run's seed, 0 <= seed < 2**32
    step    the training step, from 0
    stream  what the dice are for
    index   a further coordinate, e.g. the epoch of a shuffle

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox), through numpy.
    """
    return np.random.Generator(np.random.Philox(key=address(seed, step, stream, index)))


def address(seed: int, step: int, stream: Stream, index: int = 0) -> np.ndarray:
    """The two words of Philox's key that stand for one address."""
    where = (zlib.crc32(stream.encode()) << 32) | (index & 0xFFFFFFFF)
    return np.array([(seed << 32) | (step & 0xFFFFFFFF), where], dtype=np.uint64)
