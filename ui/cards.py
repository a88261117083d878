"""Misconception cards as text: a section of `assets/lessons/misconceptions.md`, taken apart. Needs no engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from ui.lesson import Section, lesson


@dataclass(frozen=True)
class Card:
    """A claim, what refutes it (a template for numbers), on whose authority, and where to see it."""

    number: int
    claim: str
    refutation: str
    source: str
    page: str
    settings: Mapping[str, str]
    see: str


def card_of(part: Section) -> Card:
    """Read a card. Raises ValueError where `Source:` or `See: page?settings · words` is missing."""
    lines = part.text.splitlines()
    named = {name: [x.removeprefix(f"{name}: ") for x in lines if x.startswith(f"{name}: ")] for name in ("Source", "See")}
    if not all(named.values()):
        raise ValueError(f"card {part.key}: needs a line 'Source: …' and a line 'See: page?settings · words'")
    link, _, words = named["See"][0].partition(" · ")
    page, _, query = link.partition("?")
    text = "\n".join(x for x in lines if not x.startswith(("Source: ", "See: "))).strip()
    return Card(int(part.key), part.label, text, named["Source"][0], page, dict(parse_qsl(query)), words)


def cards_about(page: str, section: str) -> list[Card]:
    """The cards whose link leads to this section of a page (its first section, where the link names none)."""
    first = lesson(page).sections[0].key
    every = [card_of(part) for part in lesson("misconceptions").sections]
    return [card for card in every if card.page == page and card.settings.get("show", first) == section]
