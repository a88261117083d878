"""The Duel page shows the engine's numbers; its stories are true; what is asked wrongly is told."""

import time

import numpy as np
import pytest

from live.contract import Request
from live.server import shared
from rlcore.evidence import load, names
from rlcore.explore import whatif
from rlcore.explore.duel import Duel, duel, fewer, frozen_at, silenced
from rlcore.presets import preset
from tests.pages.opened import opened, words
from tests.pages.test_page_ratios import table
from ui.comparison import THREE, Claim, axes, said
from ui.duel_batch import ALL
from ui.stories import stories

STORIES = {story.key: story for story in stories("duel_stories")}


def fought(keys: str, env: str, *, seed: int = 0, step: int = 8, epochs: int = 1, size: int | None = None, **how) -> Duel:
    run = preset(how.pop("recipe", "grpo"), env, seed)
    plain = whatif.contenders(keys.split(","), run, numbers=how.pop("numbers", "here"))
    frozen = frozen_at(run, steps=step, updates=epochs - 1)
    batch = frozen if size is None else fewer(frozen, size)
    return duel(batch, {key: whatif.changed(each, whatif.WhatIf(**how)) for key, each in plain.items()})


def summary(app) -> list[list[str]]:
    """A row for each contender: its name, then what stands in its column of the first table."""
    frame = app.table[0].value
    return [[name, *map(str, frame[name])] for name in frame.columns[1:]]


def test_the_summary_is_the_engines() -> None:
    found = fought("ppo,grpo,gspo", "gridworld", epochs=4)
    shown = summary(opened("duel", epochs=4))
    for row, stance, truth in zip(shown, found.stances, found.truth, strict=True):
        assert row[1] == f"{silenced(stance)} of {int(stance.mask.sum())}"
        assert row[4] == f"{round(stance.loss, 6) + 0.0:+.6f}"
        assert row[5] == f"{stance.grad_norm:.4g}" and row[6] == f"{truth:.3f}"


def test_what_if_reaches_the_engine() -> None:
    found = fought("grpo,dr_grpo", "gridworld", epochs=4, size=4, eps_low=0.05, eps_high=0.05, kl_beta=0.5, scale="none")
    shown = summary(opened(
        "duel", recipes="grpo,dr_grpo", epochs=4, group_size=4, eps_low=0.05, eps_high=0.05, kl_beta=0.5, scale="none"
    ))  # fmt: skip
    assert [row[5] for row in shown] == [f"{s.grad_norm:.4g}" for s in found.stances]


def test_one_update_and_its_exact_gain_are_the_engines() -> None:
    found = fought("ppo,grpo,gspo", "gridworld")
    shown = table(opened("duel", show="update"))
    assert [row[3] for row in shown] == [f"{gain:+.5f}" for gain in found.gained]


def test_cosines_are_the_engines() -> None:
    found = fought("grpo,rloo,cispo", "bandit", epochs=3)
    shown = words(opened("duel", recipes="grpo,rloo,cispo", env="bandit", epochs=3, show="gradients"))
    assert f"GRPO and RLOO {found.cosine[0, 1]:.2f}; GRPO and CISPO {found.cosine[0, 2]:.2f}" in shown


@pytest.mark.parametrize("env", ["CartPole-v1", "contextual", "sorting"])
def test_it_works_in_every_kind_of_world(env: str) -> None:
    for show in ("tokens", "update"):
        assert not opened("duel", env=env, step=1, show=show, epochs=2).error


def test_a_step_of_a_live_run_is_the_runs_own_batch() -> None:
    run = shared().create(Request("grpo", "bandit", 4), rate=200.0, stop_after=4)
    run.hold()
    try:
        while run.state not in ("stopped", "failed", "closed") and run.history.total < 3:
            time.sleep(0.02)
        app = opened("duel", run=run.rid, node=3)
        found = fought("ppo,grpo,gspo", "bandit", seed=4, step=2)  # node 3 is what the third step led to
        assert [row[5] for row in summary(app)] == [f"{s.grad_norm:.4g}" for s in found.stances]
        assert "step 3 of the run" in words(app)
    finally:
        run.let_go()
        run.close()


@pytest.mark.parametrize("key", list(STORIES))
def test_a_story_sets_only_controls_that_exist_and_opens(key: str) -> None:
    assert set(STORIES[key].settings) <= set(ALL)
    app = opened("duel", story=key)
    assert not app.error and STORIES[key].text in [info.value for info in app.info]


def told(key: str) -> list[list[str]]:
    return summary(opened("duel", story=key))


def test_the_loss_is_zero_and_the_gradient_is_not() -> None:
    assert all(row[4] == "+0.000000" and float(row[5]) > 1e-3 for row in told("zero"))


def test_on_policy_no_clip_does_anything() -> None:
    assert all(row[2] == row[3] == "0.0%" for row in told("on_policy"))


def test_at_its_papers_epsilon_gspo_drops_most_of_a_short_batch() -> None:
    by_name = {row[0]: float(row[2].rstrip("%")) for row in told("paper_eps")}
    assert by_name["GSPO"] > 50 > 5 > by_name["GRPO"] >= by_name["CISPO"] == 0


def test_dead_groups_are_silent_under_grpo_and_dropped_by_dapo() -> None:
    app = opened("duel", story="dead")
    silent = {row[0]: int(row[1].split()[0]) for row in summary(app)}
    assert silent["GRPO"] > silent["PPO"] == 0 == silent["DAPO"]
    assert "DAPO dropped" in words(app)


def test_gspo_token_has_gspos_gradient() -> None:
    assert "GSPO and GSPO-token 1.00" in words(opened("duel", story="token_same", show="gradients"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"recipes": "grpo"}, "recipes: must be 2 to 5, got 1"),
        ({"recipes": "grpo,grok"}, "recipes: must be one of"),
        ({"recipes": "ppo,grpo,gspo,dapo,rloo,cispo"}, "recipes: must be 2 to 5, got 6"),
        ({"env": "moon"}, "env: must be one of"),
        ({"epochs": 0}, "epochs: must be between 1 and 100, got 0"),
        ({"group_size": 17}, "group_size: must be between 1 and 16, got 17"),
        ({"story": "moon"}, "story: must be one of"),
        ({"run": "gone", "node": 3}, "there is no live run 'gone'"),
        ({"run": "gone", "node": "x"}, "node: must be a whole number, got 'x'"),
    ],
)
def test_what_is_asked_wrongly_is_told(settings: dict[str, object], message: str) -> None:
    assert any(message in error.value for error in opened("duel", **settings).error)


# ---------------------------------------------------------------- the comparison


CLAIMS = [(axis.key, key, claim) for axis in axes() for key in THREE for claim in axis.cells[key].measured]


@pytest.mark.parametrize(("axis", "key", "claim"), CLAIMS, ids=lambda x: str(getattr(x, "evidence", x)))
def test_a_claim_of_the_comparison_has_its_evidence(axis: str, key: str, claim) -> None:
    assert claim.evidence in names()
    evidence = load(claim.evidence)
    assert len(evidence.seeds) >= 10
    found = evidence.difference(evidence.comparisons[claim.which])
    line = said(claim)
    mean, low, high = ((f"{x:+.3g}" if x else "0").replace("-", "−") for x in (found.mean, found.low, found.high))
    assert f"{mean} [{low}, {high}]" in line and f"{found.n} seeds" in line
    assert evidence.comparisons[claim.which].arm in line and np.isfinite(found.mean)


def test_a_sure_but_tiny_difference_is_called_practically_nothing() -> None:
    tiny = said(Claim("credit", 4))
    assert " supported]" in tiny and "Practically nothing" in tiny
    assert "Practically nothing" not in said(Claim("credit", 0))
    assert "λ < 1 adds" in said(Claim("credit", 2)) and "claimed > 0" in said(Claim("credit", 2))


def test_the_comparison_shows_every_axis_and_each_kind_of_verdict() -> None:
    shown = words(opened("duel", show="table"))
    for axis in axes():
        for key in THREE:
            assert axis.cells[key].says in shown
    for verdict in ("supported", "not shown", "contradicted"):
        assert f" {verdict}]" in shown
