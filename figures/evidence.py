"""Evidence in one picture: every seed of every arm, with the mean and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing
from figures.plate import Plate
from figures.theme import LOOKS, Look, Mode, look

if TYPE_CHECKING:
    from rlcore.evidence import Evidence


def _look(arm: str, recipe: str) -> Look:
    """An arm named after a recipe is drawn as that recipe."""
    named = [each for each in LOOKS if arm == each.label or arm.startswith((f"{each.label},", f"{each.label} "))]
    return named[0] if named else look(recipe)


def seeds(evidence: Evidence) -> Plate:
    """One line an arm: its seeds as dots, its mean as a diamond, the 95 % interval of the mean as a bar."""
    arms = list(evidence.arms)[::-1]
    found = {arm: evidence.mean(arm) for arm in arms}

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for level, arm in enumerate(arms):
            drawn, at, own = _look(arm, evidence.settings[arm].recipe), found[arm], np.array(evidence.arms[arm])
            paint = drawn.color(mode)
            nudge = level + 0.22 * np.linspace(-1, 1, len(own))
            d.marks(own, nudge, "one seed", color=paint, size=5, opacity=0.4, legend=level == 0, hover=f"{arm}: %{{x:.4g}}")
            d.line([at.low, at.high], [level, level], "95 % interval", color=paint, width=4, legend=level == 0)
            d.marks([at.mean], [level], "mean", color=paint, symbol="diamond", size=11, opacity=1, legend=level == 0,
                    hover=f"{arm}: mean %{{x:.4g}}")  # fmt: skip
        d.x(evidence.unit or "value")
        d.y("", tickvals=list(range(len(arms))), ticktext=arms, range=[-0.6, len(arms) - 0.4])
        return d.figure(height=90 + 42 * len(arms), margin={"l": 160, "r": 12, "t": 10, "b": 46})

    told = "; ".join(f"{arm} {at.mean:.4g} [{at.low:.4g}, {at.high:.4g}]" for arm, at in list(found.items())[::-1])
    table: dict[str, list[object]] = {"seed": list(evidence.seeds)}
    table |= {arm: list(evidence.arms[arm]) for arm in evidence.arms}
    alt = f"{evidence.measure}. Mean and 95 % interval over {len(evidence.seeds)} seeds: {told}."
    return Plate(f"evidence-{evidence.name}", evidence.claim, draw, alt, table)
