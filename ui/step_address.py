"""What the Step-through's address says: which step, which row, token and update, which phase, how it is walked.

The address is the truth; everything that selects writes to it, and what it asks wrongly is refused in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import streamlit as st

from live import engine
from live.contract import Request
from live.server import shared
from rlcore.algorithm import Algorithm
from rlcore.algorithms import recognise
from rlcore.config import RunConfig
from rlcore.knobs import SettingError
from rlcore.microscope import Selection, Witnessed, lively, open_step, witness
from rlcore.microscope.opening import MOST_STEPS, light
from rlcore.presets import environment
from rlcore.state import Diverged

HERE = ("row", "token", "update")
OWN = ("recipe", "env", "seed", "step", "run", "node", "phase", "mode", "show", *HERE)
PATIENCE = 30.0
"""Seconds of training that one look may cost; whoever asks again goes on from where it stopped."""
FIRST = {"recipe": "grpo", "env": "addition", "seed": 0, "step": 2}


@dataclass(frozen=True)
class Opened:
    """The step that is looked at: its name, a key that tells it from others, the numbers, and the request, if it is one."""

    label: str
    key: str
    of: Witnessed
    request: Request | None


def go(**to: object) -> None:
    """Write places into the address, and leave out what is None."""
    for name, value in to.items():
        if value is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = str(value)
        if name in ("phase", "mode") and value is not None:
            st.session_state[name] = value


def opened(fresh: bool) -> Opened:
    """The step that the address names. Stops the page, in words, where it cannot be made.

    fresh  the page has just been entered: a live run's step is opened anew
    """
    try:
        if "run" in st.query_params:
            found = _of_a_run(st.query_params["run"], st.query_params.get("node"), fresh)
            if found is not None:
                return found
        return _of_a_preset()
    except (SettingError, Diverged) as error:
        st.error(str(error), icon=":material/error:")
        with st.container(horizontal=True):
            st.button("Open the page's own step", on_click=st.query_params.clear)
            if "ask again" in str(error):
                st.button("Go on")
        st.stop()


# ---------------------------------------------------------------- a live run's step


def _of_a_run(rid: str, node: str | None, fresh: bool) -> Opened | None:
    run = shared().get(rid)
    key = f"{rid}/{node}"
    held: Opened | None = st.session_state.get("step_held")
    if held is not None and held.key == key and not (fresh and run is not None):
        return held
    if run is None:
        st.warning("run: there is no such run any more (a run is closed some time after its tab). Below is a step of a run of its own.")
        return None
    number = None if node is None else _whole("node", node, 0, 10**9)
    with st.spinner("Making this step once more …"):
        step = run.opened(number)
        found = Opened(step.label, key, witness(step.state, step.config), None)
    st.session_state["step_held"] = found
    return found


# ---------------------------------------------------------------- a step by its settings


def _of_a_preset() -> Opened:
    query = st.query_params
    recipe, env = query.get("recipe", str(FIRST["recipe"])), query.get("env", str(FIRST["env"]))
    environment(env)
    seed = _whole("seed", query.get("seed", str(FIRST["seed"])), 0, 2**32 - 1)
    number = _whole("step", query.get("step", str(FIRST["step"])), 1, MOST_STEPS)
    request = _with_settings(Request(recipe, env, seed), {k: v for k, v in query.to_dict().items() if k not in OWN})
    config = light(engine.configured(request))
    with st.spinner(f"Training {number} {'step' if number == 1 else 'steps'} to get there …"):
        of = open_step(config, number, patience=PATIENCE)
    extra = "".join(f", {name} {value}" for name, value in request.settings)
    return Opened(f"{of_name(config)} on {env}, seed {seed}{extra}: step {number}", f"{config.model_dump_json()}/{number}", of, request)


def of_name(config: RunConfig) -> str:
    """What the algorithm is called."""
    return _name(config.algorithm)


@lru_cache(maxsize=64)
def _name(algorithm: Algorithm) -> str:
    return str(recognise(algorithm))


def _with_settings(request: Request, extra: Mapping[str, str]) -> Request:
    """The request with every setting of the address that can join it; the others are told and left out."""
    for name, text in list(extra.items())[:32]:
        problem = engine.refusal(request, name, text)
        if problem:
            st.error(problem, icon=":material/error:")
        else:
            request = replace(request, settings=(*request.settings, (name, engine.value(request, name, text))))
    return request


def _whole(name: str, text: str, low: int, high: int) -> int:
    """A whole number of the address. Raises SettingError."""
    plain = text.strip()
    if not (plain.isascii() and plain.lstrip("-").isdigit() and len(plain) <= 12) or not low <= int(plain) <= high:
        raise SettingError(f"{name}: must be a whole number from {low} to {high}, got {text[:40]!r}")
    return int(plain)


# ---------------------------------------------------------------- the selection


def selection(of: Witnessed) -> Selection:
    """Row, token and update of the address (counted from 1 there); what is not given is a lively place."""
    best = lively(of)
    rows, width = of.trace.rollout["mask"].shape
    most = {"row": rows, "token": width, "update": max(len(of.trace.updates), 1)}
    found = {}
    for name in HERE:
        text = st.query_params.get(name)
        default = getattr(best, name) if name == "update" or "row" not in st.query_params else 0
        try:
            found[name] = default if text is None else _whole(name, text, 1, most[name]) - 1
        except SettingError as error:
            st.error(str(error), icon=":material/error:")
            found[name] = default
    return Selection(**found)
