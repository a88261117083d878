"""What the `read_curves` cards say is what the engine shows: each card's runs are trained and its points checked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from interview.bank import Bank
from interview.runs import Curve, card_curves, config_of, curves_of
from interview.schema import ReadCurves

Curves = dict[str, dict[str, Curve]]
CHECKS: dict[str, Callable[[Curves], None]] = {}


def check(card_id: str) -> Callable[[Callable[[Curves], None]], Callable[[Curves], None]]:
    def keep(function: Callable[[Curves], None]) -> Callable[[Curves], None]:
        CHECKS[card_id] = function
        return function

    return keep


@check("ppo-curves-one-epoch")
def _one_epoch(curves: Curves) -> None:
    once, often = curves["A"], curves["B"]
    assert not once["clip_fraction"].any() and not once["approx_kl"].any() and (once["ratio_max"] == 1).all()
    assert once["reward_mean"][-1] > once["reward_mean"][0] + 0.3
    assert often["clip_fraction"][0] > 0.1 and often["approx_kl"][0] > 0.01


@check("ppo-curves-no-clip")
def _no_clip(curves: Curves) -> None:
    clipped, free = curves["A"], curves["B"]
    assert free["approx_kl"][0] > 20 * clipped["approx_kl"][0]
    assert free["entropy"][3] < 0.1 < 1 < clipped["entropy"][3]
    assert clipped["reward_mean"][-1] > 0.8 and free["reward_mean"][-1] < 0


@check("ppo-curves-outside-dead")
def _outside(curves: Curves) -> None:
    run = curves["run"]
    assert (run["clip_fraction_outside"] >= run["clip_fraction"]).all()
    assert run["clip_fraction_outside"][0] > run["clip_fraction"][0] + 0.05


@check("grpo-curves-loss-zero")
def _loss_zero(curves: Curves) -> None:
    run = curves["run"]
    assert np.abs(run["loss"]).max() < 1e-6
    assert run["reward_mean"][-5:].mean() > 0.98 > run["reward_mean"][0] + 0.3
    assert run["dead_group_fraction"][-20:].mean() > 0.9 and run["advantage_std"][-20:].mean() < 0.1


@check("grpo-curves-dead-groups")
def _dead(curves: Curves) -> None:
    two, sixteen = curves["A"], curves["B"]
    assert two["dead_group_fraction"][:3].mean() > 0.7 > 0.35 > sixteen["dead_group_fraction"][:3].mean()
    for run in (two, sixteen):
        assert run["reward_mean"][-10:].mean() > 0.9 and run["dead_group_fraction"][-10:].mean() > 0.75


@check("gspo-curves-bandit")
def _bandit(curves: Curves) -> None:
    for name, curve in curves["GRPO"].items():
        assert (curve == curves["GSPO"][name]).all(), name
    assert curves["GSPO"]["clip_fraction"][0] > 0


@check("gspo-curves-eps")
def _eps(curves: Curves) -> None:
    tight, wide = curves["A"], curves["B"]
    assert tight["clip_fraction"][:20].min() > 0.1 and not wide["clip_fraction"].any()
    assert tight["approx_kl"][0] < 0.6 * wide["approx_kl"][0]
    assert min(tight["reward_mean"][-1], wide["reward_mean"][-1]) > 0.85


@check("kl-curves-beta")
def _beta(curves: Curves) -> None:
    none, some, much = curves["A"], curves["B"], curves["C"]
    assert much["kl_ref"][-10:].mean() < 0.01 < some["kl_ref"][-10:].mean() <= none["kl_ref"][-10:].mean() + 0.5
    assert much["entropy"][-1] > some["entropy"][-1] > none["entropy"][-1]
    assert much["reward_mean"][-1] < 0 < 0.8 < some["reward_mean"][-1] < none["reward_mean"][-1]


@check("kl-curves-k1-loss")
def _k1(curves: Curves) -> None:
    k1, k2 = curves["A"], curves["B"]
    assert k1["kl_ref_exact"][-10:].mean() > 3 * k2["kl_ref_exact"][-10:].mean()
    assert k1["entropy"][-1] < 0.2 < 1 < k2["entropy"][-1]


@check("j-curves-two-seeds")
def _seeds(curves: Curves) -> None:
    reached = {label: int(np.argmax(run["reward_mean"] > 0.5)) for label, run in curves.items()}
    one, two, three, four = (reached[label] for label in sorted(reached))
    assert 2 * two <= one and 2 * three <= four
    assert abs(one - four) <= 2 and abs(two - three) <= 2


@check("j-curves-learning-rate")
def _rates(curves: Curves) -> None:
    small, fitting, large = curves["A"], curves["B"], curves["C"]
    assert small["approx_kl"].max() < 0.001 and not small["clip_fraction"].any() and small["entropy"][-1] > 1.2
    assert large["approx_kl"][0] > 0.5 and large["clip_fraction"][0] > 0.2 and large["entropy"][5] < 0.5
    assert fitting["reward_mean"][-1] > 0.85 > 0 > large["reward_mean"][-1]


def test_every_curves_card_has_a_check(bank: Bank) -> None:
    assert {card.id for card in bank.of(kinds=["read_curves"])} == set(CHECKS)


@pytest.mark.parametrize("card_id", sorted(CHECKS))
def test_the_engine_shows_what_the_card_says(bank: Bank, card_id: str) -> None:
    card = bank.by_id[card_id]
    assert isinstance(card, ReadCurves)
    CHECKS[card_id](card_curves(card))


def test_the_same_specification_gives_the_same_curves(bank: Bank) -> None:
    card = bank.by_id["ppo-curves-one-epoch"]
    assert isinstance(card, ReadCurves)
    spec = card.runs[1].model_copy(update={"steps": 5})
    first, again = curves_of(spec, ["loss"]), curves_of(spec, ["loss"])
    assert (first["loss"] == again["loss"]).all()


def test_unknown_metrics_and_settings_are_refused(bank: Bank) -> None:
    card = bank.by_id["ppo-curves-one-epoch"]
    assert isinstance(card, ReadCurves)
    spec = card.runs[0].model_copy(update={"steps": 1})
    with pytest.raises(KeyError, match="no_such_metric"):
        curves_of(spec, ["no_such_metric"])
    with pytest.raises(ValueError, match="epoks"):
        config_of(spec.model_copy(update={"overrides": {"batch.epoks": 1}}))
