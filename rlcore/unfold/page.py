"""The page: an algorithm's pieces in reading order, section by section, as one executable text."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import cast

from rlcore.advantages import NoWhitening, Whiten, whitened
from rlcore.algorithm import Algorithm, policy_loss, shaped_reward
from rlcore.algorithms import brief
from rlcore.knobs import Value
from rlcore.shaping import KeepAll
from rlcore.surrogates import Rule
from rlcore.unfold.follow import Page, Piece, claim
from rlcore.unfold.known import Known
from rlcore.unfold.layout import double_quoted, show

# Where a house module's code stands on the page, in reading order.
TITLES = {
    "data": "What goes in",
    "mask": "Arithmetic under a mask",
    "kl": "KL to the reference",
    "reward": "The reward that advantages are made of",
    "select": "Which rows stay in the batch",
    "advantage": "Advantages",
    "whiten": "Whitening",
    "ratio": "Ratio",
    "surrogate": "Surrogate",
    "correction": "Correction for the sampler",
    "aggregate": "Aggregation: the weight of each token",
    "critic": "The critic's loss",
    "loss": "The loss",
}
_SECTION_OF = {
    "rollout": "data", "masked": "mask", "kl": "kl", "shaping": "reward", "groups": "advantage",
    "advantages": "advantage", "ratios": "ratio", "surrogates": "surrogate", "correction": "correction",
    "gates": "correction", "aggregation": "aggregate", "critic": "critic", "algorithm": "loss",
}  # fmt: skip
_ELSEWHERE = {"whitened": "whiten", "shaped_reward": "reward", "PolicyOutput": "data"}


@dataclasses.dataclass(frozen=True)
class Section:
    """One phase of the page. `lines` are its first and last line in the whole text, from 1."""

    slot: str
    title: str
    source: str
    lines: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Unfolded:
    """The whole text, its sections, and the names under which the page defines each entry."""

    text: str
    sections: tuple[Section, ...]
    entries: dict[str, str]


def unfolded(algorithm: Algorithm, title: str) -> Unfolded:
    """Everything this algorithm runs from rewards to loss, as one page headed `title`."""
    page = Page()
    entries = dict(_enter(page, algorithm))
    pieces = _reachable(page, set(entries.values()))
    blocks = {slot: [show(p.tree) for p in pieces if _slot(p) == slot] for slot in TITLES}
    for cls in _classes_in_use(page, pieces):
        blocks[_slot_of_class(cls)].insert(0, _class_source(page, cls, pieces))
    text = _head(algorithm, title, entries) + _imports(page)
    sections = []
    for slot, parts in blocks.items():
        if parts:
            text += f"\n\n# {'-' * 12} {TITLES[slot]}\n"
            first = text.count("\n")
            text += "".join(f"\n\n{part}\n" for part in parts)
            source = "\n\n\n".join(parts)
            sections.append(Section(slot, TITLES[slot], source, (first, text.count("\n"))))
    return Unfolded(text, tuple(sections), entries)


def _enter(page: Page, algorithm: Algorithm) -> Iterator[tuple[str, str]]:
    """Follow each entry function; (what it is, its name on the page)."""
    whole = {"algorithm": Known(algorithm)}
    yield "reward", _named(page, shaped_reward, whole)
    if not isinstance(algorithm.select, KeepAll):
        yield "select", _method(page, algorithm.select, "__call__")
    yield "advantage", _method(page, algorithm.advantage, "__call__")
    if not isinstance(algorithm.whiten, NoWhitening):
        yield "whiten", _named(page, whitened, {"whiten": Known(algorithm.whiten)})
    if type(algorithm.surrogate).clipping is not Rule.clipping:
        yield "clipping", _method(page, algorithm.surrogate, "clipping")
    yield "loss", _named(page, policy_loss, whole)


def _method(page: Page, value: Value, name: str) -> str:
    return _named(page, getattr(type(value), name), {"self": Known(value)})


def _named(page: Page, function: Callable[..., object], fixed: Mapping[str, Known]) -> str:
    return page.function(cast(FunctionType, function), fixed).name


def _reachable(page: Page, roots: set[str]) -> list[Piece]:
    """The pieces that an entry calls, directly or not; what was put in place of its call is left out."""
    by_name = {piece.name: piece for piece in page.pieces}
    wanted, open_ = set(roots), list(roots)
    while open_:
        for node in ast.walk(by_name[open_.pop()].tree):
            if isinstance(node, ast.Name) and node.id in by_name and node.id not in wanted:
                wanted.add(node.id)
                open_.append(node.id)
    return [piece for piece in page.pieces if piece.name in wanted]


# ---------------------------------------------------------------- dataclasses


def _classes_in_use(page: Page, pieces: list[Piece]) -> list[type]:
    """The dataclasses that the pieces name, and those that these name, in order of first use."""
    names = {n.id for p in pieces for n in ast.walk(p.tree) if isinstance(n, ast.Name)}
    used = [cls for cls in page.classes if cls.__name__ in names]
    for cls in used:
        scope = vars(inspect.getmodule(cls))
        for field in dataclasses.fields(cls):
            for word in re.findall(r"\w+", str(field.type)):
                inner = scope.get(word)
                if isinstance(inner, type) and dataclasses.is_dataclass(inner) and inner not in used:
                    used.append(inner)
    return used[::-1]


def _class_source(page: Page, cls: type, pieces: list[Piece]) -> str:
    """A dataclass with the fields this algorithm has, each with what its docstring says of it."""
    touched = {n.attr for p in pieces for n in ast.walk(p.tree) if isinstance(n, ast.Attribute)}
    known, about = page.classes.get(cls, {}), _field_words(cls)
    lines = ["@dataclass(frozen=True)", f"class {cls.__name__}:"]
    lines += [show(statement, 1) for statement in claim(cls.__doc__)] + [""]
    for field in dataclasses.fields(cls):
        if field.name in known or (cls not in page.built and field.name not in touched):
            continue
        page.annotation(ast.parse(str(field.type), mode="eval").body, vars(inspect.getmodule(cls)))
        default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
        declared = double_quoted(f"    {field.name}: {field.type}{default}")
        room = 110 - len(declared) - 4
        words = about.get(field.name, "")
        words = (
            words if len(words) <= room else textwrap.shorten(words.split(" (")[0], room, placeholder=" …")
        )
        lines.append(f"{declared}  # {words}" if words else declared)
    return "\n".join(lines)


def _field_words(cls: type) -> dict[str, str]:
    """Field -> what the docstring's `field  [shape] words` says of it, its first clause."""
    found, names = {}, {field.name for field in dataclasses.fields(cls)}
    for part in re.split(r"\n|·", inspect.cleandoc(cls.__doc__ or "")):
        match = re.match(r"\s*(\w+) {2,}(.+)|\s*(\w+) (\[.+)", part)
        name, words = (
            (match.group(1) or match.group(3), match.group(2) or match.group(4)) if match else ("", "")
        )
        if name in names:
            found[name] = re.split(r"; |\. |: ", words)[0].rstrip(" .,")
    return found


# ---------------------------------------------------------------- head


def _slot(piece: Piece) -> str:
    if piece.owner is not None and issubclass(piece.owner, Whiten | NoWhitening):
        return "whiten"
    return _ELSEWHERE.get(piece.tree.name, _SECTION_OF[piece.module.rsplit(".", 1)[-1]])


def _slot_of_class(cls: type) -> str:
    return _ELSEWHERE.get(cls.__name__, _SECTION_OF[cls.__module__.rsplit(".", 1)[-1]])


def _head(algorithm: Algorithm, title: str, entries: dict[str, str]) -> str:
    slots = "\n".join(_row(name, brief(getattr(algorithm, name))) for name in Algorithm.model_fields)
    batch = f"    advantages = {entries['whiten']}(advantages, rollout.mask)\n" if "whiten" in entries else ""
    return f'''"""{title}, unfolded.

The whole computation of its loss, generated from the source that runs.

{slots}

In this order:

    reward = {entries["reward"]}(rollout, kl_beta)
    advantages = {entries["advantage"]}(rollout, reward)
{batch}    terms = {entries["loss"]}(now, rollout, advantages, kl_beta)
"""

from __future__ import annotations

'''


def _row(slot: str, value: str) -> str:
    """A line of the head's table, continued under its second column where it is long."""
    return textwrap.fill(value, 106, initial_indent=f"    {slot:<17} ", subsequent_indent=" " * 24)


def _imports(page: Page) -> str:
    names: dict[str, set[str]] = {"dataclasses": {"dataclass"}}
    whole = set()
    for module, name in page.imports:
        if name is None:
            whole.add(module)
        else:
            names.setdefault(module, set()).add(name)
    standard = sorted(m for m in names if m.split(".")[0] != "torch")
    lines = [f"from {module} import {', '.join(sorted(names[module]))}" for module in standard]
    lines += ["", *(f"import {module}" for module in sorted(whole))]
    lines += [f"from {m} import {', '.join(sorted(names[m]))}" for m in sorted(set(names) - set(standard))]
    return "\n".join(lines) + "\n"
