"""Folding: one function's source with everything known put in, and what can no longer happen left out.

A slot's `self.eps_low` becomes 0.2, `isinstance(algorithm.kl, KlInLoss)` becomes True and its other branch
goes. No arithmetic is simplified, so the folded function computes the same bits. This module reads source;
it runs none.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Protocol

from rlcore.knobs import Value
from rlcore.unfold.known import Known, Linked, is_known, known_locals, literal, value_of, without_unread

HOUSE = "rlcore"
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


class Linker(Protocol):
    """What folding asks of the page: names for what a function calls."""

    def call(self, function: FunctionType, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr: ...
    def construct(self, cls: type, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr: ...
    def outside(self, name: str, thing: object) -> None: ...


@dataclass(frozen=True)
class Scope:
    """Where a function was written: its module's names, and the class it is a method of."""

    names: Mapping[str, Any]
    home: type | None


class Folder(ast.NodeTransformer):
    """One pass over a function's body; `names` holds what is known of its parameters and locals."""

    def __init__(self, names: Mapping[str, ast.expr], scope: Scope, local: set[str], link: Linker) -> None:
        self.names, self.local, self.link = names, local, link
        self.scope, self.home = scope.names, scope.home

    # ------------------------------------------------------------ names and attributes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.id in self.names:
            return copy.deepcopy(self.names[node.id])
        if node.id in self.local or node.id not in self.scope:
            return node
        thing = self.scope[node.id]
        if isinstance(thing, bool | int | float | str):
            return ast.Constant(thing)
        if _of_the_house(thing):
            return Known(thing)
        self.link.outside(node.id, thing)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        whole = self.visit(node.value)
        if isinstance(whole, Known):
            return literal(getattr(whole.value, node.attr))
        return ast.Attribute(whole, node.attr, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        whole, index = self.visit(node.value), self.visit(node.slice)
        if isinstance(whole, ast.Dict) and isinstance(index, ast.Constant):
            keys = [value_of(key) for key in whole.keys if key is not None]
            return whole.values[keys.index(index.value)]
        return ast.Subscript(whole, index, node.ctx)

    # ------------------------------------------------------------ calls

    def visit_Linked(self, node: Linked) -> ast.expr:
        args = [self.visit(arg) for arg in node.args]
        return Linked(node.func, args, [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            return self._isinstance(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.home is not None:
            return Known(super(self.home, value_of(self.names["self"])))
        function = self.visit(node.func)
        args = [self.visit(arg) for arg in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if not isinstance(function, Known):
            return ast.Call(function, args, keywords)
        target = function.value
        if isinstance(target, type):
            return self._construct(target, args, keywords)
        if isinstance(target, Value):
            target = target.__call__  # type: ignore[operator]
        if not isinstance(target, FunctionType):
            args = [literal(target.__self__), *args]
            target = target.__func__
        return self.link.call(target, args, keywords)

    def _construct(self, cls: type, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        if issubclass(cls, Value):
            return Known(cls(**{str(k.arg): value_of(k.value) for k in keywords}))
        return self.link.construct(cls, args, keywords)

    def _isinstance(self, node: ast.Call) -> ast.expr:
        asked = self.visit(node.args[0])
        if not is_known(asked):
            return ast.Call(node.func, [asked, node.args[1]], [])
        classes = eval(compile(ast.Expression(node.args[1]), "<isinstance>", "eval"), dict(self.scope))
        return ast.Constant(isinstance(value_of(asked), classes))

    # ------------------------------------------------------------ choices

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left, right = self.visit(node.left), [self.visit(other) for other in node.comparators]
        if len(right) == 1 and is_known(left) and is_known(right[0]) and type(node.ops[0]) in _COMPARE:
            return ast.Constant(_COMPARE[type(node.ops[0])](value_of(left), value_of(right[0])))
        return ast.Compare(left, node.ops, right)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        decides = isinstance(node.op, ast.Or)
        parts = [self.visit(part) for part in node.values]
        if any(is_known(part) and bool(value_of(part)) is decides for part in parts):
            return ast.Constant(decides)
        open_parts = [part for part in parts if not is_known(part)]
        if len(open_parts) < 2:
            return open_parts[0] if open_parts else ast.Constant(not decides)
        return ast.BoolOp(node.op, open_parts)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not) and is_known(operand):
            return ast.Constant(not value_of(operand))
        return ast.UnaryOp(node.op, operand)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test)
        if is_known(test):
            chosen: ast.expr = self.visit(node.body if value_of(test) else node.orelse)
            return chosen
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        test = self.visit(node.test)
        if is_known(test):
            return self.block(node.body if value_of(test) else node.orelse)
        return ast.If(test, self.block(node.body), self.block(node.orelse))

    # ------------------------------------------------------------ statements

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A block's statements in order, up to the first that leaves it."""
        out: list[ast.stmt] = []
        for statement in body:
            folded = self.visit(statement)
            out += folded if isinstance(folded, list) else [folded] if folded is not None else []
            if out and isinstance(out[-1], ast.Return | ast.Raise):
                break
        return out

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return ast.Assign(node.targets, self.visit(node.value))

    def visit_With(self, node: ast.With) -> ast.stmt:
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
        return ast.With(node.items, self.block(node.body))


def fold(
    function: ast.FunctionDef, names: Mapping[str, ast.expr], scope: Scope, link: Linker
) -> list[ast.stmt]:
    """The function's body with `names` known, folded until nothing changes."""
    parameters = {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
    local = parameters | {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    body, known = copy.deepcopy(function.body), dict(names)
    while True:
        body = Folder(known, scope, local, link).block(body)
        found = {name: value for name, value in known_locals(body, parameters).items() if name not in known}
        if not found:
            return without_unread(body)
        known |= found


def _of_the_house(thing: object) -> bool:
    if isinstance(thing, ModuleType):
        return thing.__name__.split(".")[0] == HOUSE
    if isinstance(thing, Value):
        return True
    plain = isinstance(thing, FunctionType | type) and not isinstance(thing, BuiltinFunctionType)
    return plain and str(getattr(thing, "__module__", "")).split(".")[0] == HOUSE
