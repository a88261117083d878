"""Tables of the step-through: the selected row's tokens, and the batch's rows, with every number known so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlcore.microscope.mapping import field
from rlcore.microscope.naming import action_name, prompt_text, row_names
from rlcore.microscope.scene import Scene
from rlcore.words.env import Words
from rlcore.words.vocabulary import TOKENS

COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "sample": (("log π_old", "logp_old"),), "score": (("reward", "reward"),), "advantage": (("A", "advantages"),),
    "whiten": (("A, whitened", "advantages"),), "ratio": (("log π", "logp_new"), ("ratio", "ratio")), "clip": (("gain ψ", "gain"),),
    "correct": (("c", "correction"),), "kl": (("KL", "kl"),), "weight": (("w", "weight"),), "value": (("V", "value_new"),),
    "loss": (("share of loss", "loss"),), "gradient": (("∂L/∂log π", "grad_logp"),), "apply": (("Δ log π", "moved"),),
}  # fmt: skip
"""What each phase adds to the table: heading, field."""
MOST_ROWS = 512


def token_table(scene: Scene, upto: tuple[str, ...]) -> dict[str, list[Any]]:
    """The selected row, token by token, with the numbers of the phases `upto`."""
    valid, row = scene.tokens, scene.at.row
    table: dict[str, list[Any]] = {"#": [int(t) + 1 for t in valid], "done": row_names(scene)}
    within = bool(scene.updates)
    for key in upto:
        for heading, name in COLUMNS[key]:
            if key not in ("sample", "score", "advantage") and not within:
                continue
            if key == "kl" and not np.nan_to_num(scene.table("kl")).any():
                continue
            table[heading] = field(scene, key, name)[row][valid].astype(float).tolist()
        if key == "clip":
            flags = np.nan_to_num(sum(scene.table(n) for n in ("dead_low", "dead_high", "dead_dual")))[row][valid] > 0
            table["fate"] = ["dead" if x else "alive" for x in flags]
    return table


def row_table(scene: Scene, *, judged: bool) -> dict[str, list[Any]]:
    """The batch's rows: what was done, how it was scored, and (if `judged`) the advantage of each row's first token."""
    trace = scene.of.trace
    rows = range(min(len(scene.mask), MOST_ROWS))
    first = scene.mask.argmax(1)
    words = isinstance(scene.of.config.env, Words)
    table: dict[str, list[Any]] = {"row": [r + 1 for r in rows], "group": [int(trace.rollout["group"][r]) + 1 for r in rows]}
    if words:
        table["prompt"] = [prompt_text(scene, r) for r in rows]
    table["done"] = [_done(scene, r, words) for r in rows]
    table["length"] = [int(scene.mask[r].sum()) for r in rows]
    table["score"] = [float(scene.scores[r]) for r in rows]
    if judged:
        table["A"] = [float(scene.raw.advantages[r, first[r]]) for r in rows]
    if not trace.kept.all():
        table["kept"] = [bool(trace.kept[r]) for r in rows]
    return table


def _done(scene: Scene, row: int, words: bool) -> str:
    taken = scene.of.trace.rollout["action"][row][scene.mask[row]]
    if words:
        return "".join(TOKENS[int(a)] for a in taken)
    names = [action_name(scene.of.config, a) for a in taken[:12]]
    return " ".join(names) + (" …" if len(taken) > 12 else "")
