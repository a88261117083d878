"""Counterfactuals on a frozen batch: the contenders with another epsilon, beta, group size, scale or aggregation.

A change goes into every contender that has the setting; what a contender does not have stays as it is, and `untouched`
says which those are. Nothing here computes: the changed algorithms are asked by `explore.duel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rlcore.advantages import GroupRelative
from rlcore.aggregation import AggregateSlot, ConstantLength, SequenceMean, SequenceSum, TokenMean
from rlcore.algorithm import Algorithm
from rlcore.algorithms import by_key
from rlcore.config import RunConfig
from rlcore.kl import KlInLoss, NoKl
from rlcore.knobs import SettingError, Value
from rlcore.presets import preset_for

Numbers = Literal["here", "paper"]

AGGREGATES: Mapping[str, AggregateSlot] = {
    "sequence_mean": SequenceMean(), "token_mean": TokenMean(), "sequence_sum": SequenceSum(),
    "constant_length": ConstantLength(),
}  # fmt: skip


@dataclass(frozen=True)
class WhatIf:
    """What is different; None: as each recipe has it. `scale` is the group-relative advantage's: "std" or "none"."""

    eps_low: float | None = None
    eps_high: float | None = None
    kl_beta: float | None = None
    scale: Literal["std", "none"] | None = None
    aggregate: str | None = None


def contenders(keys: Sequence[str], run: RunConfig, *, numbers: Numbers) -> dict[str, Algorithm]:
    """Recipes by key: with the numbers that learn on the run's world, or with their papers'.

    Raises SettingError where a recipe does not fit the world.
    """
    found = {key: by_key(key).algorithm for key in keys}
    if numbers == "paper":
        return found
    return {key: preset_for(algorithm, run.env).algorithm for key, algorithm in found.items()}


def changed(algorithm: Algorithm, what: WhatIf) -> Algorithm:
    """The algorithm with everything changed that it has."""
    slots: dict[str, Value] = {}
    bounds = {"eps_low": what.eps_low, "eps_high": what.eps_high}
    fields = type(algorithm.surrogate).model_fields
    turned = {name: value for name, value in bounds.items() if value is not None and name in fields}
    if turned:
        slots["surrogate"] = algorithm.surrogate.model_copy(update=turned)
    if what.kl_beta is not None:
        slots["kl"] = _with_beta(algorithm, what.kl_beta)
    if what.scale is not None and isinstance(algorithm.advantage, GroupRelative):
        slots["advantage"] = algorithm.advantage.model_copy(update={"scale": what.scale})
    if what.aggregate is not None:
        slots["aggregate"] = aggregate(what.aggregate)
    return algorithm.model_copy(update=slots)


def _with_beta(algorithm: Algorithm, kl_beta: float) -> Value:
    """The penalty where the recipe has it; a recipe without one gets GRPO's, k3 in the loss."""
    if not isinstance(algorithm.kl, NoKl):
        return algorithm.kl.model_copy(update={"kl_beta": kl_beta})
    return algorithm.kl if kl_beta == 0 else KlInLoss(kl_beta=kl_beta)


def aggregate(name: str) -> AggregateSlot:
    """An aggregation rule by name. Raises SettingError."""
    if name not in AGGREGATES:
        raise SettingError(f"aggregate: must be one of {', '.join(AGGREGATES)}, got {name!r}")
    return AGGREGATES[name]


def untouched(algorithms: Mapping[str, Algorithm], what: WhatIf) -> dict[str, tuple[str, ...]]:
    """For each thing that was changed: the contenders that have no such setting."""
    lacking: dict[str, tuple[str, ...]] = {}
    for name, value in vars(what).items():
        alone = WhatIf(**{name: value})
        if value is not None:
            same = tuple(key for key, each in algorithms.items() if not _has(each, name) and changed(each, alone) == each)
            lacking |= {name: same} if same else {}
    return lacking


def _has(algorithm: Algorithm, name: str) -> bool:
    if name in ("eps_low", "eps_high"):
        return name in type(algorithm.surrogate).model_fields
    if name == "scale":
        return isinstance(algorithm.advantage, GroupRelative)
    return True
