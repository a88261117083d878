"""The interview page: a drill from start to summary, the whiteboard, half an hour, and files in and out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fsrs import Rating
from streamlit.testing.v1 import AppTest

from interview.bank import load_bank
from interview.drill import items
from interview.progress import Review
from interview.schema import links
from interview.store import Store, new_identity
from interview.storefile import default_path
from tests.pages.opened import APP, opened, words
from ui.interview import browser

EVERYTHING = items(load_bank())
NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SURROGATE_DATA", str(tmp_path))
    yield


def interview(identity: str | None = None, **settings: object) -> AppTest:
    """The page as a known browser opens it: AppTest has no browser that could tell its secret."""
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.session_state[browser.IDENTITY] = identity or new_identity()
    for name, value in settings.items():
        app.query_params[name] = str(value)
    app.switch_page("pages/interview.py").run()
    return fine(app)


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].message
    return app


def press(app: AppTest, key: str) -> AppTest:
    return fine(app.button(key=key).click().run())


def keys(app: AppTest) -> set[str]:
    return {button.key for button in app.button if button.key}


# ---------------------------------------------------------------- drill


def test_nothing_is_shown_of_anybody_before_the_browser_has_said_who_it_is() -> None:
    app = opened("interview")
    assert "Asking this browser for its progress" in words(app) and "drill_start" not in keys(app)


def test_a_drill_from_the_first_question_to_the_summary() -> None:
    me = new_identity()
    app = press(interview(me, many=5), "drill_start")
    assert "Card 1 of 5" in words(app) and not app.checkbox
    first = next(iter(EVERYTHING.values()))
    assert first.asked.prompt in words(app)
    press(app, "drill_reveal")
    assert [box.value for box in app.checkbox] == [False] * len(app.checkbox)
    for point in first.rubric.must:
        fine(app.checkbox(key=f"tick_{first.id}_{point.id}").check().run())
    assert app.button(key="drill_settle").label == "Score it: 100%"
    press(app, "drill_settle")
    assert "comes back" in words(app) and "show_follow_up" not in keys(app)
    assert set(Store(default_path()).memories(me)) == {first.id}
    press(app, "drill_next")
    assert "Card 2 of 5" in words(app)
    press(app, "drill_skip")
    press(app, "drill_end")
    assert "of the points on 1 card" in words(app) and app.button(key="drill_again").label == "Ask the 1 weak one again"


def test_a_red_flag_costs_and_a_missed_point_is_asked_again() -> None:
    app = interview(card="ppo-quadrants")
    rubric = EVERYTHING["ppo-quadrants"].rubric
    press(app, "drill_reveal")
    for point in [one for one in rubric.must if one.id not in rubric.follow_ups]:
        app.checkbox(key=f"tick_ppo-quadrants_{point.id}").check().run()
    before = app.button(key="drill_settle").label
    fine(app.checkbox(key=f"tick_ppo-quadrants_{rubric.red_flags[0].id}").check().run())
    share = int(app.button(key="drill_settle").label.split()[-1].rstrip("%"))
    assert share == max(0, int(before.split()[-1].rstrip("%")) - 25)
    press(app, "drill_settle")
    asked = next(rubric.follow_ups[one.id] for one in rubric.must if one.id in rubric.follow_ups)
    assert asked.ask in words(app) and asked.expect not in words(app)
    press(app, "show_follow_up")
    assert asked.expect in words(app) and rubric.red_flags[0].because in words(app)


def test_a_typed_answer_is_ticked_by_suggestion_which_says_so_and_can_be_corrected() -> None:
    app = interview(card="grpo-curves-loss-zero")
    fine(app.text_area[0].set_value("The mean of the advantages is zero, the gradient is not").run())
    press(app, "drill_reveal")
    boxes = {box.key.rsplit("_", 1)[-1]: box.value for box in app.checkbox}
    assert boxes["mean-zero"] and boxes["gradient"] and not boxes["dead"] and not boxes["lr"]
    assert "a guess from words alone" in words(app) and "Found: mean, advantage, zero" in words(app)
    app.checkbox(key="tick_grpo-curves-loss-zero_mean-zero").uncheck().run()
    assert app.button(key="drill_settle").label == "Score it: 33%"


def test_a_reload_takes_up_the_drill_where_it_was() -> None:
    me = new_identity()
    app = press(interview(me, many=5), "drill_start")
    press(press(app, "drill_skip"), "drill_reveal")
    again = interview(me)
    assert "Card 2 of 5" in words(again) and "drill_settle" in keys(again)
    assert "drill_start" in keys(interview()), "somebody else starts afresh"


def test_curves_and_flawed_answers_are_shown() -> None:
    curves = interview(card="gspo-curves-eps")
    assert "python -m interview curves gspo-curves-eps" in words(curves)
    flawed = interview(card="ppo-error-band")
    assert EVERYTHING["ppo-error-band"].card.answer in words(flawed)  # type: ignore[union-attr]


def test_a_proof_opens_its_state_and_leads_back_to_the_card() -> None:
    me = new_identity()
    app = interview(me, card="grpo-advantage")
    press(app, "drill_reveal")
    press(app, "prove_grpo-advantage")
    assert app.query_params["rewards"] == "1,0,0,1"
    back = app.session_state["interview_back"]
    assert (back["card"], back["show"]) == ("grpo-advantage", "drill")
    app.switch_page("pages/interview.py").run()
    assert "drill_settle" in keys(fine(app)) and "interview_back" not in app.session_state


def test_a_proof_wins_over_what_this_session_had_set_on_that_page() -> None:
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.session_state[browser.IDENTITY] = new_identity()
    app.switch_page("pages/advantages.py").run()
    fine(app.text_input(key="rewards").set_value("3, 4, 5").run())
    app.query_params["card"] = "grpo-advantage"
    app.switch_page("pages/interview.py").run()
    press(app, "drill_reveal")
    press(app, "prove_grpo-advantage")
    app.switch_page("pages/advantages.py").run()
    assert fine(app).text_input(key="rewards").value == "1,0,0,1"


def test_what_was_answered_and_is_due_can_be_drilled_alone() -> None:
    me = new_identity()
    assert "Nothing is due" in interview(me, cards="due").info[0].value
    Store(default_path()).answer(
        me, Review(card_id="kl-direction", reviewed_at=NOW - timedelta(days=3), rating=Rating.Again, value=0)
    )
    app = press(interview(me, cards="due"), "drill_start")
    assert EVERYTHING["kl-direction"].asked.prompt in words(app)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"card": "no-such-card"}, "card: no card is called 'no-such-card'"),
        ({"cards": "seven"}, "cards: must be one of five, topics, due"),
        ({"days": "0"}, "days: must be between 1 and 365, got 0"),
        ({"sohw": "mock"}, "sohw: the page interview has no such setting; did you mean show?"),
        ({"show": "whiteboard", "task": "nothing"}, "task: must be one of"),
        ({"show": "mock", "case": "nothing"}, "case: must be one of case-"),
    ],
)
def test_what_an_address_asks_wrongly_is_told(settings: dict[str, str], complaint: str) -> None:
    assert any(complaint in error.value for error in interview(**settings).error)


def test_a_progress_file_that_is_not_ours_is_told_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "interview.sqlite3").write_bytes(b"something else" * 100)
    app = interview()
    assert "Progress cannot be kept" in app.error[0].value
    assert (tmp_path / "interview.sqlite3").read_bytes() == b"something else" * 100


# ---------------------------------------------------------------- whiteboard


def test_an_equivalent_expression_passes_a_near_miss_is_named_and_a_hostile_one_refused() -> None:
    app = interview(show="whiteboard", task="wb-group-advantage")
    field = app.text_input(key="write_wb-group-advantage")
    assert "Dr. GRPO" in fine(field.set_value("R - mean(R)").run()).error[0].value
    fine(app.text_input(key="write_wb-group-advantage").set_value("__import__('os').system('x')").run())
    assert len(app.error) == 1 and not app.success
    fine(app.text_input(key="write_wb-group-advantage").set_value("(R - sum(R) / G) / (tiny + std(R))").run())
    assert "Right on all" in app.success[0].value and "1 of 24 solved" in words(app)


def test_tiles_are_put_in_order() -> None:
    app = interview(show="whiteboard", task="wb-shuffle-k3")
    tiles = [
        button.label.strip("`")
        for button in app.button
        if (button.key or "").startswith("tiles_wb-shuffle-k3_") and button.key[-1].isdigit()
    ]
    for term in ("exp(logp_ref - logp)", "- 1", "- (logp_ref - logp)"):
        press(app, f"tiles_wb-shuffle-k3_{tiles.index(term)}")
    press(app, "tiles_wb-shuffle-k3_check")
    assert "Right on all" in app.success[0].value, "another order of the same sum passes"


def test_blanks_of_the_source_are_filled_and_checked() -> None:
    app = interview(show="whiteboard", task="src-gspo-ratio")
    assert any("masked_spread(____1____, mask)" in block.value for block in app.code)
    app.text_input(key="fill_src-gspo-ratio_blank_1").set_value("mean(token)").run()
    fine(app.text_input(key="fill_src-gspo-ratio_blank_2").set_value("exp(log_ratio)").run())
    assert "comes out differently" in app.error[0].value
    fine(app.text_input(key="fill_src-gspo-ratio_blank_1").set_value("sum(token) / sum(mask)").run())
    assert "every term of the loss" in app.success[0].value


# ---------------------------------------------------------------- mock interview


def test_half_an_hour_with_follow_ups_ends_in_a_report_and_counts_in_the_drill() -> None:
    me = new_identity()
    app = press(interview(me, show="mock"), "start_case-grpo-advantage")
    case = next(item.card for item in EVERYTHING.values() if item.card.id == "case-grpo-advantage")
    part = case.parts[0]  # type: ignore[union-attr]
    assert part.prompt in words(app)
    press(app, "mock_answered")
    missed = next(point for point in part.must if point.id in part.follow_ups)
    for point in part.must:
        if point is not missed:
            app.checkbox(key=f"mock_case-grpo-advantage-{part.id}_{point.id}").check().run()
    press(app, "mock_judged")
    assert part.follow_ups[missed.id].ask in words(app) and part.follow_ups[missed.id].expect not in words(app)
    press(app, "mock_answered")
    assert part.follow_ups[missed.id].expect in words(app)
    reloaded = interview(me, show="mock")
    assert part.follow_ups[missed.id].expect in words(reloaded)
    press(press(reloaded, "mock_Y"), "mock_end")
    report = words(reloaded)
    assert f"1. {part.title}" in report and "Recovered in a follow-up" in report and "States to revisit" in report
    assert set(Store(default_path()).memories(me)) == {f"case-grpo-advantage-{part.id}"}
    assert "start_case-compare" in keys(press(reloaded, "mock_new"))


# ---------------------------------------------------------------- progress


def upload(app: AppTest, content: bytes) -> AppTest:
    return fine(
        app.file_uploader(key="progress_import").set_value(("progress.json", content, "application/json")).run()
    )


def test_a_file_goes_out_of_one_browser_and_into_another_and_a_foreign_one_changes_nothing() -> None:
    me, other = new_identity(), new_identity()
    store = Store(default_path())
    store.answer(me, Review(card_id="kl-direction", reviewed_at=NOW, rating=Rating.Good, value=0.75))
    text = store.export_json(me, NOW)
    app = upload(interview(other, show="progress"), text.encode())
    assert "1 cards added" in app.success[0].value and set(store.memories(other)) == {"kl-direction"}
    for bad, reason in (
        (b"{}", "another program's file"), (b"not json", "not readable as JSON"),
        (json.dumps(json.loads(text) | {"version": 99}).encode(), "another version"), (b"\xff\xfe\x00", "Refused"),
    ):  # fmt: skip
        told = upload(interview(me, show="progress"), bad)
        assert "nothing was changed" in told.error[0].value and reason in told.error[0].value
    assert store.export_json(me, NOW) == text


def test_forgetting_forgets_one_person_only() -> None:
    me, other = new_identity(), new_identity()
    store = Store(default_path())
    for one in (me, other):
        store.answer(one, Review(card_id="kl-direction", reviewed_at=NOW, rating=Rating.Good, value=0.75))
    press(interview(me, show="progress"), "forget_all")
    assert not store.memories(me) and store.memories(other)


# ---------------------------------------------------------------- proofs


PROOFS = {
    link.path(): link for item in EVERYTHING.values() for link in links(item.card) if link.page != "misconceptions"
}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(PROOFS))
def test_every_proof_opens_without_a_refusal(path: str) -> None:
    link = PROOFS[path]
    page = {"step_through": "step"}.get(link.page, link.page)
    app = opened(page, **{name: str(v).lower() if isinstance(v, bool) else v for name, v in link.params.items()})
    assert not app.error, app.error[0].value
