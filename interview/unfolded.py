"""Blanks in a recipe's unfolded source: the page that runs, with a few of its expressions cut out.

The page's text is the engine's own. What a person fills in never becomes part of it: each hole calls back with the values
that stand there, and `expression` computes the answer from those. Checked by running the whole loss on random batches and
comparing every term with the uncut page's, so any equivalent filling passes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field, TypeAdapter, ValidationError, model_validator
from torch import Tensor

from interview.bank import FOLDER, BankError, read_yaml
from interview.expression import ExpressionError, evaluate, parse
from interview.links import Name, RecipeName
from interview.schema import Group, Level, Title
from interview.values import Frozen, Slug, Text
from interview.whiteboard import Verdict
from rlcore.presets import preset
from rlcore.unfold import page_of

Filled = Mapping[str, str]
HOLE = "__hole__"
BATCHES, ROWS, STEPS, GROUP = 4, 8, 5, 4


class Blank(Frozen):
    """An expression cut out of the source, the names that may stand in its place (name -> source), one right filling."""

    source: str
    names: dict[Name | str, str] = Field(min_length=1)
    solution: str


class SourceTask(Frozen):
    """Fill the blanks of one function of a recipe's unfolded page. `also` must pass and `wrong` must fail."""

    id: Slug
    group: Group
    level: Level
    title: Title
    revised: date
    prompt: Text
    recipe: RecipeName
    function: Name
    blanks: dict[Name, Blank] = Field(min_length=1, max_length=4)
    also: tuple[dict[Name, str], ...] = ()
    wrong: tuple[dict[Name, str], ...] = ()

    @model_validator(mode="after")
    def _all_filled(self) -> SourceTask:
        odd = [one for one in (*self.also, *self.wrong) if set(one) != set(self.blanks)]
        if odd:
            raise ValueError(f"also and wrong must fill exactly {sorted(self.blanks)}, got {sorted(odd[0])}")
        return self


@dataclass(frozen=True)
class Cut:
    """A function of the page with holes: as it is shown (`____1____`) and as a page that runs."""

    shown: str
    page: ast.Module


def load_source_tasks(folder: Path = FOLDER / "source") -> tuple[SourceTask, ...]:
    """All tasks of a folder's `*.yaml` files. Raises BankError naming file, task, field and rule."""
    adapter = TypeAdapter(tuple[SourceTask, ...])
    tasks: list[SourceTask] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            tasks += adapter.validate_python(read_yaml(path))
        except ValidationError as error:
            lines = [f"{path.name}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            raise BankError("\n".join(lines)) from error
    return tuple(tasks)


def shown(task: SourceTask) -> str:
    """The function's source as it runs, with its holes numbered. Raises BankError where the source has moved on."""
    return _cut(task.model_dump_json()).shown


def worked(task: SourceTask) -> str:
    """The uncut function."""
    return ast.unparse(_function(ast.parse(_text(task.recipe)), task.function))


def check_source(task: SourceTask, filled: Filled, *, seed: int = 0) -> Verdict:
    """Does the loss come out the same, term by term, on every batch?"""
    empty = [blank for blank in task.blanks if not filled.get(blank, "").strip()]
    if empty:
        return Verdict(False, f"Still blank: {', '.join(empty)}.")
    try:
        trees = {name: parse(filled[name], names=blank.names) for name, blank in task.blanks.items()}
    except ExpressionError as error:
        return Verdict(False, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    example: dict[str, float] | None = None
    same = True
    for number in range(BATCHES):
        holes = _Holes(trees)
        try:
            wanted, got = _terms(task, seed + number, None), _terms(task, seed + number, holes)
        except ExpressionError as error:
            return Verdict(False, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        if not all(_equal(got[name], wanted[name]) for name in wanted):
            same, example = False, holes.example
            break
    if same:
        return Verdict(True, f"Right: every term of the loss is the same on {BATCHES} random batches.")
    return Verdict(False, "The loss comes out differently." + (" See where." if example else ""), example)


# ---------------------------------------------------------------- cutting


@lru_cache(maxsize=32)
def _text(recipe: str) -> str:
    return page_of(preset(recipe, "gridworld", 0).algorithm).text


def _function(page: ast.Module, name: str) -> ast.FunctionDef:
    found = [node for node in page.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found:
        raise BankError(f"source: the unfolded page has no function {name}")
    return found[0]


class _Cutter(ast.NodeTransformer):
    """Replaces one expression, found by its meaning, and counts how often it stood there."""

    def __init__(self, wanted: str, put: ast.expr) -> None:
        self.wanted, self.put, self.count = ast.dump(ast.parse(wanted, mode="eval").body), put, 0

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.dump(node) == self.wanted:
            self.count += 1
            return self.put
        return self.generic_visit(node)


def _replace(function: ast.FunctionDef, task: str, source: str, put: ast.expr) -> None:
    cutter = _Cutter(source, put)
    cutter.visit(function)
    if cutter.count != 1:
        raise BankError(f"{task}: {source!r} must stand once in {function.name}, it stands {cutter.count} times")


@lru_cache(maxsize=32)
def _cut(task_json: str) -> Cut:
    task = SourceTask.model_validate_json(task_json)
    for_show, page = ast.parse(_text(task.recipe)), ast.parse(_text(task.recipe))
    seen, runs = _function(for_show, task.function), _function(page, task.function)
    for number, (name, blank) in enumerate(task.blanks.items(), start=1):
        _replace(seen, task.id, blank.source, ast.Name(f"____{number}____"))
        names = ", ".join(f"{key!r}: {source}" for key, source in blank.names.items())
        call = ast.parse(f"{HOLE}({name!r}, {blank.source}, {{{names}}})", mode="eval").body
        _replace(runs, task.id, blank.source, call)
    if ast.get_docstring(seen):
        del seen.body[0]  # it may say the answer
    return Cut(ast.unparse(seen), ast.fix_missing_locations(page))


# ---------------------------------------------------------------- running


class _Holes:
    """What the holes call: the person's value in place of the source's. Keeps where they first differ."""

    def __init__(self, trees: Mapping[str, ast.Expression]) -> None:
        self.trees = trees
        self.example: dict[str, float] | None = None

    def __call__(self, blank: str, own: Tensor, names: Mapping[str, Any]) -> Tensor:
        values = {name: np.asarray(value, dtype=np.float64) for name, value in names.items()}
        answer = evaluate(self.trees[blank], values)
        shape = tuple(own.shape)
        if answer.size == own.numel():
            answer = answer.reshape(shape)
        try:
            spread = np.broadcast_to(answer, shape).copy()
        except ValueError:
            raise ExpressionError(f"{blank}: this has another shape than what stands there") from None
        wanted = own.double().numpy()
        if self.example is None and not np.allclose(spread, wanted, rtol=1e-6, atol=1e-9):
            self.example = _where(values, spread, wanted)
        return torch.as_tensor(spread, dtype=own.dtype)


def _where(values: Mapping[str, np.ndarray], answer: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    """The inputs and both values where they differ most; inputs of another shape are left out."""
    gap = np.where(np.isfinite(answer), np.abs(answer - wanted), np.inf)
    place = np.unravel_index(int(np.argmax(gap)), wanted.shape)
    found: dict[str, float] = {}
    for name, value in values.items():
        try:
            found[name] = float(np.broadcast_to(value, wanted.shape)[place])
        except ValueError:
            continue
    return {**found, "yours": float(answer[place]), "source": float(wanted[place])}


def _terms(task: SourceTask, seed: int, holes: _Holes | None) -> dict[str, np.ndarray]:
    """Every term of the page's loss on a random batch; with holes, those of the cut page."""
    text = _text(task.recipe)
    entries = page_of(preset(task.recipe, "gridworld", 0).algorithm).entries
    page: dict[str, Any] = {"__name__": __name__, HOLE: holes}  # dataclasses want a module that exists
    tree = ast.parse(text) if holes is None else _cut(task.model_dump_json()).page
    exec(
        compile(tree, f"<unfolded {task.recipe}>", "exec", dont_inherit=True), page
    )  # the engine's own text, and calls
    with torch.no_grad():
        rollout, now = _batch(page["Rollout"], page["PolicyOutput"], seed)
        reward = page[entries["reward"]](rollout, 0.05)
        advantages = page[entries["advantage"]](rollout, reward)
        if "whiten" in entries:
            advantages = page[entries["whiten"]](advantages, rollout.mask)
        return _flat(page[entries["loss"]](now, rollout, advantages, 0.05))


def _batch(rollout: Callable[..., Any], output: Callable[..., Any], seed: int) -> tuple[Any, Any]:
    """Random rows of uneven length in two groups, in float64, as far as the recipe wants them."""
    rng = np.random.default_rng([20, seed])
    lengths = np.array([1, STEPS, *rng.integers(2, STEPS + 1, ROWS - 2)])
    mask = np.arange(STEPS) < lengths[:, None]
    last = np.arange(STEPS) == lengths[:, None] - 1
    logp = rng.uniform(-3, -0.1, (3, ROWS, STEPS))
    numbers: dict[str, np.ndarray] = {
        "mask": mask, "reward": np.where(last, rng.normal(0, 1, (ROWS, STEPS)), 0.0), "group": np.arange(ROWS) // GROUP,
        "logp_old": logp[0], "logp_ref": logp[1], "terminal": last, "truncated": np.zeros_like(last),
        "value_old": rng.normal(0, 1, (ROWS, STEPS)), "value_next": rng.normal(0, 1, (ROWS, STEPS)),
        "logp": logp[2], "value": rng.normal(0, 1, (ROWS, STEPS)),
    }  # fmt: skip
    tensors = {name: torch.as_tensor(value) for name, value in numbers.items()}
    return tuple(
        make(**{f.name: tensors[f.name] for f in fields(make) if f.name in tensors}) for make in (rollout, output)
    )  # type: ignore[arg-type,return-value]


def _flat(terms: Any, name: str = "") -> dict[str, np.ndarray]:
    """All tensors in a page's record, by dotted name."""
    found: dict[str, np.ndarray] = {}
    for field in fields(terms):
        value = getattr(terms, field.name)
        if isinstance(value, Tensor):
            found[f"{name}{field.name}"] = value.double().numpy()
        elif hasattr(value, "__dataclass_fields__"):
            found |= _flat(value, f"{name}{field.name}.")
    return found


def _equal(answer: np.ndarray, wanted: np.ndarray) -> bool:
    return answer.shape == wanted.shape and bool(np.allclose(answer, wanted, rtol=1e-6, atol=1e-9, equal_nan=True))
