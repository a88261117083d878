"""Slots changed on a running configuration: every declared option either gives a runnable config or a reasoned refusal."""

import pytest

from live import engine, menu, slots
from live.contract import Request
from rlcore.algorithms import CATALOG, recognise
from rlcore.knobs import SettingError
from rlcore.presets import preset


def _advance(training, config):
    step = training.advance(config, traced=False)
    while True:
        try:
            next(step)
        except StopIteration as made:
            return made.value


@pytest.mark.parametrize("env", ["gridworld", "CartPole-v1"])
@pytest.mark.parametrize("recipe", [r.key for r in CATALOG])
def test_every_declared_option_is_taken_or_refused_with_a_reason(recipe, env):
    config = preset(recipe, env)
    for slot in slots.slots(config.algorithm):
        assert slot.kind in slot.options
        for kind in slot.options:
            try:
                changed = slots.with_slots(config, {slot.name: kind})
            except SettingError as refused:
                assert "must be" in str(refused)
            else:
                assert next(s.kind for s in slots.slots(changed.algorithm) if s.name == slot.name) == kind


def test_the_five_slots_of_the_equation_are_there_with_words_for_every_option():
    found = {slot.name: slot for slot in slots.slots(preset("grpo", "gridworld").algorithm)}
    assert set(slots.MAIN) <= found.keys()
    assert all(found[name].options[kind] for name in slots.MAIN for kind in found[name].options)


def test_numbers_of_the_same_name_are_kept_across_a_change_of_slot():
    config = preset("grpo", "gridworld").with_settings({"eps_low": 0.1, "eps_high": 0.3})
    dual = slots.with_slots(config, {"surrogate": "dual_clip"}).algorithm.surrogate
    assert (dual.kind, dual.eps_low, dual.eps_high) == ("dual_clip", 0.1, 0.3)


def test_grpo_becomes_gspo_by_one_slot_and_is_recognised():
    training = engine.start(Request("grpo", "gridworld", settings=(("kl_beta", 0.0),)))
    mix = training.propose(training.config, {"ratio": "sequence", "kl": "no_kl", "eps_low": 3e-4, "eps_high": 4e-4})
    assert training.standing(mix)["name"] == "GSPO" and training.standing(mix)["look"] == "gspo"
    odd = training.propose(training.config, {"ratio": "sequence"})
    assert any("almost never clips" in c["text"] and c["source"] for c in training.standing(odd)["cautions"])
    assert training.standing(training.propose(odd, {"aggregate": "token_mean"}))["look"] == "custom"
    assert str(recognise(mix.algorithm)) == "GSPO"


@pytest.mark.parametrize(
    ("values", "words"),
    [({"ratio": "quantum"}, "ratio: must be one of token.*got 'quantum'"), ({"ratio": 3}, "ratio")],
)
def test_what_does_not_exist_is_refused(values, words):
    training = engine.start(Request("grpo", "gridworld"))
    with pytest.raises(SettingError, match=words):
        training.propose(training.config, values)


def test_a_slot_changes_while_it_runs_and_a_critic_grows_where_one_is_needed():
    training = engine.start(Request("grpo", "gridworld"))
    _advance(training, training.config)
    config = training.propose(training.config, {"advantage": "gae", "critic": "value_mse"})
    step, metrics = _advance(training, config)
    assert step == 2 and metrics["explained_variance"] == metrics["explained_variance"]


@pytest.mark.parametrize("recipe", ["ppo", "gspo", "sapo", "gmpo"])
def test_a_difference_leads_from_one_config_to_the_other(recipe):
    before, after = preset("grpo", "bandit"), preset(recipe, "bandit")
    after = after.with_settings({"lr": 0.3})
    change = menu.difference(before, after)
    reached = menu.with_settings(before, {name: new for name, (_, new) in change.items()})
    assert menu.difference(reached, after) == {} and reached.optim == after.optim
    assert {s.name: s.kind for s in slots.slots(reached.algorithm)} == {s.name: s.kind for s in slots.slots(after.algorithm)}


def test_the_band_of_a_token_ratio_is_linear_and_that_of_a_sequence_logarithmic():
    for recipe, scale in (("grpo", "linear"), ("ppo", "linear"), ("gspo", "log")):
        training = engine.start(Request(recipe, "gridworld"))
        knob = next(k for k in training.about(training.config)["knobs"] if k["name"] == "eps_high")
        assert knob["scale"] == scale and knob["help"] and knob["source"]


def test_what_needs_a_new_run_is_told_apart():
    about = engine.start(Request("grpo", "gridworld")).about(preset("grpo", "gridworld"))
    assert [k["name"] for k in about["fresh"]] == ["horizon"] and "horizon" not in {k["name"] for k in about["knobs"]}
