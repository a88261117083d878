"""Settings: what is legal comes back from JSON as it was, what is not is refused naming field, rule and value."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlcore.algorithms import CATALOG
from rlcore.config import (
    RunConfig,
    find_setting,
    knobs,
    loads,
    needs_new_run,
    parse,
    settings_of,
)
from rlcore.envs import Bandit, Gridworld, GymEnv
from rlcore.kl import KlInLoss, NoKl
from rlcore.knobs import Knob, SettingError
from rlcore.presets import ENVS, preset

EVERY = [(recipe.key, env) for recipe in CATALOG for env in (*ENVS, "FrozenLake-v1", "Pendulum-v1")]
SOME = [preset("ppo", "CartPole-v1"), preset("grpo", "gridworld"), preset("dapo", "bandit"), preset("reinforce_pp", "Pendulum-v1")]
KNOBS = [(config, path, about) for config in SOME for path, (about, _) in knobs(config).items()]
TREE = json.loads(preset().dumps())


def refused(tree: Any) -> str:
    """What is said about a tree; fails where it is accepted."""
    with pytest.raises(SettingError) as error:
        loads(tree) if isinstance(tree, str) else parse(tree)
    return str(error.value)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The default run as a tree, with one place changed."""
    tree = json.loads(json.dumps(TREE))
    *way, last = path.split(".")
    here = tree
    for part in way:
        here = here[part]
    here[last] = value
    return tree


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize(("recipe", "env"), EVERY)
def test_every_preset_survives_json(recipe: str, env: str) -> None:
    config = preset(recipe, env, seed=7)
    again = loads(config.dumps())
    assert again == config and hash(again) == hash(config) and again.dumps() == config.dumps()
    assert parse(config) == config and parse(config.model_dump()) == config


def whole(config: RunConfig, path: tuple[str, ...]) -> bool:
    return isinstance(knobs(config)[path][1], int)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_legal_values_survive_json(data: st.DataObject) -> None:
    config = data.draw(st.sampled_from(SOME))
    chosen: dict[str, Any] = {}
    for path, (about, _) in knobs(config).items():
        if data.draw(st.booleans()):
            low, high = about.low, about.high
            number = st.integers(math.ceil(low), math.floor(high)) if whole(config, path) else st.floats(low, high)
            chosen[".".join(path)] = data.draw(number)
    try:
        made = config.with_settings(chosen)
    except SettingError as error:  # numbers that are legal alone may contradict one another
        assert any(word in str(error) for word in ("must be at most", "must be 1 with segments"))
        return
    again = loads(made.dumps())
    assert again == made and hash(again) == hash(made)
    for name, value in chosen.items():
        assert knobs(made)[tuple(name.split("."))][1] == value


# ---------------------------------------------------------------- ranges


@pytest.mark.parametrize(("config", "path", "about"), KNOBS, ids=[".".join(p) for _, p, _ in KNOBS])
def test_a_knob_is_declared_whole_and_its_range_is_kept(config: RunConfig, path: tuple[str, ...], about: Knob) -> None:
    assert about.symbol and about.help
    assert about.low <= about.suggested[0] < about.suggested[1] <= about.high
    assert about.scale == "linear" or about.suggested[0] > 0 or about.low == 0
    name = ".".join(path)
    for end, beyond in ((about.low, -1), (about.high, 1)):
        if not math.isfinite(end):
            continue
        value = end + beyond if whole(config, path) else end + beyond * max(1e-6, abs(end) * 1e-6)
        with pytest.raises(SettingError) as error:
            config.with_settings({name: value})
        assert str(error.value).startswith(f"{name}: must be ") and repr(value) in str(error.value)
    for value in (math.nan, math.inf, -math.inf, "much", None, True, [1], {}):
        with pytest.raises(SettingError, match=rf"^{name}: "):
            config.with_settings({name: value})


@pytest.mark.parametrize(("config", "path", "about"), KNOBS, ids=[".".join(p) for _, p, _ in KNOBS])
def test_what_a_slider_offers_is_legal(config: RunConfig, path: tuple[str, ...], about: Knob) -> None:
    room = config.with_settings({"batch.epochs": 1})  # sizes are bounded together, too
    for value in about.suggested:
        value = round(value) if whole(config, path) else value
        try:
            room.with_settings({".".join(path): value})
        except SettingError as error:
            assert path[0] == "batch" or path[1] == "shaping" or path[-1] == "horizon", str(error)


@pytest.mark.parametrize(("config", "path", "about"), KNOBS, ids=[".".join(p) for _, p, _ in KNOBS])
def test_a_knob_says_truly_whether_a_run_can_turn_it(config: RunConfig, path: tuple[str, ...], about: Knob) -> None:
    value = knobs(config)[path][1]
    for other in (about.suggested[0], about.suggested[1], value / 2, value + 1):
        try:
            new = config.with_settings({".".join(path): round(other) if whole(config, path) else other})
        except SettingError:
            continue
        if new != config:
            assert (needs_new_run(config, new) == ()) == about.live
            return
    assert path[-1] == "group_size" and config.batch.segment is not None, "no other value was accepted"


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("config", SOME)
def test_every_setting_is_found_by_its_full_name(config: RunConfig) -> None:
    for path, value in settings_of(config):
        assert find_setting(config, ".".join(path)) == path
        assert config.with_settings({".".join(path): value}) == config


def test_short_names_must_be_unique() -> None:
    config = preset("grpo", "gridworld")
    assert find_setting(config, "eps_high") == ("algorithm", "surrogate", "eps_high")
    assert find_setting(config, "kl.kl_beta") == ("algorithm", "kl", "kl_beta")
    with pytest.raises(SettingError, match=r"eps: could be algorithm\.advantage\.eps or .*optim\.eps; write the longer name"):
        find_setting(config, "eps")


@pytest.mark.parametrize(
    ("name", "near"), [("eps_hihg", "eps_high"), ("kl_bta", "kl_beta"), ("groupsize", "group_size"), ("algorithm.surogate.eps_low", "eps_low")]
)
def test_unknown_names_get_the_nearest(name: str, near: str) -> None:
    with pytest.raises(SettingError, match=f"{name}: there is no such setting; did you mean .*{near}"):
        preset().with_settings({name: 1})


@pytest.mark.parametrize(
    ("path", "said"),
    [("env.gaol", "env.gaol: there is no such setting; did you mean goal?"), ("sede", "sede: there is no such setting; did you mean seed?"),
     ("algorithm.surrogate.eps_hi", "algorithm.surrogate.eps_hi: there is no such setting; did you mean eps_high"),
     ("batch.groupsize", "did you mean group_size"), ("optim.zzz", "optim.zzz: there is no such setting")],
)  # fmt: skip
def test_unknown_keys_in_json_get_the_nearest(path: str, said: str) -> None:
    assert said in refused(changed(path, 1))


@pytest.mark.parametrize(
    ("path", "kind", "near"),
    [("env", "gridwrld", "gridworld"), ("algorithm.surrogate", "ppoclip", "ppo_clip"), ("algorithm.kl", "in_loss", "kl_in_loss"),
     ("optim", "adamw", "adam"), ("policy", "mpl", "mlp")],
)  # fmt: skip
def test_unknown_kinds_get_the_nearest(path: str, kind: str, near: str) -> None:
    assert f"{path}: there is no kind '{kind}'; did you mean {near}?" in refused(changed(path, {"kind": kind}))


# ---------------------------------------------------------------- combinations


@pytest.mark.parametrize(
    ("recipe", "env", "changes", "said"),
    [
        ("grpo", "gridworld", {"segment": 8}, "batch.segment: must be none with group_relative, which needs whole episodes"),
        ("reinforce_pp", "CartPole-v1", {"segment": 8}, "batch.segment: must be none with returns, which needs whole episodes"),
        ("ppo", "gridworld", {"segment": 8, "group_size": 4}, "batch.group_size: must be 1 with segments (rows share no start), got 4"),
        ("grpo", "gridworld", {"minibatches": 65}, "batch.minibatches: must be at most the number of rows (64), got 65"),
        ("gspo", "gridworld", {"shuffled": "transitions"}, "batch.shuffled: must be rows unless"),
        ("gmpo", "gridworld", {"shuffled": "transitions"}, "batch.shuffled: must be rows unless"),
        ("ppo", "CartPole-v1", {"policy": {"kind": "tabular"}}, "policy: must be mlp for this environment"),
        ("ppo", "Pendulum-v1", {"algorithm.kl": {"kind": "kl_in_reward", "estimator": {"kind": "exact"}}}, "algorithm.kl.estimator: must be"),
        ("dapo", "bandit", {"shaping": {"kind": "soft_overlong", "max_length": 3, "cache": 5}}, "cache must be at most max_length (3), got 5"),
    ],
)  # fmt: skip
def test_contradictions_name_field_rule_and_value(recipe: str, env: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as error:
        preset(recipe, env).with_settings(changes)
    assert said in str(error.value) and "RunConfig" not in str(error.value)


def test_beta_can_be_set_where_there_is_no_kl_yet() -> None:
    config = preset("gspo", "bandit")
    assert isinstance(config.algorithm.kl, NoKl)
    assert config.with_settings({"kl_beta": 0.1}).algorithm.kl == KlInLoss(kl_beta=0.1)
    assert config.with_settings({"kl_beta": 0}) == config
    with pytest.raises(SettingError, match=r"algorithm\.kl\.kl_beta: must be greater than or equal to 0, got -1"):
        config.with_settings({"kl_beta": -1})


def test_what_cannot_change_in_a_run_is_told() -> None:
    config = preset("grpo", "gridworld")
    assert needs_new_run(config, config.with_settings({"lr": 1.0, "group_size": 2, "kl_beta": 1.0})) == ()
    assert needs_new_run(config, config.with_settings({"env.wind": 0.1, "layout": "\n".join(["S....G"] * 6)})) == ()
    other = {"seed": 1, "env.horizon": 8, "policy": {"kind": "mlp"}}
    assert needs_new_run(config, config.with_settings(other)) == ("seed", "env", "policy")
    assert needs_new_run(config, config.with_settings({"layout": "S....-....G"})) == ("env",)


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("recipe", "env", "changes", "said"),
    [
        ("grpo", "gridworld", {"prompts": 4096, "group_size": 1024, "env.horizon": 2000}, "samples a step, got 4096 prompts * 1024 rows * 2000 steps"),
        ("ppo", "gridworld", {"prompts": 4096, "segment": 100_000}, "samples a step"),
        ("grpo", "bandit", {"prompts": 4096, "group_size": 1024}, "samples a step"),
        ("ppo", "CartPole-v1", {"prompts": 4096}, "at most 1024 Gymnasium environments, got 4096"),
        ("ppo", "CartPole-v1", {"segment": 50_000, "policy.hidden": [1024, 1024]}, "activations"),
        ("grpo", "gridworld", {"group_size": 1024, "epochs": 1000}, "batch.epochs: must be at most"),
        ("grpo", "bandit", {"prompts": 64, "epochs": 1000, "minibatches": 1000}, "epochs * minibatches must be at most"),
    ],
)  # fmt: skip
def test_sizes_that_would_exhaust_the_machine_are_refused(recipe: str, env: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as error:
        preset(recipe, env).with_settings(changes)
    assert said in str(error.value)


def test_large_but_bearable_sizes_are_legal() -> None:
    preset("grpo", "gridworld").with_settings({"prompts": 64, "group_size": 512, "env.horizon": 100})
    preset("ppo", "CartPole-v1").with_settings({"prompts": 64, "segment": 2048})


# ---------------------------------------------------------------- hostile JSON

DEEP = 5000
HOSTILE = {
    "nothing": "", "no JSON": "{", "a list": "[]", "a number": "3", "null": "null", "a word": '"run"', "empty": "{}",
    "deep lists": "[" * 100_000 + "]" * 100_000, "deep objects": '{"env":' * DEEP + "1" + "}" * DEEP,
    "deep value": '{"seed":' + "[" * 900 + "]" * 900 + "}", "huge integer": '{"seed": ' + "9" * 10_000 + "}",
    "long integer": json.dumps(changed("seed", 10**4000)), "1e400": preset().dumps().replace('"lr": 0.05', '"lr": 1e400'),
    "NaN": preset().dumps().replace('"lr": 0.05', '"lr": NaN'), "-Infinity": preset().dumps().replace('"lr": 0.05', '"lr": -Infinity'),
    "huge list": json.dumps(changed("env.layout", ["S" * 20] * 200_000)), "huge text": json.dumps(changed("env.layout", ["S" * 1_000_000])),
    "many keys": json.dumps(TREE | {f"k{i}": i for i in range(50_000)}), "many arms": json.dumps(changed("env", {"kind": "bandit", "means": [0] * 100_000})),
    "import": json.dumps(changed("env", {"kind": "gym", "id": "os:system"})), "path": json.dumps(changed("env", {"kind": "gym", "id": "../../x"})),
    "pickle": json.dumps(changed("policy", {"kind": "tabular", "__reduce__": "os.system"})), "class": json.dumps(changed("env", {"__class__": "Bandit"})),
    "list for object": json.dumps(changed("batch", [1, 2])), "object for number": json.dumps(changed("batch.prompts", {"a": 1})),
    "text for slot": json.dumps(changed("algorithm", "grpo")), "kind of a kind": json.dumps(changed("env", {"kind": {"kind": "bandit"}})),
    "kind is a list": json.dumps(changed("env", {"kind": ["gridworld"]})), "control characters": json.dumps(changed("env.layout", ["S\x00\x1b[31m"])),
    "half a number": json.dumps(changed("batch.prompts", 1.5)), "negative": json.dumps(changed("batch.prompts", -1)),
    "surrogate": '{"seed": "\\ud800"}', "options": json.dumps(changed("env", {"kind": "gym", "id": "CartPole-v1", "options": {"vectorization_mode": "async"}})),
    "nested options": json.dumps(changed("env", {"kind": "gym", "id": "CartPole-v1", "options": {"a": {"b": 1}}})),
    "nan option": '{"env": {"kind": "gym", "id": "FrozenLake-v1", "options": {"success_rate": NaN}}}',
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_json_is_refused_in_a_few_words(text: str) -> None:
    said = refused(text)
    assert 0 < len(said) < 2500 and said.count("\n") <= 12
    assert "Traceback" not in said and "pydantic" not in said
    said.encode("utf-8", "backslashreplace")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PLACES = [".".join(path) for path, _ in settings_of(preset())] + ["kind", "env.kind", "algorithm.surrogate.kind", "optim.kind", "extra"]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(PLACES), JSON)
def test_anything_anywhere_is_either_a_config_or_a_refusal(place: str, value: Any) -> None:
    text = json.dumps(changed(place, value))
    try:
        assert loads(loads(text).dumps()) == loads(text)
    except SettingError as error:
        assert 0 < len(str(error)) < 2500


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(PLACES), JSON)
def test_settings_from_anywhere_are_either_taken_or_refused(name: str, value: Any) -> None:
    try:
        preset().with_settings({name: value})
    except SettingError as error:
        assert 0 < len(str(error)) < 2500


def test_numbers_beyond_printing_are_refused_too() -> None:
    assert "optim.lr" in refused(changed("optim.lr", 10**6000))
    assert "seed" in refused(changed("seed", 10**6000))


def test_a_config_is_a_value() -> None:
    config = preset("grpo", "gridworld")
    with pytest.raises(ValueError, match="frozen"):
        config.seed = 3  # type: ignore[misc]
    assert config.model_copy() == config and {config: 1}[loads(config.dumps())] == 1
    assert RunConfig(env=Bandit(), algorithm=config.algorithm) != RunConfig(env=Gridworld(), algorithm=config.algorithm)
    assert GymEnv(id="CartPole-v1", horizon=500) == preset("ppo", "CartPole-v1").env
