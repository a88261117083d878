"""The file behind `store`: where it lies, who may read it, and what is refused before a byte is written.

Looking at an existing file is done read-only, so a damaged, foreign or newer one stays exactly as it is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peewee
from platformdirs import user_data_path
from pydantic import ValidationError

APPLICATION_ID = 0x53555252
SCHEMA_VERSION = 1
WAIT_SECONDS = 15
_DATABASE_ERRORS = (peewee.DatabaseError, sqlite3.DatabaseError)
"""Peewee wraps what `execute` raises, but not what fetching from a damaged file raises."""


class StoreError(RuntimeError):
    """The progress file cannot be used; it was not changed. The message says which file and why."""


def default_path() -> Path:
    """`interview.sqlite3` in the user's data directory, or in the folder that SURROGATE_DATA names."""
    folder = os.environ.get("SURROGATE_DATA")
    return (Path(folder) if folder else user_data_path("surrogate", appauthor=False)) / "interview.sqlite3"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the database's errors into a StoreError that names the file."""
    try:
        yield
    except _DATABASE_ERRORS as error:
        raise StoreError(f"{path}: {error}; nothing was changed") from error
    except ValidationError as error:
        raise StoreError(f"{path}: a stored entry is damaged ({error.error_count()} problems in it)") from error


def prepare(path: Path) -> None:
    """Make a private, empty file where there is none; refuse an existing one that isn't ours."""
    if path.is_dir():
        raise StoreError(f"{path}: is a folder, not a progress file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"{path}: cannot be written here ({error.strerror})") from error
    if path.stat().st_size:
        _refuse_strangers(path, _facts(path))


def _facts(path: Path) -> Mapping[str, Any]:
    looking = peewee.SqliteDatabase(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=WAIT_SECONDS)
    try:
        with looking.connection_context():
            names = ("application_id", "user_version", "quick_check")
            return {**{name: looking.pragma(name) for name in names}, "tables": looking.get_tables()}
    except _DATABASE_ERRORS as error:
        raise StoreError(f"{path}: not a readable SQLite file ({error}); it was left as it is") from error


def _refuse_strangers(path: Path, facts: Mapping[str, Any]) -> None:
    just_created = facts["application_id"] == 0 and not facts["tables"]
    if facts["application_id"] != APPLICATION_ID and not just_created:
        raise StoreError(f"{path}: a SQLite file of another program; it was left as it is")
    if facts["user_version"] > SCHEMA_VERSION:
        raise StoreError(f"{path}: written by a newer version of the app; it was left as it is")
    if facts["quick_check"] != "ok":
        raise StoreError(f"{path}: damaged ({facts['quick_check']}); it was left as it is")
