"""Following: from an algorithm's entry functions to the last function they call, each folded and named.

A function met with other known arguments is another function on the page. This module decides what is on the
page; `layout` prints it.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from rlcore.knobs import Value
from rlcore.unfold.fold import Scope, fold
from rlcore.unfold.forward import short, straight
from rlcore.unfold.known import Known, Linked, is_known, literal, value_of

PREFIX = {"masked": "masked_"}  # modules whose functions are called with the module's name in front


@dataclasses.dataclass(frozen=True)
class Piece:
    """A function of the page: its name, the house module and the slot's class it is from, its source."""

    name: str
    module: str
    owner: type | None
    tree: ast.FunctionDef


class Page:
    """The pieces an algorithm needs, in reading order: what is called stands above its caller.

    Private to one unfolding, hence allowed to grow.
    """

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.functions: dict[object, Piece] = {}
        self.classes: dict[type, dict[str, Value]] = {}
        self.built: set[type] = set()
        self.imports: set[tuple[str, str | None]] = set()

    # ------------------------------------------------------------ what folding asks

    def call(self, function: FunctionType, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        given = _bound(function, args, keywords)
        fixed = {name: node for name, node in given.items() if _is_structure(node)}
        piece = self.function(function, fixed)
        open_args = [arg for arg in args if not any(arg is node for node in fixed.values())]
        open_words = [k for k in keywords if k.arg not in fixed]
        spared = short(piece.tree, given)
        return Linked(ast.Name(piece.name, ast.Load()), open_args, open_words) if spared is None else spared

    def construct(self, cls: type, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        names = [field.name for field in dataclasses.fields(cls)]
        known = {
            name: value_of(arg) for name, arg in zip(names, args, strict=False) if isinstance(arg, Known)
        }
        self.classes.setdefault(cls, {}).update(known)
        self.built.add(cls)
        kept = [arg for arg in args if not isinstance(arg, Known)]
        return Linked(ast.Name(cls.__name__, ast.Load()), kept, keywords)

    def outside(self, name: str, thing: object) -> None:
        if isinstance(thing, ModuleType):
            self.imports.add((thing.__name__, None))
        elif getattr(sys.modules.get(thing.__module__ or ""), name, None) is thing:
            self.imports.add((str(thing.__module__), name))

    # ------------------------------------------------------------ pieces

    def function(self, function: FunctionType, fixed: Mapping[str, ast.expr]) -> Piece:
        """The piece of a function with some parameters known, made on first use."""
        key = (function, tuple(sorted((k, _hashable(value_of(node))) for k, node in fixed.items())))
        if key not in self.functions:
            tree = _source(function)
            tree.body = tree.body[ast.get_docstring(tree) is not None :]
            body = fold(tree, fixed, Scope(function.__globals__, _home(function)), self)
            owner = type(value_of(fixed["self"])) if "self" in fixed else None
            tree.args = _without(tree.args, set(fixed))
            tree.body = [*_claim(function, owner), *_finished(body, self._fields())]
            tree.decorator_list = []
            tree.name = self._free(_names(function, owner))
            self._annotations(tree, function)
            piece = Piece(tree.name, function.__module__, owner, tree)
            self.functions[key] = piece
            self.pieces.append(piece)
        return self.functions[key]

    def _annotations(self, tree: ast.FunctionDef, function: FunctionType) -> None:
        every = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        for arg in every:
            arg.annotation = self.annotation(arg.annotation, function.__globals__)
        tree.returns = self.annotation(tree.returns, function.__globals__)

    def annotation(self, node: ast.expr | None, scope: Mapping[str, Any]) -> ast.expr | None:
        """An annotation, with what it names put on the page or imported; None where that cannot be done."""
        for name in [n.id for n in ast.walk(node) if isinstance(n, ast.Name)] if node is not None else []:
            thing = scope.get(name)
            if isinstance(thing, type) and dataclasses.is_dataclass(thing):
                self.classes.setdefault(thing, {})
            elif isinstance(thing, type) and issubclass(thing, Value):
                return None
            elif thing is not None:
                before = len(self.imports)
                self.outside(name, thing)
                if len(self.imports) == before and not self._imported(name):
                    return None
        return node

    def _imported(self, name: str) -> bool:
        return any(name == (one or module) for module, one in self.imports)

    def _fields(self) -> dict[str, list[str]]:
        known = self.classes
        return {
            c.__name__: [f.name for f in dataclasses.fields(c) if f.name not in known[c]] for c in self.built
        }

    def _free(self, names: Iterator[str]) -> str:
        taken = {piece.name for piece in self.pieces}
        return next(name for name in names if name not in taken)


# ---------------------------------------------------------------- reading functions


def _source(function: FunctionType) -> ast.FunctionDef:
    tree = ast.parse(_text(function)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


@functools.cache
def _text(function: FunctionType) -> str:
    return textwrap.dedent(inspect.getsource(function))


def _bound(function: FunctionType, args: list[ast.expr], keywords: list[ast.keyword]) -> dict[str, ast.expr]:
    """Argument nodes by parameter name, constants among the defaults included; starred ones are left out."""
    parameters = inspect.signature(function).parameters
    given: dict[str, ast.expr] = {}
    starred = False
    for name, arg in zip(parameters, args, strict=False):
        starred = starred or isinstance(arg, ast.Starred)
        if not starred:
            given[name] = arg
    given |= {str(k.arg): k.value for k in keywords}
    if not starred:
        for name, parameter in parameters.items():
            if name not in given and parameter.default is not inspect.Parameter.empty:
                given[name] = literal(parameter.default)
    return given


def _is_structure(node: ast.expr) -> bool:
    """True for what decides a function's course: slots' values, words, flags, None; numbers stay."""
    return is_known(node) and (isinstance(node, Known) or isinstance(value_of(node), str | bool | None))


def _hashable(value: object) -> object:
    return (type(value).__name__, value)


def _without(args: ast.arguments, gone: set[str]) -> ast.arguments:
    """The parameters less the known ones, with the defaults of the others."""
    args = copy.deepcopy(args)
    defaults: list[ast.expr | None] = [None] * (len(args.args) - len(args.defaults)) + list(args.defaults)
    kept = [(a, d) for a, d in zip(args.args, defaults, strict=True) if a.arg not in gone]
    args.args, args.defaults = [a for a, _ in kept], [d for _, d in kept if d is not None]
    words = [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if a.arg not in gone]
    args.kwonlyargs, args.kw_defaults = [a for a, _ in words], [d for _, d in words]
    return args


def _finished(body: list[ast.stmt], fields: Mapping[str, list[str]]) -> list[ast.stmt]:
    """The folded body in Python's own nodes; constants handed to a dataclass are named by its `fields`."""

    class Finish(ast.NodeTransformer):
        def visit_Linked(self, node: Linked) -> ast.expr:
            self.generic_visit(node)
            names = fields.get(node.func.id, []) if isinstance(node.func, ast.Name) else []
            plain = next((i for i, x in enumerate(node.args) if names and isinstance(x, ast.Constant)), None)
            if plain is None:
                return ast.Call(node.func, node.args, node.keywords)
            named = [ast.keyword(n, x) for n, x in zip(names[plain:], node.args[plain:], strict=False)]
            return ast.Call(node.func, node.args[:plain], [*named, *node.keywords])

    finished = [Finish().visit(statement) for statement in straight(body)]
    left = [n.value for s in finished for n in ast.walk(s) if isinstance(n, Known)]
    if left:
        raise NotImplementedError(f"cannot unfold a use of {left[0]!r}")
    return finished


# ---------------------------------------------------------------- naming and words


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _names(function: FunctionType, owner: type | None) -> Iterator[str]:
    """Names for a function on the page, the best first."""
    best, home = _name(function, owner), _home(function)
    if owner is not None and home is not None and getattr(owner, function.__name__) is not function:
        yield _name(function, home)  # reached by super(): the class's own method has the better claim
    yield best
    yield from (f"{best}_{number}" for number in itertools.count(2))


def _home(function: FunctionType) -> type | None:
    """The class whose body holds the function."""
    found = function.__globals__.get(function.__qualname__.split(".")[0])
    return found if isinstance(found, type) else None


def _name(function: FunctionType, owner: type | None) -> str:
    module = sys.modules[function.__module__]
    stem = function.__module__.rsplit(".", 1)[-1]
    if owner is None:
        return PREFIX.get(stem, "") + function.__name__
    home = sys.modules[owner.__module__]
    base = snake(owner.__name__)
    if function.__name__ != "__call__":
        return f"{base}_{function.__name__.lstrip('_')}"
    return f"{base}_{stem.rstrip('s')}" if hasattr(home, base) or hasattr(module, base) else base


def _claim(function: FunctionType, owner: type | None) -> list[ast.stmt]:
    """The first paragraph of what the function, or for a slot's call its class, says of itself."""
    said = function.__doc__ or (
        owner.__doc__ if owner is not None and function.__name__ == "__call__" else None
    )
    return claim(said)


def claim(doc: str | None) -> list[ast.stmt]:
    first = " ".join((inspect.cleandoc(doc or "").split("\n\n") or [""])[0].split())
    return [ast.Expr(ast.Constant(first))] if first else []
