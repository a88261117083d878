"""Typed numbers and predictions are judged by the numbers of the run; a hint names a mistake only where making it fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rlcore.microscope import (
    Blank,
    Mistake,
    Question,
    Selection,
    judge,
    judge_prediction,
    open_step,
    phase_of,
    scene_of,
)
from rlcore.microscope.clipping import dead
from rlcore.microscope.phase import line, shown
from rlcore.presets import preset


def blank_of(recipe: str, env: str, key: str, name: str, *, row: int = 0, token: int = 0, update: int = 0, **settings: object) -> Blank:
    of = open_step(preset(recipe, env).with_settings(settings), 3)
    scene = scene_of(of, Selection(row, token, update))
    return next(b for b in phase_of(scene, key).blanks if b.name == name)


def test_a_right_number_may_be_rounded_and_a_wrong_one_is_not_taken() -> None:
    blank = Blank("x", "x", "x", 0.123456)
    assert judge(blank, 0.1235).right and judge(blank, 0.1240).right
    assert not judge(blank, 0.13).right and "rounding" in judge(blank, 0.1255).said
    assert "no common mistake" in judge(blank, 5.0).said
    assert "sign" in judge(blank, -0.1234).said


def test_a_mistake_that_gives_the_right_number_is_not_held_against_anyone() -> None:
    blank = Blank("x", "x", "x", 1.0, mistakes=(Mistake(1.0, "upside down"), Mistake(2.0, "twice")))
    assert judge(blank, 1.0).right
    assert judge(blank, 2.0).said == "twice"
    assert "upside" not in judge(blank, 1.05).said


def scores_of_a_group() -> tuple[np.ndarray, int, int]:
    """Scores of a group of the addition run that differ, a row of it, and its place in the group."""
    of = open_step(preset("grpo", "addition"), 3)
    score = np.where(of.trace.rollout["mask"], of.trace.rollout["reward"], 0).sum(1).astype(float)
    group = of.trace.rollout["group"]
    number = next(g for g in range(int(group.max()) + 1) if 0 < score[group == g].std())
    rows = np.flatnonzero(group == number)
    return score[rows], int(rows[0]), 0


def test_the_usual_mistakes_of_grpos_advantage_are_named() -> None:
    scores, row, mine = scores_of_a_group()
    blank = blank_of("grpo", "addition", "advantage", "A", row=row)
    gap, n = scores[mine] - scores.mean(), len(scores)
    assert judge(blank, gap / (scores.std(ddof=1) + 1e-4)).right
    assert "ddof 0" in judge(blank, gap / (scores.std(ddof=0) + 1e-4)).said
    assert "did not divide" in judge(blank, gap).said
    assert "variance" in judge(blank, gap / scores.var(ddof=1)).said
    assert "sign" in judge(blank, -gap / (scores.std(ddof=1) + 1e-4)).said
    assert "RLOO" in judge(blank, gap * n / (n - 1)).said


def test_a_forgotten_epsilon_is_named_where_it_can_be_seen() -> None:
    scores, row, mine = scores_of_a_group()
    blank = blank_of("grpo", "addition", "advantage", "A", row=row, **{"advantage.eps": 0.1})
    gap, std = scores[mine] - scores.mean(), scores.std(ddof=1)
    assert judge(blank, gap / (std + 0.1)).right and "ε is missing" in judge(blank, gap / std).said


def moved_row(recipe: str) -> tuple[Blank, np.ndarray, int]:
    """The ratio's blank in an update that is not the first, with the row's log-ratios and the padded length."""
    of = open_step(preset(recipe, "addition"), 3)
    best = max(of.trace.updates[1].rows, key=lambda r: abs(scene_of(of, Selection(int(r), 0, 1)).now("log_ratio")))
    scene = scene_of(of, Selection(int(best), 0, 1))
    return phase_of(scene, "ratio").blanks[0], scene.row_now("token_log_ratio").astype(float), scene.mask.shape[1]


def test_the_usual_mistakes_of_gspos_ratio_are_named() -> None:
    blank, log_ratios, padded = moved_row("gspo")
    assert judge(blank, math.exp(log_ratios.mean())).right
    assert "product" in judge(blank, math.exp(log_ratios.sum())).said
    assert f"padded length {padded}" in judge(blank, math.exp(log_ratios.sum() / padded)).said
    assert "Upside down" in judge(blank, math.exp(-log_ratios.mean())).said


def test_clip_weight_and_gradient_mistakes_are_named() -> None:
    of = open_step(preset("grpo", "addition"), 3)
    u = of.trace.updates[1]
    flags = u.dead_low | u.dead_high
    row, token = (int(x) for x in np.argwhere(flags)[0])
    scene = scene_of(of, Selection(int(u.rows[row]), token, 1))
    gain, weight, slope = (phase_of(scene, key).blanks[0] for key in ("clip", "weight", "gradient"))
    rho, a = scene.now("ratio"), scene.now("advantages")
    assert "smaller" in judge(gain, rho * a).said or "pessimist" in judge(gain, rho * a).said
    rows, tokens, length = len(u.mask), int(u.mask.sum()), int(u.mask[row].sum())
    assert judge(weight, 1 / (rows * length)).right
    assert "token count" in judge(weight, 1 / tokens).said
    assert "padding" in judge(weight, 1 / (rows * u.mask.shape[1])).said
    alive = -scene.now("weight") * rho * a
    assert "dead token" in judge(slope, alive + scene.now("grad_logp")).said


def test_adams_mistakes_are_named() -> None:
    of = open_step(preset("grpo", "gridworld"), 3)
    scene = scene_of(of, Selection(0, 0, 0))
    blank = phase_of(scene, "apply").blanks[0]
    assert judge(blank, blank.answer).right
    hints = {m.hint.split(":")[0].split(".")[0]: m.value for m in blank.mistakes}
    assert any("bias correction" in hint for hint in hints) and any("sign" in hint for hint in hints)
    for mistake in blank.mistakes:
        if abs(mistake.value - blank.answer) > 3 * blank.allowance():
            assert not judge(blank, mistake.value).right


def test_a_prediction_of_tokens_is_the_runs_own() -> None:
    of = open_step(preset("grpo", "addition"), 3)
    u = of.trace.updates[1]
    row = int(u.rows[int((u.dead_low | u.dead_high).any(1).argmax())])
    scene = scene_of(of, Selection(row, 0, 1))
    question = phase_of(scene, "clip").question
    assert question is not None and question.kind == "tokens"
    right = frozenset(int(n) for n in np.flatnonzero(dead(scene)))
    assert right and judge_prediction(question, right).right
    assert not judge_prediction(question, frozenset()).right


def test_before_the_first_update_a_ratio_is_exactly_one() -> None:
    of = open_step(preset("ppo", "gridworld"), 3)
    question = phase_of(scene_of(of, Selection(0, 0, 0)), "ratio").question
    assert question is not None and question.answer == "exactly 1"


@pytest.mark.parametrize(("guess", "right"), [(0.5, True), (0.505, True), (0.6, False)])
def test_a_predicted_number_has_a_tolerance(guess: float, right: bool) -> None:
    assert judge_prediction(Question("number", "?", 0.5, "so", tolerance=0.01), guess).right is right


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (-0.0, "0"), (0.1, "0.1"), (1 / 3, "0.333333"), (1.5e-5, r"1.5\times10^{-5}"), (float("nan"), r"\text{NaN}"), (2e7, r"2\times10^{7}")],
)
def test_numbers_in_formulas(number: float, text: str) -> None:
    assert shown(number) == text


def test_a_line_shows_numbers_brackets_and_blanks() -> None:
    each = line(r"@a@-@(b)@=@c@", a=1.0, b=-2.0, c=3.0)
    assert each.latex({}) == "1-(-2)=3"
    assert each.latex({"c": "a"}) == r"1-(-2)=\boxed{\,a\,}"
