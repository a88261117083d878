"""All seeds of a finite world played at once: the collector of `envs.finite`, step for step, with a leading axis of seeds.

The same dice choose the same actions and outcomes; a test holds every array against the engine's own. Whole episodes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rlcore.envs import Mdp, Plan
from rlcore.rng import Stream, address


@dataclass(frozen=True)
class Played:
    """[N, B, T] each; state and following count through all seeds: seed n's state s is n * S + s."""

    state: Tensor
    action: Tensor
    reward: Tensor
    following: Tensor
    terminal: Tensor
    truncated: Tensor
    mask: Tensor


def play(mdp: Mdp, probs: np.ndarray, plan: Plan, dice: ManyDice) -> Played:
    """Sample actions by inverse CDF and look outcomes up, one time step of all seeds' rows after the other.

    probs [N, S, A]; plan is one seed's.
    """
    n, rows, steps = len(probs), plan.rows, mdp.horizon
    cumulative = probs.astype(np.float64).cumsum(-1)
    cumulative /= cumulative[..., -1:]
    bounds = [np.ascontiguousarray(cumulative[..., a]).reshape(-1) for a in range(mdp.actions - 1)]
    outcome_bounds = [x.copy() for x in mdp.probability.reshape(-1, mdp.outcomes).cumsum(-1).T[:-1]]
    die = dice.drawn("actions", steps, rows)
    chance, noise = dice.of_the_world(mdp, steps, rows)
    tables = [table.reshape(-1) for table in (mdp.following, mdp.reward, mdp.terminal)]
    spread = mdp.noise.reshape(-1)
    shift = (np.arange(n) * mdp.states).repeat(rows)
    state = dice.starts(mdp, plan.prompts).repeat(plan.group_size, axis=1).reshape(-1)
    alive = np.ones(n * rows, dtype=bool)
    kept: list[tuple[np.ndarray, ...]] = []
    for t in range(steps):
        action = _beyond(bounds, state + shift, die[t])
        pair = state * mdp.actions + action
        outcome = pair * mdp.outcomes
        if chance is not None:
            outcome = outcome + _beyond(outcome_bounds, pair, chance[t])
        following, reward, terminal = (table.take(outcome) for table in tables)
        if noise is not None:
            reward = reward + noise[t] * spread.take(pair)
        kept.append((state + shift, action, reward, following + shift, terminal, alive))
        alive = alive & ~terminal
        state = following
        if not alive.any():
            break
    return _played([_rows_first(np.stack(x), n) for x in zip(*kept, strict=True)], whole=len(kept) == steps)


def _played(parts: list[Tensor], *, whole: bool) -> Played:
    """Clean under the mask; a row that is still alive at the horizon is truncated there."""
    state, action, reward, following, terminal, mask = parts
    truncated = torch.zeros_like(mask)
    if whole:
        truncated[..., -1] = mask[..., -1] & ~terminal[..., -1]
    return Played(state, action, reward.float() * mask, following, terminal & mask, truncated, mask)


def _beyond(bounds: Sequence[np.ndarray], place: np.ndarray, die: np.ndarray) -> np.ndarray:
    """How many of the bounds at each place the die reaches: what an inverse CDF draws. The last bound, 1, is left out."""
    found = np.zeros(len(die), dtype=np.int64)
    for bound in bounds:
        found += die >= bound.take(place)
    return found


def _rows_first(x: np.ndarray, n: int) -> Tensor:
    """[T, N * B] -> [N, B, T]."""
    return torch.from_numpy(np.ascontiguousarray(x.reshape(len(x), n, -1).transpose(1, 2, 0)))


_START = np.random.Philox(key=0).state


class ManyDice:
    """Every seed's own dice of one step (`rng.generator`), drawn side by side."""

    def __init__(self, seeds: Sequence[int], step: int) -> None:
        self._seeds, self._step = seeds, step
        self._bits = np.random.Philox(key=0)
        self._generator = np.random.Generator(self._bits)

    def drawn(self, stream: Stream, steps: int, rows: int) -> np.ndarray:
        """Uniforms [steps, N * rows]: each seed draws its own [steps, rows]."""
        out = np.empty((len(self._seeds), steps, rows))
        for place in range(len(self._seeds)):
            self._turn_to(place, stream).random(out=out[place])
        return _steps_first(out)

    def of_the_world(self, mdp: Mdp, steps: int, rows: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """(uniforms for outcomes, normals for noise), drawn in this order from one stream; None where none is needed."""
        noisy = bool(mdp.noise.any())
        shape = (len(self._seeds), steps, rows)
        chance, noise = np.empty(shape if mdp.outcomes > 1 else 0), np.empty(shape if noisy else 0)
        if not chance.size and not noise.size:
            return None, None
        for place in range(len(self._seeds)):
            generator = self._turn_to(place, "env")
            if chance.size:
                generator.random(out=chance[place])
            if noise.size:
                generator.standard_normal(out=noise[place])
        return (_steps_first(chance) if chance.size else None), (_steps_first(noise) if noise.size else None)

    def starts(self, mdp: Mdp, prompts: int) -> np.ndarray:
        """Start states [N, prompts]: what `Generator.choice` draws for each seed, by the same inverse CDF."""
        possible = np.flatnonzero(mdp.start)
        if len(possible) == 1:
            return np.full((len(self._seeds), prompts), possible[0])
        cdf = mdp.start.cumsum()
        cdf /= cdf[-1]
        return np.asarray(cdf.searchsorted(self.drawn("starts", 1, prompts).reshape(-1, prompts), side="right"))

    def orders(self, epoch: int, rows: int) -> Tensor:
        """An order of the rows for each seed, [N, rows]."""
        found = [self._turn_to(place, "shuffle", epoch).permutation(rows) for place in range(len(self._seeds))]
        return torch.from_numpy(np.stack(found))

    def _turn_to(self, place: int, stream: Stream, index: int = 0) -> np.random.Generator:
        """The generator at a seed's address; setting a state costs a tenth of making a generator."""
        key = address(self._seeds[place], self._step, stream, index)
        at_start: Any = dict(_START) | {"state": {"counter": np.zeros(4, dtype=np.uint64), "key": key}}
        self._bits.state = at_start
        return self._generator


def _steps_first(x: np.ndarray) -> np.ndarray:
    """[N, T, B] -> [T, N * B]."""
    return np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(x.shape[1], -1)
