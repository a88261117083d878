"""Which follow-up an interviewer would ask next: the one that repairs the most important missed point.

A rubric lists its must-have points by importance, so the order of the rubric decides. Nothing is drawn at random.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from interview.schema import FollowUp, Rubric
from interview.scoring import Marks


@dataclass(frozen=True)
class Chosen:
    """A follow-up and the missed point it repairs."""

    point_id: str
    follow_up: FollowUp


def missed(rubric: Rubric, given: Marks) -> tuple[str, ...]:
    """Ids of the must-have points that were not ticked, most important first."""
    return tuple(point.id for point in rubric.must if point.id not in given.must)


def follow_ups(rubric: Rubric, given: Marks, *, asked: Collection[str] = ()) -> tuple[Chosen, ...]:
    """All follow-ups for missed points that were not asked yet, most important first."""
    open_points = [one for one in missed(rubric, given) if one in rubric.follow_ups and one not in asked]
    return tuple(Chosen(one, rubric.follow_ups[one]) for one in open_points)


def next_follow_up(rubric: Rubric, given: Marks, *, asked: Collection[str] = ()) -> Chosen | None:
    """The follow-up to ask now, or None when nothing that was missed has one left."""
    return next(iter(follow_ups(rubric, given, asked=asked)), None)
