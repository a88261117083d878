"""The whiteboard: write an expression, order shuffled terms, or fill blanks; checked by numbers, never by spelling.

An answer is right if it equals the reference on every batch of the task's family, so any equivalent form passes. The
reference is handed in (`references.REFERENCES` carries the engine's). A wrong answer gets the inputs on which it fails
and, if it is a known near miss, what was mixed up. No code of the person's is ever run: see `expression`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from interview.bank import FOLDER, BankError, read_yaml
from interview.batches import ABOUT, Batch, FamilyName, batches
from interview.expression import Array, ExpressionError, evaluate, parse
from interview.links import Name
from interview.schema import Group, Level, Title
from interview.values import Frozen, Slug, Text

Reference = Callable[[Batch], Array]
Expression = Annotated[str, Field(min_length=1, max_length=400)]


class NearMiss(Frozen):
    """A wrong form that people write, and what to tell them."""

    expression: Expression
    message: Text


class TaskHead(Frozen):
    """What every task has. `worked` is one right form, shown afterwards; `also` are others that must pass."""

    id: Slug
    group: Group
    level: Level
    title: Title
    revised: date
    prompt: Text
    family: FamilyName
    reference: Name
    worked: Expression
    also: tuple[Expression, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()

    @property
    def names(self) -> Mapping[str, str]:
        """The names that may be used, and what each stands for."""
        return ABOUT[self.family]


class WriteTask(TaskHead):
    """Write the whole expression."""

    kind: Literal["write"]


class ShuffleTask(TaskHead):
    """Pick terms in order: `terms` in the right order give `worked`; `distractors` belong to none."""

    kind: Literal["shuffle"]
    terms: tuple[Expression, ...] = Field(min_length=3, max_length=16)
    distractors: tuple[Expression, ...] = ()

    @property
    def tiles(self) -> tuple[str, ...]:
        """All terms in a fixed, shuffled order (alphabetical), as they are offered."""
        return tuple(sorted((*self.terms, *self.distractors)))


class Line(Frozen):
    """One line of a computation: a name and an expression in which `blank_1`, `blank_2`, ... may stand."""

    name: Name
    expression: Expression


class BlanksTask(TaskHead):
    """Fill the blanks of a computation; the last line is compared. `solution` holds one right filling."""

    kind: Literal["blanks"]
    lines: tuple[Line, ...] = Field(min_length=1, max_length=8)
    solution: dict[Name, Expression] = Field(min_length=1, max_length=4)

    @model_validator(mode="after")
    def _blanks_exist(self) -> BlanksTask:
        text = " ".join(line.expression for line in self.lines)
        missing = [blank for blank in self.solution if blank not in text]
        if missing:
            raise ValueError(f"solution: {missing} stand in no line")
        return self


Task = Annotated[WriteTask | ShuffleTask | BlanksTask, Field(discriminator="kind")]
AnyTask = WriteTask | ShuffleTask | BlanksTask


@dataclass(frozen=True)
class Verdict:
    """passed, one or two sentences to show, and on failure an input where the answer differs (name -> value)."""

    passed: bool
    message: str
    example: Mapping[str, float] | None = None


def load_tasks(folder: Path = FOLDER / "whiteboard") -> tuple[AnyTask, ...]:
    """All tasks of a folder's `*.yaml` files; raises BankError naming file, task, field and rule."""
    adapter: TypeAdapter[tuple[AnyTask, ...]] = TypeAdapter(tuple[Task, ...])
    tasks: list[AnyTask] = []
    for path in sorted(folder.glob("*.yaml")):
        raw = read_yaml(path)
        try:
            tasks += adapter.validate_python(raw)
        except ValidationError as error:
            lines = [f"{path.name}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise BankError("\n".join(lines)) from error
    ids = [task.id for task in tasks]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise BankError(f"whiteboard: task ids used twice: {twice}")
    return tuple(tasks)


# ---------------------------------------------------------------- checking


def check_written(task: TaskHead, text: str, reference: Reference, *, seed: int = 0) -> Verdict:
    """Does the expression equal the reference on every batch of the family?"""
    return _verdict(task, lambda batch: _compute(text, batch), reference, seed)


def check_tiles(task: ShuffleTask, chosen: Sequence[int], reference: Reference, *, seed: int = 0) -> Verdict:
    """Do the chosen tiles (places in `task.tiles`), read in order, equal the reference? Each tile serves once."""
    outside = [place for place in chosen if not 0 <= place < len(task.tiles)]
    if outside or len(set(chosen)) < len(chosen):
        return Verdict(False, "Each tile can be used once, and only the tiles shown.")
    return check_written(task, " ".join(task.tiles[place] for place in chosen), reference, seed=seed)


def check_blanks(task: BlanksTask, filled: Mapping[str, str], reference: Reference, *, seed: int = 0) -> Verdict:
    """Do the lines, with the blanks filled, end in the reference's value? Each blank is an expression of its own."""
    empty = [blank for blank in task.solution if not filled.get(blank, "").strip()]
    if empty:
        return Verdict(False, f"Still blank: {', '.join(empty)}.")
    return _verdict(task, lambda batch: _run_lines(task, filled, batch), reference, seed)


def _compute(text: str, batch: Batch) -> Array:
    return evaluate(parse(text, names=batch.keys()), batch)


def _run_lines(task: BlanksTask, filled: Mapping[str, str], batch: Batch) -> Array:
    """Blanks are computed by themselves and inserted as values, so a blank cannot break out of its place."""
    known = dict(batch)
    value: Array = np.array(0.0)
    for line in task.lines:
        here = dict(known)
        for blank in (one for one in task.solution if one in line.expression):
            try:
                here[blank] = _compute(filled[blank], known)
            except ExpressionError as error:
                raise ExpressionError(f"{blank}: {error}") from None
        value = _compute(line.expression, here)
        known[line.name] = value
    return value


def _verdict(task: TaskHead, answer: Callable[[Batch], Array], reference: Reference, seed: int) -> Verdict:
    given = batches(task.family, seed=seed)
    try:
        answers = [answer(batch) for batch in given]
    except ExpressionError as error:
        return Verdict(False, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    wanted = [reference(batch) for batch in given]
    pairs = list(zip(answers, wanted, strict=True))
    if all(_equal(a, w) for a, w in pairs):
        return Verdict(True, f"Right on all {len(given)} random batches.")
    place = next(i for i, (a, w) in enumerate(pairs) if not _equal(a, w))
    message = _near_miss(task, given, answers) or _general_miss(pairs)
    return Verdict(False, message, _example(given[place], *pairs[place]))


def _general_miss(pairs: Sequence[tuple[Array, Array]]) -> str:
    if all(_equal(-a, w) for a, w in pairs):
        return "Right size, wrong sign: a loss is minimised, an objective maximised."
    if not all(np.isfinite(a).all() for a, _ in pairs):
        return "Not a finite number on some inputs. See where."
    if any(_example({}, a, w) is None for a, w in pairs):
        return "This has another shape than what is asked for: one value an entry."
    return "Not the same numbers. See where it differs."


def _equal(answer: Array, wanted: Array) -> bool:
    try:
        spread = np.broadcast_to(answer, wanted.shape)
    except ValueError:
        return False
    return bool(np.allclose(spread, wanted, rtol=1e-6, atol=1e-9))


def _near_miss(task: TaskHead, given: Sequence[Batch], answers: Sequence[Array]) -> str | None:
    for miss in task.near_misses:
        known = [_compute(miss.expression, batch) for batch in given]
        if all(_alike(one, answer) for one, answer in zip(known, answers, strict=True)):
            return miss.message
    return None


def _alike(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-6, equal_nan=True))


def _example(batch: Batch, answer: Array, wanted: Array) -> Mapping[str, float] | None:
    """The inputs, the answer and the reference where they differ most; None if the shapes don't fit."""
    try:
        spread = np.broadcast_to(answer, wanted.shape)
    except ValueError:
        return None
    gap = np.where(np.isfinite(spread), np.abs(spread - wanted), np.inf)
    where = np.unravel_index(int(np.argmax(gap)), wanted.shape)
    shown = {name: _at(value, where, wanted.shape) for name, value in batch.items()}
    known = {name: value for name, value in shown.items() if value is not None}
    return {**known, "yours": float(spread[where]), "reference": float(wanted[where])}


def _at(value: Array, where: tuple[np.intp, ...], shape: tuple[int, ...]) -> float | None:
    """The value at a place, or None where it has more entries than the result (a row that was summed up)."""
    try:
        return float(np.broadcast_to(value, shape)[where])
    except ValueError:
        return None
