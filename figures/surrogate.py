"""The surrogate over the ratio, its slope, and recorded tokens on it; the plane of ratio and advantage.

Reads `rlcore.explore.curves` records; everything is drawn per unit of |A|, so that tokens of every size lie on one curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from figures.plate import Plate
from figures.style import band, base, ink, meaning
from figures.theme import CUSTOM, Look, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.curves import Curve, Samples

LOOKS: dict[str, tuple[str, Look]] = {
    "ppo_clip": ("PPO clip", look("ppo")),
    "dual_clip": ("dual clip", look("ppo_rlhf")),
    "cispo": ("CISPO", look("cispo")),
    "sapo": ("SAPO", look("sapo")),
    "gmpo": ("GMPO", look("gmpo")),
    "score_function": ("score function", look("rloo")),
    "unclipped": ("no clip", CUSTOM),
    "clip_without_min": ("clip, no min", look("reinforce_pp")),
}
DRAWN = 150  # marks of one kind; more would only cover each other


def objective(
    curves: Sequence[Curve], samples: Samples | None, *, eps_low: float, eps_high: float
) -> Plate:
    """Objective above, slope below, for one sign of the advantage; samples of that sign on the first curve."""
    first = curves[0]
    sign = "A > 0" if first.advantage > 0 else "A < 0"

    def draw(mode: Mode) -> go.Figure:
        figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[0.56, 0.44])
        for each in curves[::-1]:
            _lines(figure, each, mode)
        if samples is not None:
            _marks(figure, samples, first.advantage, mode)
        band(figure, mode, low=1 - eps_low, high=1 + eps_high, row="all", col=1)
        figure.update_yaxes(title_text="objective ÷ |A|", row=1, col=1)
        figure.update_yaxes(title_text="slope ÷ |A|", row=2, col=1)
        figure.update_xaxes(title_text="ratio ρ = π/π_old", row=2, col=1)
        figure.update_xaxes(range=[float(first.ratio[0]), float(first.ratio[-1])])
        figure.update_layout(title={"text": f"{sign}: this sample should become {_more(first.advantage)} likely", "x": 0})
        return base(figure, mode, height=470)

    rows = [
        (LOOKS[c.surrogate.kind][0], *map(float, values))
        for c in curves
        for values in zip(c.ratio, c.objective / abs(c.advantage), c.slope / abs(c.advantage), strict=True)
    ]
    columns = ("surrogate", "ratio", "objective per |A|", "slope per |A|")
    table = dict(zip(columns, zip(*rows, strict=True), strict=True))
    return Plate(
        f"surrogate-{'gain' if first.advantage > 0 else 'loss'}", f"Surrogate objective and slope, {sign}", draw,
        _objective_alt(curves, samples, sign), table,
    )  # fmt: skip


def _more(advantage: float) -> str:
    return "more" if advantage > 0 else "less"


def _lines(figure: go.Figure, each: Curve, mode: Mode) -> None:
    label, drawn = LOOKS[each.surrogate.kind]
    size = abs(each.advantage)
    line = {"color": drawn.color(mode), "dash": drawn.dash, "width": 2.4}
    for row, y in ((1, each.objective / size), (2, each.slope / size)):
        figure.add_scatter(
            x=each.ratio, y=y, mode="lines", name=label, legendgroup=label, showlegend=row == 1, line=line,
            hovertemplate=label + ": %{y:.3f} at ratio %{x:.3f}<extra></extra>", row=row, col=1,
        )  # fmt: skip


def _marks(figure: go.Figure, samples: Samples, advantage: float, mode: Mode) -> None:
    """Three kinds of token, told apart by shape as well as color."""
    color = meaning(mode)
    of_sign = np.sign(samples.advantage) == np.sign(advantage)
    kinds = (
        ("inside the band", ~samples.outside & ~samples.dead, "circle", ink(mode)),
        ("outside, gradient alive", samples.outside & ~samples.dead, "diamond-open", color.worse),
        ("gradient is zero", samples.dead, "x", color.dead),
    )
    for name, chosen, symbol, paint in kinds:
        index = thinned(np.flatnonzero(chosen & of_sign))
        size = np.abs(samples.advantage[index])
        hover = np.stack([samples.advantage[index], samples.row[index], samples.position[index]], axis=-1)
        for row, y in ((1, samples.objective[index] / size), (2, samples.slope[index] / size)):
            figure.add_scatter(
                x=samples.ratio[index], y=y, mode="markers", name=name, legendgroup=name, showlegend=row == 1,
                marker={"symbol": symbol, "color": paint, "size": 8, "opacity": 0.75, "line": {"width": 1.4, "color": paint}},
                customdata=hover, row=row, col=1,
                hovertemplate=name + "<br>ratio %{x:.3f}, A %{customdata[0]:+.3f}<br>row %{customdata[1]}, step "
                "%{customdata[2]}<extra></extra>",
            )  # fmt: skip


def thinned(index: np.ndarray, most: int = DRAWN) -> np.ndarray:
    """At most `most` of the indices, evenly spread, the first and the last among them."""
    if index.size <= most:
        return index
    return index[np.linspace(0, index.size - 1, most).round().astype(int)]


def _objective_alt(curves: Sequence[Curve], samples: Samples | None, sign: str) -> str:
    parts = []
    for each in curves:
        flat = each.ratio[each.dead]
        label = LOOKS[each.surrogate.kind][0]
        parts.append(f"{label} is flat {_where(flat, each.ratio)}" if flat.size else f"{label} is never flat")
    if samples is None:
        return f"{sign}: {'; '.join(parts)}."
    chosen = np.sign(samples.advantage) == np.sign(curves[0].advantage)
    outside, dead = int((samples.outside & chosen).sum()), int((samples.dead & chosen).sum())
    told = f"{int(chosen.sum())} recorded samples of this sign, {outside} outside the band, {dead} without gradient"
    return f"{sign}: {'; '.join(parts)}. {told}."


def _where(flat: np.ndarray, ratio: np.ndarray) -> str:
    below, above = flat[0] <= ratio[0] + 1e-6, flat[-1] >= ratio[-1] - 1e-6
    if below and above:
        return "on both sides of the band"
    return f"below ratio {flat[-1]:.4g}" if below else f"above ratio {flat[0]:.4g}"


# ---------------------------------------------------------------- the plane


def plane(samples: Samples, *, eps_low: float, eps_high: float) -> Plate:
    """Every token by ratio and advantage: two of the four outer quarters are dead, the other two are not."""

    def draw(mode: Mode) -> go.Figure:
        color = meaning(mode)
        figure = go.Figure()
        reach = 1.15 * max(float(np.abs(samples.advantage).max()), 0.5)
        left = min(float(samples.ratio.min()), 1 - eps_low) - 0.08
        right = max(float(samples.ratio.max()), 1 + eps_high) + 0.08
        for x0, x1, y in ((1 + eps_high, right, reach), (left, 1 - eps_low, -reach)):
            figure.add_shape(
                type="rect", x0=x0, x1=x1, y0=0, y1=y, fillcolor=color.dead, opacity=0.14, line_width=0, layer="below"
            )
        band(figure, mode, low=1 - eps_low, high=1 + eps_high)
        kinds = (
            ("inside the band", ~samples.outside & ~samples.dead, "circle", ink(mode)),
            ("outside, gradient alive", samples.outside & ~samples.dead, "diamond-open", color.worse),
            ("gradient is zero", samples.dead, "x", color.dead),
        )
        for name, chosen, symbol, paint in kinds:
            index = thinned(np.flatnonzero(chosen), 2 * DRAWN)
            figure.add_scatter(
                x=samples.ratio[index], y=samples.advantage[index], mode="markers", name=f"{name} ({int(chosen.sum())})",
                marker={"symbol": symbol, "color": paint, "size": 8, "opacity": 0.7, "line": {"width": 1.4, "color": paint}},
                hovertemplate=name + "<br>ratio %{x:.3f}<br>A %{y:+.3f}<extra></extra>",
            )  # fmt: skip
        for x, y, text in (
            (right, reach, "dead: ρ > 1 + ε_high, A > 0"), (left, -reach, "dead: ρ < 1 − ε_low, A < 0"),
            (left, reach, "alive: pulled back up"), (right, -reach, "alive: pushed back down"),
        ):  # fmt: skip
            figure.add_annotation(
                x=x, y=y, text=text, showarrow=False, xanchor="right" if x == right else "left",
                yanchor="top" if y > 0 else "bottom",
            )  # fmt: skip
        figure.update_xaxes(title_text="ratio ρ = π/π_old", range=[left, right])
        figure.update_yaxes(title_text="advantage A", range=[-1.08 * reach, 1.08 * reach])
        return base(figure, mode, height=430)

    alive = int((samples.outside & ~samples.dead).sum())
    told = (
        f"Of {samples.count} tokens {int(samples.outside.sum())} ({samples.outside_fraction:.1%}) are outside the band and "
        f"{int(samples.dead.sum())} ({samples.dead_fraction:.1%}) have no gradient; {alive} are outside and still learn."
    )
    table = {
        "row": samples.row.tolist(), "step": samples.position.tolist(), "ratio": samples.ratio.tolist(),
        "advantage": samples.advantage.tolist(), "outside": samples.outside.tolist(), "gradient zero": samples.dead.tolist(),
    }  # fmt: skip
    return Plate("ratio-advantage", "Outside the band, and without gradient", draw, told, table)
