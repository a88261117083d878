"""The misconceptions page: every card opens with its numbers filled in, and leads to a state that exists."""

import pytest

from rlcore.explore.misconceptions import CARDS, facts
from tests.pages.opened import opened, words
from ui.cards import card_of, cards_about
from ui.lesson import lesson
from ui.misconceptions import filled

PARTS = lesson("misconceptions").sections


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.key)
def test_every_place_in_a_card_has_a_number(part) -> None:
    text = filled(card_of(part).refutation, facts(int(part.key)))
    assert "{" not in text and "nan" not in text


def test_there_is_a_card_for_every_calculation() -> None:
    assert [int(part.key) for part in PARTS] == list(CARDS)


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (2, "1.000, 1.100, 1.197, 1.291"),
        (3, "−0.5, +0.0, +0.0, +1.5"),
        (7, "+0.356, −0.802, +0.151".replace("+", "")),
        (8, "+0.0601, −0.1964, +0.3319, −0.1956"),
        (12, "product 22026, s = 1.0101"),
        (15, "0.05, 0.005"),
    ],
)
def test_a_card_of_the_address_is_open_with_its_numbers(card: int, said: str) -> None:
    assert said in words(opened("misconceptions", card=card))


def test_a_closed_card_asks_before_it_tells() -> None:
    app = opened("misconceptions")
    assert "22026" not in words(app)


def test_a_card_that_does_not_exist_is_told() -> None:
    assert "card: must be a whole number from 1 to 15, got '16'" in opened("misconceptions", card=16).error[0].value


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.key)
def test_the_link_of_a_card_opens_without_a_refusal(part) -> None:
    card = card_of(part)
    app = opened(card.page, **card.settings)
    assert not app.error, app.error[0].value


def test_pages_name_the_beliefs_they_refute() -> None:
    assert [card.number for card in cards_about("surrogate", "epochs")] == [2]
    assert {card.number for card in cards_about("advantages", "group")} == {1, 5}
