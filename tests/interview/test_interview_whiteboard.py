"""The whiteboard accepts every equivalent form, names near misses, and answers hostile text with an error only."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interview import expression
from interview.bank import BankError
from interview.batches import ABOUT, FAMILIES, Batch, batches
from interview.expression import Array, ExpressionError, evaluate, parse
from interview.references import REFERENCES
from interview.whiteboard import (
    AnyTask,
    BlanksTask,
    ShuffleTask,
    check_blanks,
    check_tiles,
    check_written,
    load_tasks,
)

TASKS = load_tasks()
BY_ID = {task.id: task for task in TASKS}


def ids(task: AnyTask) -> str:
    return task.id


# ---------------------------------------------------------------- the tasks as shipped


def test_there_are_tasks_of_each_kind() -> None:
    assert len(TASKS) >= 15
    assert {task.kind for task in TASKS} == {"write", "shuffle", "blanks"}
    assert {task.reference for task in TASKS} <= set(REFERENCES)


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_worked_and_equivalent_forms_pass_and_near_misses_are_named(task: AnyTask) -> None:
    reference = REFERENCES[task.reference]
    for text in (task.worked, *task.also):
        for seed in (0, 1, 2):
            verdict = check_written(task, text, reference, seed=seed)
            assert verdict.passed, (text, verdict)
    for miss in task.near_misses:
        verdict = check_written(task, miss.expression, reference)
        assert not verdict.passed and verdict.message == miss.message, (miss.expression, verdict)
        assert verdict.example is None or verdict.example["yours"] != verdict.example["reference"]


@pytest.mark.parametrize("task", [t for t in TASKS if isinstance(t, ShuffleTask)], ids=ids)
def test_tiles_in_the_right_order_pass(task: ShuffleTask) -> None:
    places: list[int] = []
    for term in task.terms:
        places.append(next(i for i, tile in enumerate(task.tiles) if tile == term and i not in places))
    assert check_tiles(task, places, REFERENCES[task.reference]).passed
    assert not check_tiles(task, places[::-1], REFERENCES[task.reference]).passed
    assert not check_tiles(task, [*places, places[0]], REFERENCES[task.reference]).passed
    assert not check_tiles(task, [99], REFERENCES[task.reference]).passed
    assert not check_tiles(task, [], REFERENCES[task.reference]).passed


@pytest.mark.parametrize("task", [t for t in TASKS if isinstance(t, BlanksTask)], ids=ids)
def test_filled_blanks_pass_and_each_blank_matters(task: BlanksTask) -> None:
    reference = REFERENCES[task.reference]
    assert check_blanks(task, task.solution, reference).passed
    for blank in task.solution:
        assert not check_blanks(task, {**task.solution, blank: "0.123"}, reference).passed
        empty = check_blanks(task, {**task.solution, blank: " "}, reference)
        assert not empty.passed and blank in empty.message


def test_a_blank_cannot_break_out_of_its_place() -> None:
    task = BY_ID["wb-blanks-grpo-loss"]
    assert isinstance(task, BlanksTask)
    verdict = check_blanks(task, {**task.solution, "blank_3": "ratio * A, clipped) + (0"}, REFERENCES[task.reference])
    assert not verdict.passed and verdict.message.startswith("Blank_3")
    later = check_blanks(task, {**task.solution, "blank_1": "clipped"}, REFERENCES[task.reference])
    assert not later.passed and "clipped" in later.message


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_name_is_explained_and_batches_repeat(family: str) -> None:
    first, again, other = batches(family), batches(family), batches(family, seed=1)
    assert set(first[0]) == set(ABOUT[family])
    for a, b, c in zip(first, again, other, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in a)
        assert any(not np.array_equal(a[name], c[name]) for name in a)


# ---------------------------------------------------------------- an independent oracle


def test_the_engine_reference_is_the_plain_double_loop() -> None:
    """Guards the wiring in `references`: written out element by element, in the definition's own terms."""
    for batch in batches("surrogate"):
        got, low, high = REFERENCES["clipped_loss"](batch), batch["eps_low"], batch["eps_high"]
        for (i, j), rho in np.ndenumerate(batch["ratio"]):
            adv = batch["A"][i, j]
            assert got[i, j] == pytest.approx(-min(rho * adv, min(max(rho, 1 - low), 1 + high) * adv))
    for batch in batches("rewards"):
        got = REFERENCES["group_advantages"](batch)
        for i, row in enumerate(batch["R"]):
            mean = sum(row) / len(row)
            std = (sum((r - mean) ** 2 for r in row) / (len(row) - 1)) ** 0.5
            for j, r in enumerate(row):
                assert got[i, j] == pytest.approx((r - mean) / (std + 1e-4), abs=1e-9)


def test_a_reference_may_be_handed_in() -> None:
    def double(batch: Batch) -> Array:
        return 2 * batch["ratio"]

    assert check_written(BY_ID["wb-clipped-loss"], "ratio + ratio", double).passed


def test_a_wrong_answer_gets_the_inputs_on_which_it_fails() -> None:
    verdict = check_written(BY_ID["wb-clipped-loss"], "-ratio * A * 1.5", REFERENCES["clipped_loss"])
    assert verdict.example is not None
    assert verdict.example["yours"] == pytest.approx(-1.5 * verdict.example["ratio"] * verdict.example["A"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("min(ratio * A, clip(ratio, 1 - eps_low, 1 + eps_high) * A)", "wrong sign"),
        ("ratio.clip(1, 2)", "no dots"),
        ("torch.exp(A)", "no dots"),
        ("rato * A", "not one of the names"),
        ("min", "needs its brackets"),
        ("min(A)", "takes 2 arguments"),
        ("clip(ratio, 0.8, a_max=1.2)", "keyword"),
        ("0.8 < ratio < 1.2", "one comparison"),
        ("A if A else ratio", "where"),
        ("A and ratio", "multiply two comparisons"),
        ("ratio ^ 2", r"\*\*"),
        ("A[0]", "square brackets"),
        ("log(0 * A)", "finite"),
        ("", "nothing was written"),
        ("ratio *", "does not read"),
    ],
)
def test_errors_say_what_would_do(text: str, words: str) -> None:
    verdict = check_written(BY_ID["wb-clipped-loss"], text, REFERENCES["clipped_loss"])
    assert not verdict.passed
    assert re.search(words, verdict.message, re.IGNORECASE), verdict.message


def test_typographic_signs_are_read() -> None:
    text = "−min(ratio × A, clip(ratio, 1 − eps_low, 1 + eps_high) · A)"
    assert check_written(BY_ID["wb-clipped-loss"], text, REFERENCES["clipped_loss"]).passed


# ---------------------------------------------------------------- hostile input

HOSTILE = [
    "9**9**9", "9**9**9**9**9", "1e999", "0x" + "f" * 390, "-" * 390 + "1", "(" * 190 + "1" + ")" * 190,
    "(" * 300 + "1" + ")" * 300, "A" * 10_000, "1+" * 5_000 + "1", "ratio.__class__", "ratio.tofile('x')",
    "().__class__.__bases__[0].__subclasses__()", "__import__('os').system('true')", "eval('1')", "exec('1')",
    "open('x')", "[x for x in range(10**9)]", "{x: x for x in A}", "(lambda: 1)()", "lambda x: x", "f'{A}'", "'a' * 9",
    "b'x'", "True", "None", "...", "1j", "A := 1", "(A := 1)", "A = 1", "import os", "A; A", "A, A", "*A", "**A",
    "A[0]",
    "A[::2]", "await A", "yield A", "not A", "A @ A", "A % 2", "A // 2", "A << 9", "~A", "A & 1", "A is A", "A in A",
    "A == A", "A != A", "exp", "exp()", "exp(A, A)", "exp(*A)", "exp(**A)", "min(A, key=A)", "exp(exp(exp(exp(99))))",
    "std(std)", "\x00", "A\x00", "#", "# A", "\n", "A\nA", "if A: A", "globals()", "abs.__globals__", "１＋１",
    "print(A)",
    "where(A, A)", "mean(mean)", "clip", "A.shape", "sum(sum(sum(A)))", "9" * 399, "1/0", "0**-1", "(-1)**0.5",
    "log(-1)",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_gets_an_error_and_nothing_else(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    began = time.thread_time()  # of this thread: other tests may have left threads at work
    verdict = check_written(BY_ID["wb-clipped-loss"], text, REFERENCES["clipped_loss"])
    assert not verdict.passed
    assert len(verdict.message) < 400
    assert time.thread_time() - began < 0.5
    assert not list(tmp_path.iterdir())


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=60) | st.text(alphabet="ratioA()*+-/<>.,_[]{}'\"=:0129 \n", max_size=120))
def test_any_text_gets_a_verdict(text: str) -> None:
    verdict = check_written(BY_ID["wb-clipped-loss"], text, REFERENCES["clipped_loss"])
    assert isinstance(verdict.passed, bool) and verdict.message


def test_the_longest_and_busiest_expression_stays_fast() -> None:
    text = "+".join(["std(ratio)"] * 36)
    assert len(text) <= expression.LONGEST
    began = time.thread_time()  # of this thread: other tests may have left threads at work
    check_written(BY_ID["wb-clipped-loss"], text, REFERENCES["clipped_loss"])
    assert time.thread_time() - began < 0.5


def value(text: str, **names: object) -> Array:
    arrays: Mapping[str, Array] = {name: np.asarray(x, dtype=float) for name, x in names.items()}
    return evaluate(parse(text, names=arrays), arrays)


def test_functions_mean_what_they_say() -> None:
    rows = [[1.0, 2.0, 6.0], [0.0, 0.0, 0.0]]
    assert value("mean(x)", x=rows).tolist() == [[3.0], [0.0]]
    assert value("sum(x)", x=rows).tolist() == [[9.0], [0.0]]
    assert value("std(x)", x=rows) == pytest.approx(np.array([[np.std(rows[0], ddof=1)], [0.0]]))
    assert value("where(x > 1, x, -1)", x=rows).tolist() == [[-1.0, 2.0, 6.0], [-1.0, -1.0, -1.0]]
    assert value("(x > 1) + (x >= 1)", x=rows).tolist() == [[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    assert value("2 ** -1") == 0.5
    assert value("9 ** 9 ** 9") == np.inf


def test_values_are_not_changed_by_an_expression() -> None:
    x = np.array([1.0, 2.0])
    value("clip(x, 0, 1) * 2 - x", x=x)
    assert x.tolist() == [1.0, 2.0]


def test_the_parser_alone_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing hostile may reach the evaluator at all."""
    monkeypatch.setattr(expression, "SimpleEval", None)
    for text in ("ratio.__class__", "[x for x in A]", "exp(**A)", "(lambda: 1)()"):
        with pytest.raises(ExpressionError):
            parse(text, names=("A", "ratio"))


def test_a_bad_task_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text("- kind: write\n  id: wb-x\n", encoding="utf-8")
    with pytest.raises(BankError, match=r"tasks.yaml: 0.write.group: Field required"):
        load_tasks(tmp_path)
