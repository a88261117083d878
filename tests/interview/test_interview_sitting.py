"""A drill and a mock interview as values: what may follow what, what a reload keeps, and what the clock counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fsrs import Rating

from interview import drill, mock, sitting
from interview.bank import Bank
from interview.drill import Drill, items
from interview.schedule import fresh, review

NOW = datetime(2027, 1, 10, 18, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_everything_can_be_asked_once_and_the_five_come_first(bank: Bank) -> None:
    found = items(bank)
    parts = sum(len(case.parts) for case in bank.cases)
    assert len(found) == len(bank.cards) - len(bank.cases) + parts
    first = next(iter(found.values()))
    assert first.card.id == "case-compare" and first.of == first.card.title
    assert drill.chosen(found, kinds=["case"]) == tuple(found)[:parts]
    assert {found[one].card.group for one in drill.chosen(found, groups=["kl"])} == {"kl"}


def scored(one: Drill, bank: Bank, ticked: list[str]) -> Drill:
    rubric = items(bank)[one.card_id].rubric
    one = drill.tick(drill.reveal(one, items(bank)[one.card_id], "", NOW + MINUTE), rubric, ticked)
    found, answer = drill.review_of(one, rubric, NOW + MINUTE)
    return drill.settle(one, found, review(fresh(one.card_id, NOW), Rating(answer.rating), NOW + MINUTE))


def test_a_card_is_asked_ticked_scored_and_left(bank: Bank) -> None:
    one = scored(drill.begin(["ppo-quadrants", "ppo-why-min"], NOW), bank, [])
    assert (one.phase, one.settled[0].rating, one.seconds) == ("scored", Rating.Again, 60)
    one = drill.go_on(one, NOW)
    assert (one.card_id, one.phase, one.ticked) == ("ppo-why-min", "asking", ())
    all_points = [point.id for point in items(bank)["ppo-why-min"].rubric.must]
    one = drill.go_on(scored(one, bank, all_points), NOW)
    assert one.over and drill.weak(one) == ("ppo-quadrants",)


def test_a_skipped_card_counts_as_weak_and_one_not_reached_does_not(bank: Bank) -> None:
    one = drill.end(drill.go_on(drill.begin(["ppo-quadrants", "ppo-why-min", "kl-direction"], NOW), NOW))
    assert one.over and drill.weak(one) == ("ppo-quadrants",)


def test_steps_out_of_order_and_strange_ticks_are_refused(bank: Bank) -> None:
    rubric = items(bank)["ppo-quadrants"].rubric
    one = drill.begin(["ppo-quadrants"], NOW)
    with pytest.raises(ValueError, match="belongs to the phase ticking, but the drill is asking"):
        drill.tick(one, rubric, [])
    with pytest.raises(ValueError, match="not in this rubric"):
        drill.tick(drill.reveal(one, items(bank)["ppo-quadrants"], "", NOW), rubric, ["nonsense"])
    with pytest.raises(ValueError, match="but the drill is over"):
        drill.reveal(drill.end(one), items(bank)["ppo-quadrants"], "", NOW)


def test_a_typed_answer_is_ticked_by_suggestion_and_an_untyped_one_not(bank: Bank) -> None:
    item = items(bank)["grpo-curves-loss-zero"]
    one = drill.begin([item.id], NOW)
    typed = drill.reveal(one, item, "The mean of the advantages is zero; the gradient is not.", NOW)
    assert set(typed.ticked) == {"mean-zero", "gradient"}
    assert drill.reveal(one, item, "  ", NOW).ticked == ()


def test_repeating_the_question_ticks_nothing(bank: Bank) -> None:
    for item in items(bank).values():
        one = drill.reveal(drill.begin([item.id], NOW), item, item.words, NOW)
        assert one.ticked == (), item.id


def test_a_drill_survives_json_and_a_bank_that_changed(bank: Bank) -> None:
    everything = items(bank)
    one = scored(drill.begin(["ppo-quadrants", "gone-card", "ppo-why-min"], NOW, minutes=2), bank, [])
    one = Drill.model_validate_json(one.model_dump_json())
    kept = drill.still_there(one, everything)
    assert kept is not None and kept.queue == ("ppo-quadrants", "ppo-why-min") and kept.phase == "scored"
    later = drill.still_there(drill.go_on(one, NOW), everything)
    assert later is not None and (later.card_id, later.phase) == ("ppo-why-min", "asking")
    assert drill.still_there(drill.begin(["gone-card"], NOW), everything) is None
    strange = drill.reveal(drill.begin(["ppo-quadrants"], NOW), everything["ppo-quadrants"], "", NOW)
    strange = strange.model_copy(update={"ticked": ("no-such-point",)})
    again = drill.still_there(strange, everything)
    assert again is not None and (again.phase, again.ticked) == ("asking", ())


def test_a_linked_card_goes_first_and_the_drill_goes_on_behind_it(bank: Bank) -> None:
    one = drill.go_on(drill.begin(["ppo-quadrants", "ppo-why-min"], NOW), NOW)
    one = drill.ask_first(one, "kl-direction", NOW)
    assert one.queue == ("ppo-quadrants", "kl-direction", "ppo-why-min") and one.card_id == "kl-direction"


def test_due_cards_are_those_answered_whose_time_has_come(bank: Bank) -> None:
    ids = tuple(items(bank))[:5]
    memories = {
        ids[1]: review(fresh(ids[1], NOW), Rating.Again, NOW),
        ids[3]: review(fresh(ids[3], NOW), Rating.Good, NOW),
    }
    assert drill.due_now(ids, memories, NOW) == ()
    assert drill.due_now(ids, memories, NOW + 5 * MINUTE) == (ids[1],)
    assert drill.in_order(ids, memories, NOW + 5 * MINUTE, only_due=True, most=5) == (ids[1],)
    assert drill.in_order(ids, memories, NOW, only_due=False, most=3) == (ids[0], ids[2], ids[4])


# ---------------------------------------------------------------- the half hour


def test_the_clock_counts_answering_and_stands_while_ticking(bank: Bank) -> None:
    case = bank.cases[0]
    held = sitting.sit_down(case, NOW)
    held = sitting.answered(held, "notes", NOW + 4 * MINUTE)
    assert held.left(NOW + 60 * MINUTE) == 26 * 60
    every = [point.id for point in case.parts[0].must]
    held = sitting.judged(case, sitting.ticks(held, every), NOW + 9 * MINUTE)
    assert (held.phase, held.note, held.ticked) == ("answering", "", ())
    assert held.elapsed(NOW + 10 * MINUTE) == 5 * 60
    stopped = sitting.stop(held, NOW + 10 * MINUTE)
    assert stopped.left(NOW + 90 * MINUTE) == 25 * 60
    going = sitting.run(stopped, NOW + 90 * MINUTE)
    assert going.left(NOW + 91 * MINUTE) == 24 * 60
    assert sitting.Sitting.model_validate_json(going.model_dump_json()) == going


def test_a_missed_point_is_asked_again_and_the_end_is_a_report(bank: Bank) -> None:
    case = bank.cases[0]
    held = sitting.sit_down(case, NOW)
    asked = 0
    while held.phase != "over":
        asking = mock.now_asking(case, held.session)
        assert asking is not None
        held = sitting.answered(held, "", NOW + asked * MINUTE)
        asked += 1
        if asking.chosen is None:
            held = sitting.judged(case, held, NOW + asked * MINUTE)
        else:
            held = sitting.repaired(case, held, True, NOW + asked * MINUTE)
    found = mock.result(case, held.session)
    assert asked > len(case.parts) and all(part.repaired for part in found.parts)
    assert sitting.run(held, NOW) == held, "a clock that is over does not start again"


def test_ending_early_leaves_the_rest_missed(bank: Bank) -> None:
    case = bank.cases[0]
    held = sitting.stand_up(sitting.sit_down(case, NOW), NOW + 3 * MINUTE)
    found = mock.result(case, held.session)
    assert held.phase == "over" and found.value == 0 and all(part.missing for part in found.parts)
    with pytest.raises(ValueError, match="the phase is over"):
        sitting.answered(held, "", NOW)


def test_parts_have_their_stretch_of_the_half_hour(bank: Bank) -> None:
    for case in bank.cases:
        ends = [sitting.slot_of(case, part.id) for part in case.parts]
        assert ends == sorted(ends) and ends[-1][1] <= mock.MINUTES
