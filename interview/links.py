"""Links from a card to the state of the app that proves it, and specifications of runs that the engine draws.

A link is a page name and query parameters, nothing else: no host, no fragment. What a parameter *means* belongs to
the page, so every check here can be replaced by the page's own, through a registry of page -> validator.
This module draws nothing and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, get_args
from urllib.parse import urlencode

from pydantic import Field, JsonValue, StringConstraints, field_validator

from interview.values import Frozen, Scalar, Text

PageName = Literal[
    "home", "surrogate", "advantages", "ratios", "step_through", "lab", "compare", "duel", "evidence", "glossary",
    "misconceptions",
]  # fmt: skip
PAGES: tuple[str, ...] = get_args(PageName)
PATHS: Mapping[str, str] = {"home": "", "step_through": "step"}
"""Where a page's path in the URL is not its name."""
RecipeName = Literal[
    "ppo", "grpo", "dr_grpo", "dapo", "rloo", "reinforce_pp", "gspo", "gspo_token", "cispo", "sapo", "gmpo"
]
RECIPES: tuple[str, ...] = get_args(RecipeName)
EnvName = Literal["bandit", "contextual", "gridworld", "corridor", "CartPole-v1"]
ENVS: tuple[str, ...] = get_args(EnvName)
WORD_TASKS = ("addition", "sorting", "brackets", "sentences")
WORDS = ("addition", "sorting", "brackets", "sentences")
WORLDS = (*ENVS, "three-arms", *WORDS)
"""Worlds that a page can open; a stored run of a card stays among the small ones above."""
PHASES = (
    "sample", "score", "advantage", "whiten", "ratio", "clip", "correct", "kl", "weight", "value", "loss", "gradient", "apply",
)  # fmt: skip
"""Phases of the step-through; a recipe has most of them."""
Dotted = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$", max_length=60)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]

Check = Callable[[Scalar], str | None]
Params = Mapping[str, Scalar]
Validator = Callable[[Params], None]
"""Raises ValueError naming the parameter, the rule and the value; returns nothing when all is well."""


class ProofLink(Frozen):
    """A state of the app, and in one sentence what to do or look at there."""

    page: PageName
    params: dict[Name, Scalar] = Field(default_factory=dict)
    do: Text

    def query(self) -> str:
        """The parameters as a query string, in the order written; booleans as true/false."""
        return urlencode([(name, _spell(value)) for name, value in self.params.items()])

    def path(self) -> str:
        """`lab?recipe=grpo&env=bandit`, to be put behind the app's own address."""
        where = PATHS.get(self.page, self.page)
        return f"{where}?{self.query()}" if self.params else where


class RunSpec(Frozen):
    """A stored run whose curves a card shows. `overrides` are dotted setting names; the engine validates them."""

    label: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    recipe: RecipeName
    env: EnvName
    seed: int = Field(ge=0, lt=2**32)
    steps: int = Field(ge=1, le=2000)
    overrides: dict[Dotted, JsonValue] = Field(default_factory=dict)

    @field_validator("overrides")
    @classmethod
    def _not_the_head(cls, overrides: dict[str, JsonValue]) -> dict[str, JsonValue]:
        clash = {"recipe", "env", "seed", "steps"} & overrides.keys()
        if clash:
            raise ValueError(f"{sorted(clash)} have fields of their own and must not be overridden")
        return overrides


def _spell(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(low: float, high: float) -> Check:
    def check(value: Scalar) -> str | None:
        fine = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        return None if fine else f"must be a number between {low:g} and {high:g}"

    return check


def _one_of(*names: str) -> Check:
    def check(value: Scalar) -> str | None:
        return None if value in names else f"must be one of {', '.join(names)}"

    return check


def _numbers(value: Scalar) -> str | None:
    fine = isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?(,-?\d+(\.\d+)?)*", value)
    return None if fine else "must be numbers separated by commas"


def _some_of(*names: str, least: int = 1, most: int = 99) -> Check:
    def check(value: Scalar) -> str | None:
        chosen = str(value).split(",")
        fine = least <= len(chosen) <= most and len(set(chosen)) == len(chosen) and set(chosen) <= set(names)
        return None if fine else f"must be {least} to {most} of {', '.join(names)}, separated by commas"

    return check


def _word(value: Scalar) -> str | None:
    return None if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9_]*", value) else "must be a single name"


def _cells(value: Scalar) -> str | None:
    fine = isinstance(value, str) and re.fullmatch(r"r\d+c\d+_-?[\d.]+(_r\d+c\d+_-?[\d.]+)*", value)
    return None if fine else "must be cells with their rewards, like r1c2_0.3"


def _slug(value: Scalar) -> str | None:
    return None if isinstance(value, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value) else "must be a story's name"


def _text(value: Scalar) -> str | None:
    return None if isinstance(value, str) and 0 < len(value) <= 60 else "must be a few words"


_BAND = {"eps_low": _number(0, 100), "eps_high": _number(0, 100)}
_RUN = {
    "recipe": _one_of(*RECIPES),
    "env": _one_of(*WORLDS),
    "seed": _number(0, 2**32 - 1),
    "steps": _number(1, 2000),
    "step": _number(0, 2000),
    **_BAND,
    "epochs": _number(1, 100),
    "minibatches": _number(1, 64),
    "lr": _number(1e-6, 10),
    "group_size": _number(1, 256),
    "prompts": _number(1, 256),
    "kl_beta": _number(0, 100),
    "gamma": _number(0, 1),
    "lam": _number(0, 1),
    "scale": _one_of("std", "none", "batch"),
    "noise": _number(0, 100),
}
PARAMS: Mapping[str, Mapping[str, Check]] = {
    "home": {},
    "surrogate": {
        **_BAND,
        "show": _one_of("objective", "gradient", "epochs", "kl", "bench"),
        "curves": _some_of("dual_clip", "cispo", "sapo", "score_function", "unclipped", "clip_without_min"),
        "dual_clip": _number(1, 1e6),
        "advantage": _number(-100, 100),
        "ratio": _number(0, 100),
        "recipe": _one_of(*RECIPES),
        "env": _one_of(*ENVS),
        "step": _number(0, 30),
        "update": _number(1, 10),
        "lr": _number(1e-6, 10),
        "epochs": _number(1, 100),
        "kl_beta": _number(0, 100),
        "kl_stop": _number(1e-6, 1e3),
        "sign": _one_of("gain", "loss"),
        "distance": _number(0, 100),
        "samples": _number(1, 10_000),
    },
    "advantages": {
        "rewards": _numbers,
        "scale": _one_of("std", "none", "batch", "leave_one_out"),
        "p": _number(0, 1),
        "group_size": _number(1, 64),
        "show": _one_of("group", "dead", "difficulty", "exact", "conventions", "gae"),
        "lam": _number(0, 1),
    },
    "ratios": {
        "log_ratios": _numbers,
        "length": _number(1, 4000),
        "sd": _number(0, 5),
        **_BAND,
        "show": _one_of("tokens", "sequence", "band", "weights"),
    },
    "step_through": {
        **_RUN,
        "env": _one_of(*ENVS, *WORDS),
        "step": _number(1, 500),
        "phase": _one_of(*PHASES),
        "mode": _one_of("watch", "predict", "fill", "fill_more", "memory"),
        "row": _number(1, 100_000),
        "token": _number(1, 100_000),
        "update": _number(1, 100_000),
    },
    "lab": {**_RUN, "extra": _cells, "story": _slug, "arm": _text},
    "compare": {
        "show": _one_of("recipes", "setting"),
        "arms": _some_of(*RECIPES, least=1, most=6),
        "env": _one_of(*WORLDS),
        "recipe": _one_of(*RECIPES),
        "knob": _word,
        "values": _numbers,
        "seeds": _number(1, 64),
        "seed": _number(0, 2**32 - 100),
        "steps": _number(5, 1000),
        "metric": _word,
    },
    "evidence": {"show": _one_of("gspo", "experts", "mismatch", "learning", "failures")},
    "duel": {
        **{name: _RUN[name] for name in ("recipe", "seed", "epochs", "group_size", "kl_beta", *_BAND)},
        "env": _one_of(*ENVS, *WORD_TASKS),
        "step": _number(0, 200),
        "recipes": _some_of(*RECIPES, "ppo_rlhf", least=2, most=5),
        "story": _word,
        "show": _one_of("tokens", "gradients", "update", "recipes", "table"),
        "quantity": _one_of("gradient", "advantage", "active", "weight", "ratio", "change"),
        "numbers": _one_of("here", "paper"),
        "change": _some_of("eps", "group", "std", "beta", "aggregate"),
        "scale": _one_of("std", "none"),
        "aggregate": _one_of("sequence_mean", "token_mean", "sequence_sum", "constant_length"),
        "prompt": _number(1, 256),
        "state": _number(1, 400),
        "row": _number(1, 16),
    },
    "glossary": {"term": _word},
    "misconceptions": {"card": _number(1, 15)},
}
"""What each page is asked to understand. The pages' own validators replace these through `registry`."""


def check_shape(page: str) -> Validator:
    """The built-in check of one page: every parameter is known to the page and inside its range."""

    def validate(params: Params) -> None:
        known = PARAMS[page]
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{name}: the page {page} has no such parameter; it has {', '.join(known) or 'none'}")
            problem = known[name](value)
            if problem:
                raise ValueError(f"{name}: {problem}, got {value!r}")

    return validate


def check_link(link: ProofLink, registry: Mapping[str, Validator] | None = None) -> None:
    """Raise ValueError unless the link opens a valid state. A page missing from `registry` gets the built-in check."""
    validate = (registry or {}).get(link.page) or check_shape(link.page)
    validate(link.params)
