"""The glossary page shows what the engine's glossary says, finds libraries' names, and every linked term exists."""

import pytest

from rlcore.glossary import entries, look_up
from tests.pages.opened import opened, words
from ui.glossary import matching
from ui.lesson import LESSONS, lesson


def test_an_entry_is_opened_by_its_name() -> None:
    shown = words(opened("glossary", term="approx_kl"))
    quantity = entries()["approx_kl"]
    assert quantity.meaning in shown
    assert quantity.formula in shown


def test_an_entry_is_opened_by_a_librarys_name_with_everybodys_names_beside_it() -> None:
    app = opened("glossary", term="actor/pg_clipfrac")
    assert entries()["clip_fraction"].meaning in words(app)
    rows = {row.library: row[2] for row in app.table[0].value.itertuples()}
    assert rows["TRL"] == "`clip_ratio/region_mean`"
    assert set(rows) == set(entries()["clip_fraction"].aka)


def test_an_unknown_term_is_told_with_the_nearest() -> None:
    app = opened("glossary", term="clip_fracton")
    assert "got 'clip_fracton'" in app.error[0].value and "clip_fraction" in app.error[0].value


def test_search_finds_by_library_name_and_by_meaning_and_says_when_there_is_nothing() -> None:
    assert [q.name for q in matching(entries().values(), "region_mean")] == ["clip_fraction"]
    assert "dead_group_fraction" in {q.name for q in matching(entries().values(), "teach nothing")}
    app = opened("glossary", q="perpetuum")
    assert "Nothing is called 'perpetuum'" in app.info[0].value


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.md")), ids=lambda path: path.stem)
def test_every_term_a_lesson_links_to_exists(path) -> None:
    for term in lesson(path.stem).terms:
        look_up(term)
