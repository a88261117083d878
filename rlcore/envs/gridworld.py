"""Editable gridworlds: walls, hazards, goals, starts, wind, rewards of single cells and per-step reward noise.

A map is written as text, one string a row:  `#` wall · `.` floor · `S` start · `G` goal (ends) · `H` hazard (ends).
Moving into a wall or off the map stays put. Actions: 0 up, 1 right, 2 down, 3 left.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from rlcore.envs.finite import FiniteEnv, Mdp
from rlcore.knobs import Value, knob

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
LIMIT = 20

DEFAULT_MAP = (
    "S.....",
    ".##.#.",
    ".#..#.",
    ".#.H..",
    ".#.##.",
    ".....G",
)

Row = Annotated[str, Field(min_length=1, max_length=LIMIT, pattern=r"^[#.SGH]+$")]


class CellReward(Value):
    """An extra reward for entering one cell, e.g. a second, smaller goal."""

    kind: Literal["cell_reward"] = "cell_reward"
    row: int = Field(ge=0, lt=LIMIT)
    column: int = Field(ge=0, lt=LIMIT)
    reward: float = Field(ge=-1e6, le=1e6)


class Gridworld(FiniteEnv):
    """A grid of cells; states are cells in reading order. Up to 20 x 20."""

    kind: Literal["gridworld"] = "gridworld"
    layout: tuple[Row, ...] = Field(DEFAULT_MAP, min_length=1, max_length=LIMIT, description="the map, a string a row")
    goal: float = knob(1.0, "r_goal", -1e3, 1e3, "reward for entering a goal", suggested=(0, 10), live=False)
    hazard: float = knob(-1.0, "r_hazard", -1e3, 1e3, "reward for entering a hazard", suggested=(-10, 0), live=False)
    step_cost: float = knob(0.01, "c", -10, 10, "subtracted at every step", suggested=(0, 0.2), live=False)
    wind: float = knob(0.0, "p_wind", 0, 1, "probability that the wind moves the agent instead", live=False)
    wind_direction: Literal["up", "right", "down", "left", "any"] = "any"
    noise: float = knob(0.0, "σ", 0, 1e3, "standard deviation of every step's reward", suggested=(0, 1), live=False)
    horizon: int = knob(32, "T", 1, 2000, "steps until an episode is truncated", suggested=(8, 200), live=False)
    extra: tuple[CellReward, ...] = Field((), max_length=LIMIT * LIMIT, description="rewards of single cells")

    @model_validator(mode="after")
    def _is_a_map(self) -> Gridworld:
        widths = {len(row) for row in self.layout}
        if len(widths) != 1:
            raise ValueError(f"layout: every row must have the same width, got widths {sorted(widths)}")
        if not any("S" in row for row in self.layout):
            raise ValueError("layout: needs at least one start cell 'S'")
        outside = [c for c in self.extra if c.row >= self.height or c.column >= self.width]
        if outside:
            raise ValueError(f"extra: {outside[0]} lies outside the {self.height} x {self.width} map")
        return self

    @property
    def height(self) -> int:
        return len(self.layout)

    @property
    def width(self) -> int:
        return len(self.layout[0])

    def cells(self, mark: str) -> list[int]:
        """States whose cell bears `mark`."""
        return [i for i, cell in enumerate("".join(self.layout)) if cell == mark]

    def mdp(self) -> Mdp:
        moved = self._moved()
        following, probability = self._blown(moved)
        text = np.array(list("".join(self.layout)))
        pay = np.select([text == "G", text == "H"], [self.goal, self.hazard], 0.0)
        for cell in self.extra:
            pay[cell.row * self.width + cell.column] += cell.reward
        ends = np.isin(text, ["G", "H"])
        stays = following == np.arange(text.size)[:, None, None]
        start = (text == "S").astype(np.float64)
        return Mdp(
            following=following,
            probability=probability,
            reward=np.where(stays, 0.0, pay[following]) - self.step_cost,
            terminal=ends[following],
            noise=np.full((text.size, 4), self.noise),
            start=start / start.sum(),
            horizon=self.horizon,
        )

    def _moved(self) -> np.ndarray:
        """Where each of the four moves leads from each cell, [S, 4]."""
        walls = np.array([list(row) for row in self.layout]) == "#"
        rows, columns = np.divmod(np.arange(walls.size), self.width)
        out = np.empty((walls.size, 4), dtype=np.int64)
        for action, (down, right) in enumerate(MOVES):
            r, c = (rows + down).clip(0, self.height - 1), (columns + right).clip(0, self.width - 1)
            out[:, action] = np.where(walls[r, c], np.arange(walls.size), r * self.width + c)
        return out

    def _blown(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Next states and their probabilities [S, 4, K] once the wind may take the move's place."""
        if self.wind == 0:
            return moved[:, :, None], np.ones((*moved.shape, 1))
        names = ("up", "right", "down", "left")
        gusts = list(range(4)) if self.wind_direction == "any" else [names.index(self.wind_direction)]
        blown = moved[:, None, gusts].repeat(4, axis=1)
        following = np.concatenate([moved[:, :, None], blown], axis=2)
        share = np.array([1 - self.wind] + [self.wind / len(gusts)] * len(gusts))
        return following, np.broadcast_to(share, following.shape).copy()
