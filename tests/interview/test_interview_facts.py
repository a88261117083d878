"""Every number a card quotes from a fact is what the definition gives, to the last digit quoted."""

from __future__ import annotations

import re

import pytest

from interview.bank import AnyCard, Bank
from interview.values import Computed
from tests.interview.facts import FACTS

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def texts(card: AnyCard) -> str:
    """All that a person reads on a card."""

    def walk(value: object) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            return "\n".join(walk(part) for name, part in value.items() if name not in ("terms", "sources", "proof"))
        return "\n".join(map(walk, value)) if isinstance(value, list | tuple) else ""

    return walk(card.model_dump(mode="json"))


def half_a_digit(number: str) -> float:
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0**-decimals * 10.0 ** int(exponent or 0) * (1 + 1e-9)


def citing(bank: Bank, name: str) -> list[AnyCard]:
    return [card for card in bank.cards if Computed(kind="computed", fact=name) in card.sources]


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_fact_agrees_with_what_is_quoted(bank: Bank, name: str) -> None:
    cards = citing(bank, name)
    assert cards, f"no card cites {name}"
    quotes = FACTS[name]()
    for quote, value in quotes.items():
        match = NUMBER.search(quote.replace("−", "-"))
        assert match, f"{name}: {quote!r} holds no number"
        assert abs(float(match.group()) - float(value)) <= half_a_digit(match.group()), f"{name}: {quote} but {value}"
        assert any(quote in texts(card) for card in cards), f"{name}: no citing card says {quote!r}"


def test_every_computed_source_names_a_fact(bank: Bank) -> None:
    cited = {s.fact for card in bank.cards for s in card.sources if isinstance(s, Computed)}
    assert cited <= set(FACTS)
