"""Dragged bars: what comes from the browser is checked, and ends where the page keeps it."""

import pytest
import streamlit as st

from ui import advantages, bars, ratios


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    held: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", held)
    return held


@pytest.mark.parametrize("text", ["", "1, x", "1", "1, 2, 3", "1, nan", "1, inf", "1, 30"])
def test_what_is_not_that_many_legal_numbers_is_not_taken(session: dict[str, object], text: str) -> None:
    session["b"] = {"value": text}
    seen: list[object] = []
    bars._moved("b", 2, (-20, 20), seen.append)
    assert seen == []


def test_dragged_rewards_are_typed_for_the_person(session: dict[str, object]) -> None:
    session["b"] = {"value": "0.25, 1"}
    bars._moved("b", 2, (-20, 20), lambda values: advantages._fill_in("rewards", values))
    assert session["rewards"] == "0.25, 1"


def test_the_dragged_token_is_the_one_that_is_nudged_from_where_it_was_recorded(session: dict[str, object]) -> None:
    ratios._nudge_to([0.1, 0.2, 0.3], [0.1, 0.9, 0.3], (0.1, 0.9, -0.2))
    assert session["token"] == 3 and session["nudge"] == pytest.approx(-0.5)
