"""Progress in one SQLite file, kept apart by browser identity.

An identity is a secret that a browser holds; the file knows only its hash, so reading the file lets nobody act as
somebody else. Every change is one immediate transaction: two tabs, threads or processes cannot lose each other's
answers. A file that is damaged, foreign or newer is refused before anything is written to it.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import peewee
from fsrs import Rating

from interview import schedule
from interview.progress import FORMAT, VERSION, Progress, Review, read_progress, write_progress
from interview.schedule import Memory
from interview.storefile import APPLICATION_ID, SCHEMA_VERSION, WAIT_SECONDS, default_path, explained, prepare

LONGEST_DRAFT = 300_000
Result = TypeVar("Result")


@dataclass(frozen=True)
class Imported:
    """What an import did. `unknown` counts cards that the bank of this version doesn't have; they are kept."""

    added: int
    updated: int
    kept: int
    reviews_added: int
    unknown: int


def new_identity() -> str:
    """A secret for one browser: 192 random bits."""
    return secrets.token_urlsafe(24)


def owner_of(identity: str) -> str:
    """The name under which an identity's rows are kept. Raises ValueError for what `new_identity` never makes."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{32}", identity):
        raise ValueError("identity: must be 32 characters of A-Z, a-z, 0-9, - and _")
    return hashlib.sha256(identity.encode()).hexdigest()


def _tables(database: peewee.SqliteDatabase) -> tuple[type[Any], type[Any], type[Any]]:
    """The three tables, bound to one file. JSON columns hold the pydantic models of `schedule` and `progress`."""

    class Scheduled(peewee.Model):
        owner = peewee.CharField(64)
        card_id = peewee.CharField(60)
        memory = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("owner", "card_id")

    class Answer(peewee.Model):
        owner = peewee.CharField(64)
        card_id = peewee.CharField(60)
        reviewed_at = peewee.CharField(40)
        review = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("owner", "card_id", "reviewed_at")

    class Draft(peewee.Model):
        owner = peewee.CharField(64)
        name = peewee.CharField(40)
        content = peewee.TextField()

        class Meta:
            primary_key = peewee.CompositeKey("owner", "name")

    tables = (Scheduled, Answer, Draft)
    database.bind(tables)
    return tables


class Store:
    """One progress file. Connections are opened per call, so a Store may be shared between threads."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()
        prepare(self.path)
        self._database = peewee.SqliteDatabase(
            str(self.path), pragmas={"synchronous": "full", "foreign_keys": 1}, timeout=WAIT_SECONDS
        )
        self._scheduled, self._answers, self._drafts = _tables(self._database)
        with explained(self.path), self._database.connection_context():
            self._database.pragma("journal_mode", "wal")
            with self._database.atomic("IMMEDIATE"):
                self._database.create_tables([self._scheduled, self._answers, self._drafts], safe=True)
                self._database.pragma("application_id", APPLICATION_ID)
                self._database.pragma("user_version", SCHEMA_VERSION)

    # ------------------------------------------------------------ the drill

    def memories(self, identity: str) -> dict[str, Memory]:
        """What is known about each card of one person, by card id."""
        owner = owner_of(identity)
        return self._read(lambda: self._memories(owner))

    def reviews(self, identity: str) -> tuple[Review, ...]:
        """Every answer of one person, oldest first."""
        owner = owner_of(identity)
        return self._read(lambda: self._reviews(owner))

    def answer(self, identity: str, review: Review, *, days_left: int | None = None) -> Memory:
        """Schedule the card by the answer's rating and keep the answer. Returns the card's new memory."""
        owner = owner_of(identity)

        def change() -> Memory:
            row = self._scheduled.get_or_none(owner=owner, card_id=review.card_id)
            now = review.reviewed_at
            before = Memory.model_validate_json(row.memory) if row else schedule.fresh(review.card_id, now)
            after = schedule.review(before, Rating(review.rating), now, days_left=days_left)
            self._put_memory(owner, after)
            self._put_review(owner, review)
            return after

        return self._write(change)

    # ------------------------------------------------------------ work in progress

    def save_draft(self, identity: str, name: str, content: str) -> None:
        """Keep unfinished work (a drill's queue, a mock interview's session) across reloads and restarts."""
        if len(content) > LONGEST_DRAFT:
            raise ValueError(f"draft {name}: must have at most {LONGEST_DRAFT} characters, got {len(content)}")
        owner = owner_of(identity)
        self._write(lambda: self._drafts.replace(owner=owner, name=name, content=content).execute())

    def draft(self, identity: str, name: str) -> str | None:
        """The unfinished work kept under a name, or None."""
        owner = owner_of(identity)
        row = self._read(lambda: self._drafts.get_or_none(owner=owner, name=name))
        return row.content if row else None

    def drop_draft(self, identity: str, name: str) -> None:
        """Forget the unfinished work kept under a name."""
        owner = owner_of(identity)
        self._write(lambda: self._drafts.delete().where(_is(self._drafts, owner=owner, name=name)).execute())

    # ------------------------------------------------------------ in and out

    def export_json(self, identity: str, now: datetime) -> str:
        """Everything of one person as one JSON text (see `progress`)."""
        owner = owner_of(identity)
        memories, reviews = self._read(lambda: (self._memories(owner), self._reviews(owner)))
        held = Progress(
            format=FORMAT, version=VERSION, exported_at=now, memories=tuple(memories.values()), reviews=reviews
        )
        return write_progress(held)

    def import_json(
        self, identity: str, text: str | bytes, now: datetime, *, known: frozenset[str] | None = None
    ) -> Imported:
        """Merge a file into one person's progress: for each card the later review wins, and answers are united.

        Importing the same file twice changes nothing. Raises ProgressError, with nothing stored, for a bad file.
        """
        owner = owner_of(identity)
        progress = read_progress(text, now)

        def change() -> Imported:
            mine = self._memories(owner)
            have = {(one.card_id, one.reviewed_at) for one in self._reviews(owner)}
            new = [one for one in progress.memories if one.card_id not in mine]
            later = [one for one in progress.memories if one.card_id in mine and _later(one, mine[one.card_id])]
            for memory in (*new, *later):
                self._put_memory(owner, memory)
            fresh = [one for one in progress.reviews if (one.card_id, one.reviewed_at) not in have]
            for review in fresh:
                self._put_review(owner, review)
            stray = {one.card_id for one in progress.memories} - known if known is not None else set()
            kept = len(progress.memories) - len(new) - len(later)
            return Imported(len(new), len(later), kept, len(fresh), len(stray))

        return self._write(change)

    def forget(self, identity: str) -> None:
        """Delete everything of one person."""
        owner = owner_of(identity)

        def change() -> None:
            for table in (self._scheduled, self._answers, self._drafts):
                table.delete().where(table.owner == owner).execute()

        self._write(change)

    # ------------------------------------------------------------ inside

    def _memories(self, owner: str) -> dict[str, Memory]:
        rows = self._scheduled.select().where(self._scheduled.owner == owner).order_by(self._scheduled.card_id)
        return {row.card_id: Memory.model_validate_json(row.memory) for row in rows}

    def _reviews(self, owner: str) -> tuple[Review, ...]:
        table = self._answers
        rows = table.select().where(table.owner == owner).order_by(table.reviewed_at, table.card_id)
        return tuple(Review.model_validate_json(row.review) for row in rows)

    def _put_memory(self, owner: str, memory: Memory) -> None:
        row = {"owner": owner, "card_id": memory.card_id, "memory": memory.model_dump_json()}
        self._scheduled.replace(**row).execute()

    def _put_review(self, owner: str, review: Review) -> None:
        moment = review.reviewed_at.isoformat(timespec="microseconds")
        row = {"owner": owner, "card_id": review.card_id, "reviewed_at": moment, "review": review.model_dump_json()}
        self._answers.replace(**row).execute()

    def _read(self, query: Callable[[], Result]) -> Result:
        with explained(self.path), self._database.connection_context(), self._database.atomic():
            return query()

    def _write(self, change: Callable[[], Result]) -> Result:
        with explained(self.path), self._database.connection_context(), self._database.atomic("IMMEDIATE"):
            return change()


def _is(table: type[Any], **wanted: str) -> Any:
    return functools.reduce(operator.and_, [getattr(table, name) == value for name, value in wanted.items()])


def _later(theirs: Memory, mine: Memory) -> bool:
    if theirs.last_review is None:
        return False
    return mine.last_review is None or theirs.last_review > mine.last_review
