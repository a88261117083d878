"""The bank as it is shipped: complete, consistent, sourced, and every proof opens a valid state."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from interview.bank import Bank, BankError, load_bank
from interview.links import PAGES, PARAMS, ProofLink, check_link
from interview.schema import GROUPS, Case, FindTheError, ReadCurves, links, rubrics
from interview.states import REGISTRY
from interview.values import Scalar, Vector

VECTORS = Path(__file__).parents[1] / "parity" / "vectors"


def words_of(card: object) -> str:
    return card.model_dump_json()  # type: ignore[attr-defined, no-any-return]


def test_counts(bank: Bank) -> None:
    kinds = Counter(card.kind for card in bank.cards)
    assert len(bank.cards) >= 70
    assert kinds["find_the_error"] >= 15
    assert kinds["read_curves"] >= 10
    assert kinds["case"] == 5
    groups = Counter(card.group for card in bank.cards)
    assert set(groups) == set(GROUPS)
    assert min(groups.values()) >= 8


def test_the_five_cases_take_half_an_hour_and_ask_back(bank: Bank) -> None:
    assert {case.group for case in bank.cases} == {"judgement", "grpo", "reward_hacking", "distributed", "ppo"}
    for case in bank.cases:
        assert all(part.follow_ups for part in case.parts), case.id


def test_every_card_has_sources_red_flags_and_follow_ups(bank: Bank) -> None:
    for card in bank.cards:
        assert card.sources, card.id
        for rubric in rubrics(card):
            assert rubric.red_flags and rubric.follow_ups, card.id


def test_ids_are_unique_also_between_parts(bank: Bank) -> None:
    names = [card.id for card in bank.cards] + [f"{c.id}--{p.id}" for c in bank.cases for p in c.parts]
    assert len(names) == len(set(names))


def test_every_link_opens_a_valid_state_and_says_what_to_do(bank: Bank) -> None:
    found = [link for card in bank.cards for link in links(card)]
    assert len(found) > 60
    for link in found:
        check_link(link)
        assert link.page in PAGES and link.do
    assert {link.page for link in found} >= {"lab", "surrogate", "advantages", "ratios", "duel", "misconceptions"}


def test_every_link_opens_a_state_that_the_engine_accepts() -> None:
    load_bank(registry=REGISTRY)


@pytest.mark.parametrize(
    ("page", "params", "complaint"),
    [
        ("lab", {"recipe": "grpo", "env": "bandit", "epoks": 3}, "epoks"),
        ("lab", {"recipe": "grpo", "env": "bandit", "eps_low": 7}, "eps_low"),
        ("lab", {"recipe": "grpo", "env": "moon"}, "env: must be one of"),
        ("lab", {"recipe": "grpo", "env": "bandit", "seed": -1}, "seed: must be a number"),
        ("duel", {"recipes": "grpo,gspo", "env": "gridworld", "group_size": 0}, "group_size"),
        ("duel", {"recipes": "grpo"}, "recipes: must be 2 to 5"),
        ("step_through", {"recipe": "grpo", "phase": "Two Words"}, "phase: must be one of sample, score, advantage"),
        ("glossary", {"term": "no_such_term_at_all"}, "glossary"),
    ],
)
def test_the_engine_refuses_states_that_do_not_exist(page: str, params: dict[str, Scalar], complaint: str) -> None:
    link = ProofLink.model_validate({"page": page, "params": params, "do": "Look."})
    with pytest.raises(ValueError, match=complaint):
        check_link(link, REGISTRY)


def test_vectors_that_are_cited_exist(bank: Bank) -> None:
    if not VECTORS.is_dir():
        pytest.skip("the reference vectors are not in this checkout")
    cited = {source.name for card in bank.cards for source in card.sources if isinstance(source, Vector)}
    assert cited
    assert not [name for name in cited if not (VECTORS / f"{name}.json").is_file()]


def test_texts_are_plain(bank: Bank) -> None:
    """No dollar signs (they start mathematics in Markdown) and no leftover markup."""
    for card in bank.cards:
        assert "$" not in words_of(card), card.id
        assert not re.search(r"\*\*[^ ]|__|<[a-z]+>", card.prompt), card.id


def test_flawed_answers_are_not_repeated_as_points(bank: Bank) -> None:
    for card in bank.of(kinds=["find_the_error"]):
        assert isinstance(card, FindTheError)
        assert all(point.text not in card.answer for point in card.must), card.id


def test_curves_cards_say_whether_they_were_verified(bank: Bank) -> None:
    for card in bank.of(kinds=["read_curves"]):
        assert isinstance(card, ReadCurves)
        assert card.verified, f"{card.id}: run it (see test_interview_curves) before shipping it"


def test_selection(bank: Bank) -> None:
    assert {card.group for card in bank.of(groups=["kl"])} == {"kl"}
    assert all(isinstance(card, Case) for card in bank.of(kinds=["case"]))
    assert bank.of() == bank.cards


# ---------------------------------------------------------------- refusals

GOOD = """group: kl
title: A group
revised: 2026-11-30
cards:
- id: one-card
  kind: question
  level: core
  title: A title
  prompt: "A prompt?"
  must:
  - {id: a, text: "First point.", terms: ["first"]}
  - {id: b, text: "Second point.", terms: ["second"]}
  red_flags:
  - {id: c, text: "A flag.", because: "A reason."}
  follow_ups:
    a: {ask: "Ask?", expect: "Expect."}
  proof: {page: lab, params: {recipe: grpo, env: bandit, seed: 0}, do: "Look."}
  sources:
  - {kind: paper, ref: "arXiv:2402.03300"}
"""


def load(tmp_path: Path, text: str, *more: str) -> Bank:
    for number, content in enumerate((text, *more)):
        (tmp_path / f"file{number}.yaml").write_text(content, encoding="utf-8")
    return load_bank(tmp_path)


def test_a_good_file_loads(tmp_path: Path) -> None:
    card = load(tmp_path, GOOD).by_id["one-card"]
    assert card.group == "kl" and card.revised.isoformat() == "2026-11-30"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("level: core", "level: hard"), r"file0.yaml: card one-card: level: .*warm-up"),
        (("{id: b,", "{id: a,"), r"card one-card: .*used twice: \['a'\]"),
        (("    a: {ask", "    z: {ask"), r"card one-card: .*\['z'\] are not among \['a', 'b'\]"),
        (('sources:\n  - {kind: paper, ref: "arXiv:2402.03300"}', "sources: []"), r"card one-card: sources: "),
        (("arXiv:2402.03300", "a blog"), r"card one-card: sources.0.paper.ref: "),
        (("page: lab", "page: nowhere"), r"card one-card: proof.page: "),
        (("recipe: grpo", "recipe: gropo"), r"card one-card: proof to lab: recipe: must be one of ppo"),
        (("seed: 0", "sneed: 0"), r"proof to lab: sneed: the page lab has no such parameter"),
        (("  proof: {", '  no_proof: "None."\n  proof: {'), r"card one-card: .*exactly one of proof"),
        (("kind: question", "kind: quiz"), r"card one-card: card: "),
        (("  title: A title", "  title: A title\n  title: B"), r"key given twice: title"),
        (("prompt:", "promt:"), r"card one-card: (prompt|promt): "),
        (("cards:", "crads:"), r"file0.yaml: cards: must be a list"),
        (('terms: ["first"]', "terms: []"), r"card one-card: must.0.terms: "),
    ],
)
def test_a_bad_file_is_refused_by_file_card_field_and_rule(
    tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    text = GOOD.replace(*change)
    assert text != GOOD
    with pytest.raises(BankError, match=complaint):
        load(tmp_path, text)


def test_ids_used_in_two_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="card one-card: id: used 2 times"):
        load(tmp_path, GOOD, GOOD)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="no .*yaml"):
        load_bank(tmp_path)


def test_a_page_may_bring_its_own_validator() -> None:
    link = ProofLink.model_validate({"page": "lab", "params": {"anything": 1}, "do": "Look."})
    with pytest.raises(ValueError, match="no such parameter"):
        check_link(link)
    check_link(link, {"lab": lambda params: None})

    def refuse(params: object) -> None:
        raise ValueError("step: must be below 10, got 11")

    with pytest.raises(ValueError, match="below 10"):
        check_link(link, {"lab": refuse})


def test_a_link_spells_its_query() -> None:
    params = {"recipe": "gspo", "eps_high": 0.0004, "show": True, "rewards": "1,0"}
    link = ProofLink.model_validate({"page": "lab", "params": params, "do": "Look."})
    assert link.path() == "lab?recipe=gspo&eps_high=0.0004&show=true&rewards=1%2C0"
    step = ProofLink.model_validate({"page": "step_through", "params": {"step": 3}, "do": "Look."})
    assert step.path() == "step?step=3"
    assert ProofLink.model_validate({"page": "home", "do": "Look."}).path() == ""


def test_every_page_has_its_parameters() -> None:
    assert set(PARAMS) == set(PAGES)
