"""The KL estimators: penalty beside clip as curves, value and gradient of each, and how estimates spread.

Reads `rlcore.explore.estimators` and `rlcore.explore.penalty` records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.plate import Plate
from figures.style import band, base, ink, meaning
from figures.theme import Look, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.estimators import Bench
    from rlcore.explore.penalty import PenaltyCurve

LOOKS: dict[str, Look] = {
    "k1": look("rloo"), "k2": look("gspo"), "k3": look("grpo"), "ρ·k3": look("sapo"), "clip": look("ppo"),
}  # fmt: skip


def penalty(curves: Mapping[str, PenaltyCurve], *, kl_beta: float, eps_low: float, eps_high: float) -> Plate:
    """Slope of one sample's objective over its ratio, under clip and under each penalty."""

    def draw(mode: Mode) -> go.Figure:
        figure = go.Figure()
        for name, each in curves.items():
            label = "PPO clip" if name == "clip" else f"ρA − β·{name}"
            drawn = LOOKS[name]
            figure.add_scatter(
                x=each.ratio, y=each.slope, mode="lines", name=label,
                line={"color": drawn.color(mode), "dash": drawn.dash, "width": 2.4},
                hovertemplate=label + ": slope %{y:.3f} at ratio %{x:.3f}<extra></extra>",
            )  # fmt: skip
        band(figure, mode, low=1 - eps_low, high=1 + eps_high)
        figure.add_hline(y=0, line={"color": ink(mode), "width": 1})
        figure.update_xaxes(title_text="ratio ρ = π/π_old (reference = old policy)")
        figure.update_yaxes(title_text="slope of the objective, d/d log π")
        return base(figure, mode, height=380)

    rests = "; ".join(f"{name} pulls back from ratio {c.rest:.2f}" for name, c in curves.items() if c.rest is not None)
    rests = rests or "no penalty pulls back inside the drawn range"
    rows = [(name, float(r), float(s)) for name, c in curves.items() for r, s in zip(c.ratio, c.slope, strict=True)]
    names = ("curve", "ratio", "slope")
    table = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Plate(
        "clip-and-penalty", f"Clip beside a KL penalty, β = {kl_beta:g}", draw,
        f"One sample with A = {next(iter(curves.values())).advantage:+g} and β = {kl_beta:g}: {rests}.", table,
    )  # fmt: skip


def values(tried: Bench, spread: Mapping[str, np.ndarray], *, samples: int) -> Plate:
    """Repeated estimates by each estimator around the exact KL."""

    def draw(mode: Mode) -> go.Figure:
        figure = go.Figure()
        names = list(spread)
        for place, name in enumerate(names):
            drawn = LOOKS[name]
            across = np.linspace(-0.28, 0.28, len(spread[name]))
            figure.add_scatter(
                x=place + across, y=spread[name], mode="markers", name=name, showlegend=False,
                marker={"color": drawn.color(mode), "symbol": drawn.marker, "size": 5, "opacity": 0.6},
                hovertemplate=name + ": %{y:.4f} nats<extra></extra>",
            )  # fmt: skip
            figure.add_scatter(
                x=[place - 0.36, place + 0.36], y=[tried.trials[place].mean] * 2, mode="lines", name="expected value",
                showlegend=place == 0, line={"color": ink(mode), "width": 3}, hovertemplate="mean %{y:.5f}<extra></extra>",
            )  # fmt: skip
        figure.add_hline(y=tried.exact, line={"color": meaning(mode).dead, "width": 1.5, "dash": "dash"})
        figure.add_scatter(
            x=[None], y=[None], mode="lines", name="exact KL",
            line={"color": meaning(mode).dead, "width": 1.5, "dash": "dash"},
        )  # fmt: skip
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4])
        figure.update_yaxes(title_text=f"estimate from {samples} samples, nats")
        return base(figure, mode, height=360)

    told = "; ".join(f"{t.name}: mean {t.mean:.4f}, bias {t.bias:+.4f}, spread {t.std:.3f}" for t in tried.trials)
    table = {
        "estimator": [t.name for t in tried.trials], "mean": [t.mean for t in tried.trials],
        "bias": [t.bias for t in tried.trials], "std of one sample": [t.std for t in tried.trials],
        f"std of {samples} samples, measured": [float(spread[t.name].std()) for t in tried.trials],
    }  # fmt: skip
    return Plate("kl-values", "KL estimators: value", draw, f"Exact KL {tried.exact:.5f} nats. {told}.", table)


def gradients(tried: Bench) -> Plate:
    """Expected gradient of each estimator used as a loss, per logit, beside the two true gradients."""
    tokens = [f"token {i + 1}" for i in range(tried.policy.size)]

    def draw(mode: Mode) -> go.Figure:
        figure = go.Figure()
        for trial in tried.trials:
            drawn = LOOKS[trial.name]
            figure.add_bar(
                x=tokens, y=trial.gradient, name=f"{trial.name} as a loss", marker={"color": drawn.color(mode)},
                hovertemplate=trial.name + ": %{y:+.4f}<extra></extra>",
            )  # fmt: skip
        for label, truth, symbol, paint in (
            ("∇KL(π‖ref)", tried.reverse, "line-ew-open", ink(mode)), ("∇KL(ref‖π)", tried.forward, "x", meaning(mode).dead),
        ):  # fmt: skip
            figure.add_scatter(
                x=tokens, y=truth, mode="markers", name=label,
                marker={"symbol": symbol, "size": 16 if "line" in symbol else 9, "color": paint, "line": {"width": 3, "color": paint}},
                hovertemplate=label + ": %{y:+.4f}<extra></extra>",
            )  # fmt: skip
        figure.update_yaxes(title_text="expected gradient per logit")
        return base(figure, mode, height=360)

    table = {"token": tokens, "∇KL(π‖ref)": tried.reverse.tolist(), "∇KL(ref‖π)": tried.forward.tolist()}
    table |= {f"{t.name} as a loss": t.gradient.tolist() for t in tried.trials}
    told = "; ".join(f"{t.name} gives {t.gives}" for t in tried.trials)
    return Plate("kl-gradients", "KL estimators: gradient as a loss", draw, f"Expected gradient as a loss: {told}.", table)
