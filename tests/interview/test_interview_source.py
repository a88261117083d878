"""Blanks in the unfolded source: the source still has them, equivalent fillings pass, wrong and hostile ones don't."""

from __future__ import annotations

import pytest

from interview import unfolded
from interview.bank import BankError
from interview.unfolded import SourceTask, check_source, load_source_tasks, shown

TASKS = load_source_tasks()
ids = [task.id for task in TASKS]


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_the_solution_and_its_equivalents_pass_and_mistakes_do_not(task: SourceTask) -> None:
    for filled in ({name: blank.solution for name, blank in task.blanks.items()}, *task.also):
        verdict = check_source(task, filled, seed=7)
        assert verdict.passed, (filled, verdict)
    assert task.wrong
    for filled in task.wrong:
        verdict = check_source(task, filled, seed=7)
        assert not verdict.passed and verdict.example, filled


@pytest.mark.parametrize("task", TASKS, ids=ids)
def test_what_is_shown_is_the_source_with_its_blanks_and_without_the_answer(task: SourceTask) -> None:
    text = shown(task)
    assert text.startswith(f"def {task.function}(") and '"""' not in text
    for number, blank in enumerate(task.blanks.values(), start=1):
        assert text.count(f"____{number}____") == 1
        assert blank.source not in text
    restored = text
    for number, blank in enumerate(task.blanks.values(), start=1):
        restored = restored.replace(f"____{number}____", blank.source)
    assert restored.splitlines()[-1].split() and unfolded.worked(task).splitlines()[0] == restored.splitlines()[0]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "ratio.__class__", "(lambda: 1)()", "[x for x in ratio]", "exec('1')", "open(ratio)",
        "9**9**9**9**9", "ratio if ratio else 1", "ratio[0]", "__hole__(1, 2, 3)", "torch.ones(3)", "advantages := 1",
    ],
)  # fmt: skip
def test_a_hostile_filling_is_one_sentence_and_nothing_else(text: str) -> None:
    task = next(task for task in TASKS if task.id == "src-grpo-clip")
    verdict = check_source(task, {"blank_1": text, "blank_2": "ratio"})
    assert not verdict.passed and verdict.message.endswith((".", ":"))


def test_an_empty_blank_and_another_shape_are_told() -> None:
    task = next(task for task in TASKS if task.id == "src-gspo-ratio")
    assert check_source(task, {"blank_1": "sum(token)", "blank_2": " "}).message == "Still blank: blank_2."
    verdict = check_source(task, {"blank_1": "token", "blank_2": "exp(log_ratio)"})
    assert "lank_1: this has another shape" in verdict.message


def test_a_blank_that_the_source_no_longer_has_is_an_error() -> None:
    task = TASKS[0]
    blanks = {**task.blanks, "blank_1": task.blanks["blank_1"].model_copy(update={"source": "ratio * 7"})}
    with pytest.raises(BankError, match="must stand once in clipped_objective, it stands 0 times"):
        shown(task.model_copy(update={"blanks": blanks}))
