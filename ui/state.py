"""The lab's settings as a value, read from the URL (validated, refusals told) and written back to it.

Names of recipes and worlds are known here without the engine, so the first page need not wait for it; settings of a
link are checked by the engine itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from figures.theme import LOOKS
from live import lease
from live.contract import Request, Setting
from live.run import LiveRun
from live.server import shared

RECIPES = {look.recipe: look.label for look in LOOKS}
FIRST = ("ppo", "grpo", "gspo")
WORLDS = {
    "bandit": "Bandit", "gridworld": "Gridworld", "CartPole-v1": "CartPole", "contextual": "Contextual bandit",
    "corridor": "Noisy corridor", "addition": "Words: addition", "sorting": "Words: sorting",
    "brackets": "Words: brackets", "sentences": "Words: sentences",
}  # fmt: skip
MAX_SEED = 2**32 - 1
OWN = ("recipe", "env", "seed", "run")


@dataclass(frozen=True)
class Asked:
    """What an address asks for: a request, the run it was attached to, and what was refused, in words."""

    request: Request
    run: str | None
    refused: tuple[str, ...]


def read(params: Mapping[str, str]) -> Asked:
    """The lab's settings in query parameters; whatever is not legal is left at its default and told."""
    refused: list[str] = []
    recipe = _choice("recipe", params.get("recipe", "grpo"), RECIPES, "grpo", refused)
    env = _choice("env", params.get("env", "gridworld"), WORLDS, "gridworld", refused)
    request = Request(recipe, env, _seed(params.get("seed", "0"), refused))
    extra = {name: text for name, text in params.items() if name not in OWN}
    if extra:
        request = _with_settings(request, extra, refused)
    return Asked(request, params.get("run"), tuple(refused))


def write(run: LiveRun) -> dict[str, str]:
    """The query parameters of a run: what was chosen, every setting that differs from the preset, and the run's id."""
    request = run.request
    chosen = {"recipe": request.recipe, "env": request.env, "seed": str(request.seed)}
    return chosen | {name: _text(value) for name, value in turned(run).items()} | {"run": run.rid}


def turned(run: LiveRun) -> dict[str, Setting]:
    """Settings that differ from the recipe's preset: those the run was asked for with, and those turned since."""
    now, preset = run.settings(), run.preset()
    fixed = {name: value for name, value in run.request.settings if name not in now}
    return fixed | {name: value for name, value in now.items() if preset.get(name) != value}


def lab_run() -> tuple[LiveRun, tuple[str, ...]]:
    """This session's run of the lab: the one it has, the one its address names, or a fresh one; and what was refused."""
    held = shared().get(st.session_state.get("lab_run", ""))
    if held is not None:
        return held, st.session_state.get("lab_refused", ())
    asked = read(st.query_params.to_dict()) if "lab_request" not in st.session_state else None
    request = st.session_state["lab_request"] if asked is None else asked.request
    found = lease.take_over(asked.run) if asked is not None and asked.run else None
    same = found is not None and (found.request.recipe, found.request.env, found.request.seed) == (
        request.recipe, request.env, request.seed,
    )  # fmt: skip
    run = found if found is not None and same else shared().create(request)
    st.session_state["lab_refused"] = () if asked is None else asked.refused
    _keep(run)
    return run, st.session_state["lab_refused"]


def start_over(request: Request) -> None:
    """Replace this session's run by one of another request."""
    old = shared().get(st.session_state.get("lab_run", ""))
    st.session_state["lab_refused"] = ()
    _keep(shared().create(request))
    if old is not None:
        lease.drop(old)


def with_seed(run: LiveRun, seed: int) -> Request:
    """The same run from another seed, with its settings as they stand."""
    return replace(run.request, seed=seed, settings=tuple(turned(run).items()))


def _keep(run: LiveRun) -> None:
    st.session_state["lab_run"] = run.rid
    st.session_state["lab_request"] = run.request


# ---------------------------------------------------------------- reading one parameter


def _choice(name: str, value: str, known: Mapping[str, str], default: str, refused: list[str]) -> str:
    if value in known:
        return value
    refused.append(f"{name}: must be one of {', '.join(known)}, got {value[:60]!r}; using {default}")
    return default


def _seed(text: str, refused: list[str]) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= MAX_SEED:
        return int(text)
    refused.append(f"seed: must be a whole number from 0 to {MAX_SEED}, got {text[:60]!r}; using 0")
    return 0


def _with_settings(request: Request, extra: Mapping[str, str], refused: list[str]) -> Request:
    from live import engine, menu  # late: only a link with settings waits for torch

    kept: dict[str, Setting] = {}
    for name, text in list(extra.items())[:32]:
        problem = engine.refusal(replace(request, settings=tuple(kept.items())), name, text)
        if problem:
            refused.append(problem)
        else:
            kept[name] = menu.number(text)
    return replace(request, settings=tuple(kept.items()))


def _text(value: Setting) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
