"""One step of a live run at rest: the world under the policy and this step's samples, from the scene the page was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing
from figures.plate import Plate
from figures.theme import Look, Mode

Scene = Mapping[str, Any]
FATES = ("learning", "outside the band, learning", "dead: lower bound", "dead: upper bound", "dead: second bound")
ARROWS = ("↑", "→", "↓", "←")


def world(scene: Scene, look: Look, *, of: str) -> Plate | None:
    """The policy on its world, or None where it cannot be listed (CartPole, words)."""
    seen = scene.get("world") or {}
    draw: dict[str, Callable[[Scene, Look, str, int], Plate]] = {"bandit": _arms, "contextual": _contexts, "grid": _grid}
    make = draw.get(seen.get("kind", ""))
    return None if make is None else make(seen, look, of, int(scene["step"]))


def samples(scene: Scene, *, of: str) -> Plate | None:
    """Ratio and advantage of this step's samples, and what the bound did to each; None where there are none."""
    seen, step = scene.get("samples"), int(scene["step"])
    if not seen:
        return None
    ratio, gain, fate = (np.asarray(seen[name]) for name in ("ratio", "advantage", "fate"))

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        if seen["band"]:
            d.band(*seen["band"])
        for kind, name in enumerate(FATES):
            here = fate == kind
            if here.any():
                color = d.color.dead if kind > 1 else d.color.worse if kind == 1 else d.ink
                symbol = "x" if kind > 1 else "diamond-open" if kind == 1 else "circle"
                hover = f"{name}: ratio %{{x:.4f}}, A %{{y:.3f}}"
                d.marks(ratio[here], gain[here], name, color=color, symbol=symbol, size=7, hover=hover)
        d.x("ratio ρ = π/π_old")
        d.y("advantage A")
        return d.figure(height=380)

    counts = seen["counts"]
    said = "; ".join(f"{count} {name}" for count, name in zip(counts, FATES, strict=True) if count)
    shown = f" Shown: {len(ratio)}." if len(ratio) < sum(counts) else ""
    table = {"ratio": ratio, "advantage": gain, "fate": [FATES[kind] for kind in fate]}
    return Plate("run-samples", f"Samples of step {step}: {of}", draw, f"{sum(counts)} {seen['level']}s of step {step}: {said}.{shown}", table)


def _arms(seen: Scene, look: Look, of: str, step: int) -> Plate:
    probs, means = np.asarray(seen["probs"]), np.asarray(seen["means"])
    names = [f"arm {i + 1}" for i in range(len(probs))]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.bars(names, probs, "probability", look=look, hover="%{x}: %{y:.3f}")
        d.marks(names, means, "mean reward", color=d.ink, symbol="line-ew-open", size=16, hover="%{x} pays %{y:.3g}")
        d.y("probability; mean reward")
        d.x("")
        return d.figure(height=340)

    best = int(probs.argmax())
    alt = f"Policy after step {step}: most likely is arm {best + 1} with {probs[best]:.3f}, which pays {means[best]:.3g} on average."
    return Plate("run-world", f"Policy: {of}", draw, alt, {"arm": names, "probability": probs, "mean reward": means})


def _contexts(seen: Scene, look: Look, of: str, step: int) -> Plate:
    probs, means = np.asarray(seen["probs"]), np.asarray(seen["means"])
    arms, contexts = [f"arm {i + 1}" for i in range(probs.shape[1])], [f"context {i + 1}" for i in range(len(probs))]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        texts = [[f"{p:.2f}" for p in row] for row in probs]
        d.heat(probs, x=arms, y=contexts, title="probability", low=0, high=1, text=texts, hover="%{y}, %{x}: %{z:.3f}")
        return d.figure(height=360)

    right = int((probs.argmax(1) == means.argmax(1)).sum())
    table = {"context": np.repeat(contexts, len(arms)), "arm": np.tile(arms, len(contexts)), "probability": probs.reshape(-1), "mean reward": means.reshape(-1)}
    alt = f"Policy after step {step}: in {right} of {len(contexts)} contexts the likeliest arm is the best one."
    return Plate("run-world", f"Policy: {of}", draw, alt, table)


def _grid(seen: Scene, look: Look, of: str, step: int) -> Plate:
    height, width = seen["height"], seen["width"]
    probs, visits = np.asarray(seen["probs"]), np.asarray(seen["visits"] if seen["visits"] is not None else [0] * (height * width))
    ends = {**dict.fromkeys(seen["goals"], "★"), **dict.fromkeys(seen["hazards"], "✖"), **dict.fromkeys(seen["walls"], "■")}
    marks = [ends.get(cell, ARROWS[int(row.argmax())]) for cell, row in enumerate(probs)]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        texts = np.asarray(marks).reshape(height, width).tolist()
        columns, rows = ([str(i + 1) for i in range(n)] for n in (width, height))
        d.heat(visits.reshape(height, width).astype(float), x=columns, y=rows, title="visits in this step", text=texts, hover="row %{y}, column %{x}: %{z} visits")
        return d.figure(height=90 + 48 * height)

    table = {"row": np.arange(height * width) // width + 1, "column": np.arange(height * width) % width + 1, "is": [ends.get(c, "S" if c in seen["starts"] else "") for c in range(height * width)]}
    moves = {f"p {name}": probs[:, i] for i, name in enumerate(("up", "right", "down", "left"))}
    values = {} if seen["values"] is None else {"value": np.asarray(seen["values"])}
    sure = float(np.mean(probs.max(1)[visits > 0])) if (visits > 0).any() else float("nan")
    alt = (
        f"The grid after step {step}: the likeliest move of each cell as an arrow, visits as shade; ★ goal, ✖ hazard, ■ wall. "
        f"On visited cells the likeliest move has probability {sure:.2f} on average."
    )
    return Plate("run-world", f"Policy on the grid: {of}", draw, alt, table | moves | values | {"visits": visits})
