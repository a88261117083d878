"""Layout: syntax trees as text a person likes to read: short lines, double quotes, arguments a line each."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize

WIDTH = 110


def show(tree: ast.stmt, indent: int = 0) -> str:
    """A statement as source, no line longer than WIDTH where it can be helped."""
    pad = "    " * indent
    if isinstance(tree, ast.FunctionDef | ast.With | ast.If):
        return _compound(tree, indent)
    flat = pad + _plain(tree)
    if len(flat) <= WIDTH and "\n" not in flat:
        return flat
    return "\n".join(pad + line for line in _broken(tree, WIDTH - len(pad)).split("\n"))


def _compound(tree: ast.FunctionDef | ast.With | ast.If, indent: int) -> str:
    pad = "    " * indent
    if isinstance(tree, ast.FunctionDef):
        lines = [_signature(tree, pad)]
    elif isinstance(tree, ast.If):
        lines = [f"{pad}if {_plain(tree.test)}:"]
    else:
        lines = [f"{pad}with {', '.join(_plain(item) for item in tree.items)}:"]
    lines += [show(statement, indent + 1) for statement in tree.body]
    if isinstance(tree, ast.If) and tree.orelse:
        lines += [f"{pad}else:", *(show(statement, indent + 1) for statement in tree.orelse)]
    return "\n".join(lines)


def _signature(tree: ast.FunctionDef, pad: str) -> str:
    returns = f" -> {_plain(tree.returns)}" if tree.returns is not None else ""
    args = re.sub(r"(: [^,=]+)=", r"\1 = ", _plain(tree.args))
    flat = f"{pad}def {tree.name}({args}){returns}:"
    if len(flat) <= WIDTH:
        return flat
    return f"{pad}def {tree.name}(\n{pad}    {args}\n{pad}){returns}:"


def _broken(tree: ast.AST, width: int) -> str:
    """A statement or expression over several lines: at its arguments, its elements or its operator."""
    flat = _plain(tree)
    if len(flat) <= width and "\n" not in flat:
        return flat
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return _docstring(str(tree.value.value), width)
    if isinstance(tree, ast.Return) and tree.value is not None:
        return "return " + _bracketed(tree.value, width, used=7)
    if isinstance(tree, ast.Assign):
        names = " = ".join(_plain(t) for t in tree.targets) + " = "
        return names + _bracketed(tree.value, width, used=len(names))
    if isinstance(tree, ast.Call | ast.Tuple):
        return _opened(tree, width)
    return flat


def _opened(tree: ast.Call | ast.Tuple, width: int) -> str:
    """A call or a tuple with its brackets on lines of their own."""
    if isinstance(tree, ast.Tuple):
        return f"(\n{_lines(list(tree.elts), width)}\n)"
    return f"{_plain(tree.func)}(\n{_lines([*tree.args, *tree.keywords], width)}\n)"


def _bracketed(value: ast.expr, width: int, *, used: int) -> str:
    """The right side of a statement whose first `used` columns are taken."""
    if isinstance(value, ast.Call | ast.Tuple):
        return _plain(value) if used + len(_plain(value)) <= width else _opened(value, width)
    if isinstance(value, ast.IfExp):
        first, test, other = (_plain(x) for x in (value.body, value.test, value.orelse))
        return f"(\n    {first}\n    if {test}\n    else {other}\n)"
    if isinstance(value, ast.BinOp):
        operator = ast.unparse(ast.BinOp(ast.Name("a"), value.op, ast.Name("b")))[2:-2]
        left, right = (f"({_plain(x)})" if _loose(x, value) else _plain(x) for x in (value.left, value.right))
        return f"(\n    {left}\n    {operator} {right}\n)"
    return _plain(value)


def _loose(part: ast.expr, whole: ast.BinOp) -> bool:
    """True where the part would be read differently without brackets."""
    return isinstance(part, ast.BinOp | ast.IfExp | ast.BoolOp | ast.Compare)


def _lines(parts: list[ast.AST], width: int) -> str:
    """Arguments or elements, indented: several a line if they are only names, else one a line."""
    one = "    " + ", ".join(_plain(part) for part in parts)
    if len(one) <= width:
        return one
    if all(" " not in _plain(part) for part in parts):
        return textwrap.fill(one.strip() + ",", width, initial_indent="    ", subsequent_indent="    ")
    each = (_broken(part, width - 5) for part in parts)
    return "\n".join("    " + line for part in each for line in f"{part},".split("\n"))


def _docstring(text: str, width: int) -> str:
    words = re.findall(r"(?:\[[^\]]*\]|\S)+", text)
    lines, line = [], '"""'
    for word in words:
        if len(line) + len(word) + 1 > width:
            lines.append(line.rstrip())
            line = ""
        line += word + " "
    closing = line.rstrip() + '"""' if len(line) + 3 <= width else line.rstrip() + '\n"""'
    return "\n".join([*lines, closing])


def _plain(tree: ast.AST) -> str:
    """ast.unparse with double quotes, and docstrings as such."""
    if (
        isinstance(tree, ast.Expr)
        and isinstance(tree.value, ast.Constant)
        and isinstance(tree.value.value, str)
    ):
        return f'"""{tree.value.value}"""'
    if isinstance(tree, ast.Return) and isinstance(tree.value, ast.Tuple):
        return f"return {_listed(tree.value)}"
    if isinstance(tree, ast.Assign) and isinstance(tree.value, ast.Tuple):
        return f"{' = '.join(_plain(t) for t in tree.targets)} = {_listed(tree.value)}"
    if isinstance(tree, ast.Tuple) and isinstance(tree.ctx, ast.Store):
        return _listed(tree)
    return double_quoted(ast.unparse(ast.fix_missing_locations(tree)))


def _listed(tree: ast.Tuple) -> str:
    """A tuple without its brackets."""
    return ", ".join(_plain(part) for part in tree.elts) + ("," if len(tree.elts) == 1 else "")


def double_quoted(source: str) -> str:
    """The same source with 'words' in double quotes, where they hold none themselves."""
    if "'" not in source:
        return source
    out = list(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING and token.string.startswith("'") and '"' not in token.string:
            out[token.start[1]], out[token.end[1] - 1] = '"', '"'
    return "".join(out)
