"""One look per algorithm, everywhere: live charts, figures at rest, legends and exports read this table.

Hues are Okabe and Ito's at the theme's lightness (`.streamlit/config.toml`, same order). A family shares a hue; members
differ by dash and marker, so nothing depends on color alone. This module draws nothing and knows no formula.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Mode = Literal["light", "dark"]
Dash = Literal["solid", "dash", "dot", "dashdot", "longdash"]  # plotly's names
Marker = Literal["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star"]  # plotly's names

_LIGHT = {
    "blue": "#0B4F94", "orange": "#D55E00", "green": "#17936F", "pink": "#D064AC", "amber": "#6A4708", "sky": "#2F95E0",
}  # fmt: skip
_DARK = {
    "blue": "#74BDEA", "orange": "#F28A30", "green": "#6FE8B5", "pink": "#CC5C98", "amber": "#F0E442", "sky": "#3F76E8",
}  # fmt: skip
DASH_PIXELS: dict[Dash, tuple[int, ...]] = {
    "solid": (), "dash": (8, 4), "dot": (2, 3), "dashdot": (8, 3, 2, 3), "longdash": (14, 4),
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """How one algorithm is drawn: `light` and `dark` are the colors on those backgrounds."""

    recipe: str
    label: str
    light: str
    dark: str
    dash: Dash
    marker: Marker

    def color(self, mode: Mode) -> str:
        return self.dark if mode == "dark" else self.light


def _look(recipe: str, label: str, hue: str, dash: Dash, marker: Marker) -> Look:
    return Look(recipe, label, _LIGHT[hue], _DARK[hue], dash, marker)


LOOKS: tuple[Look, ...] = (
    _look("ppo", "PPO", "blue", "solid", "circle"),
    _look("ppo_rlhf", "PPO (RLHF)", "blue", "dash", "cross"),
    _look("grpo", "GRPO", "orange", "solid", "square"),
    _look("dr_grpo", "Dr. GRPO", "orange", "dash", "triangle-up"),
    _look("dapo", "DAPO", "orange", "dot", "star"),
    _look("gspo", "GSPO", "green", "solid", "diamond"),
    _look("gspo_token", "GSPO-token", "green", "dash", "triangle-down"),
    _look("rloo", "RLOO", "pink", "solid", "triangle-up"),
    _look("reinforce_pp", "REINFORCE++", "pink", "dash", "x"),
    _look("cispo", "CISPO", "amber", "solid", "star"),
    _look("sapo", "SAPO", "sky", "solid", "cross"),
    _look("gmpo", "GMPO", "sky", "dash", "triangle-down"),
)
CUSTOM = Look("custom", "your mix", "#22262B", "#E4E7EB", "longdash", "x")
_BY_RECIPE = {look.recipe: look for look in LOOKS}


def look(recipe: str) -> Look:
    """The look of a recipe; a mix that has no name gets the text color and long dashes."""
    return _BY_RECIPE.get(recipe, CUSTOM)


@dataclass(frozen=True)
class Meaning:
    """Colors that carry a meaning of their own; each is also told by shape, dash or words where it is used."""

    better: str  # advantage > 0, goal
    worse: str  # advantage < 0, hazard
    dead: str  # a bound removed the gradient
    mark: str  # here a setting was changed
    grid: str
    heat: tuple[str, str]  # from no visit to most visits


MEANING: dict[Mode, Meaning] = {
    "light": Meaning("#0B4F94", "#A84700", "#8A1C5F", "#6B7078", "#E4E4DD", ("#FDFDFB", "#F0C75E")),
    "dark": Meaning("#74BDEA", "#F28A30", "#E58CC0", "#9AA3AE", "#2B3138", ("#15181C", "#8A6D1F")),
}


def as_json() -> dict[str, object]:
    """The whole table as plain values, for components that draw in the browser."""
    looks = {each.recipe: asdict(each) | {"dash_pixels": list(DASH_PIXELS[each.dash])} for each in (*LOOKS, CUSTOM)}
    return {"looks": looks, "meaning": {mode: asdict(colors) for mode, colors in MEANING.items()}}
