"""Functions that only hand something on, and statements that only name a result: the page spares them."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping

from rlcore.unfold.known import Linked


def straight(body: list[ast.stmt]) -> list[ast.stmt]:
    """`x = ...; return x` as one statement."""
    if len(body) < 2 or not isinstance(body[-1], ast.Return) or not isinstance(body[-2], ast.Assign):
        return body
    target, back = body[-2].targets[0], body[-1].value
    if len(body[-2].targets) == 1 and isinstance(target, ast.Name) and isinstance(back, ast.Name):
        return [*body[:-2], ast.Return(body[-2].value)] if target.id == back.id else body
    return body


def short(function: ast.FunctionDef, given: Mapping[str, ast.expr]) -> ast.expr | None:
    """What a call comes to, if the function only hands back an argument, a constant or one call."""
    statements = [s for s in function.body if not isinstance(s, ast.Expr)]
    if len(statements) != 1 or not isinstance(statements[0], ast.Return) or statements[0].value is None:
        return None
    result = statements[0].value
    if not isinstance(result, ast.Name | ast.Constant) and not _forwards(result):
        return None
    parameters = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    uses = Counter(n.id for n in ast.walk(result) if isinstance(n, ast.Name) and n.id in parameters)
    if any(name not in given or (times > 1 and not _simple(given[name])) for name, times in uses.items()):
        return None

    class Substitute(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return given[node.id] if node.id in parameters else node

    put: ast.expr = Substitute().visit(copy.deepcopy(result))
    return Linked(put.func, put.args, put.keywords) if isinstance(put, ast.Call) else put


def _forwards(result: ast.expr) -> bool:
    """True for f(a, b.c, d=1): one call of a plain name with nothing to work out among its arguments."""
    if not isinstance(result, ast.Call) or not _simple(result.func):
        return False
    return all(_simple(x) for x in (*result.args, *(k.value for k in result.keywords)))


def _simple(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return _simple(node.value)
    return isinstance(node, ast.Name | ast.Constant)
