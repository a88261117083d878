"""A mock interview as it is being held: the session, what lies on the table, and thirty minutes that can be stopped.

The clock counts what a candidate uses: thinking and answering. It stands still while the rubric is ticked. Every
function returns a new value, so a sitting can be saved and taken up again after a reload.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Literal

from pydantic import Field

from interview.mock import LONGEST_NOTE, MINUTES, Session, answer_follow_up, begin, now_asking, submit, timeline
from interview.schedule import Moment
from interview.schema import Case
from interview.values import Frozen, Slug

Phase = Literal["answering", "ticking", "over"]


class Sitting(Frozen):
    """`used` seconds were on the clock when it last stopped; `since` says when it was started again, if it runs."""

    session: Session
    began: Moment
    used: float = Field(default=0, ge=0)
    since: Moment | None = None
    asked_at: float = Field(default=0, ge=0)
    phase: Phase = "answering"
    note: str = Field(default="", max_length=LONGEST_NOTE)
    ticked: tuple[Slug, ...] = ()

    def elapsed(self, now: datetime) -> float:
        """Seconds on the clock."""
        running = max((now - self.since).total_seconds(), 0) if self.since else 0
        return min(self.used + running, 86_400)

    def left(self, now: datetime) -> float:
        """Seconds left of the thirty minutes; negative when they are over."""
        return 60 * MINUTES - self.elapsed(now)


def sit_down(case: Case, now: datetime) -> Sitting:
    """The first question is asked and the clock runs."""
    return Sitting(session=begin(case), began=now, since=now)


def stop(sitting: Sitting, now: datetime) -> Sitting:
    """The clock stands still."""
    return _with(sitting, used=sitting.elapsed(now), since=None)


def run(sitting: Sitting, now: datetime) -> Sitting:
    """The clock goes on; nothing happens where it runs already or all is over."""
    return sitting if sitting.since or sitting.phase == "over" else _with(sitting, since=now)


def noted(sitting: Sitting, note: str) -> Sitting:
    """What has been written so far is kept."""
    return _with(sitting, note=note)


def answered(sitting: Sitting, note: str, now: datetime) -> Sitting:
    """The answer was given: clock off, rubric or expected answer open."""
    if sitting.phase != "answering":
        raise ValueError(f"sitting: no question is open, the phase is {sitting.phase}")
    return _with(stop(sitting, now), phase="ticking", note=note)


def ticks(sitting: Sitting, ticked: Collection[str]) -> Sitting:
    """The rubric's lines as they are ticked so far."""
    return _with(sitting, ticked=tuple(sorted(ticked)))


def judged(case: Case, sitting: Sitting, now: datetime) -> Sitting:
    """The part is ticked; the next question, or the follow-up to what was missed, is asked and the clock goes on."""
    spent = sitting.used - sitting.asked_at
    session = submit(case, sitting.session, sitting.ticked, note=sitting.note, seconds=spent)
    return _ask_next(case, sitting, session, now)


def repaired(case: Case, sitting: Sitting, yes: bool, now: datetime) -> Sitting:
    """The follow-up was answered, well or not."""
    session = answer_follow_up(case, sitting.session, repaired=yes, seconds=sitting.used - sitting.asked_at)
    return _ask_next(case, sitting, session, now)


def stand_up(sitting: Sitting, now: datetime) -> Sitting:
    """The interview ends here, whatever is left."""
    return _with(stop(sitting, now), phase="over")


def slot_of(case: Case, part_id: str) -> tuple[int, int]:
    """Between which minutes a part should be answered."""
    slot = next(one for one in timeline(case) if one.kind == "answer" and one.part_id == part_id)
    return slot.start, slot.end


def _ask_next(case: Case, sitting: Sitting, session: Session, now: datetime) -> Sitting:
    over = now_asking(case, session) is None
    fresh = {"session": session, "note": "", "ticked": (), "asked_at": sitting.used}
    return _with(sitting, **fresh, phase="over" if over else "answering", since=None if over else now)


def _with(sitting: Sitting, **change: object) -> Sitting:
    return Sitting.model_validate({**{name: getattr(sitting, name) for name in Sitting.model_fields}, **change})
