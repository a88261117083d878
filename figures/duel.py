"""A duel in pictures: token heat-maps of every contender, cosines of gradients, and what one update does to the policy.

Reads the records of `rlcore.explore.duel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing
from figures.plate import Plate
from figures.theme import Look, Mode

if TYPE_CHECKING:
    from rlcore.explore.duel import Duel, Stance

ROW_PIXELS, BELOW = 15, 96
HATCHES = ("", "/", ".", "x", "\\", "-")  # before, and up to five contenders


@dataclass(frozen=True)
class Quantity:
    """What a heat-map may show of a stance: its words, and whether its numbers have two signs."""

    label: str
    title: str
    signed: bool


QUANTITIES: Mapping[str, Quantity] = {
    "gradient": Quantity("Gradient", "push on log π (blue: likelier, orange: less likely)", True),
    "advantage": Quantity("Advantage", "advantage A", True),
    "active": Quantity("Active tokens", "has a gradient (1) or none (0)", False),
    "weight": Quantity("Weight", "weight w in the loss", False),
    "ratio": Quantity("Ratio", "log of the recipe's ratio", True),
    "change": Quantity("After one update", "change of log π by one update", True),
}


def values(stance: Stance, quantity: str, rows: int) -> np.ndarray:
    """The numbers of a heat-map, [B, T] of the whole batch: NaN where there is no token or the row was dropped."""
    if quantity == "change":
        return stance.change
    parts = {
        "gradient": -stance.grad_logp, "advantage": stance.advantages, "weight": stance.weight,
        "active": stance.active.astype(float), "ratio": np.log(np.where(stance.mask, stance.ratio, 1.0)),
    }  # fmt: skip
    return stance.whole(parts[quantity], rows)


def tokens(
    found: Duel, looks: Sequence[Look], words: Sequence[Sequence[str]], *, quantity: str, rows: np.ndarray
) -> Plate:
    """One quantity of every contender over the chosen rows, best score on top; crosses where a token has no gradient.

    words  of each chosen row its tokens' names
    """
    about, every = QUANTITIES[quantity], len(found.rollout["mask"])
    mask = found.rollout["mask"][rows]
    score = np.where(mask, found.rollout["reward"][rows], 0.0).sum(1)
    grids = [np.where(mask, values(s, quantity, every)[rows], np.nan) for s in found.stances]
    top = float(max((np.nanmax(np.abs(g)) for g in grids if np.isfinite(g).any()), default=1.0)) or 1.0
    width = int(mask.sum(1).max())
    names = np.array([[*w, *[""] * (mask.shape[1] - len(w))] for w in words])
    panel = ROW_PIXELS * len(rows) + 8
    height = (panel + 26) * len(grids) + BELOW

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=[1.0] * len(grids), gap=26 / height)
        ends = (d.color.worse, d.color.grid, d.color.better)
        scale = [[i / 2, c] for i, c in enumerate(ends)] if about.signed else [[0, d.color.grid], [1, d.color.better]]
        for row, (stance, grid, drawn) in enumerate(zip(found.stances, grids, looks, strict=True), start=1):
            d.heat(
                grid[:, :width], x=np.arange(1, width + 1), y=np.arange(len(rows)), title=about.title, row=row,
                low=-top if about.signed else 0.0, high=top, scale=scale,
                hover=f"<b>{drawn.label}</b>, token %{{x}} “%{{customdata}}”<br>{about.label.lower()} %{{z:.4g}}",
            )  # fmt: skip
            d.traces[-1] |= {"customdata": names[:, :width], "showscale": row == len(grids)}
            if width <= 14:
                d.traces[-1] |= {"text": names[:, :width], "texttemplate": "%{text}", "textfont": {"size": 11}}
            d.traces[-1]["colorbar"] |= {"y": -52 / height, "len": 0.9}
            _silent(d, stance, every, rows, width, row)
            d.y(
                "score", row=row, tickvals=list(range(len(rows))), ticktext=[f"{x:.3g}" for x in score],
                tickfont={"size": 10, "color": d.ink},
            )  # fmt: skip
            d.note(0.5, -0.6, f"<b>{drawn.label}</b>", row=row, xanchor="left", color=drawn.color(mode))
        d.x("token", range=[0.5, width + 0.5])
        return d.figure(height=height, margin={"l": 62, "r": 12, "t": 26, "b": BELOW - 10})

    told = "; ".join(
        f"{drawn.label}: {_told(grid, s, rows, every)}"
        for s, grid, drawn in zip(found.stances, grids, looks, strict=True)
    )
    at = np.argwhere(mask)
    table: dict[str, list[object]] = {
        "row": [int(rows[i]) + 1 for i, _ in at], "token": [int(t) + 1 for _, t in at], "what": [names[i, t] for i, t in at],
    }  # fmt: skip
    table |= {drawn.label: [float(g[i, t]) for i, t in at] for g, drawn in zip(grids, looks, strict=True)}
    title = f"{about.label}, {len(rows)} rows of one prompt"
    return Plate(f"duel-{quantity}", title, draw, f"{about.label}, {len(rows)} rows. {told}.", table)


def _silent(d: Drawing, stance: Stance, every: int, rows: np.ndarray, width: int, row: int) -> None:
    """Two kinds of silence: a bound removed the gradient, or the advantage is 0."""
    flat = stance.whole((stance.advantages == 0).astype(float), every)[rows, :width] == 1
    silent = stance.whole(stance.active.astype(float), every)[rows, :width] == 0
    for chosen, name, symbol, color in (
        (silent & ~flat, "a bound removed the gradient", "x", d.color.dead),
        (silent & flat, "advantage is 0", "circle-open", d.color.mark),
    ):
        y, x = np.nonzero(chosen)
        if x.size or row == 1:
            d.marks(
                x + 1, y, name, symbol=symbol, color=color, size=5, opacity=1, row=row, legend=row == 1,
                hover=f"token %{{x}}: {name}",
            )  # fmt: skip


def _told(grid: np.ndarray, stance: Stance, rows: np.ndarray, every: int) -> str:
    alive = np.isfinite(grid)
    if not alive.any():
        return "dropped these rows"
    active = stance.whole(stance.active.astype(float), every)[rows]
    silent = int((active == 0).sum())
    return f"{np.nanmin(grid):.3g} to {np.nanmax(grid):.3g}, {silent} of {int(alive.sum())} tokens silent"


def cosines(found: Duel, looks: Sequence[Look]) -> Plate:
    """Cosine of every pair of gradients; on a finite world also of each with the exact gradient of the expected return."""
    labels = [each.label for each in looks]
    columns = [*labels, *(["exact gradient"] if found.truth is not None else [])]
    z = found.cosine if found.truth is None else np.column_stack([found.cosine, found.truth])
    text = [["–" if np.isnan(x) else f"{x:.2f}" for x in row] for row in z]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        scale = [[0, d.color.worse], [0.5, d.color.grid], [1, d.color.better]]
        hover = "%{y} and %{x}: cosine %{z:.4f}"
        d.heat(z, x=columns, y=labels, title="cosine", low=-2.4, high=2.4, scale=scale, text=text, hover=hover)
        d.traces[-1] |= {"showscale": False, "textfont": {"color": d.ink, "size": 13}}  # pale cells: the text is read
        d.x("gradient of")
        d.y("gradient of")
        return d.figure(height=max(300, 70 + 46 * len(labels)), margin={"l": 100, "r": 12, "t": 10, "b": 56})

    pairs = [(a, b) for a in range(len(labels)) for b in range(a + 1, len(labels))]
    told = "; ".join(f"{labels[a]} and {labels[b]} {text[a][b]}" for a, b in pairs)
    table: dict[str, list[object]] = {"gradient of": list(labels)}
    table |= {column: [float(x) for x in z[:, i]] for i, column in enumerate(columns)}
    return Plate("duel-cosines", "Cosine of gradients", draw, f"Cosine between gradients: {told}.", table)


def moved(policies: Mapping[str, np.ndarray], actions: Sequence[str], looks: Mapping[str, Look], *, place: str) -> Plate:
    """Probabilities of every action in one state: before, and after one update of each contender."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for (name, p), hatch in zip(policies.items(), HATCHES, strict=False):
            drawn = looks.get(name)
            label = drawn.label if drawn else "before"
            d.bars(
                list(actions), p, label, look=drawn, color=d.color.mark, hatch=hatch,
                hover=f"{label}: %{{y:.4f}} for %{{x}}",
            )  # fmt: skip
        d.x(f"action in {place}")
        d.y("probability", rangemode="tozero")
        return d.figure(height=330)

    best = {name: int(np.argmax(p)) for name, p in policies.items()}
    told = "; ".join(
        f"{looks[name].label if name in looks else 'before'} {p.max():.4f} on {actions[best[name]]}"
        for name, p in policies.items()
    )
    table: dict[str, list[object]] = {"action": list(actions)}
    table |= {looks[n].label if n in looks else n: [float(x) for x in p] for n, p in policies.items()}
    return Plate("duel-policy", f"The policy in {place}", draw, f"Largest probability in {place}: {told}.", table)


def replies(found: Duel, looks: Sequence[Look]) -> Plate:
    """How much likelier one update makes each whole row, over the row's score."""
    score = np.where(found.rollout["mask"], found.rollout["reward"], 0.0).sum(1)
    change = [s.change.sum(1) for s in found.stances]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.across(0, along="y", color=d.color.mark)
        for drawn, y in zip(looks, change, strict=True):
            hover = f"{drawn.label}: %{{y:+.4f}} at score %{{x:.3g}}"
            d.marks(score, y, drawn.label, symbol=drawn.marker, color=drawn.color(mode), size=7, opacity=0.6, hover=hover)
        d.x("score of the row")
        d.y("change of its log π by one update")
        return d.figure(height=360)

    told = "; ".join(
        f"{drawn.label}: rows at or above the mean score {y[score >= score.mean()].mean():+.4f} on average, below "
        + (f"{y[score < score.mean()].mean():+.4f}" if (score < score.mean()).any() else "none")
        for drawn, y in zip(looks, change, strict=True)
    )
    table: dict[str, list[object]] = {"row": list(range(1, len(score) + 1)), "score": [float(x) for x in score]}
    table |= {drawn.label: [float(x) for x in y] for drawn, y in zip(looks, change, strict=True)}
    return Plate("duel-rows", "What one update does to whole rows", draw, f"Change of log π. {told}.", table)
