"""What can stand in an algorithm's slots, read off their declared types, and a config with another value in one.

A slot is named as settings are: "ratio", "surrogate", and "kl.estimator" or "advantage.scale" for a choice within one.
Whether a value fits the run is the engine's to say.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from rlcore.algorithm import Algorithm
from rlcore.config import RunConfig, parse
from rlcore.knobs import SettingError, Value

MAIN = ("advantage", "ratio", "surrogate", "kl", "aggregate")
LABELS = {
    "advantage": "Advantage", "ratio": "Ratio", "surrogate": "Surrogate", "kl": "KL", "aggregate": "Aggregation",
    "critic": "Critic", "whiten": "Whitening", "shaping": "Reward shaping", "select": "Selection",
    "correction": "Correction", "gate": "Gate",
}  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """A choice: where it is, its present value, and every value that its type declares."""

    name: str
    kind: str
    options: Mapping[str, str]  # kind: what it is, in a sentence

    @property
    def owner(self) -> str:
        return self.name.split(".")[0]


def slots(algorithm: Algorithm) -> tuple[Slot, ...]:
    """Every choice of this algorithm, slot by slot."""
    return tuple(_of(algorithm, ()))


def with_slots(config: RunConfig, values: Mapping[str, str]) -> RunConfig:
    """The config with other kinds in some slots; numbers of the same name are kept. Raises SettingError."""
    for name, kind in values.items():
        algorithm = config.algorithm
        path = name.split(".")
        owner: Value = functools.reduce(getattr, path[:-1], algorithm)
        options = _options(type(owner).model_fields[path[-1]])
        if kind not in options:
            raise SettingError(f"{name}: must be one of {', '.join(options)}, got {kind[:40]!r}")
        declared = options[kind]
        new = kind if declared is None else _made(declared, getattr(owner, path[-1]))
        config = parse(config.model_dump() | {"algorithm": _put(algorithm, path, new).model_dump()})
    return config


def is_slot(algorithm: Algorithm, name: str) -> bool:
    return any(slot.name == name for slot in slots(algorithm))


def _of(value: Value, path: tuple[str, ...]) -> Iterator[Slot]:
    choices = _choices(type(value))
    for name in type(value).model_fields:
        if name == "kind":
            continue
        present = getattr(value, name)
        if name in choices and present is not None:
            kind = str(present.kind) if hasattr(present, "kind") else str(present)
            yield Slot(".".join((*path, name)), kind, choices[name])
        if isinstance(present, Value):
            yield from _of(present, (*path, name))


@functools.cache
def _choices(owner: type[Value]) -> Mapping[str, Mapping[str, str]]:
    """What each of a type's choices is in a sentence, by field and kind; made once, since a drag asks at every move."""
    options = {name: _options(field) for name, field in owner.model_fields.items() if name != "kind"}
    return {name: {k: _sentence(each) for k, each in kinds.items()} for name, kinds in options.items() if len(kinds) > 1}


def _options(field: FieldInfo) -> dict[str, type[Value] | None]:
    """The kinds a field's type declares: values with defaults, or words (None); {} for anything else."""
    annotation: Any = field.annotation
    if typing.get_origin(annotation) is Literal:
        words = typing.get_args(annotation)
        return dict.fromkeys(words) if all(isinstance(word, str) for word in words) else {}
    if field.discriminator != "kind":
        return {}
    return {each.model_fields["kind"].default: each for each in typing.get_args(annotation) if _complete(each)}


@functools.cache
def _complete(kind: type[Value]) -> bool:
    try:
        kind()
    except ValidationError:
        return False
    return True


def _made(kind: type[Value], present: Any) -> Value:
    """A value of that kind with the present one's fields where both have them; with its own defaults where they clash."""
    shared = {
        name: getattr(present, name)
        for name in kind.model_fields
        if name not in ("kind", "place") and name in type(present).model_fields
    }
    try:
        return kind(**shared)
    except ValidationError:
        return kind()


def _put(value: Value, path: list[str], new: Any) -> Value:
    inner = new if len(path) == 1 else _put(getattr(value, path[0]), path[1:], new)
    return value.model_copy(update={path[0]: inner})


def _sentence(kind: type[Value] | None) -> str:
    """The first sentence of a value's docstring."""
    text = " ".join((kind.__doc__ or "").split("\n\n")[0].split()) if kind is not None else ""
    return text if len(text) < 160 else f"{text[:157]}…"
