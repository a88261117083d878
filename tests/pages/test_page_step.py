"""The Step-through page walks, asks, checks, hints and keeps score; what its address asks wrongly is told."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from live.contract import Request
from live.server import shared
from rlcore.knobs import SettingError
from rlcore.microscope import Scene, Selection, lively, open_step, phase_of, scene_of, state_before
from rlcore.presets import preset
from tests.pages.opened import opened, words
from ui import step_quiz

GRPO = {"recipe": "grpo", "env": "addition", "step": 3}


def scene(row: int, token: int, update: int, recipe: str = "grpo", env: str = "addition", step: int = 3) -> Scene:
    return scene_of(open_step(preset(recipe, env), step), Selection(row, token, update))


def dying() -> tuple[int, int]:
    """Row and token of a token that the clip silences in the second update."""
    u = open_step(preset("grpo", "addition"), 3).trace.updates[1]
    row, token = np.argwhere(u.dead_low | u.dead_high)[0]
    return int(u.rows[row]), int(token)


def button(app: Any, label: str) -> Any:
    return next(b for b in app.button if b.label.startswith(label))


def address(app: Any, name: str, default: str = "") -> str:
    """A parameter of the address after a run, which AppTest gives as a list or a text."""
    value = app.query_params.get(name, default)
    return str(value if isinstance(value, str) else value[0])


def latex(app: Any) -> str:
    return "\n".join(each.value for each in app.latex)


# ---------------------------------------------------------------- walking


def test_it_opens_on_a_whole_phase_with_a_lively_token() -> None:
    app = opened("step")
    best = lively(open_step(preset("grpo", "addition"), 2))
    assert f"Row {best.row + 1}, token {best.token + 1}" in words(app)
    assert r"\log\pi_{\text{old}}" in latex(app) and not app.error


def test_next_and_back_walk_through_all_phases_and_updates() -> None:
    app = opened("step", recipe="grpo", env="bandit", step=2, mode="watch", row=3)
    seen = []
    while not button(app, "Next").disabled:
        seen.append((app.session_state["phase"], address(app, "update", "1")))
        button(app, "Next").click().run()
        assert not app.exception
    inner = ["ratio", "clip", "kl", "weight", "loss", "gradient", "apply"]
    walk = [("sample", "1"), ("score", "1"), ("advantage", "1"), *((key, str(k)) for k in (1, 2, 3, 4) for key in inner)]
    assert [*seen, ("apply", "4")] == walk
    assert "whole way" in app.success[0].value
    button(app, "Back: Gradient").click().run()
    assert app.session_state["phase"] == "gradient"


def test_the_end_offers_a_harder_pass() -> None:
    app = opened("step", **GRPO, phase="apply", update=2, row=dying()[0] + 1, mode="predict")
    button(app, "Show me").click().run()
    button(app, "Once more from the start: Fill in results").click().run()
    assert app.session_state["mode"] == "fill" and app.session_state["phase"] == "sample"


def test_a_row_or_token_chosen_by_button_or_field_is_chosen_everywhere() -> None:
    row, token = dying()
    app = opened("step", **GRPO, phase="ratio", update=2, row=row + 1, token=token + 1, mode="watch")
    assert f"{scene(row, token, 1).now('ratio'):.6g}" in latex(app)
    before = next(b for b in app.button if b.key == "step_hop_A")
    before.click().run()
    there = scene(row, token - 1, 1)
    assert f"{there.now('ratio'):.6g}" in latex(app) and f"Row {row + 1}, token {token}" in words(app)
    field = next(n for n in app.number_input if n.key == "step_row")
    field.set_value(2).run()
    assert "Row 2," in words(app)


def test_a_row_in_another_minibatch_says_where_it_is() -> None:
    of = open_step(preset("grpo", "addition"), 3)
    row = int(of.trace.updates[1].rows[0])
    app = opened("step", **GRPO, phase="clip", row=row + 1, update=1, mode="watch")
    assert f"row {row + 1} meets the optimiser in update 2" in words(app)
    button(app, "Go to its next update").click().run()
    assert address(app, "update") == "2" and r"\psi" in latex(app)


# ---------------------------------------------------------------- predict first


def test_a_phase_stays_closed_until_it_is_predicted_and_the_prediction_is_kept() -> None:
    row, token = dying()
    app = opened("step", **GRPO, phase="gradient", update=2, row=row + 1, token=token + 1)
    here = scene(row, token, 1)
    question = phase_of(here, "gradient").question
    assert question is not None and f"{here.now('grad_logp'):.6g}" not in latex(app)
    app.radio[0].set_value(question.answer)
    button(app, "Check").click().run()
    assert "Right." in app.success[0].value and "**1 of 1** right" in app.expander[-3].label + "".join(e.label for e in app.expander)
    app = opened("step", **GRPO, phase="gradient", update=2, row=row + 1, token=token + 1)
    wrong = next(option for option in question.options if option != question.answer)
    app.radio[0].set_value(wrong)
    button(app, "Check").click().run()
    assert "Not so." in app.warning[0].value
    kept = app.session_state["step_tries"]
    assert [(t.said, t.true, t.right) for t in kept] == [(wrong, question.answer, False)]


def test_which_tokens_die_can_be_predicted() -> None:
    row, token = dying()
    app = opened("step", **GRPO, phase="clip", update=2, row=row + 1, token=token + 1)
    pills = next(group for group in app.button_group if str(group.key).startswith("guess_"))
    question = phase_of(scene(row, token, 1), "clip").question
    assert question is not None
    pills.set_value([str(n) for n in sorted(question.answer)])  # type: ignore[arg-type]
    button(app, "Check").click().run()
    assert "Right." in app.success[0].value and "lost it" in app.success[0].value


def test_checking_without_an_answer_asks_for_one_and_showing_counts_as_nothing() -> None:
    app = opened("step", **GRPO, phase="advantage")
    button(app, "Check").click().run()
    assert "Choose an answer first" in app.error[0].value
    button(app, "Show me").click().run()
    assert r"\hat A_{" in latex(app) and not app.session_state["step_tries"]


# ---------------------------------------------------------------- fill in


def field(app: Any, name: str) -> Any:
    return next(t for t in app.text_input if str(t.key).endswith(f"_{name}"))


def a_row_with_spread() -> int:
    of = open_step(preset("grpo", "addition"), 3)
    a = scene_of(of, Selection()).raw.advantages.numpy()
    return int(np.abs(a).max(1).argmax())


def test_a_wrong_number_gets_the_likely_mistake_and_a_right_one_opens_the_phase() -> None:
    row = a_row_with_spread()
    here = scene(row, 0, 0)
    app = opened("step", **GRPO, phase="advantage", row=row + 1, mode="fill")
    assert r"\boxed{\,a\,}" in latex(app)
    scores = here.scores[here.siblings]
    gap = float(here.scores[row] - scores.mean())
    field(app, "A").set_value(f"{gap}/({scores.std(ddof=0)}+0.0001)")
    button(app, "Check").click().run()
    assert "ddof 0" in app.warning[0].value and r"\boxed" in latex(app)
    field(app, "A").set_value(f"{gap / (scores.std(ddof=1) + 1e-4):.4f}")
    button(app, "Check").click().run()
    assert r"\boxed" not in latex(app)
    assert [(t.right, t.first) for t in app.session_state["step_tries"]] == [(False, True), (True, False)]
    assert "Numbers, first try: **0 of 1** right" in "".join(e.label for e in app.expander)


def test_later_passes_leave_more_blank_and_the_last_one_hides_the_formula() -> None:
    row = a_row_with_spread()
    where = {**GRPO, "phase": "advantage", "row": row + 1}
    count = {mode: latex(opened("step", **where, mode=mode)).count(r"\boxed") for mode in ("watch", "fill", "fill_more", "memory")}
    assert count["watch"] == 0 < count["fill"] < count["fill_more"] and count["memory"] == 0
    app = opened("step", **where, mode="memory")
    assert not app.latex and len([t for t in app.text_input if str(t.key).startswith("blank_")]) == 3


def test_what_is_no_number_is_told_beside_its_field() -> None:
    app = opened("step", **GRPO, phase="advantage", row=a_row_with_spread() + 1, mode="fill")
    field(app, "A").set_value("about one")
    button(app, "Check").click().run()
    assert "advantage of this row:" in app.error[0].value and r"\boxed" in latex(app)


@pytest.mark.parametrize(("text", "number"), [("0.5", 0.5), ("1/8", 0.125), ("exp(0.1)", math.exp(0.1)), ("(1-0.4)/0.5", 1.2), ("−2", -2.0)])
def test_numbers_may_be_calculated(text: str, number: float) -> None:
    assert step_quiz.typed(text) == pytest.approx(number)


@pytest.mark.parametrize("text", ["x", "1/0", "__import__('os')", "1,2"])
def test_what_is_not_arithmetic_is_refused(text: str) -> None:
    assert isinstance(step_quiz.typed(text), Exception)


# ---------------------------------------------------------------- which step


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"recipe": "gppo"}, "recipe: must be one of the catalogue, got 'gppo'"),
        ({"env": "moon"}, "env: there is no environment 'moon'"),
        ({"step": "0"}, "step: must be a whole number from 1 to 500, got '0'"),
        ({"step": "many"}, "step: must be a whole number from 1 to 500, got 'many'"),
        ({"seed": "-1"}, "seed: must be a whole number from 0 to"),
        ({"row": "0"}, "row: must be a whole number from 1 to 64, got '0'"),
        ({"update": "5"}, "update: must be a whole number from 1 to 4, got '5'"),
        ({"phase": "dance"}, "phase: must be one of"),
        ({"mode": "sleep"}, "mode: must be one of"),
        ({"eps_hihg": "0.3"}, "eps_hihg"),
        ({"eps_high": "-3"}, "eps_high"),
    ],
)
def test_what_is_asked_wrongly_is_told(settings: dict[str, str], message: str) -> None:
    app = opened("step", **({"env": "bandit", "step": 1} | settings))
    assert any(message in error.value for error in app.error), [error.value for error in app.error]


def test_settings_of_the_address_are_those_of_the_run() -> None:
    app = opened("step", recipe="grpo", env="bandit", step=2, eps_high=0.35, phase="clip", mode="watch")
    assert "1.35" in latex(app) and "eps_high 0.35" in "".join(e.label for e in app.expander)


@pytest.mark.parametrize(
    ("recipe", "env"),
    [("gspo", "contextual"), ("ppo", "gridworld"), ("ppo", "CartPole-v1"), ("gspo", "sentences"), ("rloo", "Pendulum-v1")],
)
def test_it_opens_on_every_kind_of_world(recipe: str, env: str) -> None:
    app = opened("step", recipe=recipe, env=env, step=1, phase="apply", mode="watch")
    assert r"\theta\leftarrow" in latex(app) and not app.error


def test_a_run_that_is_gone_is_told_and_another_step_is_shown() -> None:
    app = opened("step", run="nobody", node=3)
    assert "no such run any more" in app.warning[0].value and app.latex


def test_a_step_of_a_live_run_is_the_runs_own() -> None:
    run = shared().create(Request("grpo", "bandit", 4, (("eps_high", 0.3),)), rate=200.0, stop_after=5)
    run.hold()
    try:
        while run.state not in ("stopped", "failed", "closed") and run.history.total < 4:
            time.sleep(0.02)
        app = opened("step", run=run.rid, node=3, phase="apply", mode="watch")
        assert "step 3 of the run" in "".join(e.label for e in app.expander)
        own = open_step(preset("grpo", "bandit", 4).with_settings({"eps_high": 0.3}), 3)
        assert f"{phase_of(scene_of(own, lively(own)), 'apply').blanks[0].answer:.6g}" in latex(app)
        app.query_params["node"] = "77"
        app.run()
        assert "node: must be between 0 and" in app.error[0].value
    finally:
        run.let_go()
        run.close()


def test_any_setting_can_be_changed_and_taken_back() -> None:
    app = opened("step", recipe="grpo", env="bandit", step=2, phase="clip", mode="watch", row=9)
    next(s for s in app.selectbox if s.key == "step_setting").set_value("eps_high")
    next(t for t in app.text_input if t.key == "step_value").set_value("0.35")
    button(app, "Set").click().run()
    assert address(app, "eps_high") == "0.35" and "1.35" in latex(app) and not address(app, "row")
    next(t for t in app.text_input if t.key == "step_value").set_value("-2")
    button(app, "Set").click().run()
    assert any("eps_high" in error.value for error in app.error) and address(app, "eps_high") == "0.35"
    button(app, "eps_high 0.35").click().run()
    assert not address(app, "eps_high") and "1.35" not in latex(app)


def test_another_recipe_or_world_is_another_step() -> None:
    app = opened("step", recipe="grpo", env="bandit", step=2, mode="watch", row=9)
    next(s for s in app.selectbox if s.key == "step_recipe").set_value("ppo").run()
    assert address(app, "recipe") == "ppo" and not address(app, "row") and "Value" in str(app.button_group)
    next(s for s in app.selectbox if s.key == "step_env").set_value("gridworld").run()
    assert "PPO on gridworld" in "".join(e.label for e in app.expander) and not app.error


def test_a_step_that_teaches_nothing_says_so_and_leads_to_one_that_does() -> None:
    app = opened("step", recipe="grpo", env="gridworld", step=3)
    assert "no row has an advantage" in "".join(e.value for e in app.info)
    button(app, "Open the next step").click().run()
    assert not app.exception and int(address(app, "step")) > 3 and not app.info


def test_every_recipe_opens_on_a_step_that_teaches() -> None:
    for env in ("gridworld", "addition"):
        assert not opened("step", recipe="gspo", env=env).info


def test_a_step_too_heavy_to_look_at_is_refused_before_it_is_run() -> None:
    began = time.monotonic()
    app = opened("step", recipe="grpo", env="gridworld", step=500, epochs=1000)
    assert "batch.epochs: under the microscope at most" in "".join(e.value for e in app.error)
    assert time.monotonic() - began < 30


def test_patience_ends_and_the_next_look_goes_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    config = preset("grpo", "bandit", 4321)
    with pytest.raises(SettingError, match="step: 0 of 39 steps before it are done"):
        state_before(config, 40, patience=-1.0)
    monkeypatch.setattr("ui.step_address.PATIENCE", -1.0)
    app = opened("step", recipe="grpo", env="bandit", seed=4321, step=40)
    assert "ask again to go on" in "".join(e.value for e in app.error)
    monkeypatch.setattr("ui.step_address.PATIENCE", 60.0)
    button(app, "Go on").click().run()
    assert not app.error and not app.exception
