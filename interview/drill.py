"""A drill: cards asked one after the other; think, reveal, tick, score, next. And what can be drilled at all.

A drill is a frozen value that says everything, so it can be saved, reloaded and taken up again on the same card. The
person ticks; this module only keeps the order of events. The parts of the five cases are drilled one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from fsrs import Rating
from pydantic import Field

from interview import schedule
from interview.bank import AnyCard, Bank
from interview.matching import LONGEST_ANSWER, suggest
from interview.progress import Review
from interview.schedule import Memory, Moment
from interview.schema import GROUPS, Case, FindTheError, Part, Provable, Question, ReadCurves, Rubric
from interview.scoring import Score, marks, score
from interview.values import Frozen, Slug, Source

THE_FIVE = ("case-compare", "case-grpo-advantage", "case-reward-hacking", "case-distributed", "case-clip-or-kl")
"""The cases in the order in which they were asked."""
Phase = Literal["asking", "ticking", "scored"]
RubricCard = Question | FindTheError | ReadCurves | Part


@dataclass(frozen=True)
class Item:
    """One thing that can be asked: a card with a rubric, or one part of a case (`of` is then the case's title)."""

    id: str
    asked: RubricCard
    card: AnyCard
    of: str = ""

    @property
    def rubric(self) -> Rubric:
        return self.asked

    @property
    def provable(self) -> Provable:
        return self.asked

    @property
    def words(self) -> str:
        """Everything the person has read before answering."""
        flawed = self.card.answer if isinstance(self.card, FindTheError) else ""
        return f"{self.asked.prompt} {flawed}".strip()

    @property
    def title(self) -> str:
        return self.asked.title

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.card.sources


def items(bank: Bank) -> Mapping[str, Item]:
    """Everything that can be asked, by id: the five, then topic by topic. A part's id is `case-part`."""
    found: dict[str, Item] = {}
    for card in sorted(bank.cards, key=_order):
        for item in _items(card):
            if item.id in found:
                raise ValueError(f"drill: two cards would be called {item.id}")
            found[item.id] = item
    return found


def _items(card: AnyCard) -> tuple[Item, ...]:
    if isinstance(card, Case):
        return tuple(Item(part_id(card.id, part.id), part, card, card.title) for part in card.parts)
    return (Item(card.id, card, card),)


def _order(card: AnyCard) -> tuple[int, int]:
    if isinstance(card, Case):
        return 0, THE_FIVE.index(card.id) if card.id in THE_FIVE else len(THE_FIVE)
    return 1, GROUPS.index(card.group)


def part_id(case: str, part: str) -> str:
    """Under which name a part of a case is scheduled, in a drill and in a mock interview alike."""
    return f"{case}-{part}"


def chosen(
    everything: Mapping[str, Item], *, groups: Collection[str] = (), kinds: Collection[str] = ()
) -> tuple[str, ...]:
    """Ids of the cards of these groups and kinds; nothing given means all. The kind "case" is the five."""
    return tuple(
        item.id
        for item in everything.values()
        if (not groups or item.card.group in groups) and (not kinds or item.card.kind in kinds)
    )


class Settled(Frozen):
    """How one card of a drill went, and when it comes back."""

    card_id: Slug
    value: float = Field(ge=0, le=1)
    rating: Rating
    due: Moment


class Drill(Frozen):
    """A drill as far as it has come. `minutes` is the time allowed for a card, 0 for as long as it takes."""

    queue: tuple[Slug, ...] = Field(min_length=1, max_length=500)
    began: Moment
    minutes: float = Field(default=0, ge=0, le=60)
    place: int = Field(default=0, ge=0)
    phase: Phase = "asking"
    answer: str = Field(default="", max_length=LONGEST_ANSWER)
    ticked: tuple[Slug, ...] = ()
    seconds: float = Field(default=0, ge=0, le=86_400)
    settled: tuple[Settled, ...] = ()

    @property
    def over(self) -> bool:
        return self.place >= len(self.queue)

    @property
    def card_id(self) -> str:
        """The card that is asked now. Raises IndexError when the drill is over."""
        return self.queue[self.place]


def begin(queue: Iterable[str], now: datetime, *, minutes: float = 0) -> Drill:
    """A drill before its first answer."""
    return Drill(queue=tuple(queue), began=now, minutes=minutes)


def reveal(drill: Drill, item: Item, answer: str, now: datetime) -> Drill:
    """The rubric is opened; a typed answer gets its suggestions as first ticks."""
    _must_be(drill, "asking")
    first = [one.point_id for one in suggest(item.rubric, answer, asked=item.words) if one.ticked] if answer.strip() else []
    seconds = min(max((now - drill.began).total_seconds(), 0), 86_400)
    return _with(drill, phase="ticking", answer=answer, ticked=tuple(first), seconds=seconds)


def tick(drill: Drill, rubric: Rubric, ticked: Collection[str]) -> Drill:
    """The rubric's lines as the person ticked them. Ids that the rubric doesn't have are refused."""
    _must_be(drill, "ticking")
    marks(rubric, ticked)
    return _with(drill, ticked=tuple(sorted(set(ticked))))


def review_of(drill: Drill, rubric: Rubric, now: datetime) -> tuple[Score, Review]:
    """The score of what is ticked, and the answer that the store schedules by."""
    found = score(rubric, marks(rubric, drill.ticked))
    return found, Review(
        card_id=drill.card_id, reviewed_at=now, rating=found.rating, value=found.value, ticked=drill.ticked,
        seconds=drill.seconds,
    )  # fmt: skip


def settle(drill: Drill, found: Score, memory: Memory) -> Drill:
    """The card is scored and scheduled."""
    _must_be(drill, "ticking")
    done = Settled(card_id=drill.card_id, value=found.value, rating=found.rating, due=memory.due)
    return _with(drill, phase="scored", settled=(*drill.settled, done))


def noted(drill: Drill, answer: str) -> Drill:
    """What has been typed so far is kept."""
    return _with(drill, answer=answer) if not drill.over and drill.phase == "asking" else drill


def end(drill: Drill) -> Drill:
    """No more cards; those not reached are not counted as weak."""
    reached = drill.queue[: drill.place + (drill.phase == "scored")] or drill.queue[:1]
    return _with(drill, queue=reached, place=len(reached), phase="asking", answer="", ticked=())


def ask_first(drill: Drill, card_id: str, now: datetime) -> Drill:
    """A card is asked now, and then the drill goes on where it was."""
    rest = tuple(one for one in drill.queue[drill.place :] if one != card_id)
    fresh = {"phase": "asking", "answer": "", "ticked": (), "seconds": 0.0, "began": now}
    return _with(drill, queue=(*drill.queue[: drill.place], card_id, *rest), **fresh)


def go_on(drill: Drill, now: datetime) -> Drill:
    """The next card, whether this one was scored or is skipped."""
    fresh = {"phase": "asking", "answer": "", "ticked": (), "seconds": 0.0, "began": now}
    return _with(drill, place=drill.place + 1, **fresh)


def weak(drill: Drill) -> tuple[str, ...]:
    """Cards that went below Good or were skipped, in the order asked."""
    good = {one.card_id for one in drill.settled if one.rating >= Rating.Good}
    return tuple(dict.fromkeys(one for one in drill.queue[: drill.place] if one not in good))


def in_order(
    ids: Iterable[str], memories: Mapping[str, Memory], now: datetime, *, only_due: bool, most: int
) -> tuple[str, ...]:
    """Which cards a drill asks: those due, longest overdue first; or all of them, weakest first."""
    wanted = tuple(ids)
    if only_due:
        return due_now(wanted, memories, now)[:most]
    return schedule.weakest_first(wanted, memories, now)[:most]


def due_now(ids: Iterable[str], memories: Mapping[str, Memory], now: datetime) -> tuple[str, ...]:
    """Cards answered before that are due again."""
    return schedule.due((one for one in ids if one in memories), memories, now)


def still_there(drill: Drill, everything: Mapping[str, Item]) -> Drill | None:
    """A saved drill without cards that this version of the bank no longer has; None where nothing is left to ask.

    A rubric that changed under the drill starts its card anew, so no tick is taken over that no longer exists.
    """
    kept = tuple(one for one in drill.queue if one in everything)
    if not kept:
        return None
    gone = sum(one not in everything for one in drill.queue[: drill.place])
    now = _with(drill, queue=kept, place=min(drill.place - gone, len(kept)))
    if now.over or now.phase == "asking":
        return now
    rubric = everything[now.card_id].rubric
    known = {one.id for one in (*rubric.must, *rubric.nice, *rubric.red_flags)}
    moved = now.card_id != drill.queue[drill.place]
    return _with(now, phase="asking", ticked=()) if moved or not set(now.ticked) <= known else now


def _must_be(drill: Drill, phase: Phase) -> None:
    if drill.over or drill.phase != phase:
        where = "over" if drill.over else drill.phase
        raise ValueError(f"drill: this belongs to the phase {phase}, but the drill is {where}")


def _with(drill: Drill, **change: object) -> Drill:
    return Drill.model_validate({**{name: getattr(drill, name) for name in Drill.model_fields}, **change})
