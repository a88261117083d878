"""The KL estimators: penalty beside clip as curves, value and gradient of each, and how estimates spread.

Reads `rlcore.explore.estimators` and `rlcore.explore.penalty` records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing, dashed
from figures.plate import Plate
from figures.theme import Look, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.estimators import Bench
    from rlcore.explore.penalty import PenaltyCurve

LOOKS: dict[str, Look] = {
    "k1": dashed(look("rloo"), "dash"), "k2": dashed(look("gspo"), "dot"), "k3": dashed(look("grpo"), "dashdot"),
    "ρ·k3": look("sapo"), "clip": look("ppo"),
}  # fmt: skip


def penalty(curves: Mapping[str, PenaltyCurve], *, kl_beta: float, eps_low: float, eps_high: float) -> Plate:
    """Slope of one sample's objective over its ratio, under clip and under each penalty."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for name, each in curves.items():
            label = "PPO clip" if name == "clip" else f"ρA − β·{name}"
            d.line(each.ratio, each.slope, label, look=LOOKS[name], hover=label + ": slope %{y:.3f} at ratio %{x:.3f}")
        d.band(1 - eps_low, 1 + eps_high)
        d.across(0, along="y")
        d.x("ratio ρ = π/π_old (reference = old policy)")
        d.y("slope of the objective, d/d log π", range=[-4.2, 4.2])
        return d.figure(height=400)

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
        d = Drawing(mode)
        names = list(spread)
        for place, name in enumerate(names):
            drawn = LOOKS[name]
            across = np.linspace(-0.28, 0.28, len(spread[name]))
            d.marks(
                place + across, spread[name], name, color=drawn.color(mode), symbol=drawn.marker, size=5, opacity=0.6,
                legend=False, hover=name + ": %{y:.4f} nats",
            )  # fmt: skip
            mean = tried.trials[place].mean
            d.line(
                [place - 0.36, place + 0.36], [mean, mean], "expected value", width=3, legend=place == 0,
                hover="expected value %{y:.5f}",
            )  # fmt: skip
        d.line(
            [-0.6, len(names) - 0.4], [tried.exact] * 2, "exact KL", color=d.color.dead, dash="dash", width=1.6,
            hover="exact KL %{y:.5f}",
        )  # fmt: skip
        d.x("", tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4], zeroline=False)
        d.y(f"estimate from {samples} samples, nats")
        return d.figure(height=380)

    told = "; ".join(f"{t.name}: mean {t.mean:.4f}, bias {t.bias:+.4f}, spread of one sample {t.std:.3f}" for t in tried.trials)
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
        d = Drawing(mode)
        hatches = ("", "/", "x", ".")
        for trial, hatch in zip(tried.trials, hatches, strict=True):
            name = f"{trial.name} as a loss"
            d.bars(tokens, trial.gradient, name, look=LOOKS[trial.name], hatch=hatch, hover=name + ": %{y:+.4f}")
        for label, truth, symbol, paint in (
            ("∇KL(π‖ref)", tried.reverse, "line-ew-open", d.ink), ("∇KL(ref‖π)", tried.forward, "x", d.color.dead),
        ):  # fmt: skip
            wide = symbol == "line-ew-open"
            d.marks(
                tokens,
                truth,
                label,
                color=paint,
                symbol=symbol,
                size=44 if wide else 9,
                opacity=1,
                hover=label + ": %{y:+.4f}",
            )
        d.y("expected gradient per logit")
        return d.figure(height=380)

    table = {"token": tokens, "∇KL(π‖ref)": tried.reverse.tolist(), "∇KL(ref‖π)": tried.forward.tolist()}
    table |= {f"{t.name} as a loss": t.gradient.tolist() for t in tried.trials}
    told = "; ".join(f"{t.name} gives {t.gives}" for t in tried.trials)
    return Plate(
        "kl-gradients", "KL estimators: gradient as a loss", draw, f"Expected gradient as a loss: {told}.", table
    )
