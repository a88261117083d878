"""Dice with an address: the same place gives the same dice, any other place others."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from rlcore.rng import Stream, generator

STREAMS = get_args(Stream)


def drawn(*where: object) -> tuple[float, ...]:
    return tuple(generator(*where).random(4))  # type: ignore[arg-type]


def test_the_same_address_gives_the_same_dice_whatever_was_drawn_before() -> None:
    generator(1, 2, "actions").random(1000)
    np.random.default_rng(1).random(10)
    assert drawn(1, 2, "actions", 3) == drawn(1, 2, "actions", 3)


def test_every_coordinate_matters() -> None:
    addresses = [(seed, step, stream, i) for seed in (0, 1, 2**32 - 1) for step in (0, 1, 2**31) for stream in STREAMS for i in (0, 1)]
    assert len({drawn(*where) for where in addresses}) == len(addresses)


def test_neighbouring_addresses_are_independent() -> None:
    """Uniforms of a thousand neighbouring steps look like uniforms, across as well as along."""
    table = np.array([generator(0, step, "env").random(50) for step in range(1000)])
    assert table.mean() == pytest.approx(0.5, abs=4 / (12 * table.size) ** 0.5)
    across = np.corrcoef(table[:-1].ravel(), table[1:].ravel())[0, 1]
    of_streams = np.corrcoef(table.ravel(), np.array([generator(0, s, "actions").random(50) for s in range(1000)]).ravel())[0, 1]
    assert abs(across) < 4 / table.size**0.5 and abs(of_streams) < 4 / table.size**0.5


def test_the_dice_are_the_published_ones() -> None:
    """Fixed numbers: a change of the addressing would silently change every recorded run."""
    assert generator(7, 3, "actions", 2).integers(0, 1000, 5).tolist() == [835, 424, 117, 410, 466]
