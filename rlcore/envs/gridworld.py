"""Editable gridworlds: walls, hazards, goals, starts, wind, rewards of single cells and per-step reward noise.

A map is written as text, one string a row:  `#` wall · `.` floor · `S` start · `G` goal (ends) · `H` hazard (ends) ·
`^` `>` `v` `<` floor on which gusts blow that way. Moving into a wall or off the map stays put. Actions: 0 up, 1 right,
2 down, 3 left. `envs.maps` writes maps for addresses and says which of them make sense.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from rlcore.envs.finite import FiniteEnv, Mdp
from rlcore.envs.maps import GUSTS, LIMIT, rewards_from_text, rows_from_text
from rlcore.knobs import Value, knob

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))

DEFAULT_MAP = (
    "S.....",
    ".##.#.",
    ".#..#.",
    ".#.H..",
    ".#.##.",
    ".....G",
)

Row = Annotated[str, Field(min_length=1, max_length=LIMIT, pattern=r"^[#.SGH^>v<]+$")]


class CellReward(Value):
    """An extra reward for entering one cell, e.g. a second, smaller goal."""

    kind: Literal["cell_reward"] = "cell_reward"
    row: int = Field(ge=0, lt=LIMIT)
    column: int = Field(ge=0, lt=LIMIT)
    reward: float = Field(ge=-1e6, le=1e6)


class Gridworld(FiniteEnv):
    """A grid of cells; states are cells in reading order. Up to 20 x 20.

    All but the size and the horizon may change between two steps of a run. `wind` blows everywhere, `gust` only on the
    cells painted with an arrow and there in the wind's place. layout and extra are read from text too.
    """

    kind: Literal["gridworld"] = "gridworld"
    layout: Annotated[tuple[Row, ...], BeforeValidator(rows_from_text)] = Field(
        DEFAULT_MAP, min_length=1, max_length=LIMIT, description="the map, a string a row"
    )
    goal: float = knob(1.0, "r_goal", -1e3, 1e3, "reward for entering a goal", suggested=(0, 10))
    hazard: float = knob(-1.0, "r_hazard", -1e3, 1e3, "reward for entering a hazard", suggested=(-10, 0))
    step_cost: float = knob(0.01, "c", -10, 10, "subtracted at every step", suggested=(0, 0.2))
    wind: float = knob(0.0, "p_wind", 0, 1, "probability that the wind moves the agent instead")
    wind_direction: Literal["up", "right", "down", "left", "any"] = "any"
    gust: float = knob(0.5, "p_gust", 0, 1, "probability, on a cell with an arrow, that the gust moves the agent instead")
    noise: float = knob(0.0, "σ", 0, 1e3, "standard deviation of every step's reward", suggested=(0, 1))
    horizon: int = knob(32, "T", 1, 2000, "steps until an episode is truncated", suggested=(8, 200), live=False)
    extra: Annotated[tuple[CellReward, ...], BeforeValidator(rewards_from_text)] = Field(
        (), max_length=LIMIT * LIMIT, description="rewards of single cells"
    )

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
        """Next states and their probabilities [S, 4, K] once the wind or a gust may take the move's place."""
        share = self._air()
        ways = [way for way in range(4) if share[:, way].any()]
        if not ways:
            return moved[:, :, None], np.ones((*moved.shape, 1))
        blown = moved[:, None, ways].repeat(4, axis=1)
        following = np.concatenate([moved[:, :, None], blown], axis=2)
        probability = np.concatenate([1 - share.sum(1, keepdims=True), share[:, ways]], axis=1)
        return following, np.broadcast_to(probability[:, None, :], following.shape).copy()

    def _air(self) -> np.ndarray:
        """Probability that moving air takes the agent each of the four ways, by cell: [S, 4]."""
        names = ("up", "right", "down", "left")
        everywhere = np.zeros(4)
        ways = list(range(4)) if self.wind_direction == "any" else [names.index(self.wind_direction)]
        everywhere[ways] = self.wind / len(ways)
        share = np.tile(everywhere, (self.width * self.height, 1))
        for way, mark in enumerate(GUSTS):
            share[self.cells(mark)] = np.eye(4)[way] * self.gust
        return share

    def keeps_going_as(self, other: FiniteEnv) -> bool:
        """Same size and horizon: what is painted may change while a run goes on."""
        return (
            isinstance(other, Gridworld)
            and (self.width, self.height, self.horizon) == (other.width, other.height, other.horizon)
        )
