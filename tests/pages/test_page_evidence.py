"""The evidence page says what the stored values say: every claim, its verdict by rule, and the command that measures it."""

from __future__ import annotations

import pytest

from rlcore.evidence import load, names
from tests.pages.opened import opened, words
from ui.evidence import SECTIONS
from ui.lesson import lesson


def test_every_section_has_words_and_claims() -> None:
    assert {section.key for section in lesson("evidence").sections} == set(SECTIONS)
    assert all(SECTIONS.values())


@pytest.mark.parametrize("key", list(SECTIONS))
def test_claims_are_shown_with_their_verdict_and_what_is_missing_with_its_command(key: str) -> None:
    shown = words(opened("evidence", show=key))
    for name in SECTIONS[key]:
        if name not in names():
            assert f"`python -m benchmarks.evidence {name}`" in shown
            continue
        evidence = load(name)
        assert evidence.comparison is None or (evidence.claim in shown and str(evidence.verdict) in shown)


def test_the_summary_counts_verdicts() -> None:
    known = [load(name) for name in SECTIONS["gspo"] if name in names()]
    judged = [evidence for evidence in known if evidence.comparison is not None]
    supported = sum(evidence.verdict == "supported" for evidence in judged)
    shown = words(opened("evidence", show="gspo"))
    assert f"{len(judged)} claims:" in shown
    assert not supported or f"{supported} supported" in shown
