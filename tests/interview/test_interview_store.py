"""Progress is kept per identity, survives restarts, travels as JSON, and bad files change nothing."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fsrs import Rating

from interview.progress import LARGEST_FILE, ProgressError, Review
from interview.store import Store, new_identity, owner_of
from interview.storefile import StoreError, default_path

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=30)


def review(card_id: str = "ppo-quadrants", minute: int = 0, rating: Rating = Rating.Good) -> Review:
    moment = NOW + timedelta(minutes=minute)
    return Review(card_id=card_id, reviewed_at=moment, rating=rating, value=0.75, ticked=("formula",), seconds=61.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "with a space?#" / "interview.sqlite3"


@pytest.fixture
def store(path: Path) -> Store:
    return Store(path)


# ---------------------------------------------------------------- keeping


def test_progress_survives_a_restart(store: Store, path: Path) -> None:
    me = new_identity()
    memory = store.answer(me, review())
    store.save_draft(me, "mock", '{"case_id": "case-compare"}')
    again = Store(path)
    assert again.memories(me) == {"ppo-quadrants": memory}
    assert again.reviews(me) == (review(),)
    assert again.draft(me, "mock") == '{"case_id": "case-compare"}'
    again.drop_draft(me, "mock")
    assert store.draft(me, "mock") is None


def test_answers_build_on_each_other(store: Store) -> None:
    me = new_identity()
    first = store.answer(me, review())
    second = store.answer(me, review(minute=15, rating=Rating.Easy))
    assert second.due > first.due and second.last_review == NOW + timedelta(minutes=15)
    assert [one.rating for one in store.reviews(me)] == [Rating.Good, Rating.Easy]


def test_two_people_see_nothing_of_each_other(store: Store, path: Path) -> None:
    me, you = new_identity(), new_identity()
    store.answer(me, review())
    store.save_draft(me, "drill", "mine")
    assert store.memories(you) == {} and store.reviews(you) == () and store.draft(you, "drill") is None
    store.answer(you, review(rating=Rating.Again))
    store.forget(you)
    assert store.memories(you) == {} and len(store.memories(me)) == 1
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert me.encode() not in content and owner_of(me).encode() in content


def test_an_identity_that_was_not_made_here_is_refused(store: Store) -> None:
    for identity in ("", "me", "x" * 31, "x" * 33, "' OR 1=1 --" + "x" * 21, "é" * 32):
        with pytest.raises(ValueError, match="identity"):
            store.memories(identity)


def test_the_file_is_private(store: Store, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_path_can_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SURROGATE_DATA", str(tmp_path))
    assert default_path() == tmp_path / "interview.sqlite3"
    monkeypatch.delenv("SURROGATE_DATA")
    assert default_path().name == "interview.sqlite3" and "surrogate" in str(default_path())


def test_a_draft_has_a_limit(store: Store) -> None:
    with pytest.raises(ValueError, match="draft mock"):
        store.save_draft(new_identity(), "mock", "x" * 400_000)


# ---------------------------------------------------------------- many writers


def test_threads_do_not_lose_answers(store: Store) -> None:
    me = new_identity()
    failures: list[BaseException] = []

    def write(worker: int) -> None:
        try:
            for number in range(10):
                store.answer(me, review(f"card-{worker}", minute=number))
                store.answer(me, review("shared-card", minute=100 * worker + number))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(store.reviews(me)) == 80
    assert len(store.memories(me)) == 5


def _write(path: str, identity: str, worker: int) -> None:
    store = Store(Path(path))
    for number in range(10):
        store.answer(identity, review("shared-card", minute=100 * worker + number))


def test_processes_may_create_and_write_at_once(path: Path) -> None:
    me = new_identity()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(str(path), me, worker)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(Store(path).reviews(me)) == 30


# ---------------------------------------------------------------- in and out


def filled(store: Store) -> tuple[str, str]:
    me = new_identity()
    store.answer(me, review())
    store.answer(me, review("kl-direction", minute=1, rating=Rating.Hard))
    return me, store.export_json(me, NOW)


def test_export_and_import_give_the_same(store: Store) -> None:
    me, text = filled(store)
    you = new_identity()
    done = store.import_json(you, text, NOW, known=frozenset({"kl-direction"}))
    assert (done.added, done.updated, done.kept, done.reviews_added, done.unknown) == (2, 0, 0, 2, 1)
    assert store.memories(you) == store.memories(me) and store.reviews(you) == store.reviews(me)
    assert store.export_json(you, NOW) == text
    again = store.import_json(you, text, NOW)
    assert (again.added, again.updated, again.kept, again.reviews_added) == (0, 0, 2, 0)
    assert store.export_json(you, NOW) == text


def test_the_later_review_wins_whichever_side_it_is_on(store: Store) -> None:
    me, old = filled(store)
    newer = store.answer(me, review(minute=60, rating=Rating.Again))
    assert store.import_json(me, old, LATER).kept == 2
    assert store.memories(me)["ppo-quadrants"] == newer
    you = new_identity()
    store.import_json(you, old, LATER)
    assert store.import_json(you, store.export_json(me, NOW), LATER).updated == 1
    assert store.memories(you) == store.memories(me) and store.reviews(you) == store.reviews(me)


def damaged(text: str) -> dict[str, tuple[str | bytes, str]]:
    data = json.loads(text)

    def with_change(**change: object) -> str:
        return json.dumps({**data, **change})

    twice = [*data["memories"], data["memories"][0]]
    future = [{**data["reviews"][0], "reviewed_at": "2031-01-01T00:00:00Z"}]
    broken = [{**data["memories"][0], "difficulty": 11}]
    naive = [{**data["reviews"][0], "reviewed_at": "2026-11-30T20:00:00"}]
    infinite = text.replace('"stability": ', '"stability": NaN, "x": ', 1)
    return {
        "empty": ("", "not readable as JSON"),
        "cut off": (text[: len(text) // 2], "not readable as JSON"),
        "bytes": (b"\xff\xfe\x00", "not readable as JSON"),
        "deep": ("[" * 100_000, "not readable as JSON"),
        "a list": ("[]", "file: "),
        "another program's": ('{"decks": []}', "another program"),
        "another version": (with_change(version=2), "another version"),
        "a stranger's field": (with_change(extra=1), "extra: "),
        "the same card twice": (with_change(memories=twice), "the same card twice"),
        "from the future": (with_change(reviews=future), "reviews.0.reviewed_at: lies in the future"),
        "out of range": (with_change(memories=broken), r"memories.0.difficulty: "),
        "no time zone": (with_change(reviews=naive), r"reviews.0.reviewed_at: "),
        "not a number": (infinite, "(memories.0|not readable)"),
        "too large": ("x" * (LARGEST_FILE + 1), "must be smaller"),
    }


@pytest.mark.parametrize("what", list(damaged('{"memories": [{}], "reviews": [{}], "stability": 1}')))
def test_a_bad_file_is_refused_with_its_reason_and_changes_nothing(store: Store, what: str) -> None:
    me, text = filled(store)
    bad, reason = damaged(text)[what]
    with pytest.raises(ProgressError, match=reason):
        store.import_json(me, bad, NOW)
    assert store.export_json(me, NOW) == text


# ---------------------------------------------------------------- files that are not ours


def untouched(path: Path, reason: str) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreError, match=reason):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_text_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "interview.sqlite3"
    path.write_text("these are my notes, not a database", encoding="utf-8")
    untouched(path, "not a readable SQLite file")


def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "interview.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()
    untouched(path, "another program")


def closed(store: Store, path: Path) -> None:
    """Fold the write-ahead log into the file, so that the file stands alone."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def test_a_newer_versions_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "interview.sqlite3"
    closed(Store(path), path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    untouched(path, "newer version")


def test_a_damaged_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "interview.sqlite3"
    store = Store(path)
    me = new_identity()
    for number in range(60):
        store.answer(me, review(f"card-{number}", minute=number))
    closed(store, path)
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 4] = b"\x55" * (4096 * 3)
    path.write_bytes(content)
    untouched(path, "(damaged|not a readable)")


def test_a_damaged_entry_is_named(store: Store, path: Path) -> None:
    me = new_identity()
    store.answer(me, review())
    connection = sqlite3.connect(path)
    connection.execute("UPDATE scheduled SET memory = '{}'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="entry is damaged"):
        store.memories(me)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path)


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        Store(Path("/proc/surrogate/interview.sqlite3"))
