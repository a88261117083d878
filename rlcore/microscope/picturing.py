"""What a phase's picture shows, as arrays: a distribution, a group, a row's tokens, a curve with dots, a sum's terms.

A mark's `code` is row * T + token, so that a click can select it. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from rlcore.advantages import Gae, Returns
from rlcore.kl import ExactKl, KlInLoss, Pair
from rlcore.microscope.moving import exact_support
from rlcore.microscope.naming import action_names, row_names, what
from rlcore.microscope.scene import Scene
from rlcore.ratios import Ratio
from rlcore.records import Array
from rlcore.surrogates import Cispo, DualClip, PpoClip, Sapo, TwoSidedClip, Unclipped

MOST_BARS = 14
MOST_DOTS = 400
NEIGHBORS = 24


@dataclass(frozen=True)
class Distribution:
    """Probabilities of named actions, one series a policy; `chosen` is the action that was drawn."""

    names: tuple[str, ...]
    series: tuple[tuple[str, Array], ...]
    chosen: int


@dataclass(frozen=True)
class Group:
    """A group's rows: scores, what they are measured against, advantages; codes of the rows."""

    rows: Array
    scores: Array
    baseline: Array
    advantages: Array
    codes: Array
    chosen: int


@dataclass(frozen=True)
class AlongRow:
    """A row's tokens in order: bars, lines over them, and which are dead. `base` is where bars begin.

    numbers  of the tokens, from 1 · unit: what they are; rows of one token each stand beside their siblings instead
    """

    names: tuple[str, ...]
    numbers: Array
    unit: str
    bars: tuple[str, Array]
    lines: tuple[tuple[str, Array], ...]
    codes: Array
    chosen: int
    dead: Array
    base: float = 0.0
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """Curves and the tokens that lie on them; `chosen` is the selected dot, -1 for none."""

    x_title: str
    y_title: str
    curves: tuple[tuple[str, Array, Array], ...]
    x: Array
    y: Array
    dead: Array
    codes: Array
    chosen: int
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Terms:
    """The parts of a sum, and the sum."""

    names: tuple[str, ...]
    values: Array



Picture = Distribution | Group | AlongRow | Curve | Terms


def codes(scene: Scene) -> Array:
    """row * T + token of every place, [B, T]."""
    rows, width = scene.mask.shape
    return np.arange(rows * width).reshape(rows, width)


def _along(scene: Scene, values: Array, title: str, **more: object) -> AlongRow:
    """A [B, T] table's selected row."""
    rows, tokens = across(scene)
    flags = np.zeros(len(rows), dtype=bool)
    if more.pop("mark_dead", False):
        hit = sum(np.nan_to_num(scene.table(n)) for n in ("dead_low", "dead_high", "dead_dual"))
        flags = np.asarray(hit)[rows, tokens] > 0
    alone = scene.mask.shape[1] == 1
    names = tuple(row_names(scene)) if not alone else tuple(row_names(scene, int(r))[0] for r in rows)
    chosen = int(np.flatnonzero((rows == scene.at.row) & (tokens == scene.at.token))[0])
    return AlongRow(names, (rows if alone else tokens) + 1, "row" if alone else what(scene), (title, values[rows, tokens].astype(float)),
                    (), codes(scene)[rows, tokens], chosen, flags, **more)  # type: ignore[arg-type]  # fmt: skip


def across(scene: Scene) -> tuple[Array, Array]:
    """The places that stand beside the selected one: its row's tokens, or for rows of one token its siblings or neighbors."""
    if scene.mask.shape[1] > 1:
        return np.full(len(scene.tokens), scene.at.row), scene.tokens
    rows = scene.siblings
    if len(rows) == 1:
        start = min(max(scene.at.row - NEIGHBORS // 2, 0), max(len(scene.mask) - NEIGHBORS, 0))
        rows = np.arange(start, min(start + NEIGHBORS, len(scene.mask)))
    return rows, np.zeros_like(rows)


def picture(scene: Scene, key: str) -> Picture | None:
    """The picture of a phase at the selection; None where there is nothing to see."""
    if key not in ("sample", "score", "advantage") and (not scene.updates or scene.here is None):
        return None
    return _PICTURES[key](scene)


# ---------------------------------------------------------------- before the updates


def _sample(scene: Scene) -> Picture:
    dist = scene.of.trace.rollout.get("dist_old")
    if dist is None:
        return _along(scene, scene.of.trace.rollout["logp_old"], "log π_old")
    return _distribution(scene, (("π_old", np.exp(dist[scene.at.row, scene.at.token])),))


def _distribution(scene: Scene, series: tuple[tuple[str, Array], ...]) -> Distribution:
    """All actions, or the likeliest of many and the one that was drawn."""
    names, drawn = action_names(scene.of.config), int(scene.of.trace.rollout["action"][scene.at.row, scene.at.token])
    order = np.arange(len(names))
    if len(names) > MOST_BARS:
        order = np.argsort(-series[0][1])[:MOST_BARS]
        order = order if drawn in order else np.append(order[:-1], drawn)
    shown = tuple((label, p[order].astype(float)) for label, p in series)
    return Distribution(tuple(names[i] for i in order), shown, int(np.flatnonzero(order == drawn)[0]))


def _in_time(scene: Scene) -> bool:
    return isinstance(scene.of.config.algorithm.advantage, Gae | Returns)


def _score(scene: Scene) -> Picture:
    if _in_time(scene) or len(scene.siblings) == 1:
        return _along(scene, scene.of.trace.shaped_reward, "reward r'")
    return _group(scene, advantages=False)


def _group(scene: Scene, *, advantages: bool = True) -> Group:
    rows = scene.siblings
    scores = scene.scores[rows]
    first = scene.mask[rows].argmax(1)
    base, value = (x.numpy()[rows, first].astype(float) for x in (scene.raw.baseline, scene.raw.advantages))
    nothing = np.full(len(rows), np.nan)
    return Group(rows, scores, base if advantages else nothing, value if advantages else nothing, codes(scene)[rows, first],
                 int(np.flatnonzero(rows == scene.at.row)[0]))  # fmt: skip


def _advantage(scene: Scene) -> Picture:
    if not _in_time(scene):
        return _group(scene)
    shown = _along(scene, scene.raw.advantages.numpy(), "advantage")
    places = across(scene)
    rewards = scene.of.trace.shaped_reward[places].astype(float)
    lines: tuple[tuple[str, Array], ...] = (("reward r'", rewards),)
    if isinstance(scene.of.config.algorithm.advantage, Gae):
        lines = (*lines, ("V(s), old", scene.of.trace.rollout["value_old"][places].astype(float)))
    return replace(shown, lines=lines)


# ---------------------------------------------------------------- within an update


def _whiten(scene: Scene) -> Picture:
    raw = np.where(scene.mask, scene.raw.advantages.numpy(), np.nan)
    after = scene.table("advantages")
    there = np.isfinite(after) & np.isfinite(raw)
    return _dots(scene, "advantage before", "after whitening", raw[there], after[there], np.zeros(int(there.sum()), bool),
                 codes(scene)[there], ())  # fmt: skip


def _dots(
    scene: Scene, x_title: str, y_title: str, x: Array, y: Array, flags: Array, code: Array,
    curves: tuple[tuple[str, Array, Array], ...], band: tuple[float, float] | None = None,
) -> Curve:  # fmt: skip
    """At most MOST_DOTS of the tokens, the selected one among them."""
    mine = scene.at.row * scene.mask.shape[1] + scene.at.token
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_DOTS)).round().astype(int))
    me = np.flatnonzero(code == mine)
    keep = np.unique(np.append(keep, me))
    found = np.flatnonzero(code[keep] == mine)
    return Curve(x_title, y_title, curves, x[keep].astype(float), y[keep].astype(float), flags[keep], code[keep],
                 int(found[0]) if len(found) else -1, band)  # fmt: skip


def _ratio(scene: Scene) -> Picture:
    shown = _along(scene, np.exp(scene.table("token_log_ratio")), "token ratio", base=1.0, band=band(scene))
    if scene.of.config.algorithm.ratio.kind == "token":
        return shown
    return replace(shown, lines=(("ratio of the row", scene.table("ratio")[across(scene)].astype(float)),))


def band(scene: Scene) -> tuple[float, float] | None:
    """The ratios between which the surrogate's bound does not bite; None where it has none."""
    s = scene.of.config.algorithm.surrogate
    if isinstance(s, PpoClip | DualClip | TwoSidedClip | Cispo):
        return 1 - s.eps_low, 1 + s.eps_high
    return None


def _clip(scene: Scene) -> Picture:
    surrogate = scene.of.config.algorithm.surrogate
    if not isinstance(surrogate, PpoClip | DualClip | TwoSidedClip | Sapo | Unclipped):
        return _along(scene, scene.table("gain"), "gain ψ", mark_dead=True)
    u = scene.update
    rho, a, gain = scene.table("ratio"), scene.table("advantages"), scene.table("gain")
    flags = scene.table("dead_low") + scene.table("dead_high") + scene.table("dead_dual")
    there = np.isfinite(rho) & (np.abs(np.nan_to_num(a)) > 1e-12)
    if not scene.by_transition:
        there[np.arange(len(there)) != scene.at.row] = False
    size = np.abs(a[there])
    bounds = band(scene) or (0.8, 1.2)
    reach = max(float(np.abs(u.ratio[u.mask] - 1).max(initial=0)), 1.6 * (bounds[1] - 1), 1.6 * (1 - bounds[0]))
    grid = torch.linspace(max(1 - reach, 0), 1 + reach, 201)[None]
    mask, logp = torch.ones_like(grid, dtype=torch.bool), torch.zeros_like(grid)
    r = Ratio(grid.log(), grid, grid.log(), "token")
    curves = tuple(
        (label, grid[0].numpy(), surrogate.objective(r, torch.full_like(grid, sign), logp, mask)[0].numpy())
        for label, sign in (("A > 0", 1.0), ("A < 0", -1.0))
    )
    return _dots(scene, "ratio", "gain ψ per unit of |A|", rho[there], gain[there] / size, flags[there] > 0, codes(scene)[there],
                 curves, band(scene))  # fmt: skip


def _kl(scene: Scene) -> Picture | None:
    slot = scene.of.config.algorithm.kl
    if not isinstance(slot, KlInLoss):
        return None
    if isinstance(slot.estimator, ExactKl):
        both = exact_support(scene)
        return None if both is None else _distribution(scene, (("π now", both[0]), ("π_ref", both[1])))
    gap, k = scene.table("logp_new") - scene.of.trace.rollout["logp_ref"], scene.table("kl")
    there = np.isfinite(gap)
    if not scene.by_transition:
        there[np.arange(len(there)) != scene.at.row] = False
    reach = max(float(np.abs(gap[there]).max(initial=0)) * 1.2, 0.05)
    grid = torch.linspace(-reach, reach, 201)
    value = slot.estimator(Pair(grid, torch.zeros_like(grid)))
    return _dots(scene, "log π − log π_ref", "k", gap[there], k[there], np.zeros(int(there.sum()), bool), codes(scene)[there],
                 ((slot.estimator.kind, grid.numpy(), value.numpy()),))  # fmt: skip


def _weight(scene: Scene) -> Picture:
    table = scene.table("weight")
    there = np.isfinite(table).any(1)
    first = np.isfinite(table).argmax(1)
    rows = np.flatnonzero(there)
    length = np.isfinite(table).sum(1)[rows]
    code = codes(scene)[rows, first[rows]]
    mine = np.flatnonzero(rows == scene.at.row)
    w = table[rows, first[rows]]
    return Curve(f"{what(scene)}s of the row", f"weight of one {what(scene)}", (), length.astype(float), w.astype(float),
                 np.zeros(len(rows), bool), code, int(mine[0]) if len(mine) else -1)  # fmt: skip


def _value(scene: Scene) -> Picture:
    shown = _along(scene, scene.table("returns") - scene.table("value_new"), "target − V")
    named = (("target of the critic", "returns"), ("V now", "value_new"))
    return replace(shown, lines=tuple((label, scene.table(name)[across(scene)].astype(float)) for label, name in named))


def _terms(scene: Scene) -> Terms:
    u = scene.update
    parts = [("gain (−Σ w c ψ)", u.policy_loss), ("+ β KL", u.kl_loss), ("− η entropy", -u.entropy_bonus), ("+ critic", u.value_loss)]
    kept = [p for n, p in enumerate(parts) if n == 0 or p[1] != 0]
    return Terms((*(name for name, _ in kept), "= loss"), np.array([*(v for _, v in kept), u.loss]))


def _gradient(scene: Scene) -> Picture:
    return _along(scene, -scene.table("grad_logp"), "push on log π (−gradient)", mark_dead=True)


def _apply(scene: Scene) -> Picture:
    if scene.of.trace.rollout.get("dist_old") is None:
        after = scene.logp_after(scene.at.update)
        return _along(scene, after - scene.table("logp_new"), "change of log π")
    of, at = scene.of, scene.at
    with torch.no_grad():
        both = [
            of.config.policy.evaluate(of.state.layout.parts(theta), scene.rollout, critic=False).dist
            for theta in (scene.applied.before, scene.applied.after)
        ]
    assert both[0] is not None and both[1] is not None
    series = tuple((label, np.exp(d[at.row, at.token].numpy())) for label, d in zip(("before", "after"), both, strict=True) if d is not None)
    sampled = ("when sampled", np.exp(of.trace.rollout["dist_old"][at.row, at.token]))
    return _distribution(scene, (series[0], series[1], sampled) if at.update else series)


def _correct(scene: Scene) -> Picture:
    return _along(scene, scene.table("correction"), "correction c", base=1.0)


_PICTURES: dict[str, Callable[[Scene], Picture | None]] = {
    "sample": _sample, "score": _score, "advantage": _advantage, "whiten": _whiten, "ratio": _ratio, "clip": _clip,
    "correct": _correct, "kl": _kl, "weight": _weight, "value": _value, "loss": _terms, "gradient": _gradient, "apply": _apply,
}  # fmt: skip
