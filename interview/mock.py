"""Half an hour through one case: parts in order, follow-ups for what was missed, and what the result was.

A session is a frozen value that says everything; every function returns a new one, so a session can be saved, reloaded
and replayed. The clock is the page's: this module only says how the thirty minutes are divided.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from fsrs import Rating
from pydantic import Field

from interview.followup import Chosen, next_follow_up
from interview.links import ProofLink
from interview.schema import Case, Part
from interview.scoring import GOOD_FROM, HARD_FROM, Score, marks, score
from interview.values import Frozen, Slug

MINUTES = 30
FOLLOW_UPS_A_PART = 2
LONGEST_NOTE = 20_000


class FollowUpAnswer(Frozen):
    """A follow-up that was asked, and whether the answer repaired the missed point."""

    point_id: Slug
    repaired: bool


class PartAnswer(Frozen):
    """What was said and ticked for one part."""

    part_id: Slug
    ticked: tuple[Slug, ...] = ()
    note: str = Field(default="", max_length=LONGEST_NOTE)
    seconds: float = Field(default=0, ge=0, le=86_400)
    follow_ups: tuple[FollowUpAnswer, ...] = ()


class Session(Frozen):
    """A mock interview as far as it has come: one answer a part begun, in the order of the case."""

    case_id: Slug
    answers: tuple[PartAnswer, ...] = ()


@dataclass(frozen=True)
class Slot:
    """A stretch of the half hour, in minutes from the start. `part_id` is None for the wrap-up."""

    start: int
    end: int
    kind: Literal["answer", "follow_ups", "wrap_up"]
    part_id: str | None


@dataclass(frozen=True)
class Asking:
    """What the interviewer asks now: a part's question, or a follow-up (`chosen`) to it."""

    part: Part
    chosen: Chosen | None


@dataclass(frozen=True)
class PartResult:
    """One part in the end. `repaired` points were missed first and recovered in a follow-up."""

    part: Part
    score: Score
    strong: tuple[str, ...]
    missing: tuple[str, ...]
    repaired: tuple[str, ...]
    red_flags: tuple[str, ...]
    note: str
    minutes: float


@dataclass(frozen=True)
class Result:
    """The whole interview: its parts, the share reached (a repaired point counts half), and where to look again."""

    case: Case
    parts: tuple[PartResult, ...]
    value: float
    rating: Rating
    revisit: tuple[ProofLink, ...]


def timeline(case: Case) -> tuple[Slot, ...]:
    """How the thirty minutes are divided: the parts' own minutes, the rest for follow-ups and a wrap-up."""
    spare = MINUTES - sum(part.minutes for part in case.parts)
    each = max(0, spare - 1) // len(case.parts)
    slots: list[Slot] = []
    now = 0
    for part in case.parts:
        slots.append(Slot(now, now + part.minutes, "answer", part.id))
        now += part.minutes
        if each:
            slots.append(Slot(now, now + each, "follow_ups", part.id))
            now += each
    return (*slots, Slot(now, MINUTES, "wrap_up", None))


def begin(case: Case) -> Session:
    """A session before its first question."""
    return Session(case_id=case.id)


def now_asking(case: Case, session: Session) -> Asking | None:
    """What is asked next, or None when the interview is over."""
    _belongs(case, session)
    if session.answers:
        last = session.answers[-1]
        part = case.parts[len(session.answers) - 1]
        chosen = _follow_up(part, last)
        if chosen is not None:
            return Asking(part, chosen)
    over = len(session.answers) == len(case.parts)
    return None if over else Asking(case.parts[len(session.answers)], None)


def submit(case: Case, session: Session, ticked: Collection[str], *, note: str = "", seconds: float = 0) -> Session:
    """The session after a part was answered and ticked. Raises ValueError when a follow-up is open or all is over."""
    asking = now_asking(case, session)
    if asking is None or asking.chosen is not None:
        raise ValueError("no part's question is open: answer the follow-up first, or the interview is over")
    marks(asking.part, ticked)
    answer = PartAnswer(part_id=asking.part.id, ticked=tuple(sorted(ticked)), note=note, seconds=seconds)
    return session.model_copy(update={"answers": (*session.answers, answer)})


def answer_follow_up(case: Case, session: Session, *, repaired: bool, seconds: float = 0) -> Session:
    """The session after the open follow-up was answered. Raises ValueError when none is open."""
    asking = now_asking(case, session)
    if asking is None or asking.chosen is None:
        raise ValueError("no follow-up is open")
    last = session.answers[-1]
    reply = FollowUpAnswer(point_id=asking.chosen.point_id, repaired=repaired)
    update = {"follow_ups": (*last.follow_ups, reply), "seconds": last.seconds + seconds}
    return session.model_copy(update={"answers": (*session.answers[:-1], last.model_copy(update=update))})


def result(case: Case, session: Session) -> Result:
    """What came of the interview so far; parts never reached count as missed altogether."""
    _belongs(case, session)
    given = {answer.part_id: answer for answer in session.answers}
    parts = tuple(_part_result(part, given.get(part.id, PartAnswer(part_id=part.id))) for part in case.parts)
    value = fmean(_with_repairs(part) for part in parts)
    weak = [one.part.proof for one in parts if (one.missing or one.red_flags) and one.part.proof is not None]
    revisit = tuple(link for place, link in enumerate(weak) if link not in weak[:place])
    return Result(case, parts, value, _rating(value), revisit)


def _belongs(case: Case, session: Session) -> None:
    begun = [answer.part_id for answer in session.answers]
    if session.case_id != case.id or begun != [part.id for part in case.parts[: len(begun)]]:
        raise ValueError(f"session: was not held on this version of the case {case.id}")


def _follow_up(part: Part, answer: PartAnswer) -> Chosen | None:
    if len(answer.follow_ups) >= FOLLOW_UPS_A_PART:
        return None
    return next_follow_up(part, marks(part, answer.ticked), asked=[one.point_id for one in answer.follow_ups])


def _part_result(part: Part, answer: PartAnswer) -> PartResult:
    given = marks(part, answer.ticked)
    repaired = frozenset(one.point_id for one in answer.follow_ups if one.repaired)
    good = [p.text for p in part.must if p.id in given.must] + [b.text for b in part.nice if b.id in given.nice]
    return PartResult(
        part=part,
        score=score(part, given),
        strong=tuple(good),
        missing=tuple(p.text for p in part.must if p.id not in given.must | repaired),
        repaired=tuple(p.text for p in part.must if p.id in repaired),
        red_flags=tuple(f"{f.text} {f.because}" for f in part.red_flags if f.id in given.red_flags),
        note=answer.note,
        minutes=answer.seconds / 60,
    )


def _with_repairs(part: PartResult) -> float:
    return min(1.0, part.score.value + 0.5 * len(part.repaired) / len(part.part.must))


def _rating(value: float) -> Rating:
    if value < HARD_FROM:
        return Rating.Again
    return Rating.Hard if value < GOOD_FROM else Rating.Good
