"""The mock interview: the clock adds up, follow-ups repair, a session resumes, and the report tells the truth."""

from __future__ import annotations

from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from interview import mock
from interview.bank import Bank, load_bank
from interview.mock import Session
from interview.report import html_report, markdown_report
from interview.schema import Case, Part

CASES = load_bank().cases
HELD = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
URL = "http://localhost:8501/"


def ids(case: Case) -> str:
    return case.id


def hold(case: Case, ticks: dict[str, list[str]], *, repaired: bool = False, note: str = "") -> Session:
    """Answer every part with its ticks and every follow-up alike."""
    session = mock.begin(case)
    while (asking := mock.now_asking(case, session)) is not None:
        if asking.chosen is not None:
            session = mock.answer_follow_up(case, session, repaired=repaired, seconds=30)
        else:
            session = mock.submit(case, session, ticks.get(asking.part.id, []), note=note, seconds=240)
    return session


def every(part: Part) -> list[str]:
    return [point.id for point in part.must]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_timeline_covers_half_an_hour_without_gaps(case: Case) -> None:
    slots = mock.timeline(case)
    assert slots[0].start == 0 and slots[-1].end == mock.MINUTES
    assert all(a.end == b.start and a.end > a.start for a, b in zip(slots, slots[1:], strict=False))
    assert slots[-1].kind == "wrap_up"
    answers = [slot for slot in slots if slot.kind == "answer"]
    assert [slot.part_id for slot in answers] == [part.id for part in case.parts]
    assert [slot.end - slot.start for slot in answers] == [part.minutes for part in case.parts]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_perfect_answer_gets_no_follow_up_and_a_full_score(case: Case) -> None:
    session = hold(case, {part.id: every(part) for part in case.parts})
    assert all(not answer.follow_ups for answer in session.answers)
    result = mock.result(case, session)
    assert result.value == 1 and not result.revisit
    assert all(not part.missing and not part.red_flags for part in result.parts)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_silence_gets_follow_ups_and_repairs_count_half(case: Case) -> None:
    silent, repaired = hold(case, {}), hold(case, {}, repaired=True)
    assert all(1 <= len(answer.follow_ups) <= mock.FOLLOW_UPS_A_PART for answer in silent.answers)
    assert mock.result(case, silent).value == 0
    recovered = mock.result(case, repaired)
    assert 0 < recovered.value < 0.5
    assert all(part.repaired and not set(part.repaired) & set(part.missing) for part in recovered.parts)
    assert {link.path() for link in recovered.revisit} <= {p.proof.path() for p in case.parts if p.proof}


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_red_flag_shows_with_its_reason_and_costs(case: Case) -> None:
    part = case.parts[0]
    ticks = {p.id: every(p) for p in case.parts}
    clean = mock.result(case, hold(case, ticks))
    flagged = mock.result(case, hold(case, {**ticks, part.id: [*every(part), part.red_flags[0].id]}))
    assert flagged.value < clean.value
    assert part.red_flags[0].because in flagged.parts[0].red_flags[0]


@settings(deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_a_session_can_be_saved_and_resumed_anywhere(case: Case, data: st.DataObject) -> None:
    session = mock.begin(case)
    while (asking := mock.now_asking(case, session)) is not None:
        session = Session.model_validate_json(session.model_dump_json())
        if asking.chosen is not None:
            session = mock.answer_follow_up(case, session, repaired=data.draw(st.booleans()))
        else:
            pool = [*every(asking.part), *(flag.id for flag in asking.part.red_flags)]
            session = mock.submit(case, session, data.draw(st.sets(st.sampled_from(pool))))
    result = mock.result(case, session)
    assert 0 <= result.value <= 1 and len(session.answers) == len(case.parts)


def test_wrong_turns_are_refused(bank: Bank) -> None:
    case = bank.cases[0]
    session = mock.begin(case)
    with pytest.raises(ValueError, match="no follow-up"):
        mock.answer_follow_up(case, session, repaired=True)
    with pytest.raises(ValueError, match="not in this rubric"):
        mock.submit(case, session, ["no-such-point"])
    waiting = mock.submit(case, session, [])
    with pytest.raises(ValueError, match="follow-up first"):
        mock.submit(case, waiting, [])
    over = hold(case, {part.id: every(part) for part in case.parts})
    with pytest.raises(ValueError, match="over"):
        mock.submit(case, over, [])
    with pytest.raises(ValueError, match="not held on this version"):
        mock.result(bank.cases[1], session)


def test_an_interview_broken_off_counts_the_rest_as_missed(bank: Bank) -> None:
    case = bank.cases[0]
    session = mock.submit(case, mock.begin(case), every(case.parts[0]))
    result = mock.result(case, session)
    assert result.value == pytest.approx(1 / len(case.parts))


# ---------------------------------------------------------------- the report


class Tags(HTMLParser):
    """Collects tags, links and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_reports_hold_what_happened(case: Case) -> None:
    first = case.parts[0]
    ticks = {first.id: [every(first)[0], first.red_flags[0].id]}
    result = mock.result(case, hold(case, ticks, note="I said something."))
    text = markdown_report(result, held=HELD, app_url=URL)
    page = Tags(html_report(result, held=HELD, app_url=URL))
    shown = Tags(MarkdownIt().render(text)).text
    for part in result.parts:
        for line in (*part.strong, *part.missing, *part.red_flags):
            assert line in text
            bare = line.replace("`", "")
            assert bare in shown and bare in page.text
    assert "2026-11-30 20:00" in text and "I said something." in text
    assert [link for link in page.links if link] == [f"{URL}{link.path()}" for link in result.revisit]
    assert all(link.path() in text for link in result.revisit)


def test_what_a_person_typed_cannot_become_markup(bank: Bank) -> None:
    case = bank.cases[0]
    note = "</pre><script>alert(1)</script> ``` \n# heading\n<img src=x onerror=alert(1)> {{ 7*7 }} {% raw %}"
    result = mock.result(case, hold(case, {}, note=note))
    page = Tags(html_report(result, held=HELD, app_url=URL))
    assert not {"script", "img", "iframe"} & set(page.tags) and page.text.count("alert(1)") == 2 * len(case.parts)
    assert "{{ 7*7 }}" in page.text
    shown = Tags(MarkdownIt("commonmark", {"html": True}).render(markdown_report(result, held=HELD, app_url=URL)))
    assert not {"script", "img"} & set(shown.tags) and "# heading" in shown.text


def test_the_page_loads_nothing_from_anywhere(bank: Bank) -> None:
    page = html_report(mock.result(bank.cases[0], hold(bank.cases[0], {})), held=HELD, app_url=URL)
    assert not {"script", "link", "img", "iframe", "object"} & set(Tags(page).tags)
    assert "@import" not in page and "url(" not in page
