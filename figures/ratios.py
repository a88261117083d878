"""Ratios: one response token by token, growth with length, bands on one axis, weights of tokens.

Reads the records of `rlcore.explore.tokens`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import SCALE, Drawing, dashed
from figures.plate import Plate
from figures.theme import CUSTOM, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.lengths import Growth, Spread, Weighed
    from rlcore.explore.tokens import Bands, Response

NAMES = {"grpo": "GRPO", "cispo": "CISPO", "gspo": "GSPO", "gspo_token": "GSPO-token"}


def response(found: Response, names: Sequence[str], bands: Bands, *, chosen: int | None = None) -> Plate:
    """Token ratios, their running product and the sequence ratio; below, which tokens each recipe keeps."""
    places = np.arange(len(found.ratio))

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=(0.62, 0.38))
        d.bars(
            places,
            found.ratio - 1,
            "token ratio",
            color=d.color.mark,
            hover="token ratio %{customdata:.4f}",
            data=found.ratio,
        )
        d.traces[-1]["base"] = 1
        d.line(places, found.running, "running product", look=CUSTOM, width=2, hover="product so far %{y:.4f}")
        ends = [-0.5, len(places) - 0.5]
        d.line(ends, [found.geometric] * 2, "sequence ratio s", look=look("gspo"), hover="s = %{y:.5f}")
        d.band(1 - bands.eps_low, 1 + bands.eps_high, along="y", rows=[1])
        if chosen is not None:
            d.across(chosen, color=d.color.dead, dash="dot", row=1)
        for level, key in enumerate(found.by_recipe):
            _kept(d, found, key, places, len(found.by_recipe) - 1 - level)
        labels = [NAMES[key] for key in reversed(list(found.by_recipe))]
        d.y("ratio", row=1)
        d.y("", row=2, tickvals=list(range(len(labels))), ticktext=labels, range=[-0.6, len(labels) - 0.4], zeroline=False)
        few = len(places) <= 40
        d.x("token", range=ends, zeroline=False, **({"tickvals": places.tolist(), "ticktext": list(names)} if few else {}))
        return d.figure(height=480, margin={"l": 92, "r": 10, "t": 14, "b": 46})

    silenced = "; ".join(
        f"{NAMES[key]} silences {int(p.dead.sum())} of {len(places)}" for key, p in found.by_recipe.items()
    )
    told = (
        f"{len(places)} tokens, A = {found.advantage:+.3g}: token ratios {found.ratio.min():.4f} to {found.ratio.max():.4f}, "
        f"product {found.product:.4f}, sequence ratio {found.geometric:.5f}. {silenced}."
    )
    table = {
        "token": list(names), "log-ratio": found.log_ratio.tolist(), "ratio": found.ratio.tolist(),
        "running product": found.running.tolist(),
    }  # fmt: skip
    table |= {f"push, {NAMES[key]}": p.push[0].tolist() for key, p in found.by_recipe.items()}
    return Plate("token-ratios", "One response, token by token", draw, told, table)


def _kept(d: Drawing, found: Response, key: str, places: np.ndarray, level: int) -> None:
    p = found.by_recipe[key]
    dead, push = p.dead[0], p.push[0]
    drawn = look(key)
    size = 6 + 8 * np.abs(push) / max(float(np.abs(push).max()), 1e-12)
    for chosen, symbol, color, said in (
        (~dead, "circle", drawn.color(d.mode), "keeps its gradient, push"),
        (dead, "x", d.color.dead, "silenced, push"),
    ):
        d.marks(
            places[chosen], np.full(int(chosen.sum()), level), NAMES[key], symbol=symbol, color=color, row=2, opacity=1,
            size=size[chosen], legend=False, data=push[chosen], hover=f"{NAMES[key]} {said} %{{customdata:+.4f}}",
        )  # fmt: skip


def growth(found: Growth, *, each: float) -> Plate:
    """Token ratio, sequence ratio and product by length, on a logarithmic axis."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for label, y, drawn in (
            ("product of ratios", found.product, dashed(look("rloo"), "dash")),
            ("token ratio", found.token, dashed(look("grpo"), "dot")),
            ("sequence ratio s", found.geometric, look("gspo")),
        ):
            d.line(found.length, y, label, look=drawn, hover=label + ": %{y:.5g} at %{x} tokens")
        d.across(1, along="y", color=d.color.mark)
        d.x("tokens of the answer", type="log")
        d.y("ratio", type="log")
        return d.figure(height=380)

    told = (
        f"Every token moved by a log-ratio of {each:g}: at {found.length[-1]} tokens the product is {found.product[-1]:.5g}, the "
        f"sequence ratio {found.geometric[-1]:.5g}, each token's {found.token[-1]:.5g}."
    )
    table = {
        "tokens": found.length.tolist(), "token ratio": found.token.tolist(), "sequence ratio": found.geometric.tolist(),
        "product": found.product.tolist(),
    }  # fmt: skip
    return Plate("growth", "Ratios and length", draw, told, table)


def bands(found: Spread, widths: Bands, *, length: int) -> Plate:
    """How far token and sequence ratios stray from 1, on one logarithmic axis, with both clip widths on it."""
    edges = np.linspace(-6, 1, 71)

    def shares(distance: np.ndarray) -> np.ndarray:
        clear = np.log10(np.maximum(distance, 1e-12))
        return np.histogram(clear, bins=edges)[0] / distance.size

    token, sequence = shares(found.token), shares(found.sequence)
    top = float(max(token.max(), sequence.max()))
    middle = 10 ** ((edges[1:] + edges[:-1]) / 2)

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for label, y, drawn in (
            ("token ratios", token, dashed(look("grpo"), "dash")),
            ("sequence ratios", sequence, look("gspo")),
        ):
            d.line(middle, y, label, look=drawn, hover=label + ": %{y:.1%} about |ratio − 1| = %{x:.2g}")
        for at, drawn, text in (
            (widths.eps_high, look("grpo"), "token ε"),
            (widths.seq_eps_high, look("gspo"), "sequence ε"),
        ):
            if at > 0:
                d.across(at, color=drawn.color(mode), dash="dash", width=2)
                d.note(at, 1.05 * top, f" {text}", color=drawn.color(mode), xanchor="left")
        d.x("|ratio − 1|", type="log", range=[-5.2, 0.8], exponentformat="power", dtick=1)
        d.y("share", tickformat=".0%", range=[0, 1.2 * top])
        return d.figure(height=380)

    parts = "; ".join(f"{label}: {share:.3g}" for label, share in found.clipped.items())
    told = f"Answers of {length} tokens: sequence ratios have a standard deviation of {found.sequence_sd:.4f}. Silenced: {parts}."
    table = {"|ratio - 1|": middle.tolist(), "tokens": token.tolist(), "sequences": sequence.tolist()}
    return Plate("bands", "Two ratios, two clip widths", draw, told, table)


def weights(found: Mapping[str, Weighed], lengths: tuple[int, int]) -> Plate:
    """Weight of each token of a short and a long answer under every rule, as colors."""
    rows = [f"{name}, {size}" for name in found for size in lengths]
    width = max(lengths)
    shown = np.unique(np.linspace(0, width - 1, min(width, 120)).round().astype(int))
    z = np.stack([each.weight[row][shown] for each in found.values() for row in (0, 1)])
    clear = np.where(z > 0, z, np.nan)

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.heat(
            np.log10(clear), x=shown + 1, y=rows, title="log₁₀ weight", hover="%{y}<br>token %{x}: weight %{customdata:.3g}",
            scale=[[0, SCALE[mode][0]], [0.5, SCALE[mode][1]], [1, SCALE[mode][2]]],
        )  # fmt: skip
        d.traces[-1] |= {"customdata": z, "xgap": 0, "ygap": 4}
        d.x("token")
        return d.figure(height=420, margin={"l": 150, "r": 10, "t": 14, "b": 46})

    parts = "; ".join(f"{name}: {each.weight[0, 0]:.3g} and {each.weight[1, 0]:.3g}" for name, each in found.items())
    told = f"Weight of one token of the answer of {lengths[0]} and of {lengths[1]} tokens: {parts}."
    table = {
        "rule": list(found), f"a token of {lengths[0]}": [float(e.weight[0, 0]) for e in found.values()],
        f"a token of {lengths[1]}": [float(e.weight[1, 0]) for e in found.values()],
        f"all {lengths[0]}": [float(e.of_row[0]) for e in found.values()],
        f"all {lengths[1]}": [float(e.of_row[1]) for e in found.values()],
    }  # fmt: skip
    return Plate("token-weights", "What a token weighs", draw, told, table)
