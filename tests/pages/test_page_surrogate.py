"""The Clip-and-KL page shows the engine's numbers, and says what it refuses."""

import math

import pytest

from rlcore.engine import init, step
from rlcore.presets import preset
from tests.pages.opened import opened, words


def traced(recipe: str, env: str, *, steps: int, epochs: int):
    """A step of a preset's run whose batch is used `epochs` times, straight from the engine."""
    config = preset(recipe, env)
    state = init(config)
    for _ in range(steps):
        state, _ = step(state, config)
    return step(state, config.with_settings({"batch.epochs": epochs, "batch.minibatches": 1}), trace=True)[1]


def test_both_clip_fractions_are_those_of_the_recorded_update() -> None:
    update = traced("ppo", "gridworld", steps=2, epochs=10).trace.updates[6]
    app = opened("surrogate", show="gradient", recipe="ppo", step=2, update=7)
    shown = {m.label: m.value for m in app.metric}
    valid = update.mask
    dead = (update.dead_low | update.dead_high | update.dead_dual)[valid].mean()
    assert shown["Outside the band"] == f"{update.outside[valid].mean():.1%}"
    assert shown["Gradient removed by the bound"] == f"{dead:.1%}"
    assert dead < update.outside[valid].mean()


def test_the_bound_is_the_one_of_the_address_not_the_one_the_run_used() -> None:
    update = traced("grpo", "gridworld", steps=0, epochs=10).trace.updates[9]
    app = opened("surrogate", show="gradient", eps_low=0.1, eps_high=0.5)
    ratio = update.ratio[update.mask]
    assert {m.label: m.value for m in app.metric}["Outside the band"] == f"{((ratio < 0.9) | (ratio > 1.5)).mean():.1%}"


@pytest.mark.parametrize(
    ("ratio", "advantage", "said"),
    [
        (1.35, 1.0, ("= 1.2", "outside the band**", "**zero**", "= **0**")),
        (0.5, 1.0, ("= 0.5", "outside the band**", "**alive**", "= **0.5**")),
        (1.5, -2.0, ("= -3", "outside the band**", "**alive**", "= **-3**")),
        (1.1, -1.0, ("= -1.1", "inside the band**", "**alive**", "= **-1.1**")),
    ],
)
def test_one_token_is_taken_apart(ratio: float, advantage: float, said: tuple[str, ...]) -> None:
    shown = words(opened("surrogate", ratio=ratio, advantage=advantage))
    assert all(part in shown for part in said)


def test_the_update_before_which_nothing_moved_shows_no_clipping() -> None:
    shown = {m.label: m.value for m in opened("surrogate", show="gradient", update=1).metric}
    assert shown == {"Outside the band": "0.0%", "Gradient removed by the bound": "0.0%"}


def test_the_bench_states_the_exact_kl_and_every_estimators_bias() -> None:
    new, ref = [0.5, 0.0, 1.0, -0.8], [0.0, 0.5, -0.5, 0.2]
    p = [math.exp(x) / sum(map(math.exp, new)) for x in new]
    q = [math.exp(x) / sum(map(math.exp, ref)) for x in ref]
    exact = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    k2 = sum(a * 0.5 * math.log(a / b) ** 2 for a, b in zip(p, q, strict=True))
    shown = words(opened("surrogate", show="bench"))
    assert f"Exact KL {exact:.5f} nats" in shown
    assert f"k2: mean {k2:.4f}, bias {k2 - exact:+.4f}" in shown
    assert "k1 gives zero; k2 gives ∇KL(π‖ref); k3 gives ∇KL(ref‖π); ρ·k3 gives ∇KL(π‖ref)" in shown


def test_the_fan_says_when_the_band_is_left_and_how_far() -> None:
    shown = words(opened("surrogate", show="epochs"))
    assert "Ratios start at exactly 1" in shown
    assert "the first ratio leaves the band before update 3" in shown
    assert "β·k1 in the loss: 0.24 to 2.26" in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eps_low": "7"}, "eps_low: must be between 0 and 1, got 7; 0.2 stays in force"),
        ({"eps_low": "much"}, "eps_low: must be a number, got 'much'"),
        ({"recipe": "trpo"}, "recipe: must be one of grpo, ppo"),
        ({"show": "everything"}, "show: must be one of objective, gradient"),
        ({"eps_hihg": "0.3"}, "eps_hihg: the page surrogate has no such setting; did you mean eps_high?"),
        ({"dual_clip": "0.5", "curves": "dual_clip"}, "dual_clip: must be between 1 and"),
    ],
)
def test_what_the_address_asks_wrongly_is_told(settings: dict[str, str], message: str) -> None:
    app = opened("surrogate", **settings)
    assert any(message in error.value for error in app.error)


def test_a_number_held_by_the_session_is_in_force_and_in_the_address() -> None:
    app = opened("surrogate")
    app.session_state["eps_high"] = 0.5
    app.run()
    assert "flat above ratio 1.5" in words(app) and app.query_params["eps_high"] == "0.5"
