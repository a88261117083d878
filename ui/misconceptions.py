"""The cards of the misconceptions page: claim, guess, refutation with its numbers, figure, and where to play with it.

Words are templates in `assets/lessons/misconceptions.md`; every {number} in them is filled in by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import streamlit as st

from figures import advantages, kl, ratios, reuse
from figures.plate import Plate
from rlcore.explore import exact, lengths, tokens
from rlcore.explore.estimators import Trials, bench, policies
from rlcore.explore.misconceptions import CARDS, facts, four_arm_fan
from ui import figure
from ui.cards import Card, card_of
from ui.lesson import Lesson, Section
from ui.pages import ROOT
from ui.refusals import REFUSED

GUESSES = ("true", "half true", "not true")


def cards(words: Lesson) -> None:
    """All cards, closed but for the one that the address names."""
    asked = st.query_params.get("card")
    if asked is not None and asked not in {str(number) for number in CARDS}:
        st.error(f"card: must be a whole number from 1 to {len(CARDS)}, got {asked[:40]!r}", icon=REFUSED)
    for part in words.sections:
        _card(card_of(part), opened=part.key == asked)


@st.fragment
def _card(card: Card, *, opened: bool) -> None:
    shown = st.expander(f"{card.number}. {card.claim}", expanded=opened, key=f"card_{card.number}", on_change="rerun")
    if not shown.open:
        return
    with shown:
        guess = st.segmented_control("Is it true?", GUESSES, key=f"guess_{card.number}")
        if guess is None and not opened:
            st.caption("Decide, and say why. Then the numbers.")
            return
        if guess is not None:
            st.markdown(f"You said: **{guess}**." + (" Right." if guess == GUESSES[-1] else " It is not."))
        st.markdown(filled(card.refutation, facts(card.number)))
        plate = PLATES.get(card.number)
        if plate is not None:
            figure.show(plate(), key=f"plate_{card.number}")
        st.caption(f"Source: {card.source}.")
        if (ROOT / f"pages/{card.page}.py").is_file():
            st.page_link(f"pages/{card.page}.py", label=f"See it: {card.see}", query_params=dict(card.settings))


# ---------------------------------------------------------------- numbers into words


class Several(tuple[float, ...]):
    """Numbers that are written one after the other, each in the asked format."""

    def __format__(self, spec: str) -> str:
        return ", ".join(format(float(x), spec).replace("-", "−") for x in self)


class Number(float):
    """A number written with a true minus sign."""

    def __format__(self, spec: str) -> str:
        return format(float(self), spec).replace("-", "−")


def filled(template: str, numbers: Mapping[str, Any]) -> str:
    """The words with the numbers in their places. Raises KeyError for a place without a number."""
    return template.format_map({name: _writable(value) for name, value in numbers.items()})


def _writable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Several(value.tolist())
    return Number(value) if isinstance(value, int | float | np.floating) and not isinstance(value, bool) else value


# ---------------------------------------------------------------- figures


def _expected() -> Plate:
    bandit = exact.SmallBandit()
    return advantages.expected(exact.enumerated(bandit, exact.leaning(bandit)))


def _bands() -> Plate:
    setting, widths = lengths.Length(length=200, sd=0.05), tokens.Bands()
    return ratios.bands(lengths.spread(setting, widths), widths, length=200)


def _growth() -> Plate:
    return ratios.growth(lengths.growth(lengths.Length(length=1000)), each=0.01)


def _weights() -> Plate:
    setting = lengths.Length(short=10, length=100)
    return ratios.weights(lengths.weighed(setting, advantages=(1.0, -1.0)), (10, 100))


PLATES: Mapping[int, Callable[[], Plate]] = {
    2: lambda: reuse.fan(four_arm_fan(), eps_low=0.2, eps_high=0.2),
    7: _expected,
    8: lambda: kl.gradients(bench(*policies(Trials()))),
    12: _growth,
    13: _bands,
    15: _weights,
}


def numbers_in(parts: Iterable[Section]) -> Iterable[str]:
    """Every refutation with its numbers, for search and tests."""
    return (filled(card_of(part).refutation, facts(int(part.key))) for part in parts)
