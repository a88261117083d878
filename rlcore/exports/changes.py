"""The settings of a whole run: one config from each step on, written as the first and then what changed.

    ((0, config), (40, config with another lr), ...)        in memory
    {"config": {...}, "changes": [{"from_step": 40, "set": {"optim.lr": 0.01}}, ...]}        in a file

A drag of a slider is a hundred configs that differ in one number, so differences keep a file small.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rlcore.config import RunConfig, parse
from rlcore.knobs import SettingError

Path = tuple[tuple[int, RunConfig], ...]
"""(step, config): from that step on, counted from 0, the config was in force. The first entry is at step 0."""


def path_of(configs: Iterable[RunConfig]) -> Path:
    """The path of a run from the config of each of its steps, in order."""
    found: list[tuple[int, RunConfig]] = []
    for step, config in enumerate(configs):
        if not found or (config is not found[-1][1] and config != found[-1][1]):
            found.append((step, config))
    return tuple(found)


def config_at(path: Path, step: int) -> RunConfig:
    """The config in force at a step."""
    return next(config for start, config in reversed(path) if start <= step)


def written(path: Path) -> dict[str, Any]:
    """The path as a JSON tree."""
    trees = [config.model_dump(mode="json") for _, config in path]
    steps = [step for step, _ in path]
    changes = [
        {"from_step": step, "set": dict(differences(old, new))}
        for step, old, new in zip(steps[1:], trees, trees[1:], strict=False)
    ]
    return {"config": trees[0], "changes": changes}


def read(tree: Mapping[str, Any]) -> Path:
    """The path from a JSON tree. Raises SettingError naming the field, the rule and the value."""
    current = copy.deepcopy(tree["config"])
    found = [(0, parse(current))]
    for number, change in enumerate(tree["changes"]):
        step = change["from_step"]
        if step <= found[-1][0]:
            raise SettingError(f"changes.{number}.from_step: must be more than {found[-1][0]}, got {step}")
        for name, value in change["set"].items():
            put(current, name, value)
        found.append((step, parse(current)))
    return tuple(found)


def differences(old: Mapping[str, Any], new: Mapping[str, Any], lead: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, new value) of whatever differs; a slot that became another kind is given whole."""
    for name, value in new.items():
        before = old.get(name)
        if before == value and type(before) is type(value):
            continue
        inside = isinstance(before, Mapping) and isinstance(value, Mapping) and before.get("kind") == value.get("kind")
        if inside and before is not None and before.keys() == value.keys():
            yield from differences(before, value, f"{lead}{name}.")
        else:
            yield f"{lead}{name}", value


def put(tree: dict[str, Any], name: str, value: Any) -> None:
    """Set a dotted name in a tree. Raises SettingError where there is no such place."""
    *way, last = name.split(".")
    for part in way:
        tree = tree[part] if isinstance(tree, dict) and isinstance(tree.get(part), dict) else {}
    if not isinstance(tree, dict) or last not in tree:
        raise SettingError(f"changes: there is no setting {name[:80]!r}")
    tree[last] = copy.deepcopy(value)
