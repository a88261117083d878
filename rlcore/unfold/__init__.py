"""Unfold: any algorithm as one flat, self-contained, executable page of source.

The page is made from the functions that run, with this algorithm's numbers put in and the branches it never
takes left out. Nothing is simplified or reordered, so executing the page gives the same bits. Loops written
to be believed are in `oracles`.
"""

from __future__ import annotations

import functools

from rlcore.algorithm import Algorithm
from rlcore.algorithms import recognise
from rlcore.unfold.page import Section, Unfolded, unfolded


def unfold(algorithm: Algorithm) -> str:
    """The whole computation of this algorithm's loss, as source."""
    return page_of(algorithm).text


def sections(algorithm: Algorithm) -> tuple[Section, ...]:
    """The page's phases in reading order, with the lines each takes up in `unfold(algorithm)`."""
    return page_of(algorithm).sections


@functools.lru_cache(maxsize=128)
def page_of(algorithm: Algorithm) -> Unfolded:
    """Text, sections and the names of the entry functions, in one."""
    found = recognise(algorithm)
    return unfolded(algorithm, str(found) if found.named else f"A mix nearest to {found.recipe.name}")


__all__ = ["Section", "Unfolded", "page_of", "sections", "unfold"]
