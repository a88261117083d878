"""The bank as an Anki deck that can be imported again and again without losing anybody's schedule.

What makes that work: a note's guid and id come from the card's id alone, note type and decks have fixed ids, and every
note carries the day its card was last revised instead of the time of export. Anki matches notes by guid, keeps their
schedule, and takes over the text only of cards revised since. Cards whose figures were not handed in are left out and
named: an Anki card that says "read these curves" without curves teaches nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import genanki  # type: ignore[import-untyped]
from markdown_it import MarkdownIt

from interview.bank import AnyCard
from interview.schema import GROUPS, Case, FindTheError, Provable, ReadCurves, Rubric

MODEL_ID = 1_606_775_201
DECK_ID = 1_606_775_300
MODEL_REVISED = date(2026, 11, 30)
"""Move this forward when the note type below changes, never otherwise: a newer note type makes Anki ask."""
DECK_NAME = "Surrogate interview"
FIELDS = ("Front", "Back", "Sources", "Id")
CSS = """.card { font-family: system-ui, sans-serif; font-size: 18px; text-align: left; max-width: 46em; margin: auto; }
li { margin: .4em 0; } code { font-size: .95em; } .red { color: #b3261e; } .small { font-size: .8em; opacity: .8; }
.nightMode .red { color: #f2b8b5; } img { max-width: 100%; }"""
_inline = MarkdownIt("commonmark", {"html": False}).renderInline


@dataclass(frozen=True)
class Exported:
    """How many notes were written, and the ids of cards left out because their figures were missing."""

    notes: int
    left_out: tuple[str, ...]


class _DatedNote(genanki.Note):  # type: ignore[misc]
    """A note with its own id and date of revision, whenever the package is written."""

    def __init__(self, *, note_id: int, revised: date, **rest: Any) -> None:
        super().__init__(**rest)
        self._note_id = note_id
        self._revised = _moment(revised)

    def write_to_db(self, cursor: Any, timestamp: float, deck_id: int, id_gen: Iterator[int]) -> None:
        super().write_to_db(cursor, self._revised, deck_id, iter((self._note_id, self._note_id)))


def export_apkg(
    cards: Iterable[AnyCard], path: Path, *, app_url: str, figures: Mapping[str, Path] | None = None
) -> Exported:
    """Write the cards as an .apkg file.

    app_url   where the app runs; proof links are put behind it
    figures   card id -> picture for cards that show curves; the file's name must contain the card's id
    """
    pictures = dict(figures or {})
    everything = tuple(cards)
    left_out = tuple(c.id for c in everything if isinstance(c, ReadCurves) and c.id not in pictures)
    kept = [card for card in everything if card.id not in left_out]
    decks = {group: genanki.Deck(DECK_ID + place, f"{DECK_NAME}::{group}") for place, group in enumerate(GROUPS)}
    model = _model()
    ids: dict[int, str] = {}
    for card in kept:
        for name, fields in _notes(card, app_url, pictures.get(card.id)):
            note_id = _note_id(name)
            if note_id in ids:
                raise ValueError(f"notes {name} and {ids[note_id]} would share the id {note_id}: rename one card")
            ids[note_id] = name
            guid = genanki.guid_for("surrogate-interview", name)
            tags = [card.group, card.level, card.kind]
            note = _DatedNote(
                note_id=note_id, revised=card.revised, model=model, fields=fields, sort_field=name, tags=tags, guid=guid
            )
            decks[card.group].add_note(note)
    used = [deck for deck in decks.values() if deck.notes]
    media = [str(pictures[card.id]) for card in kept if card.id in pictures]
    genanki.Package(used, media_files=media).write_to_file(str(path), timestamp=_moment(MODEL_REVISED))
    return Exported(len(ids), left_out)


def _model() -> Any:
    back = "{{FrontSide}}<hr id=answer>{{Back}}<p class=small>{{Sources}}</p>"
    template = {"name": "Card", "qfmt": "{{Front}}", "afmt": back}
    return genanki.Model(MODEL_ID, DECK_NAME, fields=[{"name": f} for f in FIELDS], templates=[template], css=CSS)


def _moment(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _note_id(name: str) -> int:
    """A stable id in Anki's range of epoch milliseconds."""
    return 1_700_000_000_000 + zlib.crc32(name.encode())


def _notes(card: AnyCard, app_url: str, picture: Path | None) -> Iterator[tuple[str, list[str]]]:
    """(note name, fields) of a card; a case gives one note a part."""
    sources = "; ".join(_inline(source.cite()) for source in card.sources)
    if isinstance(card, Case):
        for part in card.parts:
            front = f"<p><b>{_inline(card.title)}: {_inline(part.title)}</b></p><p>{_inline(part.prompt)}</p>"
            yield f"{card.id}--{part.id}", [front, _back(part, part, app_url), sources, f"{card.id}--{part.id}"]
        return
    front = f"<p>{_inline(card.prompt)}</p>"
    if isinstance(card, FindTheError):
        front += f"<blockquote>{_inline(card.answer)}</blockquote>"
    if picture is not None:
        if card.id not in picture.name:
            raise ValueError(f"figures: the file for {card.id} must have the card's id in its name, got {picture.name}")
        front += f'<img src="{picture.name}">'
    yield card.id, [front, _back(card, card, app_url), sources, card.id]


def _back(rubric: Rubric, provable: Provable, app_url: str) -> str:
    parts = ["<p><b>Must have</b></p>", _items(point.text for point in rubric.must)]
    if rubric.nice:
        parts += ["<p><b>Good to have</b></p>", _items(bonus.text for bonus in rubric.nice)]
    parts += ['<p class="red"><b>Red flags</b></p>', _items(f"{f.text} — {f.because}" for f in rubric.red_flags)]
    if provable.proof is not None:
        address = f"{app_url.rstrip('/')}/{provable.proof.path()}".replace("&", "&amp;").replace('"', "%22")
        parts.append(f'<p><a href="{address}">Prove it</a>: {_inline(provable.proof.do)}</p>')
    return "".join(parts)


def _items(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_inline(text)}</li>" for text in texts) + "</ul>"
