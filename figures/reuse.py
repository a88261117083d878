"""One batch used for many updates: how the ratios fan out, and what holds them under several mechanisms.

Reads `rlcore.explore.reuse` records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.plate import Plate
from figures.style import base, meaning
from figures.surrogate import thinned
from figures.theme import CUSTOM, Look, Mode, look

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
        color, figure = meaning(mode), go.Figure()
        updates = np.arange(1, len(found.ratio) + 1)
        for name, chosen, paint, dash in (
            ("A > 0", found.advantage > 0, color.better, "solid"), ("A < 0", found.advantage < 0, color.worse, "dash"),
        ):  # fmt: skip
            index = thinned(np.flatnonzero(chosen))
            x, y = _threads(updates, found.ratio[:, index])
            figure.add_scatter(
                x=x, y=y, mode="lines", name=name, line={"color": paint, "width": 1, "dash": dash}, opacity=0.55,
                hovertemplate=name + ": ratio %{y:.3f} before update %{x}<extra></extra>",
            )  # fmt: skip
        when, who = np.nonzero(found.dead)
        index = thinned(np.arange(when.size), 400)
        figure.add_scatter(
            x=updates[when[index]], y=found.ratio[when[index], who[index]], mode="markers", name="gradient is zero",
            marker={"symbol": "x", "color": color.dead, "size": 7}, hovertemplate="dead at ratio %{y:.3f}<extra></extra>",
        )  # fmt: skip
        _edges(figure, mode, eps_low, eps_high)
        figure.update_xaxes(title_text="update on the same batch", dtick=1 if len(updates) <= 20 else None)
        figure.update_yaxes(title_text="ratio ρ before the update")
        return base(figure, mode, height=400)

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
        figure = go.Figure()
        for found in fans:
            label, drawn = LOOKS[found.mechanism]
            updates = np.arange(1, len(found.ratio) + 1)
            for part, y in (("largest", found.highest), ("smallest", found.lowest)):
                figure.add_scatter(
                    x=updates, y=y, mode="lines+markers", name=label, legendgroup=label, showlegend=part == "largest",
                    line={"color": drawn.color(mode), "dash": drawn.dash, "width": 2.2},
                    marker={"symbol": drawn.marker, "size": 7, "color": drawn.color(mode)},
                    hovertemplate=f"{label}<br>{part} ratio %{{y:.3f}}<br>before update %{{x}}<extra></extra>",
                )  # fmt: skip
        _edges(figure, mode, eps_low, eps_high)
        figure.update_xaxes(title_text="update on the same batch")
        figure.update_yaxes(title_text="smallest and largest ratio")
        return base(figure, mode, height=400)

    told = "; ".join(
        f"{LOOKS[f.mechanism][0]}: {f.lowest[-1]:.2f} to {f.highest[-1]:.2f} before update {len(f.ratio)}" for f in fans
    )
    return Plate("mechanisms", "What holds the ratio", draw, f"Range of ratios. {told}.", _by_update(fans))


def _threads(updates: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lines [K, N] as one trace, broken by NaN between tokens."""
    gap = np.full((1, ratio.shape[1]), np.nan)
    x = np.concatenate([np.repeat(updates[:, None], ratio.shape[1], 1).astype(float), gap])
    return x.T.reshape(-1), np.concatenate([ratio, gap]).T.reshape(-1)


def _edges(figure: go.Figure, mode: Mode, eps_low: float, eps_high: float) -> None:
    color = meaning(mode).mark
    figure.add_hrect(y0=1 - eps_low, y1=1 + eps_high, fillcolor=color, opacity=0.12, line_width=0, layer="below")
    for edge in (1 - eps_low, 1 + eps_high):
        figure.add_hline(y=edge, line={"color": color, "width": 1, "dash": "dot"})


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
