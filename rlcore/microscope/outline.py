"""The outline: which phases a step has, in which order one walks through them, and the phase at a station.

First come phases of the whole step (sample, score, advantage), then those of each optimiser step the selected token takes
part in, update after update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rlcore.algorithm import Algorithm
from rlcore.microscope.applying import apply
from rlcore.microscope.clipping import clip
from rlcore.microscope.collecting import sample, score
from rlcore.microscope.crediting import advantage
from rlcore.microscope.moving import correct, kl, ratio
from rlcore.microscope.naming import what
from rlcore.microscope.phase import Phase
from rlcore.microscope.scene import Scene, Selection
from rlcore.microscope.sloping import gradient
from rlcore.microscope.weighing import loss, value, weight
from rlcore.microscope.whitening import whiten

ONCE: dict[str, Callable[[Scene], Phase]] = {"sample": sample, "score": score, "advantage": advantage}
EACH: dict[str, Callable[[Scene], Phase | None]] = {
    "whiten": whiten, "ratio": ratio, "clip": clip, "correct": correct, "kl": kl, "weight": weight, "value": value,
    "loss": loss, "gradient": gradient, "apply": apply,
}  # fmt: skip
TITLES = {key: key.capitalize() for key in (*ONCE, *EACH)} | {"kl": "KL"}


@dataclass(frozen=True)
class Station:
    """A place of the walk: a phase, and the update it belongs to (0 for phases of the whole step)."""

    key: str
    update: int


def phases(scene: Scene) -> tuple[str, ...]:
    """Keys of the phases that this recipe has, in order."""
    if not scene.updates:
        return tuple(ONCE)
    return phases_in(scene.of.config.algorithm, sampled="logp_rollout" in scene.of.trace.rollout)


def phases_in(algorithm: Algorithm, *, sampled: bool = False) -> tuple[str, ...]:
    """Phases of an algorithm's step; `sampled` says whether something else than the trainer drew the samples."""
    there = {
        "whiten": algorithm.whiten.scope != "never",
        "correct": (algorithm.correction.kind != "no_correction" and sampled) or algorithm.gate.kind != "all_tokens",
        "value": algorithm.critic.kind != "no_critic",
    }
    return (*ONCE, *(key for key in EACH if there.get(key, True)))


def stations(scene: Scene) -> tuple[Station, ...]:
    """The whole walk of the selected token, from drawing it to the last update that it takes part in."""
    within = [key for key in phases(scene) if key not in ONCE]
    return (*(Station(key, 0) for key in ONCE), *(Station(key, k) for k in scene.meets for key in within))


def path_of(scene: Scene, key: str) -> tuple[Station | None, Station | None]:
    """The stations before and after phase `key` of the selected update; None at the ends.

    From an update that the token takes no part in, the walk goes on with the nearest one that it does.
    """
    walk = stations(scene)
    here = Station(key, 0 if key in ONCE else scene.at.update)
    if here in walk:
        n = walk.index(here)
        return (walk[n - 1] if n else None), (walk[n + 1] if n + 1 < len(walk) else None)
    order = list(EACH)
    earlier = [s for s in walk if s.key in ONCE or (s.update, order.index(s.key)) < (here.update, order.index(key))]
    later = [s for s in walk if s not in earlier]
    return (earlier[-1] if earlier else None), (later[0] if later else None)


def phase_of(scene: Scene, key: str) -> Phase:
    """One phase at the selection. Raises KeyError for a phase that does not exist."""
    if key in ONCE:
        return ONCE[key](scene)
    if not scene.updates or scene.here is None:
        return Phase(key, TITLES[key], _absent(scene), "", present=False)
    found = EACH[key](scene)
    return Phase(key, TITLES[key], "This recipe has no such step.", "", present=False) if found is None else found


def _absent(scene: Scene) -> str:
    """Why the selected row is not in the selected update."""
    row = scene.at.row + 1
    if not scene.updates:
        return "This step ran no update at all: selection left no row, so the policy stays as it was."
    if not scene.kept:
        return f"Row {row} was left out by the recipe's selection: no update of this step sees it."
    one = f"this {what(scene)} of row {row}" if scene.by_transition else f"row {row}"
    u = scene.update
    return (
        f"Update {scene.at.update + 1} (epoch {u.epoch + 1}, minibatch {u.minibatch + 1}) holds {len(u.mask)} other rows; {one} meets "
        f"the optimiser in update {', '.join(str(k + 1) for k in scene.meets[:6])}."
    )


def moved_to(scene: Scene, update: int) -> Scene:
    """The same row and token in another update."""
    return Scene(scene.of, replace(scene.at, update=update))


__all__ = ["EACH", "ONCE", "TITLES", "Selection", "Station", "moved_to", "path_of", "phase_of", "phases", "phases_in", "stations"]
