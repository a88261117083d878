"""The surrogate over the ratio, its slope, and recorded tokens on it; the plane of ratio and advantage.

Reads `rlcore.explore.curves` records; everything is drawn per unit of |A|, so that tokens of every size lie on one curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing, clustered, sizes
from figures.plate import Plate
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


def objective(curves: Sequence[Curve], samples: Samples | None, *, eps_low: float, eps_high: float) -> Plate:
    """Objective above, slope below, for one sign of the advantage; samples of that sign on the first curve."""
    first = curves[0]
    sign = "A > 0" if first.advantage > 0 else "A < 0"

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=(0.56, 0.44))
        for each in curves:
            label, drawn = LOOKS[each.surrogate.kind]
            for row, y in ((1, each.objective), (2, each.slope)):
                hover = label + ": %{y:.3f} at ratio %{x:.3f}"
                d.line(each.ratio, y / abs(each.advantage), label, look=drawn, row=row, legend=row == 1, hover=hover)
        if samples is not None:
            _marks(d, samples, first.advantage)
        d.band(1 - eps_low, 1 + eps_high)
        own = first.objective / abs(first.advantage)  # a logarithm's plunge near 0 must not flatten the rest
        room = 0.5 * _span(own)
        d.y("objective ÷ |A|", row=1, range=[float(own.min() - room), float(own.max() + room)])
        d.y("slope ÷ |A|", row=2)
        d.x("ratio ρ = π/π_old", range=[float(first.ratio[0]), float(first.ratio[-1])])
        return d.figure(height=470, title=f"{sign}: this sample should become {_more(first.advantage)} likely")

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


def _kinds(d: Drawing, samples: Samples) -> tuple[tuple[str, np.ndarray, str, str], ...]:
    """Three kinds of token, told apart by shape as well as color: name, which, symbol, color."""
    return (
        ("inside the band", ~samples.outside & ~samples.dead, "circle", d.ink),
        ("outside, gradient alive", samples.outside & ~samples.dead, "diamond-open", d.color.worse),
        ("gradient is zero", samples.dead, "x", d.color.dead),
    )


def _marks(d: Drawing, samples: Samples, advantage: float) -> None:
    of_sign = np.sign(samples.advantage) == np.sign(advantage)
    cells = (_span(samples.ratio) / 60, np.inf)
    for name, chosen, symbol, paint in _kinds(d, samples):
        index = np.flatnonzero(chosen & of_sign)
        first, count = clustered(samples.ratio[index], samples.ratio[index], cells=cells)
        index = index[first]
        size = np.abs(samples.advantage[index])
        hover = name + "<br>ratio %{x:.3f}<br>%{customdata} tokens about here"
        for row, y in ((1, samples.objective[index] / size), (2, samples.slope[index] / size)):
            d.marks(
                samples.ratio[index], y, name, color=paint, symbol=symbol, size=sizes(count), row=row, legend=row == 1,
                hover=hover, data=count,
            )  # fmt: skip


def _span(x: np.ndarray) -> float:
    return max(float(np.ptp(x)), 1e-6)


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
        d = Drawing(mode)
        reach = 1.15 * max(float(np.abs(samples.advantage).max()), 0.5)
        left = min(float(samples.ratio.min()), 1 - eps_low) - 0.08
        right = max(float(samples.ratio.max()), 1 + eps_high) + 0.08
        d.box(1 + eps_high, right, 0, reach, color=d.color.dead)
        d.box(left, 1 - eps_low, -reach, 0, color=d.color.dead)
        d.band(1 - eps_low, 1 + eps_high)
        for name, chosen, symbol, paint in _kinds(d, samples):
            index = np.flatnonzero(chosen)
            cells = (_span(samples.ratio) / 60, 2 * reach / 60)
            first, count = clustered(samples.ratio[index], samples.advantage[index], cells=cells)
            index = index[first]
            d.marks(
                samples.ratio[index], samples.advantage[index], f"{name} ({int(chosen.sum())})", color=paint, symbol=symbol,
                size=sizes(count), data=count, group=name,
                hover=name + "<br>ratio %{x:.3f}<br>A %{y:+.3f}<br>%{customdata} tokens about here",
            )  # fmt: skip
        d.note(right, reach, "dead: already up", xanchor="right", yanchor="top")
        d.note(left, -reach, "dead: already down", xanchor="left", yanchor="bottom")
        d.note(left, reach, "alive: pulled back up", xanchor="left", yanchor="top")
        d.note(right, -reach, "alive: pushed back down", xanchor="right", yanchor="bottom")
        d.x("ratio ρ = π/π_old", range=[left, right])
        d.y("advantage A", range=[-1.08 * reach, 1.08 * reach])
        return d.figure(height=430)

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
