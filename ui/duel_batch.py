"""What a duel is about: which contenders, which frozen batch, and what is different about it. Controls in, records out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import streamlit as st

from figures.theme import LOOKS, look
from live.server import shared
from rlcore.algorithm import Algorithm
from rlcore.config import Batch
from rlcore.explore import whatif
from rlcore.explore.duel import Duel, Frozen, duel, fewer, freeze_batch, frozen_at
from rlcore.explore.whatif import WhatIf
from rlcore.kl import KlInLoss
from rlcore.knobs import SettingError
from rlcore.presets import ENVS, WORDS, preset
from rlcore.state import Diverged
from rlcore.surrogates import PpoClip
from ui import controls, refusals, stories

RECIPES = tuple(each.recipe for each in LOOKS)
FIRST = ("ppo", "grpo", "gspo")
FEWEST, MOST = 2, 5
FIRST_STEP = 8  # by then the rows of a group differ, which is when there is something to fight about
WORLDS = (*ENVS, *WORDS)
WORLD_LABELS = {
    "bandit": "Bandit", "three-arms": "Three arms", "contextual": "Contextual bandit", "gridworld": "Gridworld", "corridor": "Noisy corridor",
    "CartPole-v1": "CartPole", "addition": "Adding model", "sorting": "Sorting model", "brackets": "Bracket model",
    "sentences": "Sentence model",
}  # fmt: skip
NUMBERS = {"here": "that learn in this world", "paper": "of the papers"}
CHANGES = {
    "eps": "clip ε", "group": "group size G", "std": "std on or off", "beta": "KL β", "aggregate": "aggregation",
}  # fmt: skip
OF_CHANGE = {
    "eps": ("eps_low", "eps_high"), "group": ("group_size",), "std": ("scale",), "beta": ("kl_beta",),
    "aggregate": ("aggregate",),
}  # fmt: skip
AGGREGATE_LABELS = {
    "sequence_mean": "mean over rows", "token_mean": "mean over tokens", "sequence_sum": "sum of tokens",
    "constant_length": "constant length",
}  # fmt: skip
LISTS = ("recipes", "change")
TEXTS = ("recipe", "env", "numbers", "scale", "aggregate", "quantity")
ALL = (*LISTS, *TEXTS, "seed", "step", "epochs", "eps_low", "eps_high", "group_size", "kl_beta", "prompt", "row", "state")


@dataclass(frozen=True)
class Fought:
    """A duel and what it was about; `where` says in words where the batch comes from."""

    frozen: Frozen
    algorithms: Mapping[str, Algorithm]
    found: Duel
    where: str

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.algorithms)


def fight() -> Fought | None:
    """All controls, then the duel; None where something was refused, which has then been told."""
    stories.choose("duel_stories", resets=ALL, lists=LISTS, texts=TEXTS)
    keys = _recipes()
    frozen, where = _batch()
    if frozen is None:
        return None
    numbers = controls.choice("numbers", "With the numbers", tuple(NUMBERS), shown=NUMBERS.__getitem__)
    what, size = _what_if(frozen)
    try:
        plain = whatif.contenders(keys, frozen.config, numbers="paper" if numbers == "paper" else "here")
        algorithms = {key: whatif.changed(each, what) for key, each in plain.items()}
        batch = fewer(frozen, size)
        found = duel(batch, algorithms)
    except (SettingError, Diverged) as error:
        st.error(str(error), icon=refusals.REFUSED)
        return None
    lacking = whatif.untouched(plain, what)
    for name, without in lacking.items():
        st.caption(f"{name}: {', '.join(look(key).label for key in without)} has no such setting and stays as it is.")
    return Fought(batch, algorithms, found, where)


def _recipes() -> tuple[str, ...]:
    chosen = controls.several(
        "recipes", "Contenders, two to five", RECIPES, default=FIRST, shown=lambda key: look(key).label
    )
    kept = st.session_state.get("last_recipes", FIRST)
    if FEWEST <= len(chosen) <= MOST:
        kept = chosen
    else:
        told = ", ".join(look(key).label for key in kept)
        refusals.tell_refusal("recipes", f"recipes: must be {FEWEST} to {MOST}, got {len(chosen)}; {told} stay")
    st.session_state["last_recipes"] = kept
    return kept


# ---------------------------------------------------------------- the batch


def _batch() -> tuple[Frozen | None, str]:
    own = st.query_params.get("run")
    asked = refusals.any_of("recipe", "env", "seed", "step", "epochs")
    with st.expander("Which batch", icon=":material/inventory_2:", expanded=asked):
        found = _of_run(own) if own else _of_preset()
    return found


def _pass() -> int:
    about = replace(
        controls.counted(1, 100, "1: on policy, every ratio is 1; 4: three updates of this run's own recipe lie behind"),
        suggested=(1, 10),
    )
    return controls.whole("epochs", about, 1, name="pass over this batch")


def _of_preset() -> tuple[Frozen | None, str]:
    env = controls.choice("env", "World", WORLDS, default="gridworld", shown=WORLD_LABELS.__getitem__)
    recipe = controls.choice("recipe", "Played by", RECIPES, default="grpo", shown=lambda key: look(key).label)
    left, middle, right = st.columns(3)
    with left:
        about = replace(controls.counted(0, 200, "training steps of the run before this batch"), suggested=(0, 30))
        step = controls.whole("step", about, FIRST_STEP, name="steps before")
    with middle:
        passed = _pass()
    with right:
        about = replace(controls.counted(0, 2**32 - 1, "the same seed gives the same batch"), suggested=(0, 20))
        seed = controls.whole("seed", about, 0, name="seed")
    where = f"{look(recipe).label} on {WORLD_LABELS[env]}, seed {seed}, after {step} steps, pass {passed}"
    try:
        return frozen_at(preset(recipe, env, seed), steps=step, updates=passed - 1), where
    except (SettingError, Diverged) as error:
        st.error(str(error), icon=refusals.REFUSED)
        return None, where


def _of_run(rid: str) -> tuple[Frozen | None, str]:
    """A node of a live run, as the lab's links ask for it."""
    text = st.query_params.get("node", "")
    if not (text.isascii() and text.isdigit()):
        st.error(f"node: must be a whole number, got {text[:40]!r}", icon=refusals.REFUSED)
        return None, ""
    passed = _pass()
    try:
        return _opened(rid, int(text), passed - 1)
    except (LookupError, SettingError, Diverged) as error:
        said = error.args[0] if error.args else error
        st.error(f"run: {said}. The lab's run is gone, or the node is not one of its steps.", icon=refusals.REFUSED)
        st.page_link("pages/duel.py", label="A duel on a batch of its own", query_params={})
        return None, ""


@lru_cache(maxsize=8)
def _opened(rid: str, node: int, updates: int) -> tuple[Frozen, str]:
    run = shared().get(rid)
    if run is None:
        raise LookupError(f"there is no live run {rid[:40]!r}")
    opened = run.opened(node)
    return freeze_batch(opened.state, opened.config, updates=updates), f"{opened.label}, pass {updates + 1}"


# ---------------------------------------------------------------- what if


def _what_if(frozen: Frozen) -> tuple[WhatIf, int]:
    """What is different about this batch, and how many rows of every group are kept."""
    default = tuple(name for name, keys in OF_CHANGE.items() if any(key in st.query_params for key in keys))
    chosen = controls.several(
        "change", "What if, on this exact batch, it were different:", tuple(CHANGES), default=default,
        shown=CHANGES.__getitem__,
    )  # fmt: skip
    size, what = frozen.config.batch.group_size, WhatIf()
    if "eps" in chosen:
        left, right = st.columns(2)
        with left:
            low = controls.number("eps_low", controls.declared(PpoClip, "eps_low"), 0.2)
        with right:
            high = controls.number("eps_high", controls.declared(PpoClip, "eps_high"), 0.2)
        what = replace(what, eps_low=low, eps_high=high)
    cells = iter(st.columns(2) if len(set(chosen) - {"eps"}) > 1 else [st.container()])
    if "group" in chosen:
        with next(cells):
            about = replace(controls.declared(Batch, "group_size"), suggested=(1, size), low=1, high=max(size, 1))
            size = controls.whole("group_size", about, min(4, size), name="rows kept of every group")
    if "beta" in chosen:
        with next(cells, st.container()):
            about = controls.declared(KlInLoss, "kl_beta")
            what = replace(what, kl_beta=controls.number("kl_beta", about, 0.1, name="KL penalty"))
    if "std" in chosen:
        with next(cells, st.container()):
            said = {"none": "off", "std": "on"}
            scale = controls.choice("scale", "Divide by the group's std", tuple(said), shown=said.__getitem__)
            what = replace(what, scale="std" if scale == "std" else "none")
    if "aggregate" in chosen:
        with next(cells, st.container()):
            rule = controls.choice(
                "aggregate", "Aggregation, for all", tuple(AGGREGATE_LABELS), shown=AGGREGATE_LABELS.__getitem__
            )
            what = replace(what, aggregate=rule)
    return what, size
