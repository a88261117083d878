"""The whole batch under one number: a value for every row and token, laid out as a map. Draws nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlcore.microscope.naming import what
from rlcore.microscope.picturing import codes
from rlcore.microscope.scene import Scene
from rlcore.microscope.weighing import contributions
from rlcore.records import Array

MOST_ROWS = 64
_SHOWN: dict[str, tuple[str, float | None]] = {
    "logp_old": ("log π_old", None), "reward": ("reward", 0.0), "advantages": ("advantage", 0.0), "ratio": ("ratio", 1.0),
    "gain": ("gain ψ", 0.0), "correction": ("correction", 1.0), "kl": ("KL estimate", None), "weight": ("weight", None),
    "value_new": ("V", None), "loss": ("share of the loss", 0.0), "grad_logp": ("push on log π", 0.0), "moved": ("change of log π", 0.0),
}  # fmt: skip


@dataclass(frozen=True)
class Map:
    """A number on every token of the batch, [R, C] with NaN where there is none; codes likewise, -1 where there is none.

    middle  the value without meaning (0, or 1 for ratios), None where more is simply more
    """

    title: str
    values: Array
    codes: Array
    chosen: tuple[int, int]
    rows: tuple[str, ...]
    middle: float | None
    across: str


def field(scene: Scene, key: str, shows: str) -> Array:
    """The number that phase `key` shows on every token: [B, T], NaN where there is none."""
    trace = scene.of.trace
    if shows == "logp_old":
        return np.where(scene.mask, trace.rollout["logp_old"], np.nan)
    if shows == "reward":
        return np.where(scene.mask, trace.shaped_reward, np.nan)
    if shows == "advantages" and key == "advantage":
        return np.where(scene.mask, scene.raw.advantages.numpy(), np.nan)
    if shows == "moved":
        return np.asarray(scene.logp_after(scene.at.update) - scene.table("logp_new"))
    if shows == "loss":
        u = scene.update
        came, out, shares = scene.origin[u.rows], np.full(scene.mask.shape, np.nan), np.where(u.mask, contributions(scene, u), np.nan)
        if scene.by_transition:
            out[came[:, 0], came[:, 1]] = shares[:, 0]
        else:
            out[came[:, 0]] = shares
        return out
    return scene.table(shows)


def batch_map(scene: Scene, key: str, shows: str) -> Map:
    """The whole batch under a phase's number; rows of one step each are laid out by group."""
    values, code = field(scene, key, shows).astype(float), codes(scene)
    values = -values if shows == "grad_logp" else values  # the step goes against the gradient: better is likelier
    title, middle = _SHOWN[shows]
    rows, width = values.shape
    if width == 1:
        side = len(scene.siblings) if 1 < len(scene.siblings) < rows else 16
        high = -(-rows // side)
        pad = high * side - rows
        cells = [np.append(x[:, 0], np.full(pad, fill)).reshape(high, side) for x, fill in ((values, np.nan), (code, -1))]
        names = tuple(f"{n * side + 1} …" for n in range(high))
        return Map(title, cells[0], cells[1].astype(int), divmod(scene.at.row, side), names, middle, "place in its line")
    start = 0 if rows <= MOST_ROWS else min(max(scene.at.row - MOST_ROWS // 2, 0), rows - MOST_ROWS)
    part = slice(start, start + MOST_ROWS)
    shown = np.where(scene.mask[part], code[part], -1)
    names = tuple(str(n + 1) for n in range(rows))[part]
    return Map(title, values[part], shown, (scene.at.row - start, scene.at.token), names, middle, what(scene))
