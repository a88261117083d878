"""The lab's settings as a value, read from the URL (validated, refusals told) and written back to it.

Names of recipes and worlds are known here without the engine, so the first page need not wait for it; settings of a
link are checked by the engine itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from figures.theme import LOOKS
from live import lease
from live.contract import Request, Setting
from live.run import LiveRun
from live.server import shared
from rlcore.knobs import SettingError

RECIPES = {look.recipe: look.label for look in LOOKS}
FIRST = ("ppo", "grpo", "gspo")
WORLDS = {
    "bandit": "Bandit", "three-arms": "Three arms", "gridworld": "Gridworld", "CartPole-v1": "CartPole", "contextual": "Contextual bandit",
    "corridor": "Noisy corridor", "addition": "Words: addition", "sorting": "Words: sorting",
    "brackets": "Words: brackets", "sentences": "Words: sentences",
}  # fmt: skip
MAX_SEED = 2**32 - 1
OWN = ("recipe", "env", "seed", "run", "then", "step", "hide", "lock", "story", "arm")
MAX_STEP = 20_000
RATE = 20.0
MAX_CHANGES = 300
MAX_SETTINGS = 40  # of one address
MAX_THEN = 6000  # characters: what browsers and chat windows carry without harm
TOO_LONG = "too-long"


@dataclass(frozen=True)
class Asked:
    """What an address asks for: a request, the run it was attached to, and what was refused, in words."""

    request: Request
    run: str | None
    refused: tuple[str, ...]


def read(params: Mapping[str, str]) -> Asked:
    """The lab's settings in query parameters; whatever is not legal is left at its default and told."""
    refused: list[str] = []
    request = _story(params, refused) if "story" in params else _plain(params, refused)
    extra = {name: text for name, text in params.items() if name not in OWN}
    if extra:
        request = _with_settings(request, extra, refused)
    if params.get("then"):
        request = _with_changes(request, params["then"], refused)
    return Asked(replace(request, stop=_step(params.get("step"), refused)), params.get("run"), tuple(refused))


def write(run: LiveRun) -> dict[str, str]:
    """The query parameters of a run: what gives this very path again from nothing, the step looked at, the run's id.

    Settings are those of the first step; `then` holds every change on the way, exactly.
    """
    request, path, at = run.request, _path(run), run.looked_at
    chosen = {"recipe": request.recipe, "env": request.env, "seed": str(request.seed)}
    if request.story:
        chosen = {"story": request.story, "arm": request.arm} | chosen
    return chosen | path | ({} if at is None else {"step": str(at)}) | {"run": run.rid}


def _path(run: LiveRun) -> dict[str, str]:
    begun, log = run.beginning()
    first = {name: value for step, values in log for name, value in values.items() if step <= 1}
    later = "~~".join("~".join([str(step), *_flat(values)]) for step, values in log if step > 1)
    if len(later) > MAX_THEN or len(log) > MAX_CHANGES:
        return _texts(turned(run)) | {"then": TOO_LONG}
    settings = _differing(run, begun | first)
    return _texts(settings) | ({"then": later} if later else {})


def _flat(values: Mapping[str, Setting]) -> list[str]:
    return [part for name, value in values.items() for part in (name, _text(value))]


def _texts(values: Mapping[str, Setting]) -> dict[str, str]:
    """Slots first: the numbers that live in them are only known then."""
    return {name: _text(value) for name, value in sorted(values.items(), key=lambda pair: not isinstance(pair[1], str))}


def turned(run: LiveRun) -> dict[str, Setting]:
    """Settings that differ from the recipe's preset: those the run was asked for with, and those turned since."""
    return _differing(run, run.settings())


def _differing(run: LiveRun, now: Mapping[str, Setting]) -> dict[str, Setting]:
    preset = run.preset()
    fixed = {n: value for n, value in run.request.settings if n not in now and n.rpartition(".")[2] not in now}
    return fixed | {name: value for name, value in now.items() if preset.get(name) != value}


def lab_run() -> tuple[LiveRun, tuple[str, ...]]:
    """This session's run of the lab: the one it has, the one its address names, or a fresh one; and what was refused."""
    held = shared().get(st.session_state.get("lab_run", ""))
    if held is not None and _links_to_a_story():
        lease.drop(held)
        held = None
        del st.session_state["lab_request"]
    if held is not None:
        return held, st.session_state.get("lab_refused", ())
    asked = read(st.query_params.to_dict()) if "lab_request" not in st.session_state else None
    request = st.session_state["lab_request"] if asked is None else asked.request
    found = lease.take_over(asked.run) if asked is not None and asked.run else None
    same = found is not None and _which(found.request) == _which(request)
    run = found if found is not None and same else shared().create(request, rate=_rate(request))
    if found is run and asked is not None and asked.request.stop is not None:
        _look_at(run, asked.request.stop)
    st.session_state["lab_refused"] = () if asked is None else asked.refused
    _keep(run)
    return run, st.session_state["lab_refused"]


def _links_to_a_story() -> bool:
    """A link within the app: addresses that the lab wrote itself name their run as well."""
    return "story" in st.query_params and "run" not in st.query_params


def _rate(request: Request) -> float:
    """Updates a second to begin with: a story says itself how fast it is best watched."""
    if not request.story:
        return RATE
    from rlcore.stories import story

    return story(request.story).rate


def _which(request: Request) -> tuple[object, ...]:
    return request.recipe, request.env, request.seed, request.story, request.arm


def start_over(request: Request) -> None:
    """Replace this session's run by one of another request."""
    old = shared().get(st.session_state.get("lab_run", ""))
    st.session_state["lab_refused"] = ()
    _keep(shared().create(request, rate=_rate(request)))
    if old is not None:
        lease.drop(old)


def with_fresh(run: LiveRun, values: Mapping[str, Setting]) -> Request:
    """A new run with another seed, or settings that a running one keeps for life, and the others as they stand.

    Raises SettingError.
    """
    from live import engine  # late, as below

    others = {name: value for name, value in values.items() if name != "seed"}
    refused: list[str] = []
    seed = _seed(str(values.get("seed", run.request.seed)), refused)
    if refused:
        raise SettingError(refused[0])
    request = replace(run.request, seed=seed, settings=_ordered(turned(run) | others), then=(), stop=None)
    engine.configured(request)
    return request


def _ordered(values: Mapping[str, Setting]) -> tuple[tuple[str, Setting], ...]:
    return tuple(sorted(values.items(), key=lambda pair: not isinstance(pair[1], str)))


def _look_at(run: LiveRun, step: int) -> None:
    with contextlib.suppress(SettingError):  # a step that this run has not made (any more)
        run.open(step)


def _keep(run: LiveRun) -> None:
    st.session_state["lab_run"] = run.rid
    st.session_state["lab_request"] = run.request


# ---------------------------------------------------------------- reading one parameter


def _choice(name: str, value: str, known: Mapping[str, str], default: str, refused: list[str]) -> str:
    if value in known:
        return value
    refused.append(f"{name}: must be one of {', '.join(known)}, got {value[:60]!r}; using {default}")
    return default


def _plain(params: Mapping[str, str], refused: list[str]) -> Request:
    recipe = _choice("recipe", params.get("recipe", "grpo"), RECIPES, "grpo", refused)
    env = _choice("env", params.get("env", "gridworld"), WORLDS, "gridworld", refused)
    return Request(recipe, env, _seed(params.get("seed", "0"), refused))


def _story(params: Mapping[str, str], refused: list[str]) -> Request:
    """A story's run. Its name stands for recipe, world and settings; what else the address says of them is refused."""
    from rlcore.stories import story  # late: it waits for torch

    try:
        told = story(params["story"])
        arm = told.arm(params.get("arm", ""))
    except SettingError as error:
        refused.append(f"{error}; using none")
        return _plain(params, refused)
    for name, mine in (("recipe", told.recipe), ("env", told.env)):
        if params.get(name, mine) != mine:
            refused.append(f"{name}: the story {told.name} is about {mine}, got {params[name][:60]!r}")
    seed = _seed(params.get("seed", str(told.seed)), refused)
    return Request(told.recipe, told.env, seed, story=told.name, arm=arm.name)


def _seed(text: str, refused: list[str]) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= MAX_SEED:
        return int(text)
    refused.append(f"seed: must be a whole number from 0 to {MAX_SEED}, got {text[:60]!r}; using 0")
    return 0


def _step(text: str | None, refused: list[str]) -> int | None:
    if text is None:
        return None
    if _is_step(text):
        return int(text)
    refused.append(f"step: must be a whole number from 0 to {MAX_STEP}, got {text[:60]!r}; playing from the start")
    return None


def _is_step(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= MAX_STEP


def _with_settings(request: Request, extra: Mapping[str, str], refused: list[str]) -> Request:
    from live import engine  # late: only a link with settings waits for torch

    for name, text in list(extra.items())[:MAX_SETTINGS]:
        problem = engine.refusal(request, name, text)
        if not problem:
            known, value = engine.accepted(request, name, text)
            request, problem = engine.joined(request, known, value)
        if problem:
            refused.append(problem)
    if len(extra) > MAX_SETTINGS:
        refused.append(f"an address holds at most {MAX_SETTINGS} settings; the other {len(extra) - MAX_SETTINGS} were not read")
    return request


def _with_changes(request: Request, text: str, refused: list[str]) -> Request:
    """`then` of an address: 12~eps_high~0.05~~40~ratio~sequence. A wrong change is told, and none after it is taken."""
    from live import engine

    if text == TOO_LONG:
        refused.append("then: this run changed its settings too often for a link; it starts with the newest ones")
        return request
    asked: list[tuple[int, dict[str, str]]] = []
    entries = text[:MAX_THEN].split("~~")
    if len(text) > MAX_THEN or len(entries) > MAX_CHANGES:
        entries = entries[: min(MAX_CHANGES, len(entries) - (len(text) > MAX_THEN))]  # the last one may be cut in two
        refused.append(f"then: holds at most {MAX_CHANGES} changes in {MAX_THEN} characters; only the first {len(entries)} were read")
    for entry in entries:
        step, *rest = entry.split("~")
        last = asked[-1][0] if asked else 0
        if not (_is_step(step) and int(step) > last and rest and len(rest) % 2 == 0):
            refused.append(f"then: must be step~name~value~~step~name~value with growing steps, got {entry[:60]!r}")
            break
        asked.append((int(step), dict(zip(rest[::2], rest[1::2], strict=True))))
    then, problem = engine.planned(request, asked)
    return replace(request, then=then) if not problem else _noted(replace(request, then=then), f"then, {problem}", refused)


def _noted(request: Request, problem: str, refused: list[str]) -> Request:
    refused.append(problem)
    return request


def _text(value: Setting) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
