"""A learner's progress as one JSON file: what is in it, how it is read back, and why it would be refused.

A file is read completely before anything is stored. Whatever is wrong with it is said by place and rule; a file of
another program, of a newer version, or with dates in the future is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Any, Literal

from fsrs import Rating
from pydantic import Field, ValidationError, model_validator

from interview.schedule import Memory, Moment
from interview.values import Frozen, Slug

FORMAT: Literal["surrogate-interview-progress"] = "surrogate-interview-progress"
VERSION: Literal[1] = 1
LARGEST_FILE = 5_000_000
TOLERATED_CLOCK = timedelta(days=1)
"""How far ahead of this machine's clock a date may lie: clocks and time zones differ, but not by more."""


class ProgressError(ValueError):
    """The file was refused; nothing was stored. The message says why."""


class Review(Frozen):
    """One answer: when, how it was rated, and what was ticked."""

    card_id: Slug
    reviewed_at: Moment
    rating: Rating
    value: float = Field(ge=0, le=1)
    ticked: tuple[Slug, ...] = Field(default=(), max_length=40)
    seconds: float | None = Field(default=None, ge=0, le=86_400)


class Progress(Frozen):
    """Everything that is kept about one person: the schedule of each card and every answer given."""

    format: Literal["surrogate-interview-progress"]
    version: Literal[1]
    exported_at: Moment
    memories: tuple[Memory, ...] = Field(default=(), max_length=5_000)
    reviews: tuple[Review, ...] = Field(default=(), max_length=100_000)

    @model_validator(mode="after")
    def _no_duplicates(self) -> Progress:
        _refuse_repeats("memories", "card", (one.card_id for one in self.memories))
        _refuse_repeats("reviews", "card and moment", ((one.card_id, one.reviewed_at) for one in self.reviews))
        return self


def read_progress(text: str | bytes, now: datetime) -> Progress:
    """A validated file, or ProgressError with the reason."""
    if len(text) > LARGEST_FILE:
        raise ProgressError(f"file: must be smaller than {LARGEST_FILE // 1_000_000} MB, got {len(text)} bytes")
    try:
        progress = Progress.model_validate_json(text)
    except ValidationError as error:
        raise ProgressError(_explain(error)) from error
    _refuse_future(progress, now + TOLERATED_CLOCK)
    return progress


def write_progress(progress: Progress) -> str:
    """The file's text: readable, in a stable order, ending in a newline."""
    return progress.model_dump_json(indent=1) + "\n"


def _explain(error: ValidationError) -> str:
    findings = error.errors()
    first = findings[0]
    if first["type"] == "json_invalid":
        return f"file: not readable as JSON ({first['ctx']['error']})"
    heads = {finding["loc"][0]: finding for finding in findings if finding["loc"] in {("format",), ("version",)}}
    if "format" in heads:
        return f"format: must be {FORMAT!r}, so this is another program's file"
    if "version" in heads:
        return f"version: must be {VERSION}; another version of the app wrote this file"
    lines = [_line(finding) for finding in findings[:5]]
    more = len(findings) - len(lines)
    return "\n".join(lines + [f"and {more} more"] * (more > 0))


def _line(finding: Any) -> str:
    return f"{'.'.join(map(str, finding['loc'])) or 'file'}: {finding['msg'].removeprefix('Value error, ')}"


def _refuse_future(progress: Progress, latest: datetime) -> None:
    for place, memory in enumerate(progress.memories):
        if memory.last_review is not None and memory.last_review > latest:
            raise ProgressError(f"memories.{place}.last_review: lies in the future ({memory.last_review.isoformat()})")
    for place, review in enumerate(progress.reviews):
        if review.reviewed_at > latest:
            raise ProgressError(f"reviews.{place}.reviewed_at: lies in the future ({review.reviewed_at.isoformat()})")


def _refuse_repeats(field: str, what: str, keys: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"{field}: the same {what} twice: {key}")
        seen.add(key)
