"""The surrogate over the ratio, its slope, and recorded tokens on it; the plane of ratio and advantage.

Reads `rlcore.explore.curves` records; everything is drawn per unit of |A|, so that tokens of every size lie on one curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing, clustered, dashed, sizes
from figures.plate import Plate
from figures.theme import CUSTOM, Look, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.curves import Curve, Samples

LOOKS: dict[str, tuple[str, Look]] = {
    "ppo_clip": ("PPO clip", look("ppo")),
    "dual_clip": ("dual clip", look("ppo_rlhf")),
    "cispo": ("CISPO", dashed(look("cispo"), "dot")),
    "sapo": ("SAPO", dashed(look("sapo"), "dashdot")),
    "gmpo": ("GMPO", look("gmpo")),
    "score_function": ("score function", dashed(look("rloo"), "longdash")),
    "unclipped": ("no clip", CUSTOM),
    "clip_without_min": ("clip, no min", dashed(look("gspo"), "dash")),
}


def objective(curves: Sequence[tuple[Curve, Curve]], samples: Samples, *, eps_low: float, eps_high: float) -> Plate:
    """Objective above, slope below, for A > 0 and A < 0 in one picture; every recorded token lies on the first pair.

    curves  of each surrogate the pair for A > 0 and for A < 0
    """
    gain, loss = curves[0]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=(0.56, 0.44))
        for pair in curves:
            for each in pair:
                label, drawn = LOOKS[each.surrogate.kind]
                sign = "A > 0" if each.advantage > 0 else "A < 0"
                for row, y in ((1, each.objective), (2, each.slope)):
                    hover = f"{label}, {sign}: %{{y:.3f}} at ratio %{{x:.3f}}"
                    first = row == 1 and each.advantage > 0
                    d.line(each.ratio, y / abs(each.advantage), label, look=drawn, row=row, legend=first, hover=hover)
        _marks(d, samples)
        d.band(1 - eps_low, 1 + eps_high)
        for row, each in ((1, gain), (1, loss), (2, gain), (2, loss)):
            y = (each.objective if row == 1 else each.slope)[0] / abs(each.advantage)
            up = each.advantage > 0
            d.note(
                each.ratio[0], y, "A > 0" if up else "A < 0", row=row, xanchor="left", yanchor="bottom" if up else "top"
            )
        own = np.concatenate([gain.objective, loss.objective])  # a logarithm's plunge near 0 must not flatten the rest
        d.y("objective ÷ |A|", row=1, range=_room(own))
        d.y("slope ÷ |A|", row=2, range=_room(np.concatenate([gain.slope, loss.slope])))
        d.x("ratio ρ = π/π_old", range=[float(gain.ratio[0]), float(gain.ratio[-1])])
        return d.figure(height=520)

    rows = [
        (LOOKS[c.surrogate.kind][0], int(np.sign(c.advantage)), *map(float, values))
        for pair in curves
        for c in pair
        for values in zip(c.ratio, c.objective / abs(c.advantage), c.slope / abs(c.advantage), strict=True)
    ]
    columns = ("surrogate", "sign of A", "ratio", "objective per |A|", "slope per |A|")
    table = dict(zip(columns, zip(*rows, strict=True), strict=True))
    return Plate("surrogate", "Surrogate objective and slope", draw, _objective_alt(curves, samples), table)


def _room(y: np.ndarray) -> list[float]:
    """A y range with a fifth of its height to spare on both sides."""
    spare = 0.2 * _span(y)
    return [float(y.min() - spare), float(y.max() + spare)]


def _kinds(d: Drawing, samples: Samples) -> tuple[tuple[str, np.ndarray, str, str], ...]:
    """Three kinds of token with A != 0, told apart by shape as well as color: name, which, symbol, color."""
    learns = ~samples.dead & (samples.advantage != 0)
    return (
        ("inside the band", ~samples.outside & learns, "circle", d.ink),
        ("outside, gradient alive", samples.outside & learns, "diamond-open", d.color.worse),
        ("gradient is zero", samples.dead, "x", d.color.dead),
    )


def _marks(d: Drawing, samples: Samples) -> None:
    """Tokens with A != 0 on their curve, those at about the same ratio drawn as one mark."""
    sign, cells = np.sign(samples.advantage), (_span(samples.ratio) / 50, 0.5)
    for name, chosen, symbol, paint in _kinds(d, samples):
        index = np.flatnonzero(chosen & (sign != 0))
        first, count = clustered(samples.ratio[index], sign[index], cells=cells)
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


def _objective_alt(curves: Sequence[tuple[Curve, Curve]], samples: Samples) -> str:
    parts = []
    for pair in curves:
        label = LOOKS[pair[0].surrogate.kind][0]
        for each, sign in zip(pair, ("A > 0", "A < 0"), strict=True):
            flat = each.ratio[each.dead]
            parts.append(f"{label} is flat {_where(flat, each.ratio)} for {sign}" if flat.size else "")
        if not any(each.dead.any() for each in pair):
            parts.append(f"{label} is never flat")
    told = "; ".join(part for part in parts if part)
    counts = []
    for sign, chosen in (("A > 0", samples.advantage > 0), ("A < 0", samples.advantage < 0)):
        outside, dead = int((samples.outside & chosen).sum()), int((samples.dead & chosen).sum())
        counts.append(
            f"of {int(chosen.sum())} recorded tokens with {sign}, {outside} are outside the band, {dead} without gradient"
        )
    return f"{told[:1].upper()}{told[1:]}. {'; '.join(counts)}.".replace(". of", ". Of")


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
        nothing = ("A = 0, no gradient anyway", samples.advantage == 0, "circle-open", d.color.mark)
        for name, chosen, symbol, paint in (*_kinds(d, samples), nothing):
            index = np.flatnonzero(chosen)
            if not index.size:
                continue
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

    alive, nothing = int((samples.outside & ~samples.dead & (samples.advantage != 0)).sum()), int((samples.advantage == 0).sum())
    told = (
        f"Of {samples.count} tokens {int(samples.outside.sum())} ({samples.outside_fraction:.1%}) are outside the band, and the "
        f"bound has removed the gradient of {int(samples.dead.sum())} ({samples.dead_fraction:.1%}); {alive} are outside and still "
        f"learn." + (f" {nothing} have A = 0 and no gradient wherever they are." if nothing else "")
    )
    table = {
        "row": samples.row.tolist(), "step": samples.position.tolist(), "ratio": samples.ratio.tolist(),
        "advantage": samples.advantage.tolist(), "outside": samples.outside.tolist(), "gradient zero": samples.dead.tolist(),
    }  # fmt: skip
    return Plate("ratio-advantage", "Outside the band, and without gradient", draw, told, table)
