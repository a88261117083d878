"""Known values in a syntax tree, and what is known of a block's local names. Reads trees; runs nothing."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, cast


class Known(ast.expr):
    """An expression that is a slot's value, or a class, function or module of the house; never printed."""

    def __init__(self, value: Any = None) -> None:
        super().__init__()
        self.value = value

    def __deepcopy__(self, memo: dict[int, Any]) -> Known:
        return self


class Linked(ast.Call):
    """A call whose target is already a name on the page; only its arguments are still folded."""


def is_known(node: ast.AST) -> bool:
    return isinstance(node, Known | ast.Constant)


def value_of(node: ast.AST) -> Any:
    return cast(Known | ast.Constant, node).value


def literal(value: object) -> ast.expr:
    """A constant, or a tuple of them, where Python can write it; else a Known."""
    return (
        ast.Constant(value) if value is None or isinstance(value, bool | int | float | str) else Known(value)
    )


def known_locals(body: list[ast.stmt], parameters: set[str]) -> dict[str, ast.expr]:
    """Locals assigned once, to something known, to a table of known things, or to another such name."""
    stores = Counter(
        n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    steady = {name for name, times in stores.items() if times == 1} | {
        p for p in parameters if p not in stores
    }
    found: dict[str, ast.expr] = {}
    for statement in body:
        for target, value in _pairs(statement):
            table = isinstance(value, ast.Dict) and all(
                is_known(x) for x in (*value.keys, *value.values) if x
            )
            alias = isinstance(value, ast.Name) and value.id in steady
            if target.id in steady and (is_known(value) or table or alias):
                found[target.id] = value
    return found


def _pairs(statement: ast.stmt) -> list[tuple[ast.Name, ast.expr]]:
    """(name, value) of `a = x` and of each part of `a, b = x, y`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        return [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [(t, v) for t, v in zip(target.elts, value.elts, strict=True) if isinstance(t, ast.Name)]
    return []


def without_unread(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without assignments that nobody reads; everything here is free of side effects."""
    while True:
        read = {
            n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        kept = [part for s in body if (part := _read_part(s, read)) is not None]
        if [ast.dump(s) for s in kept] == [ast.dump(s) for s in body]:
            return kept
        body = kept


def _read_part(statement: ast.stmt, read: set[str]) -> ast.stmt | None:
    """What is left of an assignment when names outside `read` go; other statements stay as they are."""
    if not isinstance(statement, ast.Assign):
        return statement
    pairs = _pairs(statement)
    if len(pairs) > 1:
        pairs = [(t, v) for t, v in pairs if t.id in read]
        if len(pairs) < 2:
            return ast.Assign([pairs[0][0]], pairs[0][1]) if pairs else None
        targets = ast.Tuple([t for t, _ in pairs], ast.Store())
        return ast.Assign([targets], ast.Tuple([v for _, v in pairs], ast.Load()))
    names = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    plain = all(isinstance(t, ast.Name | ast.Tuple) for t in statement.targets)
    if not plain or names & read:
        targets_read = [t for t in statement.targets if not isinstance(t, ast.Name) or t.id in read]
        return ast.Assign(targets_read or statement.targets, statement.value)
    return None
