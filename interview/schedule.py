"""When a card comes back: FSRS, kept in a frozen model that survives JSON.

The memory model, its parameters and its intervals are the `fsrs` package's. This module adds only stable identities,
UTC, and two orders of work: what is due, and what is weakest on the evening before an interview. No interval is
drawn at random, so the same reviews give the same dates everywhere.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated

from fsrs import Card as FsrsCard
from fsrs import Rating, Scheduler, State
from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from interview.values import Frozen, Slug


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


Moment = Annotated[AwareDatetime, AfterValidator(_utc)]


class Memory(Frozen):
    """What FSRS knows about one card of one person."""

    card_id: Slug
    state: int = Field(ge=1, le=3)
    step: int | None = Field(default=None, ge=0)
    stability: float | None = Field(default=None, gt=0, le=1e6)
    difficulty: float | None = Field(default=None, ge=1, le=10)
    due: Moment
    last_review: Moment | None = None

    @model_validator(mode="after")
    def _possible(self) -> Memory:
        known = self.stability is not None and self.difficulty is not None and self.last_review is not None
        unknown = self.stability is None and self.difficulty is None and self.last_review is None
        if not known and not unknown:
            raise ValueError("stability, difficulty and last_review must be given together or not at all")
        if self.state != State.Learning and not known:
            raise ValueError("a card beyond its first learning steps must have been reviewed")
        if (self.step is None) != (self.state == State.Review):
            raise ValueError("step is for learning cards only: none in review, a number otherwise")
        steps = len(scheduler().learning_steps if self.state == State.Learning else scheduler().relearning_steps)
        if self.step is not None and self.step >= steps:
            raise ValueError(f"step must be below {steps}, got {self.step}")
        if self.last_review is not None and self.due < self.last_review:
            raise ValueError("due must not lie before last_review")
        return self


def scheduler(*, days_left: int | None = None) -> Scheduler:
    """FSRS with its default parameters, aiming at 90 % recall; with `days_left`, nothing is put off beyond them."""
    if days_left is not None and days_left < 1:
        raise ValueError(f"days_left: must be at least 1, got {days_left}")
    return Scheduler(maximum_interval=days_left or 36500, enable_fuzzing=False)


def fresh(card_id: str, now: datetime) -> Memory:
    """A card never seen: due at once."""
    return Memory(card_id=card_id, state=State.Learning.value, step=0, due=_checked(now))


def review(memory: Memory, rating: Rating, now: datetime, *, days_left: int | None = None) -> Memory:
    """The memory after one answer."""
    card, _ = scheduler(days_left=days_left).review_card(_to_fsrs(memory), rating, _checked(now))
    return Memory(
        card_id=memory.card_id,
        state=card.state.value,
        step=card.step,
        stability=card.stability,
        difficulty=card.difficulty,
        due=card.due,
        last_review=card.last_review,
    )


def recall(memory: Memory | None, now: datetime) -> float:
    """Chance of recalling the card now, by FSRS; 0 for one never seen. FSRS counts whole days."""
    return 0.0 if memory is None else scheduler().get_card_retrievability(_to_fsrs(memory), _checked(now))


def due(card_ids: Iterable[str], memories: Mapping[str, Memory], now: datetime) -> tuple[str, ...]:
    """Cards to answer now: overdue ones first, longest overdue leading; then those never seen, in the order given."""
    ids = tuple(card_ids)
    seen = sorted((memories[i].due, i) for i in ids if i in memories and memories[i].due <= _checked(now))
    return tuple(i for _, i in seen) + tuple(i for i in ids if i not in memories)


def weakest_first(card_ids: Iterable[str], memories: Mapping[str, Memory], now: datetime) -> tuple[str, ...]:
    """All cards for a last evening: never seen or hardly held ones first, whatever their due dates.

    Ordered by FSRS's chance of recall, then by stability (which tells apart cards answered today), then as given.
    """
    ids = tuple(card_ids)

    def weakness(place: int) -> tuple[float, float, int]:
        memory = memories.get(ids[place])
        return recall(memory, now), (memory.stability or 0.0) if memory else 0.0, place

    return tuple(ids[place] for place in sorted(range(len(ids)), key=weakness))


def _checked(now: datetime) -> datetime:
    if now.tzinfo is None:
        raise ValueError(f"now: must carry a time zone, got {now!r}")
    return _utc(now)


def _to_fsrs(memory: Memory) -> FsrsCard:
    return FsrsCard(
        card_id=zlib.crc32(memory.card_id.encode()),
        state=State(memory.state),
        step=memory.step,
        stability=memory.stability,
        difficulty=memory.difficulty,
        due=memory.due,
        last_review=memory.last_review,
    )
