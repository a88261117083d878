"""One batch used for many updates: how the ratios fan out, and what holds them under several mechanisms.

Reads `rlcore.explore.reuse` records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing, thinned
from figures.plate import Plate
from figures.theme import CUSTOM, Dash, Look, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.reuse import Fan

LOOKS: dict[str, tuple[str, Look]] = {
    "none": ("no bound", CUSTOM),
    "clip": ("clip", look("ppo")),
    "clip_stop": ("clip + KL stop", look("ppo_rlhf")),
    "k1": ("β·k1 in the loss", look("rloo")),
    "k2": ("β·k2 in the loss", look("gspo")),
    "k3": ("β·k3 in the loss", look("grpo")),
    "exact": ("β·exact KL in the loss", look("sapo")),
}


def fan(found: Fan, *, eps_low: float, eps_high: float) -> Plate:
    """Every token's ratio before each update; a cross where the bound has removed its gradient."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        updates = np.arange(1, len(found.ratio) + 1)
        signs: tuple[tuple[str, np.ndarray, str, Dash], ...] = (
            ("A > 0", found.advantage > 0, d.color.better, "solid"),
            ("A < 0", found.advantage < 0, d.color.worse, "dash"),
        )
        for name, chosen, paint, dash in signs:
            x, y = _threads(updates, found.ratio[:, thinned(np.flatnonzero(chosen))])
            hover = name + ": ratio %{y:.3f} before update %{x}"
            d.line(x, y, name, color=paint, dash=dash, width=1, opacity=0.6, hover=hover)
        when, who = np.nonzero(found.dead)
        index = thinned(np.arange(when.size), 400)
        d.marks(
            updates[when[index]], found.ratio[when[index], who[index]], "gradient is zero", color=d.color.dead, symbol="x",
            size=7, hover="gradient is zero at ratio %{y:.3f}",
        )  # fmt: skip
        d.band(1 - eps_low, 1 + eps_high, along="y")
        d.x("update on the same batch", dtick=1 if len(updates) <= 20 else 5)
        d.y("ratio ρ before the update")
        return d.figure(height=400)

    first = int(np.argmax(found.outside.any(1))) if found.outside.any() else -1
    left = f"the first ratio leaves the band before update {first + 1}" if first >= 0 else "no ratio leaves the band"
    told = (
        f"Ratios start at exactly 1; {left}; before update {len(found.ratio)} they span {found.lowest[-1]:.3f} to "
        f"{found.highest[-1]:.3f}, {found.outside[-1].mean():.0%} outside the band and {found.dead[-1].mean():.0%} without "
        "gradient."
    )
    return Plate("ratio-fan", "Ratios while one batch is used again and again", draw, told, _by_update([found]))


def compare(fans: Sequence[Fan], *, eps_low: float, eps_high: float) -> Plate:
    """Largest and smallest ratio before each update, one pair of lines a mechanism."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for found in fans:
            label, drawn = LOOKS[found.mechanism]
            updates = np.arange(1, len(found.ratio) + 1)
            for part, y in (("largest", found.highest), ("smallest", found.lowest)):
                hover = f"{label}<br>{part} ratio %{{y:.3f}}<br>before update %{{x}}"
                d.line(updates, y, label, look=drawn, marks=True, legend=part == "largest", hover=hover)
        d.band(1 - eps_low, 1 + eps_high, along="y")
        d.x("update on the same batch", dtick=1 if max(len(f.ratio) for f in fans) <= 20 else 5)
        d.y("smallest and largest ratio")
        return d.figure(height=400)

    told = "; ".join(
        f"{LOOKS[f.mechanism][0]}: {f.lowest[-1]:.2f} to {f.highest[-1]:.2f} before update {len(f.ratio)}" for f in fans
    )
    return Plate("mechanisms", "What holds the ratio", draw, f"Range of ratios. {told}.", _by_update(fans))


def _threads(updates: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lines [K, N] as one trace, broken by NaN between tokens."""
    gap = np.full((1, ratio.shape[1]), np.nan)
    x = np.concatenate([np.repeat(updates[:, None], ratio.shape[1], 1).astype(float), gap])
    return x.T.reshape(-1), np.concatenate([ratio, gap]).T.reshape(-1)


def _by_update(fans: Sequence[Fan]) -> dict[str, list[float | str]]:
    rows = [
        (LOOKS[f.mechanism][0], k + 1, f.lowest[k], f.highest[k], f.outside[k].mean(), f.dead[k].mean(), f.approx_kl[k])
        for f in fans
        for k in range(len(f.ratio))
    ]
    names = ("mechanism", "update", "smallest ratio", "largest ratio", "outside", "gradient zero", "approx_kl")
    return {
        name: [v if isinstance(v, str | int) else float(v) for v in column]
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
