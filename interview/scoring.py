"""From ticked points and admitted red flags to a score and an FSRS rating.

The person ticks; this only counts. Ticking one more point never lowers a score and a red flag never raises one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fsrs import Rating

from interview.schema import Rubric

FLAG_COST = 0.25
HARD_FROM = 0.4
GOOD_FROM = 0.7


@dataclass(frozen=True)
class Marks:
    """What a person ticked for one rubric: ids of must-have points, of nice-to-haves and of red flags."""

    must: frozenset[str] = frozenset()
    nice: frozenset[str] = frozenset()
    red_flags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Score:
    """value in [0, 1], what it is made of, and the rating that the schedule gets."""

    value: float
    must_share: float
    flags: int
    rating: Rating


def marks(rubric: Rubric, ticked: Collection[str]) -> Marks:
    """Sort ticked ids into the rubric's three lists. An id that the rubric doesn't have is refused."""
    wanted = frozenset(ticked)
    must = wanted & {point.id for point in rubric.must}
    nice = wanted & {bonus.id for bonus in rubric.nice}
    red = wanted & {flag.id for flag in rubric.red_flags}
    stray = sorted(wanted - must - nice - red)
    if stray:
        raise ValueError(f"ticked: {stray} are not in this rubric")
    return Marks(must, nice, red)


def score(rubric: Rubric, given: Marks) -> Score:
    """Share of must-have points minus a quarter a red flag, not below 0; and its rating.

    value = max(0, ticked / must - 0.25 * flags)
    Again below 0.4, Hard below 0.7, then Good. Easy needs every must-have point, no red flag, and at least half of
    the nice-to-haves: a complete answer is what Good means, Easy is for one that went further.
    """
    share = len(given.must) / len(rubric.must)
    flags = len(given.red_flags)
    value = max(0.0, share - FLAG_COST * flags)
    return Score(value, share, flags, _rating(rubric, given, value))


def _rating(rubric: Rubric, given: Marks, value: float) -> Rating:
    if value < HARD_FROM:
        return Rating.Again
    if value < GOOD_FROM:
        return Rating.Hard
    complete = len(given.must) == len(rubric.must) and not given.red_flags
    went_further = 2 * len(given.nice) >= len(rubric.nice)
    return Rating.Easy if complete and went_further else Rating.Good
