"""What an algorithm is called, and what separates two of them.

Structure names an algorithm: which value stands in which slot. Numbers are settings of that structure ("GRPO
with eps_high 0.28"). Nothing here looks at data or results.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from rlcore.algorithm import Algorithm
from rlcore.algorithms.recipe import Recipe
from rlcore.knobs import SettingError, Value, knobs_of

# Text fields that make a method another method; every other field is a setting of it.
_NAMING = ("kind", "scale", "scope", "level")


# ---------------------------------------------------------------- differences


@dataclass(frozen=True)
class SlotChange:
    """One slot that differs. `structural` is False where only settings differ."""

    slot: str
    before: str
    after: str
    structural: bool

    def __str__(self) -> str:
        return f"{self.slot}: {self.before} -> {self.after}"


def diff(before: Algorithm, after: Algorithm) -> tuple[SlotChange, ...]:
    """The slots in which two algorithms differ, in the equation's order; empty for equal ones. Each prints "
    "as a line."""
    changes = []
    for slot in Algorithm.model_fields:
        a, b = getattr(before, slot), getattr(after, slot)
        if a != b:
            changes.append(SlotChange(slot, brief(a), brief(b), structure(a) != structure(b)))
    return tuple(changes)


def brief(value: object) -> str:
    """A slot's value as one short expression: its knobs and whatever else is not at its default."""
    if not isinstance(value, Value):
        return repr(value)
    shown = [f"{name}={brief(getattr(value, name))}" for name in _worth_showing(value)]
    return f"{type(value).__name__}({', '.join(shown)})"


def _worth_showing(value: Value) -> list[str]:
    knobs, shown = knobs_of(type(value)), []
    for name, field in type(value).model_fields.items():
        given = getattr(value, name)
        headline = name in _NAMING or isinstance(given, Value) or (name in knobs and given != 0)
        if name not in ("kind", "place") and (given != field.default or headline) and given is not None:
            shown.append(name)
    return shown


def structure(value: object) -> object:
    """A value without its settings: the kinds of everything in it, and the few words that name a method."""
    if not isinstance(value, Value):
        return None
    kept = []
    for name in type(value).model_fields:
        inner = getattr(value, name)
        kept.append((name, inner if name in _NAMING else structure(inner)))
    return type(value).__name__, tuple(kept)


def settings(before: Algorithm, after: Algorithm) -> tuple[str, ...]:
    """The settings of `after` that differ from `before` of the same structure: ("eps_high 0.28",).

    A setting is named by its own name where only one slot has it, else with its slot: "advantage.eps 1e-06".
    """
    old, new = dict(_leaves(before)), dict(_leaves(after))
    owners = [path[-1] for path in new]
    return tuple(
        f"{path[-1] if owners.count(path[-1]) == 1 else '.'.join(path)} {value}"
        for path, value in new.items()
        if old.get(path) != value
    )


def _leaves(value: Value, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    for name in type(value).model_fields:
        inner = getattr(value, name)
        if isinstance(inner, Value):
            yield from _leaves(inner, (*path, name))
        elif name not in ("kind", "place"):
            yield (*path, name), inner


# ---------------------------------------------------------------- names


@dataclass(frozen=True)
class Recognition:
    """Which recipe an algorithm is, or is nearest to.

    changes   recipe -> algorithm, empty for the recipe itself
    named     True where the structure is the recipe's, whatever the settings
    """

    recipe: Recipe
    changes: tuple[SlotChange, ...]
    named: bool
    settings: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """True for the recipe as its page states it, numbers included."""
        return not self.changes

    def __str__(self) -> str:
        if self.exact:
            return self.recipe.name
        if self.named:
            return f"{self.recipe.name} with {', '.join(self.settings)}"
        differing = ", ".join(change.slot for change in self.changes if change.structural)
        return f"unnamed; nearest is {self.recipe.name}, which differs in {differing}"


def recognise_among(recipes: tuple[Recipe, ...], algorithm: Algorithm) -> Recognition:
    """The nearest of `recipes`: fewest slots of another structure, then fewest of other settings, then the "
    "first."""
    best = min(recipes, key=lambda recipe: _distance(recipe.algorithm, algorithm))
    changes = diff(best.algorithm, algorithm)
    named = not any(change.structural for change in changes)
    return Recognition(best, changes, named, settings(best.algorithm, algorithm) if named else ())


def _distance(recipe: Algorithm, algorithm: Algorithm) -> tuple[int, int]:
    changes = diff(recipe, algorithm)
    return sum(change.structural for change in changes), len(changes)


def find(recipes: tuple[Recipe, ...], name: str) -> Recipe:
    """A recipe by key or name, in any case, with or without hyphens, dots and spaces.

    Raises SettingError naming the nearest ones.
    """
    spelled = {_plain(each): r for r in recipes for each in (r.key, r.name, r.long_name)}
    found = spelled.get(_plain(name))
    if found is not None:
        return found
    near = difflib.get_close_matches(_plain(name), spelled, n=3, cutoff=0.5)
    suggested = list(dict.fromkeys(spelled[each].key for each in near))
    hint = f"nearest: {', '.join(suggested)}; " if suggested else ""
    every = ", ".join(recipe.key for recipe in recipes)
    raise SettingError(f"recipe: must be one of the catalogue, got {name!r}; {hint}all: {every}")


def _plain(name: str) -> str:
    return "".join(c for c in name.lower().replace("++", "pp") if c.isalnum())
