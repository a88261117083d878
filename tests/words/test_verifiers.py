"""Verifiers against replies that try to look right, and the prompts and teachers around them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlcore.knobs import SettingError
from rlcore.words.addition import Addition
from rlcore.words.brackets import Brackets, closing, still_open
from rlcore.words.demonstrations import (
    AdditionTeacher,
    BracketsTeacher,
    SentencesTeacher,
    SortingTeacher,
    Teacher,
)
from rlcore.words.sentences import Sentences, sentiment, word_count
from rlcore.words.sorting import Sorting
from rlcore.words.task import Task, terms
from rlcore.words.vocabulary import EOS, TOKENS, decode, encode, padded, unpadded

TASKS: tuple[Task, ...] = (Addition(), Sorting(), Brackets(), Sentences())
NAMES = [task.__class__.__name__ for task in TASKS]
FAULTLESS: tuple[tuple[Task, Teacher], ...] = (
    (Addition(), AdditionTeacher(direct=0.5, direct_slips=0, work_slips=0)),
    (Sorting(), SortingTeacher(slips=0)),
    (Brackets(), BracketsTeacher(in_order=0, slips=0)),
)
PROMPTS = {"Addition": "47+85=", "Sorting": "3013>", "Brackets": "{([", "Sentences": " the film was"}
RIGHT = {"Addition": "132", "Sorting": "0133", "Brackets": "])}", "Sentences": " great and fun."}


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
@pytest.mark.parametrize(
    ("twist", "finished"),
    [
        (lambda right: "", True),
        (lambda right: "", False),
        (lambda right: right, False),
        (lambda right: " " + right, True),
        (lambda right: right + " ", True),
        (lambda right: right + " " + right, True),
        (lambda right: right + right, True),
        (lambda right: "9)" + right, True),
        (lambda right: "=" + right, True),
        (lambda right: right[:-1], True),
        (lambda right: right + "<eos>", True),
    ],
)
def test_what_only_looks_right_is_not_exact(task: Task, twist: object, finished: bool) -> None:
    name = task.__class__.__name__
    right = RIGHT[name]
    assert task.grade(PROMPTS[name], right, True)["exact"] == 1.0
    assert callable(twist)
    graded = task.grade(PROMPTS[name], twist(right), finished)
    assert graded["exact"] == 0.0
    assert finished or graded["format"] == 0.0


ADDITION = [
    ("132", True, {"exact": 1, "partial": 1, "format": 1, "work": 0}),
    ("#1213>132", True, {"exact": 1, "partial": 1, "format": 1, "work": 1}),
    ("#1213>132", False, {"exact": 0, "partial": 1, "format": 0, "work": 1}),
    ("#9999>132", True, {"exact": 1, "partial": 1, "format": 1, "work": 0}),
    ("#1213>133", True, {"exact": 0, "partial": 2 / 3, "format": 1, "work": 1}),
    ("#1213>", True, {"exact": 0, "partial": 0, "format": 0, "work": 0}),
    ("0132", True, {"exact": 0, "partial": 0, "format": 0, "work": 0}),
    ("32", True, {"exact": 0, "partial": 2 / 3, "format": 1, "work": 0}),
    ("#1213>#1213>132", True, {"exact": 0, "partial": 0, "format": 0, "work": 0}),
]


@pytest.mark.parametrize(("reply", "finished", "expected"), ADDITION)
def test_addition_by_hand(reply: str, finished: bool, expected: dict[str, float]) -> None:
    assert Addition().grade("47+85=", reply, finished) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reply", "finished", "expected"),
    [
        ("0133", True, {"exact": 1, "partial": 1, "format": 1}),
        ("0313", True, {"exact": 0, "partial": 0.25, "format": 1}),
        ("01", True, {"exact": 0, "partial": 0.5, "format": 0}),
        ("013333", True, {"exact": 0, "partial": 4 / 6, "format": 0}),
        ("0133", False, {"exact": 0, "partial": 1, "format": 0}),
        ("", True, {"exact": 0, "partial": 0, "format": 0}),
    ],
)
def test_sorting_by_hand(reply: str, finished: bool, expected: dict[str, float]) -> None:
    assert Sorting().grade("3013>", reply, finished) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reply", "finished", "expected"),
    [
        ("])}", True, {"exact": 1, "partial": 1, "format": 1}),
        ("()])}{}", True, {"exact": 1, "partial": 1, "format": 1}),
        ("})]", True, {"exact": 0, "partial": 0, "format": 1}),
        ("])", True, {"exact": 0, "partial": 2 / 3, "format": 1}),
        ("])}(", True, {"exact": 0, "partial": 1, "format": 1}),
        ("])}", False, {"exact": 0, "partial": 1, "format": 0}),
        ("]7)}", True, {"exact": 0, "partial": 1 / 3, "format": 0}),
    ],
)
def test_brackets_by_hand(reply: str, finished: bool, expected: dict[str, float]) -> None:
    assert Brackets().grade("{([", reply, finished) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reply", "finished", "expected"),
    [
        (" great and really fun.", True, {"exact": 1, "partial": 0.5, "format": 1, "meaning": 1}),
        (" not bad.", True, {"exact": 1, "partial": -0.25, "format": 1, "meaning": 1}),
        (" not great.", True, {"exact": 0, "partial": 0.25, "format": 1, "meaning": -1}),
        (" great great great great great", True, {"exact": 0, "partial": 1, "format": 0, "meaning": 1}),
        (" good but slow.", True, {"exact": 0, "partial": 0, "format": 1, "meaning": 0}),
        (" very.", True, {"exact": 0, "partial": 0, "format": 0, "meaning": 0}),
        (" good.", False, {"exact": 0, "partial": 0.25, "format": 0, "meaning": 1}),
    ],
)
def test_sentences_by_hand(reply: str, finished: bool, expected: dict[str, float]) -> None:
    assert Sentences().grade(" the film was", reply, finished) == pytest.approx(expected)


def test_proxy_and_meaning_part_where_not_is_said() -> None:
    assert word_count(" not great and not fun.") > 0 > sentiment(" not great and not fun.")


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_the_reward_is_the_weighted_sum_of_the_named_terms(task: Task) -> None:
    name = task.__class__.__name__
    asked = torch.tensor([encode(PROMPTS[name])])
    said = torch.tensor([[*encode(RIGHT[name]), EOS]])
    found = terms(task, asked, said, torch.ones_like(said, dtype=torch.bool))
    weights = {term: 0.5 + i for i, term in enumerate(found)}
    assert {"exact", "partial", "format"} <= set(found)
    expected = sum(weights[term] * float(value) for term, value in found.items())
    assert float(task.model_copy(update=weights).reward(found)) == pytest.approx(expected)


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_splits_are_disjoint_fixed_and_fit_the_context(task: Task) -> None:
    train, heldout = task.prompts("train"), task.prompts("heldout")
    assert not set(train.texts) & set(heldout.texts) and len(set(train.texts)) == len(train.texts)
    assert train.ids.shape[1] == heldout.ids.shape[1]
    assert train.ids.shape[1] + task.max_length - 1 <= 16, "one more column of the cache would double its width"
    assert type(task)().texts() == task.texts()
    assert decode(unpadded(train.ids[0].tolist())) == train.texts[0]


@pytest.mark.parametrize(("task", "teacher"), FAULTLESS, ids=[type(task).__name__ for task, _ in FAULTLESS])
def test_a_faultless_teacher_is_always_exact_and_never_too_long(task: Task, teacher: Teacher) -> None:
    dice = np.random.default_rng(0)
    for prompt in task.texts()[0][:500]:
        reply = teacher(prompt, dice)
        assert task.grade(prompt, reply, True)["exact"] == 1.0
        assert len(encode(reply)) + 1 <= task.max_length


def test_teachers_err_as_often_as_they_say() -> None:
    dice, rows = np.random.default_rng(1), 3000
    for task, teacher, expected in (
        (Addition(), AdditionTeacher(direct=1, direct_slips=0.5), 0.5),
        (Addition(), AdditionTeacher(direct=0, work_slips=0.1), 0.9),
    ):
        prompts = task.texts()[0][:rows]
        right = np.mean([task.grade(p, teacher(p, dice), True)["exact"] for p in prompts])
        assert right == pytest.approx(expected, abs=4 * (expected * (1 - expected) / rows) ** 0.5 + 0.005)
    replies = [SentencesTeacher()("", dice) for _ in range(500)]
    assert all(Sentences().grade("", reply, True)["format"] for reply in replies)
    assert 0.25 < np.mean([Sentences().grade("", reply, True)["exact"] for reply in replies]) < 0.5


def test_in_order_is_wrong_where_orders_differ() -> None:
    always = BracketsTeacher(in_order=1, slips=0)
    dice = np.random.default_rng(0)
    assert Brackets().grade("((", always("((", dice), True)["exact"] == 1.0
    assert Brackets().grade("([", always("([", dice), True)["exact"] == 0.0


def test_what_is_open() -> None:
    assert still_open("([]{") == "({" and closing("({") == "})"
    assert still_open("(]") is None and still_open("x") is None and still_open(")") is None


def test_text_and_tokens_go_round() -> None:
    for task in TASKS:
        for text in task.texts()[0][:50]:
            assert decode(encode(text)) == text
    assert encode(" the") == [TOKENS.index(" the")]
    assert len(TOKENS) == len(set(TOKENS)) == 48 and TOKENS[EOS] == "<eos>"
    assert unpadded(padded(["12>"], 6)[0]) == encode("12>")


def test_text_outside_the_vocabulary_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"'x\+1=' \(character 2 of '47x\+1='\)"):
        encode("47x+1=")
