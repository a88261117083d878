"""Do proof links open valid states? Asked of the engine itself, for the pages whose parameters are engine settings.

`REGISTRY` is what `load_bank(registry=...)` and `check_link` take. It is apart from `links` so that the bank can be
read, shown and exported without importing the engine.
"""

from __future__ import annotations

from collections.abc import Mapping

from interview.links import Params, Validator, check_shape
from interview.values import Scalar
from rlcore.glossary import look_up
from rlcore.microscope.outline import phases_in
from rlcore.presets import preset
from rlcore.stories import story

_NOT_SETTINGS = ("recipe", "recipes", "env", "seed", "step", "steps", "phase", "show", "story", "arm")


def _settings(params: Params) -> dict[str, Scalar]:
    return {name: value for name, value in params.items() if name not in _NOT_SETTINGS}


def _run(params: Params) -> None:
    """A run: the preset of recipe, world and seed with the remaining parameters as settings."""
    check_shape("lab")({name: params[name] for name in params if name in ("recipe", "env", "seed", "step")})
    if "story" in params:
        story(str(params["story"])).arm(str(params.get("arm", "")))
        return
    recipe, env = str(params.get("recipe", "grpo")), str(params.get("env", "gridworld"))
    preset(recipe, env, int(params.get("seed", 0))).with_settings(_settings(params))


_OF_THE_STEP = ("step", "phase", "mode", "row", "token", "update")


def _step(params: Params) -> None:
    """A step of such a run, in a phase that its recipe has."""
    check_shape("step_through")({name: params[name] for name in params if name in (*_OF_THE_STEP, "recipe", "env", "seed")})
    recipe, env = str(params.get("recipe", "grpo")), str(params.get("env", "addition"))
    own = {name: value for name, value in _settings(params).items() if name not in _OF_THE_STEP}
    config = preset(recipe, env, int(params.get("seed", 0))).with_settings(own)
    phase, known = str(params.get("phase", "sample")), phases_in(config.algorithm)
    if phase not in known:
        raise ValueError(f"phase: must be one of {', '.join(known)} for {recipe}, got {phase!r}")


def _duel(params: Params) -> None:
    """Every contender must fit the world, with what is changed about it."""
    check_shape("duel")(params)
    env, seed = str(params.get("env", "gridworld")), int(params.get("seed", 0))
    for recipe in str(params.get("recipes", "grpo,gspo")).split(","):
        preset(recipe, env, seed)


def _compare(params: Params) -> None:
    """Every arm, or every value of the setting, is a run that exists."""
    check_shape("compare")(params)
    env = params.get("env", "gridworld")
    for recipe in str(params.get("arms", params.get("recipe", "grpo"))).split(","):
        for value in str(params.get("values", "")).split(",") if "knob" in params else ("",):
            setting: Params = {str(params["knob"]): float(value)} if value else {}
            _run({"recipe": recipe, "env": env, **setting})


def _glossary(params: Params) -> None:
    check_shape("glossary")(params)
    look_up(str(params["term"]))


REGISTRY: Mapping[str, Validator] = {
    "lab": _run, "step_through": _step, "duel": _duel, "compare": _compare, "glossary": _glossary,
}  # fmt: skip
"""Page -> validator, to which the other pages' own may be added."""
