"""From a card's run specification to its curves: the engine trains, this module only asks for the numbers.

Nothing is cached or stored here; a specification and the engine's version determine the curves to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from interview.links import RunSpec
from interview.schema import ReadCurves
from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.presets import preset

Curve = NDArray[np.float64]


def config_of(spec: RunSpec) -> RunConfig:
    """The engine's config of a specification. Raises the engine's SettingError for a setting it refuses."""
    return preset(spec.recipe, spec.env, spec.seed).with_settings(spec.overrides)


def curves_of(spec: RunSpec, metrics: Iterable[str]) -> dict[str, Curve]:
    """Each metric after each step, [steps]; NaN where a step did not report it. Raises KeyError for unknown names."""
    config = config_of(spec)
    state = init(config)
    records: list[dict[str, float]] = []
    for _ in range(spec.steps):
        state, record = step(state, config)
        records.append(dict(record.metrics))
    known = {name for record in records for name in record}
    wanted = tuple(metrics)
    unknown = sorted(set(wanted) - known)
    if unknown:
        raise KeyError(f"metrics: {unknown} are not among {sorted(known)}")
    return {name: np.array([record.get(name, np.nan) for record in records]) for name in wanted}


def card_curves(card: ReadCurves) -> dict[str, dict[str, Curve]]:
    """All curves of a card: by run label, then by metric."""
    return {spec.label: curves_of(spec, card.metrics) for spec in card.runs}
