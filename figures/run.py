"""One run's curves at rest: the panels of the live lab as figures that can be taken away, changes of settings marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing
from figures.plate import Plate
from figures.theme import Dash, Look, Mode

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Panel:
    """What stands in one panel: (column, label, dash) of each line."""

    key: str
    title: str
    axis: str
    lines: tuple[tuple[str, str, Dash], ...]


PANELS = (
    Panel("reward", "Reward", "reward, mean of the batch", (("reward_mean", "reward", "solid"),)),
    Panel("return", "Return of finished episodes", "return", (("episode_return", "return", "solid"),)),
    Panel("kl", "KL", "KL, nats", (("kl_ref", "to the reference", "solid"), ("approx_kl", "to the old policy", "dash"))),
    Panel("entropy", "Entropy", "entropy, nats", (("entropy", "entropy", "solid"),)),
    Panel("clip", "Clip fraction", "share of tokens", (("clip_fraction", "gradient dead", "solid"), ("clip_fraction_outside", "outside the band", "dash"))),
    Panel("sides", "Gradient dead, by side", "share of tokens", (("clip_fraction_low", "lower bound", "solid"), ("clip_fraction_high", "upper bound", "dash"))),
    Panel("kl_exact", "KL to the reference, exact and estimated", "KL, nats", (("kl_ref_exact", "exact", "solid"), ("kl_ref", "estimated (k3)", "dash"))),
    Panel("dead", "Dead groups", "share of groups", (("dead_group_fraction", "dead groups", "solid"),)),
    Panel("grad", "Gradient norm", "norm before clipping", (("grad_norm", "gradient norm", "solid"),)),
    Panel("ratio", "Ratio, lowest and highest", "ratio", (("ratio_min", "lowest", "solid"), ("ratio_max", "highest", "dash"))),
    Panel("value", "Explained variance", "explained variance", (("explained_variance", "explained variance", "solid"),)),
    Panel("value_loss", "Value loss", "value loss", (("value_loss", "value loss", "solid"),)),
    Panel("spread", "Advantage, standard deviation", "standard deviation", (("advantage_std", "advantages", "solid"),)),
    Panel("loss", "Loss", "loss", (("loss", "loss", "solid"), ("policy_loss", "policy", "dash"), ("kl_loss", "KL", "dot"))),
)  # fmt: skip


def panels(columns: Columns) -> tuple[Panel, ...]:
    """Those with something to show: a line that is not NaN everywhere."""
    return tuple(p for p in PANELS if any(_there(columns, name) for name, _, _ in p.lines))


def panel(which: Panel, columns: Columns, look: Look, changes: Sequence[int], *, of: str) -> Plate:
    """One panel over the training step (1 is the first). changes: steps from which on settings were others."""
    x = columns["step"] + 1
    lines = [(columns[name], label, dash) for name, label, dash in which.lines if _there(columns, name)]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for step in changes:
            d.across(float(step), color=d.color.mark, dash="dot")
        for y, label, dash in lines:
            hover = f"{label}: %{{y:.5g}} at step %{{x}}"
            d.line(x, y, label, color=look.color(mode), dash=dash, hover=hover)
        d.y(which.axis)
        d.x("training step")
        return d.figure(height=340, legend=len(lines) > 1)

    said = "; ".join(f"{label} {_last(y):.4g}" for y, label, _ in lines)
    marked = f" Dotted: settings changed at step {', '.join(map(str, changes[:8]))}." if changes else ""
    table = {"step": x.astype(int)} | {label: y for y, label, _ in lines}
    alt = f"{which.title} over {len(x)} training steps of {of}. At the end: {said}.{marked}"
    return Plate(f"run-{which.key}", f"{which.title}: {of}", draw, alt, table)


def _there(columns: Columns, name: str) -> bool:
    return name in columns and not bool(np.isnan(columns[name]).all())


def _last(y: np.ndarray) -> float:
    known = y[~np.isnan(y)]
    return float(known[-1])
