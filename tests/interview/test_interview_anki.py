"""The Anki deck, read back from the file: stable ids and guids, dates of revision, complete and escaped content."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from interview.anki import DECK_ID, MODEL_ID, Exported, export_apkg
from interview.bank import AnyCard, Bank
from interview.schema import Case, ReadCurves

URL = "http://localhost:8501"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


@dataclass(frozen=True)
class Deck:
    notes: dict[str, dict[str, object]]
    cards: list[tuple[int, int, int]]
    models: dict[str, dict[str, object]]
    decks: dict[str, dict[str, object]]
    media: dict[str, str]


def read(path: Path, folder: Path) -> Deck:
    with zipfile.ZipFile(path) as archive:
        archive.extract("collection.anki2", folder)
        media = json.loads(archive.read("media"))
    connection = sqlite3.connect(folder / "collection.anki2")
    names = ("id", "guid", "mid", "mod", "tags", "flds")
    rows = [dict(zip(names, row, strict=True)) for row in connection.execute(f"SELECT {', '.join(names)} FROM notes")]
    cards = connection.execute("SELECT id, nid, did FROM cards").fetchall()
    models, decks = (json.loads(text) for text in connection.execute("SELECT models, decks FROM col").fetchone())
    connection.close()
    return Deck({str(row["flds"]).split("\x1f")[3]: row for row in rows}, cards, models, decks, media)


def export(cards: tuple[AnyCard, ...], tmp_path: Path, name: str, **rest: object) -> tuple[Exported, Deck]:
    path = tmp_path / f"{name}.apkg"
    (tmp_path / name).mkdir()
    done = export_apkg(cards, path, app_url=URL, **rest)  # type: ignore[arg-type]
    return done, read(path, tmp_path / name)


def test_every_card_and_every_part_of_a_case_is_a_note(bank: Bank, tmp_path: Path) -> None:
    done, deck = export(bank.cards, tmp_path, "all")
    curves = {card.id for card in bank.of(kinds=["read_curves"])}
    expected = {c.id for c in bank.cards if not isinstance(c, Case | ReadCurves)}
    expected |= {f"{case.id}--{part.id}" for case in bank.cases for part in case.parts}
    assert set(deck.notes) == expected and done.notes == len(expected)
    assert set(done.left_out) == curves
    assert len(deck.cards) == len(expected) and {nid for _, nid, _ in deck.cards} == {
        n["id"] for n in deck.notes.values()
    }


def test_content_is_complete(bank: Bank, tmp_path: Path) -> None:
    _, deck = export(bank.cards, tmp_path, "all")
    card = bank.by_id["grpo-error-name"]
    front, back, sources, _ = str(deck.notes[card.id]["flds"]).split("\x1f")
    assert "Generalized Reward Policy Optimization" in front and "<blockquote>" in front
    assert "Group Relative Policy Optimization" in back and "Red flags" in back
    assert f"{URL}/advantages?rewards=1%2C0%2C0%2C1&amp;scale=std" in back
    assert "arXiv:2402.03300" in sources
    assert "warm-up" in str(deck.notes[card.id]["tags"])


def test_ids_are_fixed_forever(bank: Bank, tmp_path: Path) -> None:
    """These numbers are in people's collections. Changing one loses their schedule."""
    _, deck = export(bank.cards, tmp_path, "all")
    assert list(deck.models) == ["1606775201"] and MODEL_ID == 1606775201
    assert {int(number) for number in deck.decks} - {1} == {DECK_ID + place for place in range(8)}
    note = deck.notes["ppo-quadrants"]
    assert (note["guid"], note["id"]) == ("c)=j`kk9Ur", 1702501331588)


def test_a_revised_bank_keeps_guids_and_ids_and_dates_only_what_changed(bank: Bank, tmp_path: Path) -> None:
    _, before = export(bank.cards, tmp_path, "before")
    old = bank.by_id["ppo-quadrants"]
    new = old.model_copy(update={"prompt": "A better wording.", "revised": date(2027, 2, 1)})
    cards = tuple(new if card is old else card for card in reversed(bank.cards))
    _, after = export(cards, tmp_path, "after")
    assert set(before.notes) == set(after.notes)
    for name, note in before.notes.items():
        assert (note["guid"], note["id"], note["mid"]) == tuple(after.notes[name][k] for k in ("guid", "id", "mid"))
        if name != old.id:
            assert note == after.notes[name]
    assert after.notes[old.id]["mod"] == int(datetime(2027, 2, 1, tzinfo=UTC).timestamp())
    assert "A better wording." in str(after.notes[old.id]["flds"])
    assert sorted(before.cards) == sorted(after.cards) and before.models == after.models and before.decks == after.decks


def test_figures_travel_with_their_cards(bank: Bank, tmp_path: Path) -> None:
    card = bank.by_id["gspo-curves-bandit"]
    picture = tmp_path / "surrogate-gspo-curves-bandit.png"
    picture.write_bytes(PNG)
    done, deck = export((card,), tmp_path, "one", figures={card.id: picture})
    assert done.left_out == () and list(deck.media.values()) == [picture.name]
    assert f'<img src="{picture.name}">' in str(deck.notes[card.id]["flds"])
    stranger = tmp_path / "picture.png"
    stranger.write_bytes(PNG)
    with pytest.raises(ValueError, match="must have the card's id in its name"):
        export((card,), tmp_path, "two", figures={card.id: stranger})


def test_markup_in_a_card_is_escaped(bank: Bank, tmp_path: Path) -> None:
    card = bank.by_id["ppo-quadrants"].model_copy(update={"prompt": "<script>alert(1)</script> & `a < b`"})
    _, deck = export((card,), tmp_path, "one")
    front = str(deck.notes[card.id]["flds"]).split("\x1f")[0]
    assert "<script>" not in front and "&lt;script&gt;" in front and "<code>a &lt; b</code>" in front
