"""The Ratios page shows the engine's numbers, and says what it refuses."""

import math

import numpy as np
import pytest

from tests.pages.opened import opened, words
from tests.pages.test_page_surrogate import traced


def table(app, index: int = 0) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in app.table[index].value.itertuples(index=False)]


def test_a_typed_response_has_its_ratios_and_what_each_recipe_silences() -> None:
    log_ratios = (0.1, 1.2, -0.05, 0.02)
    shown = words(opened("ratios", log_ratios=",".join(map(str, log_ratios)), seq_eps_low=0.2, seq_eps_high=0.2))
    assert f"product {math.exp(sum(log_ratios)):.4f}" in shown
    assert f"sequence ratio {math.exp(sum(log_ratios) / 4):.5f}" in shown
    assert "GRPO silences 1 of 4; CISPO silences 0 of 4; GSPO silences 4 of 4; GSPO-token silences 4 of 4" in shown


def test_a_response_that_did_badly_is_not_silenced_above_the_band() -> None:
    shown = words(opened("ratios", log_ratios="0.1,1.2", sign="loss"))
    assert "GRPO silences 0 of 2" in shown


def test_a_recorded_row_is_the_engines() -> None:
    update = traced("grpo", "gridworld", steps=0, epochs=10).trace.updates[4]
    ratio = update.ratio[2][update.mask[2]].astype(np.float64)
    shown = words(opened("ratios", source="gridworld", step=0, update=5, row=3))
    assert f"token ratios {ratio.min():.4f} to {ratio.max():.4f}, product {ratio.prod():.4f}" in shown


def test_nudging_a_token_multiplies_the_product() -> None:
    still = words(opened("ratios", log_ratios="0.1,0.2"))
    moved = words(opened("ratios", log_ratios="0.1,0.2", token=2, nudge=0.5))
    assert f"product {math.exp(0.3):.4f}" in still
    assert f"product {math.exp(0.8):.4f}" in moved


def test_a_thousand_tokens_blow_the_product_up_and_leave_the_mean() -> None:
    shown = words(opened("ratios", show="sequence", length=1000, each=0.01))
    assert f"product is {math.exp(10):.5g}, the sequence ratio {math.exp(0.01):.5g}" in shown
    assert "probability **0.512**" in shown
    assert "product **0.512**, weighted with the sequence ratio **0.200**" in shown


def test_each_band_silences_its_share() -> None:
    shown = {m.label: float(m.value.rstrip("%")) / 100 for m in opened("ratios", show="band").metric}
    assert shown["token ratio, token ε"] == pytest.approx(7e-5, abs=7e-5)
    assert shown["sequence ratio, token ε"] == 0
    assert shown["sequence ratio, sequence ε"] == pytest.approx(0.455, abs=0.03)
    assert shown["token ratio, sequence ε"] == pytest.approx(0.497, abs=0.01)


def test_weights_of_a_token_under_each_rule() -> None:
    app = opened("ratios", show="weights", short=10, length=100, constant=1000)
    shown = words(app)
    for part in (
        "sequence mean: 0.05 and 0.005",
        "token mean: 0.00909 and 0.00909",
        "constant length: 0.0005 and 0.0005",
    ):
        assert part in shown
    assert table(app)[0][1:] == ["+0.05000", "-0.00500", "+0.5000", "-0.5000"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log_ratios": "1,x"}, "log_ratios: number 2 must be a number, got 'x'"),
        ({"log_ratios": "90"}, "log_ratios: number 1 must be between -20 and 20, got 90"),
        ({"source": "moon"}, "source: must be one of"),
        ({"show": "weights", "length": "0"}, "length: must be between 1 and 4000, got 0"),
        ({"row": "65", "source": "gridworld"}, "row: must be between 1 and 64, got 65"),
    ],
)
def test_what_is_asked_wrongly_is_told(settings: dict[str, str], message: str) -> None:
    assert any(message in error.value for error in opened("ratios", **settings).error)
