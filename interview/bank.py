"""Reading the bank: YAML files into frozen cards, with errors that say file, card, field and rule.

All problems of all files are reported at once. A duplicate key, which YAML would silently let win, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from interview.links import Validator, check_link
from interview.schema import BankFile, Case, FindTheError, Question, ReadCurves, links

AnyCard = Question | FindTheError | ReadCurves | Case
FOLDER = Path(__file__).resolve().parent.parent / "assets" / "interview"


class BankError(ValueError):
    """The bank cannot be used. One line a problem: file, card, field: rule."""


@dataclass(frozen=True)
class Bank:
    """All cards, in the order of the groups and files, and by id."""

    cards: tuple[AnyCard, ...]
    by_id: Mapping[str, AnyCard]

    def of(self, *, groups: Iterable[str] = (), kinds: Iterable[str] = ()) -> tuple[AnyCard, ...]:
        """Cards of the given groups and kinds; an empty selection means all."""
        wanted, shapes = set(groups), set(kinds)
        return tuple(c for c in self.cards if (not wanted or c.group in wanted) and (not shapes or c.kind in shapes))

    @property
    def cases(self) -> tuple[Case, ...]:
        """The five that the mock interview is made of."""
        return tuple(card for card in self.cards if isinstance(card, Case))


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """SafeLoader that refuses a key given twice."""


def _mapping(loader: _StrictLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise yaml.constructor.ConstructorError(None, None, f"key given twice: {', '.join(twice)}", node.start_mark)
    return dict(zip(keys, (loader.construct_object(value, deep=True) for _, value in node.value), strict=True))


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file; raises BankError naming the file and the place."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BankError(f"{path.name}: not readable as YAML: {error}") from error


def load_bank(folder: Path = FOLDER, *, registry: Mapping[str, Validator] | None = None) -> Bank:
    """Every `*.yaml` of a folder as a bank; raises BankError listing all problems. `registry`: see links.check_link."""
    problems: list[str] = []
    cards: list[AnyCard] = []
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise BankError(f"{folder}: no *.yaml file of cards found")
    for path in paths:
        found, complaints = _read_file(path)
        cards += found
        problems += complaints
    problems += _cross_check(cards, registry)
    if problems:
        raise BankError("\n".join(problems))
    return Bank(tuple(cards), {card.id: card for card in cards})


def _read_file(path: Path) -> tuple[tuple[AnyCard, ...], list[str]]:
    try:
        raw = read_yaml(path)
    except BankError as error:
        return (), [str(error)]
    if not isinstance(raw, dict) or not isinstance(raw.get("cards"), list):
        return (), [f"{path.name}: cards: must be a list under the key `cards`"]
    inherited = {name: raw[name] for name in ("group", "revised") if name in raw}
    raw["cards"] = [{**inherited, **card} if isinstance(card, dict) else card for card in raw["cards"]]
    try:
        return BankFile.model_validate(raw).cards, []
    except ValidationError as error:
        return (), [_explain(path.name, raw["cards"], finding) for finding in error.errors()]


def _explain(file: str, cards: list[Any], finding: Any) -> str:
    """One finding of pydantic as `file: card: field: rule`. Tags of the union are dropped from the path."""
    place = [part for part in finding["loc"] if part not in ("question", "find_the_error", "read_curves", "case")]
    rule = finding["msg"].removeprefix("Value error, ")
    given = "" if isinstance(finding["input"], dict | list) else f", got {finding['input']!r}"
    if place[:1] != ["cards"] or len(place) < 2 or not isinstance(place[1], int):
        return f"{file}: {'.'.join(map(str, place)) or 'file'}: {rule}{given}"
    card = cards[place[1]]
    name = card.get("id", f"number {place[1] + 1}") if isinstance(card, dict) else f"number {place[1] + 1}"
    field = ".".join(map(str, place[2:])) or "card"
    return f"{file}: card {name}: {field}: {rule}{given}"


def _cross_check(cards: list[AnyCard], registry: Mapping[str, Validator] | None) -> list[str]:
    """What no single card can see: ids used twice, and links whose page refuses them."""
    ids = [card.id for card in cards]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    problems = [f"card {one}: id: used {ids.count(one)} times in the bank" for one in twice]
    for card in cards:
        for link in links(card):
            try:
                check_link(link, registry)
            except ValueError as error:
                problems.append(f"card {card.id}: proof to {link.page}: {error}")
    return problems
