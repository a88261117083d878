"""Scoring, suggestions, follow-ups and the schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from fsrs import Rating
from hypothesis import given, settings
from hypothesis import strategies as st

from interview import schedule
from interview.bank import Bank, load_bank
from interview.followup import follow_ups, missed, next_follow_up
from interview.matching import LONGEST_ANSWER, suggest, words
from interview.schema import Rubric, rubrics
from interview.scoring import Marks, marks, score

RUBRICS = [rubric for card in load_bank().cards for rubric in rubrics(card)]
NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)


@st.composite
def graded(draw: st.DrawFn) -> tuple[Rubric, Marks]:
    rubric = draw(st.sampled_from(RUBRICS))

    def some(ids: list[str]) -> frozenset[str]:
        return frozenset(draw(st.sets(st.sampled_from(ids)))) if ids else frozenset()

    lists = [[p.id for p in rubric.must], [p.id for p in rubric.nice], [p.id for p in rubric.red_flags]]
    return rubric, Marks(*map(some, lists))


# ---------------------------------------------------------------- scoring


@given(graded())
def test_one_more_point_never_costs(case: tuple[Rubric, Marks]) -> None:
    rubric, given_marks = case
    before = score(rubric, given_marks)
    for point in rubric.must:
        after = score(rubric, Marks(given_marks.must | {point.id}, given_marks.nice, given_marks.red_flags))
        assert after.value >= before.value and after.rating >= before.rating
    for bonus in rubric.nice:
        after = score(rubric, Marks(given_marks.must, given_marks.nice | {bonus.id}, given_marks.red_flags))
        assert after.rating >= before.rating


@given(graded())
def test_a_red_flag_never_helps_and_forbids_easy(case: tuple[Rubric, Marks]) -> None:
    rubric, given_marks = case
    before = score(rubric, given_marks)
    for flag in rubric.red_flags:
        after = score(rubric, Marks(given_marks.must, given_marks.nice, given_marks.red_flags | {flag.id}))
        assert after.value <= before.value and after.rating <= before.rating
        assert after.rating != Rating.Easy


@given(graded())
def test_a_score_is_a_share(case: tuple[Rubric, Marks]) -> None:
    found = score(*case)
    assert 0 <= found.value <= found.must_share <= 1


@pytest.mark.parametrize("rubric", RUBRICS)
def test_the_ends_of_the_scale(rubric: Rubric) -> None:
    everything = frozenset(p.id for p in rubric.must), frozenset(p.id for p in rubric.nice)
    assert score(rubric, Marks()).rating == Rating.Again
    assert score(rubric, Marks(everything[0])).rating >= Rating.Good
    assert score(rubric, Marks(*everything)).rating == Rating.Easy
    flags = frozenset(f.id for f in rubric.red_flags)
    assert score(rubric, Marks(*everything, flags)).rating <= Rating.Good


def test_ticks_are_sorted_and_strangers_refused(bank: Bank) -> None:
    rubric = rubrics(bank.by_id["ppo-quadrants"])[0]
    found = marks(rubric, ["formula", "first-order", "band"])
    assert found == Marks(frozenset({"formula"}), frozenset({"first-order"}), frozenset({"band"}))
    with pytest.raises(ValueError, match="no-such-point"):
        marks(rubric, ["no-such-point"])


# ---------------------------------------------------------------- follow-ups


@given(graded())
def test_follow_ups_repair_missed_points_in_order(case: tuple[Rubric, Marks]) -> None:
    rubric, given_marks = case
    order = [point.id for point in rubric.must]
    chosen = follow_ups(rubric, given_marks)
    assert all(one.point_id in missed(rubric, given_marks) for one in chosen)
    assert all(order.index(a.point_id) < order.index(b.point_id) for a, b in pairwise(chosen))
    first = next_follow_up(rubric, given_marks)
    assert first == (chosen[0] if chosen else None)
    if first:
        again = next_follow_up(rubric, given_marks, asked=[first.point_id])
        assert again != first


def test_nothing_missed_nothing_asked(bank: Bank) -> None:
    rubric = rubrics(bank.by_id["ppo-quadrants"])[0]
    assert next_follow_up(rubric, Marks(frozenset(p.id for p in rubric.must))) is None


# ---------------------------------------------------------------- suggestions


EMPTY = (
    "I think this is the one that matters, and it depends on the case. We look at all of it, and then it is more or less the "
    "same over the long run, with no difference. As I said, it is not that easy, there are several things. I mean, it depends."
)


@pytest.mark.parametrize("rubric", RUBRICS)
def test_an_empty_answer_ticks_nothing(rubric: Rubric) -> None:
    assert not [one.point_id for one in suggest(rubric, EMPTY) if one.ticked]


@pytest.mark.parametrize("rubric", RUBRICS)
def test_a_point_in_its_own_words_is_suggested(rubric: Rubric) -> None:
    """Terms must match the point they stand for; otherwise they can match no honest answer."""
    for point, suggestion in zip(rubric.must, suggest(rubric, " ".join(p.text for p in rubric.must)), strict=True):
        assert suggestion.point_id == point.id
        assert not suggestion.missing, f"{point.id}: terms {suggestion.missing} are not in its own text"


@pytest.mark.parametrize("rubric", RUBRICS)
def test_nothing_is_suggested_for_an_empty_or_foreign_answer(rubric: Rubric) -> None:
    for answer in ("", "I would rather talk about the weather in the mountains."):
        assert not any(suggestion.ticked for suggestion in suggest(rubric, answer))


def test_a_negation_withholds_the_tick(bank: Bank) -> None:
    rubric = rubrics(bank.by_id["kl-beta-zero"])[0]
    plain = {s.point_id: s for s in suggest(rubric, "The reference model costs memory.")}
    negated = {s.point_id: s for s in suggest(rubric, "I do not think memory is the reason.")}
    assert plain["memory"].ticked and not plain["memory"].negated
    assert negated["memory"].negated and not negated["memory"].ticked
    assert "decide yourself" in negated["memory"].because()


def test_red_flags_are_never_suggested(bank: Bank) -> None:
    rubric = rubrics(bank.by_id["ppo-quadrants"])[0]
    flags = {flag.id for flag in rubric.red_flags}
    answer = " ".join(flag.text for flag in rubric.red_flags)
    assert not flags & {suggestion.point_id for suggestion in suggest(rubric, answer)}


def test_words_unite_spellings() -> None:
    assert words("ε") == words("epsilon") == words("eps")
    assert words("normalised ratios") == words("normalized ratio")
    assert words("doesn't") == words("does not")
    assert words("π_old/π") == ("pi", "old", "pi")


def test_an_endless_answer_is_refused() -> None:
    with pytest.raises(ValueError, match=str(LONGEST_ANSWER)):
        words("x" * (LONGEST_ANSWER + 1))


# ---------------------------------------------------------------- schedule


@settings(deadline=None)
@given(st.lists(st.sampled_from(Rating), max_size=8), st.floats(0.01, 30))
def test_the_schedule_survives_json_and_looks_ahead(ratings: list[Rating], days: float) -> None:
    now, memory = NOW, schedule.fresh("a-card", NOW)
    for rating in ratings:
        memory = schedule.review(memory, rating, now)
        assert memory.due > now and memory.last_review == now
        now += timedelta(days=days)
    assert schedule.Memory.model_validate_json(memory.model_dump_json()) == memory
    assert 0 <= schedule.recall(memory, now) <= 1


def test_a_better_answer_is_put_off_longer() -> None:
    memory = schedule.review(schedule.fresh("a-card", NOW), Rating.Easy, NOW)
    later = memory.due
    dues = [
        schedule.review(memory, rating, later).due for rating in (Rating.Again, Rating.Hard, Rating.Good, Rating.Easy)
    ]
    assert dues == sorted(dues) and len(set(dues)) == 4


def test_nothing_is_put_off_beyond_the_interview() -> None:
    memory = schedule.fresh("a-card", NOW)
    for step in range(6):
        memory = schedule.review(memory, Rating.Easy, NOW + timedelta(days=step), days_left=2)
        assert memory.due <= NOW + timedelta(days=step + 2)
    with pytest.raises(ValueError, match="days_left"):
        schedule.scheduler(days_left=0)


def test_due_cards_come_first_and_new_ones_after() -> None:
    old = schedule.review(schedule.fresh("old", NOW), Rating.Again, NOW - timedelta(days=3))
    older = schedule.review(schedule.fresh("older", NOW), Rating.Again, NOW - timedelta(days=9))
    easy = schedule.review(schedule.fresh("easy", NOW), Rating.Easy, NOW)
    memories = {"old": old, "older": older, "easy": easy}
    assert schedule.due(["new", "easy", "old", "older"], memories, NOW) == ("older", "old", "new")
    assert schedule.weakest_first(["easy", "old", "new", "older"], memories, NOW)[0] == "new"
    assert schedule.weakest_first(["easy", "old", "new", "older"], memories, NOW)[-1] == "easy"


@pytest.mark.parametrize(
    "broken",
    [
        {"state": 2},
        {"state": 4},
        {"step": 7},
        {"stability": 1.0},
        {"step": None},
        {"due": "2026-11-30T20:00:00"},
        {"card_id": "No Slug"},
    ],
)
def test_impossible_memories_are_refused(broken: dict[str, object]) -> None:
    good = schedule.fresh("a-card", NOW).model_dump(mode="json")
    schedule.Memory.model_validate(good)
    with pytest.raises(ValueError):
        schedule.Memory.model_validate(good | broken)


def test_a_naive_clock_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        schedule.fresh("a-card", datetime(2026, 1, 1))
