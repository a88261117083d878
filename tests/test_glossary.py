"""Every name a person meets in a record, a rollout or a setting has an entry, and no entry is left over."""

from __future__ import annotations

from dataclasses import fields

import pytest

from rlcore.advantages import Advantages
from rlcore.algorithm import LossTerms, PolicyOutput
from rlcore.engine import init, step
from rlcore.glossary import LIBRARIES, WRITTEN, Quantity, entries, knobs, look_up
from rlcore.knobs import SettingError, Value, knobs_of
from rlcore.metrics import OF_AN_UPDATE
from rlcore.ratios import Ratio
from rlcore.records import StepRecord, StepTrace, UpdateTrace
from rlcore.rollout import Rollout
from rlcore.surrogates import Clipping, Surrogate
from tests.runs import SMALL

RECORDED = (
    Rollout, Advantages, PolicyOutput, LossTerms, Ratio, Surrogate, Clipping, UpdateTrace, StepTrace,
    StepRecord,
)  # fmt: skip
# Fields that hold other records, or the whole recipe, and not a quantity of their own.
HOLDERS = {"config", "metrics", "trace", "rollout", "updates", "rule"}


@pytest.fixture(scope="module")
def measured() -> set[str]:
    """The metrics of real steps: with groups, with a critic, with inner ends."""
    names: set[str] = set()
    for kind in ("bandit", "grid segments"):
        config = SMALL[kind]
        _, record = step(init(config), config)
        names |= set(record.metrics)
    return names


def recorded() -> set[str]:
    return {field.name for cls in RECORDED for field in fields(cls)} - HOLDERS


def test_every_metric_has_an_entry(measured: set[str]) -> None:
    assert measured - set(WRITTEN) == set()
    assert set(OF_AN_UPDATE) <= measured, "the steps measured here are to show all of them"
    for name in measured - recorded():
        assert WRITTEN[name].kind == "metric"


def test_every_recorded_field_has_an_entry() -> None:
    assert recorded() - set(WRITTEN) == set()


def test_no_entry_is_left_over(measured: set[str]) -> None:
    extra = {"shaped_reward", "score"}  # a field of StepTrace, a property of Rollout
    assert set(WRITTEN) - measured - recorded() - extra == set()


@pytest.mark.parametrize("quantity", WRITTEN.values(), ids=list(WRITTEN))
def test_an_entry_says_what_it_is(quantity: Quantity) -> None:
    assert len(quantity.meaning) > 15 and quantity.meaning.endswith(".")
    assert quantity.shape
    assert set(quantity.aka) <= set(LIBRARIES)
    assert quantity.formula.count("{") == quantity.formula.count("}")
    assert str(quantity).startswith(quantity.name)


def every_knob() -> list[tuple[type[Value], str]]:
    found, open_ = [], [Value]
    while open_:
        for cls in open_.pop().__subclasses__():
            open_.append(cls)
            found += [(cls, name) for name in knobs_of(cls)]
    return found


def test_every_knob_has_symbol_help_and_a_range_and_is_in_the_glossary() -> None:
    whole = knobs()
    assert len(every_knob()) > 60
    for cls, name in every_knob():
        knob = knobs_of(cls)[name]
        where = f"{cls.__name__}.{name}"
        assert knob.symbol and len(knob.help) > 5 and "\n" not in knob.help, where
        assert knob.low < knob.high and knob.low <= knob.suggested[0] < knob.suggested[1] <= knob.high, where
        assert whole[where].symbol == knob.symbol and whole[where].kind == "knob"


def test_each_librarys_name_for_a_knob_belongs_to_a_knob_that_exists() -> None:
    from rlcore.glossary.of_knobs import NAMES

    known = set(knobs()) | {key.split(".")[1] for key in knobs()}
    assert set(NAMES) <= known
    assert all(set(names) <= set(LIBRARIES) for names in NAMES.values())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("clip_fraction", "clip_fraction"), ("PpoClip.eps_low", "PpoClip.eps_low"),
        ("eps_low", "PpoClip.eps_low"), ("coef_1", "ratio"), ("num_generations", "Batch.group_size"),
        ("negative_approx_kl", "token_log_ratio"), ("actor/pg_clipfrac", "clip_fraction"),
        ("losses/clipfrac", "clip_fraction_outside"),
    ],
)  # fmt: skip
def test_an_entry_is_found_by_our_name_or_a_librarys(name: str, found: str) -> None:
    assert look_up(name).name == found


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(SettingError, match="got 'clip_fractoin'; nearest: clip_fraction"):
        look_up("clip_fractoin")
    with pytest.raises(SettingError, match="got 'zzzzzz'$"):
        look_up("zzzzzz")


def test_the_two_clip_fractions_are_told_apart() -> None:
    """Misconception 3: one name, two sets."""
    whole = entries()
    assert "CleanRL" not in whole["clip_fraction"].aka and "SB3" not in whole["clip_fraction"].aka
    assert {"CleanRL", "SB3"} == set(whole["clip_fraction_outside"].aka)
