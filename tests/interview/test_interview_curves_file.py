"""The curves that are shipped: of these very cards, of this engine, refused where either has moved on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from figures.curves import Run, read_curves
from figures.paper import render
from interview.__main__ import main
from interview.bank import Bank
from interview.curves import AXES, CURVES, CurvesError, path_of, read, write
from interview.runs import card_curves
from interview.schema import ReadCurves

CARDS = [path.stem for path in sorted(CURVES.glob("*.json"))]


def card_of(bank: Bank, name: str) -> ReadCurves:
    card = bank.by_id[name]
    assert isinstance(card, ReadCurves)
    return card


def test_every_card_has_its_curves_and_no_file_is_left_over(bank: Bank) -> None:
    assert set(CARDS) == {card.id for card in bank.of(kinds=["read_curves"])}
    for name in CARDS:
        card = card_of(bank, name)
        curves = read(card)
        assert {len(curve) for spec in card.runs for curve in curves[spec.label].values()} == {
            spec.steps for spec in card.runs
        }


@pytest.mark.parametrize("name", ["grpo-curves-loss-zero", "ppo-curves-outside-dead", "gspo-curves-eps"])
def test_the_engine_draws_the_shipped_curves_again(bank: Bank, name: str) -> None:
    card = card_of(bank, name)
    for label, metrics in card_curves(card).items():
        for metric, curve in metrics.items():
            shipped = read(card)[label][metric]
            np.testing.assert_allclose(shipped[:5], curve[:5], rtol=1e-3, atol=1e-5, err_msg=f"{label} {metric}")
            # later a token at the very edge of the band may fall on its other side when sums are taken in another order
            room = 0.03 * float(np.ptp(curve)) + 1e-5
            np.testing.assert_allclose(shipped, curve, rtol=1e-3, atol=room, err_msg=f"{label} {metric}")


def test_curves_of_another_specification_are_refused(bank: Bank, tmp_path: Path) -> None:
    card = card_of(bank, "grpo-curves-loss-zero")
    write(card, read(card), versions={}, folder=tmp_path)
    assert (read(card, tmp_path)["run"]["loss"] == read(card)["run"]["loss"]).all()
    other = card.model_copy(update={"runs": (card.runs[0].model_copy(update={"seed": 1}),)})
    with pytest.raises(
        CurvesError, match="made from another specification of grpo-curves-loss-zero; python -m interview"
    ):
        read(other, tmp_path)


def test_missing_and_damaged_files_are_refused(bank: Bank, tmp_path: Path) -> None:
    card = card_of(bank, "grpo-curves-loss-zero")
    with pytest.raises(CurvesError, match="No such file.*python -m interview curves grpo-curves-loss-zero makes it"):
        read(card, tmp_path)
    path_of(card, tmp_path).write_text("{", encoding="utf-8")
    with pytest.raises(CurvesError, match="not a file of curves"):
        read(card, tmp_path)
    stored = json.loads(path_of(card).read_text(encoding="utf-8"))
    del stored["curves"]["run"]["loss"]
    path_of(card, tmp_path).write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(CurvesError, match="runs or metrics of grpo-curves-loss-zero are missing"):
        read(card, tmp_path)


def test_the_command_names_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curves", "no-such-card"]) == 1
    assert "no such card: no-such-card; there are" in capsys.readouterr().err


@pytest.mark.parametrize("name", CARDS)
def test_every_card_has_a_figure_that_names_runs_and_axes_and_prints(bank: Bank, name: str) -> None:
    card = card_of(bank, name)
    assert set(card.metrics) <= set(AXES)
    runs = [Run(spec.label, spec.recipe, read(card)[spec.label]) for spec in card.runs]
    plate = read_curves(runs, card.metrics, AXES, name=card.id, title=card.title)
    drawn = plate.draw("dark").to_plotly_json()
    assert len(drawn["data"]) == len(card.runs) * len(card.metrics)
    assert {trace["name"] for trace in drawn["data"]} == {spec.label for spec in card.runs}
    dashes = {(trace["name"], trace["line"]["dash"], trace["line"]["color"]) for trace in drawn["data"]}
    assert len({dash for _, dash, _ in dashes}) == len(card.runs), "runs differ by dash, not by color alone"
    assert all(AXES[metric] in plate.alt for metric in card.metrics)


def test_a_picture_for_anki_is_a_png(bank: Bank) -> None:
    card = card_of(bank, "j-curves-two-seeds")
    runs = [Run(spec.label, spec.recipe, read(card)[spec.label]) for spec in card.runs]
    plate = read_curves(runs, card.metrics, AXES, name=card.id, title=card.title)
    assert render(plate.draw("light"), "png", title="", width_cm=12, height_cm=6).startswith(b"\x89PNG")
