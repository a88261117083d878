"""A pocket calculator for arrays: short expressions typed by a person, evaluated and nothing else.

Allowed: + - * / **, comparisons, numbers, the given names, and the functions in `FUNCTIONS`. Not allowed, and refused
before anything is computed: attributes, subscripts, keywords, strings, comprehensions, assignments, other names, long
or deep expressions. All numbers are float64, so a tower of powers overflows to infinity at once instead of growing.
The evaluation itself is simpleeval's, with every node type it doesn't need taken away.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpleeval import InvalidExpression, SimpleEval  # type: ignore[import-untyped]

Array = NDArray[np.float64]

LONGEST = 400
MOST_NODES = 160
DEEPEST = 24
TYPOGRAPHY = str.maketrans({"−": "-", "–": "-", "·": "*", "×": "*", "÷": "/", "^": "@", "\n": " ", "\t": " "})


class ExpressionError(ValueError):
    """The expression was refused or could not be computed; the message says which rule, and what would do."""


def _std(x: Array) -> Array:
    """Sample standard deviation (divisor n - 1), 0 for a single value: what TRL, verl and OpenRLHF divide by."""
    n = x.shape[-1] if np.ndim(x) else 1
    return np.std(x, axis=-1, ddof=1, keepdims=True) if n > 1 else np.zeros_like(x)


def _mean(x: Array) -> Array:
    return np.mean(x, axis=-1, keepdims=True) if np.ndim(x) else x


def _sum(x: Array) -> Array:
    return np.sum(x, axis=-1, keepdims=True) if np.ndim(x) else x


def _where(condition: Array, yes: Array, no: Array) -> Array:
    return np.where(condition != 0, yes, no)


FUNCTIONS: Mapping[str, tuple[Callable[..., Array], int, str]] = {
    "exp": (np.exp, 1, "exp(x)"),
    "log": (np.log, 1, "log(x)"),
    "sqrt": (np.sqrt, 1, "sqrt(x)"),
    "abs": (np.abs, 1, "abs(x)"),
    "min": (np.minimum, 2, "min(a, b), elementwise"),
    "minimum": (np.minimum, 2, "minimum(a, b), elementwise"),
    "max": (np.maximum, 2, "max(a, b), elementwise"),
    "maximum": (np.maximum, 2, "maximum(a, b), elementwise"),
    "clip": (np.clip, 3, "clip(x, low, high)"),
    "where": (_where, 3, "where(condition, yes, no)"),
    "mean": (_mean, 1, "mean(x), over the last axis"),
    "sum": (_sum, 1, "sum(x), over the last axis"),
    "std": (_std, 1, "std(x), over the last axis, divisor n - 1"),
}
"""Name -> what it computes, how many arguments it takes, how it is written."""


def _indicator(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Array]:
    return lambda a, b: np.asarray(compare(a, b), dtype=np.float64)


OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: _indicator(operator.lt),
    ast.LtE: _indicator(operator.le),
    ast.Gt: _indicator(operator.gt),
    ast.GtE: _indicator(operator.ge),
}
_SYNTAX = (ast.Expression, ast.Load, ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)
_HINTS: Mapping[type[ast.AST], str] = {
    ast.Attribute: "no dots: write clip(ratio, a, b), not ratio.clip(a, b) or torch.clip(...)",
    ast.BoolOp: "no and/or: multiply two comparisons, (A > 0) * (ratio > 1)",
    ast.BitAnd: "no &: multiply two comparisons, (A > 0) * (ratio > 1)",
    ast.MatMult: "write ** for a power",
    ast.IfExp: "no if/else: use where(condition, yes, no)",
    ast.keyword: "no keyword arguments",
    ast.Subscript: "no square brackets",
}


def parse(text: str, *, names: Collection[str]) -> ast.Expression:
    """The expression's tree, or ExpressionError. Nothing is computed here."""
    if len(text) > LONGEST:
        raise ExpressionError(f"at most {LONGEST} characters, got {len(text)}")
    plain = text.translate(TYPOGRAPHY).strip()
    if not plain:
        raise ExpressionError("nothing was written")
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"this does not read as one expression ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("this does not read as one expression") from None
    _check(tree, frozenset(names))
    return tree


def _check(tree: ast.Expression, names: frozenset[str]) -> None:
    """Refuse by size, by depth and by kind of node, without recursion."""
    pending: list[tuple[ast.AST, int]] = [(tree, 0)]
    seen = 0
    while pending:
        node, depth = pending.pop()
        seen += 1
        if seen > MOST_NODES or depth > DEEPEST:
            raise ExpressionError("too long or too deeply nested for a line on a whiteboard")
        if not isinstance(node, (*_SYNTAX, *OPERATORS)):
            hint = _HINTS.get(type(node), f"{type(node).__name__} is not allowed here")
            raise ExpressionError(hint)
        _check_node(node, names)
        pending += [(child, depth + 1) for child in _parts(node)]


def _parts(node: ast.AST) -> list[ast.AST]:
    """A node's children; the name of a called function was checked with the call and is no value by itself."""
    if isinstance(node, ast.Call):
        return [*node.args]
    return list(ast.iter_child_nodes(node))


def _check_node(node: ast.AST, names: frozenset[str]) -> None:
    if isinstance(node, ast.Constant):
        if type(node.value) not in (int, float):
            raise ExpressionError("only numbers, names and functions")
    elif isinstance(node, ast.Name):
        if node.id not in names:
            kind = "a function and needs its brackets" if node.id in FUNCTIONS else "not one of the names given"
            raise ExpressionError(f"{node.id[:40]} is {kind}: {', '.join(sorted(names))}")
    elif isinstance(node, ast.Compare):
        if len(node.ops) != 1:
            raise ExpressionError("one comparison at a time: (a < x) * (x < b) instead of a < x < b")
    elif isinstance(node, ast.Call):
        _check_call(node)


def _check_call(node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError(_HINTS.get(type(node.func), "only the functions given can be called"))
    if node.func.id not in FUNCTIONS:
        raise ExpressionError(f"there is no function {node.func.id[:40]}; there are {', '.join(FUNCTIONS)}")
    if node.keywords:
        raise ExpressionError(_HINTS[ast.keyword])
    _, arity, usage = FUNCTIONS[node.func.id]
    if len(node.args) != arity:
        raise ExpressionError(f"{node.func.id} takes {arity} argument{'s' * (arity > 1)}: {usage}")


def evaluate(tree: ast.Expression, values: Mapping[str, Array]) -> Array:
    """The value of a parsed expression. Infinity and NaN are returned, not raised: the caller decides."""
    machine = SimpleEval(
        operators=dict(OPERATORS),
        functions={name: compute for name, (compute, _, _) in FUNCTIONS.items()},
        names={name: np.asarray(value, dtype=np.float64) for name, value in values.items()},
        allowed_attrs={},
    )
    kept = (ast.Name, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call)
    machine.nodes = {kind: machine.nodes[kind] for kind in kept}
    machine.nodes[ast.Constant] = lambda node: np.float64(node.value)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(machine.eval("", previously_parsed=tree.body), dtype=np.float64)
    except (InvalidExpression, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ExpressionError(f"this cannot be computed ({str(error)[:80]})") from None
