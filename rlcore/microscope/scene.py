"""Scene: a witnessed step seen from one row and token, with every update's numbers brought back to rows and tokens.

Minibatches hold some rows in another order, selection drops rows, and single transitions become rows of their own;
`Scene` undoes all that, so that (row, token) means the same everywhere. Rows and tokens count from 0 here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch

from rlcore import masked
from rlcore.advantages import Advantages
from rlcore.microscope.witness import Applied, Witnessed
from rlcore.ratios import SequenceProduct, SequenceRatio
from rlcore.records import Array, UpdateTrace
from rlcore.rollout import Rollout


@dataclass(frozen=True)
class Selection:
    """What is looked at: a row, a token (step) of it, and which optimiser step of the training step, all from 0."""

    row: int = 0
    token: int = 0
    update: int = 0


@dataclass(frozen=True, eq=False)
class Scene:
    """The step `of`, seen from the selection `at`."""

    of: Witnessed
    at: Selection

    # ------------------------------------------------------------ the rollout

    @cached_property
    def rollout(self) -> Rollout:
        return self.of.rollout()

    @cached_property
    def raw(self) -> Advantages:
        """Advantages of all rows before whitening, by the recipe's own slot: [B, T]."""
        return self.of.config.algorithm.advantage(self.rollout, self.of.reward())

    @property
    def mask(self) -> Array:
        return self.of.trace.rollout["mask"]

    @property
    def length(self) -> int:
        """Valid tokens of the selected row."""
        return int(self.mask[self.at.row].sum())

    @cached_property
    def tokens(self) -> Array:
        """Positions of the selected row's valid tokens, in order."""
        return np.flatnonzero(self.mask[self.at.row])

    @cached_property
    def siblings(self) -> Array:
        """Rows of the selected row's group, itself among them."""
        group = self.of.trace.rollout["group"]
        return np.flatnonzero(group == group[self.at.row])

    def collected(self, name: str) -> float:
        """A number of the rollout at the selected token."""
        return float(self.of.trace.rollout[name][self.at.row, self.at.token])

    def reward(self) -> float:
        """The shaped reward of the selected token."""
        return float(self.of.trace.shaped_reward[self.at.row, self.at.token])

    @cached_property
    def scores(self) -> Array:
        """Every row's score as the advantage slot sums it, [B] in double precision."""
        return masked.row_sum(self.of.reward(), self.rollout.mask).double().numpy()

    @property
    def kept(self) -> bool:
        """True where selection let the row through."""
        return bool(self.of.trace.kept[self.at.row])

    # ------------------------------------------------------------ updates

    @property
    def updates(self) -> tuple[UpdateTrace, ...]:
        return self.of.trace.updates

    @property
    def update(self) -> UpdateTrace:
        return self.updates[self.at.update]

    @property
    def applied(self) -> Applied:
        return self.of.applied[self.at.update]

    @property
    def one_ratio(self) -> bool:
        """True where a row's tokens share one ratio, so that each moves the gain of all."""
        return isinstance(self.of.config.algorithm.ratio, SequenceRatio | SequenceProduct)

    @property
    def by_transition(self) -> bool:
        """True where every valid step is a row of its own in the updates."""
        return self.of.config.batch.shuffled == "transitions"

    @cached_property
    def origin(self) -> Array:
        """Of every row that updates draw from: the (row, token) it came from, [rows, 2]; token 0 for whole rows."""
        rows = np.flatnonzero(self.of.trace.kept)
        if not self.by_transition:
            return np.stack([rows, np.zeros_like(rows)], axis=1)
        row, token = np.nonzero(self.mask[rows])
        return np.stack([rows[row], token], axis=1)

    def place(self, update: int) -> tuple[int, int] | None:
        """Where the selected token stands in an update's arrays [b, T]; None where it takes no part."""
        came = self.origin[self.updates[update].rows]
        hit = came[:, 0] == self.at.row
        if self.by_transition:
            hit &= came[:, 1] == self.at.token
        found = np.flatnonzero(hit)
        if not len(found):
            return None
        return int(found[0]), 0 if self.by_transition else self.at.token

    @cached_property
    def here(self) -> tuple[int, int] | None:
        """`place` in the selected update; None also where there is none."""
        return self.place(self.at.update) if self.updates else None

    @cached_property
    def meets(self) -> tuple[int, ...]:
        """The updates that the selected token takes part in."""
        return tuple(k for k in range(len(self.updates)) if self.place(k) is not None)

    def now(self, name: str) -> float:
        """A number of the selected update at the selected token."""
        assert self.here is not None
        return float(getattr(self.update, name)[self.here]) + 0.0  # never a negative zero

    def row_now(self, name: str) -> Array:
        """The selected row's valid numbers in the selected update."""
        assert self.here is not None
        row = self.here[0]
        found: Array = getattr(self.update, name)[row][self.update.mask[row]]
        return found

    def table(self, name: str, update: int | None = None) -> Array:
        """A field of an update brought back to the rollout's rows and tokens: [B, T], NaN where it takes no part."""
        u = self.updates[self.at.update if update is None else update]
        came, out = self.origin[u.rows], np.full(self.mask.shape, np.nan)
        values = np.where(u.mask, getattr(u, name), np.nan)
        if self.by_transition:
            out[came[:, 0], came[:, 1]] = values[:, 0]
        else:
            out[came[:, 0]] = values
        return out

    def prepared(self, name: str) -> Array:
        """Advantages as prepared for the updates (whitened by batch, where the recipe does), [B, T] with NaN elsewhere."""
        out = np.full(self.mask.shape, np.nan)
        values = self.of.trace.advantages[name]
        if self.by_transition:
            out[self.origin[:, 0], self.origin[:, 1]] = values[:, 0]
        else:
            rows = self.origin[:, 0]
            out[rows] = np.where(self.mask[rows], values, np.nan)
        return out

    # ------------------------------------------------------------ what an update did

    def logp_after(self, update: int) -> Array:
        """log pi of every token of the rollout after an update, [B, T], NaN under the mask."""
        return np.where(self.mask, _logp_after(self.of, update), np.nan)


@lru_cache(maxsize=8)
def _logp_after(of: Witnessed, update: int) -> Array:
    with torch.no_grad():
        params = of.state.layout.parts(of.applied[update].after)
        found: Array = of.config.policy.evaluate(params, of.rollout(), critic=False).logp.numpy()
    return found


def scene_of(of: Witnessed, at: Selection) -> Scene:
    """The scene of a selection, brought inside the step where it points beyond: nearest row, valid token and update."""
    mask = of.trace.rollout["mask"]
    row = min(max(at.row, 0), len(mask) - 1)
    valid = np.flatnonzero(mask[row])
    token = int(valid[np.abs(valid - at.token).argmin()]) if len(valid) else 0
    update = min(max(at.update, 0), max(len(of.trace.updates) - 1, 0))
    return Scene(of, Selection(row, token, update))


def teaches(of: Witnessed) -> bool:
    """True where some token of the step has an advantage; False where every group was dead."""
    return any(np.any(np.where(u.mask, u.advantages, 0)) for u in of.trace.updates)


def lively(of: Witnessed) -> Selection:
    """A good place to start: the token of the first update whose later fate is most worth seeing.

    A token that a bound silences in some update where there is one, else the one pushed hardest.
    """
    best, at = -1.0, Selection()
    for k, u in enumerate(of.trace.updates):
        dead = (u.dead_low | u.dead_high | u.dead_dual) & u.mask
        score = np.where(u.mask, np.abs(u.grad_logp) + dead * 1e3 * np.abs(u.advantages * u.weight), -1.0)
        if score.max() > best:
            place = np.unravel_index(int(score.argmax()), score.shape)
            best, at = float(score.max()), _from(of, k, int(place[0]), int(place[1]))
    first = [k for k in range(len(of.trace.updates)) if Scene(of, Selection(at.row, at.token, k)).here is not None]
    return Selection(at.row, at.token, first[0] if first else 0)


def _from(of: Witnessed, update: int, row: int, token: int) -> Selection:
    scene = Scene(of, Selection(0, 0, update))
    came = scene.origin[of.trace.updates[update].rows[row]]
    return Selection(int(came[0]), int(came[1]) if scene.by_transition else token, update)
