"""What is compared: recipes, values of one setting, or exported runs; read from controls and address, validated and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import streamlit as st

from figures import compare as figures
from figures.theme import CUSTOM, Look, look
from live import menu
from live.contract import Setting
from rlcore.algorithms import recognise
from rlcore.config import RunConfig
from rlcore.exports import unpack
from rlcore.knobs import Knob, SettingError
from rlcore.presets import preset
from rlcore.seeds.sweep import Arm
from ui import address, controls
from ui.refusals import forget, note_refusal, tell_refusal
from ui.state import FIRST, RECIPES, WORLDS

LEAST, MOST = 2, 6
MAX_UPLOAD = 64  # MB


@dataclass(frozen=True)
class Asked:
    """One arm and how it is drawn."""

    arm: Arm
    look: Look


def recipes() -> list[Asked]:
    """Two to six recipes on one world, each with its preset and what is set for all."""
    order = (*FIRST, *(key for key in RECIPES if key not in FIRST))
    chosen = controls.several("arms", "Algorithms, two to six", order, default=FIRST, shown=lambda key: look(key).label)
    left, right = st.columns([1, 2])
    with left:
        env = _world()
    with right:
        configs = _with_shared({look(key).label: preset(key, env) for key in chosen})
    if not LEAST <= len(chosen) <= MOST:
        st.error(f"arms: must be {LEAST} to {MOST} algorithms, got {len(chosen)}")
        return []
    return [Asked(Arm(name, ((0, config),)), look(key)) for key, (name, config) in zip(chosen, configs.items(), strict=True)]


def setting() -> list[Asked]:
    """Two to six values of one live setting of one recipe."""
    left, right = st.columns(2)
    with left:
        recipe = picked("recipe", "Algorithm", tuple(RECIPES), "grpo", shown=lambda key: look(key).label)
    with right:
        env = _world()
    base = _with_shared({look(recipe).label: preset(recipe, env)})[look(recipe).label]
    knobs = {name: about for name, (_, about) in menu.menu_of(base).knobs.items()}
    name = picked("knob", "Setting", tuple(knobs), "eps_high" if "eps_high" in knobs else next(iter(knobs)), shown=lambda n: f"{knobs[n].symbol} · {n}", changes=_forget_values)
    about = knobs[name]
    values = controls.numbers(
        "values", f"Values of {about.symbol}, two to six", _spread(about, _whole(base, name)), low=about.low, high=about.high,
        least=LEAST, most=MOST, help=f"{about.help[:1].upper()}{about.help[1:]}. Numbers with commas.",
    )  # fmt: skip
    found = []
    for place, value in enumerate(dict.fromkeys(values)):
        number: Setting = int(value) if _whole(base, name) and float(value).is_integer() else value
        label = f"{about.symbol} = {value:g}"
        try:
            config = menu.affordable(base.with_settings({name: number}))
        except SettingError as error:
            st.error(str(error))
            continue
        found.append(Asked(Arm(label, ((0, config),)), figures.shade(place, label)))
    if len(values) >= LEAST > len(set(values)):
        st.error(f"values: must be {LEAST} to {MOST} different numbers, got {len(set(values))}")
    return found if len(found) >= LEAST else []


def capsules() -> list[Asked]:
    """Exported runs: their settings, with every change at its step, on this page's seeds."""
    files = st.file_uploader(
        "Capsules, two to six", type="zip", accept_multiple_files=True, key="capsules", max_upload_size=MAX_UPLOAD,
        help="Zip files that the lab exported. They are read, never run: this app's own engine plays their settings.",
    )  # fmt: skip
    found: list[Asked] = []
    for file in files[:MOST]:
        try:
            opened = unpack(file.getvalue())
            for _, config in opened.run.path:
                menu.affordable(config)
        except SettingError as error:
            st.error(f"{file.name}: {error}")
            continue
        for note in opened.notes:
            st.warning(f"{file.name}: {note}")
        label = _own_name(file.name.removesuffix(".zip")[:40], [each.arm.label for each in found])
        drawn = _look_of(opened.run.config)
        taken = {each.look.recipe for each in found}
        found.append(Asked(Arm(label, opened.run.path), drawn if drawn.recipe not in taken else figures.shade(len(found), label)))
    if len(files) > MOST:
        st.error(f"capsules: at most {MOST}; the first {MOST} are compared")
    if len(found) < LEAST:
        st.info("Add at least two capsules. The lab's **Export run** makes them.", icon=":material/upload_file:")
        return []
    return found


def _own_name(name: str, taken: list[str]) -> str:
    """The name, numbered where another arm has it already: arms are told apart by what they are called."""
    return next(each for each in (name, *(f"{name} ({n})" for n in range(2, MOST + 2))) if each not in taken)


KINDS: Mapping[str, Callable[[], list[Asked]]] = {"recipes": recipes, "setting": setting, "capsules": capsules}


# ---------------------------------------------------------------- single controls


def _world() -> str:
    return picked("env", "World", tuple(WORLDS), "gridworld", shown=WORLDS.__getitem__)


def picked(
    key: str, label: str, options: tuple[str, ...], default: str, *, shown: Callable[[str], str],
    changes: Callable[[], None] = lambda: None,
) -> str:  # fmt: skip
    """One of many named options, as a list; its name stands in the address."""
    address.read(key, options, [default])

    def changed() -> None:
        forget(key)
        changes()

    chosen: str = st.selectbox(label, options, key=key, format_func=shown, on_change=changed)
    address.write(key, [chosen], [default])
    tell_refusal(key)
    return chosen


def _forget_values() -> None:
    st.session_state.pop("values", None)
    st.session_state.pop("last_values", None)
    st.query_params.pop("values", None)


def _with_shared(configs: dict[str, RunConfig]) -> dict[str, RunConfig]:
    """Settings for every arm, typed as name=value; what an arm does not have is told."""
    text = st.text_input(
        "Set for all, besides each preset", "", key="also", bind="query-params", placeholder="lr=0.1, epochs=8", max_chars=400,
        help="name=value, with commas: any number of the lab's settings, or a slot such as ratio=sequence.",
    )  # fmt: skip
    refused: list[str] = []
    for part in filter(None, (each.strip() for each in (text or "").replace(";", ",").split(","))):
        name, sign, value = (each.strip() for each in part.partition("="))
        if not sign or not name or not value:
            refused.append(f"also: must be name=value, got {part[:40]!r}")
            continue
        problems = {}
        for label, config in configs.items():
            problem, configs[label] = _one_more(config, name, value)
            if problem:
                problems[label] = problem
        if problems and len(problems) == len(configs):
            refused.append(f"also, {next(iter(problems.values()))}")
        elif problems:
            st.caption(f"{name} is left as it is in {', '.join(problems)}: not a setting there, or not that value.")
    note_refusal("also", "\n\n".join(refused)) if refused else forget("also")
    tell_refusal("also")
    return configs


def _one_more(config: RunConfig, name: str, text: str) -> tuple[str, RunConfig]:
    """("", the config with one more setting) or (why not, the config)."""
    problem = menu.refusal(config, name, text)
    if problem:
        return problem, config
    try:
        values = {menu.short(config, name): menu.value_of(config, name, text)}
        return "", menu.affordable(menu.with_settings(config, values))
    except (SettingError, ValueError) as error:
        return str(error), config


def _whole(config: RunConfig, name: str) -> bool:
    return isinstance(menu.menu_of(config).settings(config)[name], int)


def _spread(about: Knob, whole: bool) -> list[float]:
    """Four values over the suggested range."""
    low, high = about.suggested
    if about.scale == "log" and high > 0:
        low = max(low, high * 1e-4)
        values = [low * (high / low) ** (i / 3) for i in range(4)]
    else:
        values = [low + (high - low) * i / 3 for i in range(4)]
    return sorted({float(round(x)) if whole else float(f"{x:.2g}") for x in values if x > 0 or low < 0 or not whole})


def _look_of(config: RunConfig) -> Look:
    found = recognise(config.algorithm)
    return look(found.recipe.key) if found.named else replace(CUSTOM, recipe="custom")
