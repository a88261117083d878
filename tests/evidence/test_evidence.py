"""Stored evidence is read as it was measured: every file validates, and its verdict follows from its values."""

import json
from pathlib import Path

import numpy as np
import pytest

from rlcore.evidence import FOLDER, Comparison, Evidence, Setup, interval, judge, load, names, save
from rlcore.knobs import SettingError
from rlcore.presets import preset

# Student's t, two-sided 95 %, by degrees of freedom: printed in every table of it.
T_975 = {1: 12.706, 4: 2.776, 9: 2.262, 11: 2.201, 14: 2.145, 19: 2.093, 29: 2.045, 49: 2.010, 63: 1.998}


def made(**changed: object) -> Evidence:
    parts: dict[str, object] = {
        "name": "made", "claim": "a is more than b.", "measure": "a number", "command": "none", "versions": {"torch": "0"},
        "settings": {"a": Setup(recipe="grpo", env="bandit"), "b": Setup(recipe="ppo", env="bandit")},
        "seeds": (0, 1, 2), "arms": {"a": (2.0, 3.0, 5.0), "b": (1.0, 2.0, 3.5)},
        "comparison": Comparison(arm="a", minus="b"),
    }  # fmt: skip
    return Evidence.model_validate(parts | changed)


def test_the_interval_is_the_tables() -> None:
    for freedom, t in T_975.items():
        values = tuple(float(v) for v in np.random.default_rng(freedom).normal(size=freedom + 1))
        found = interval(values)
        assert found.half == pytest.approx(t * np.std(values, ddof=1) / np.sqrt(freedom + 1), rel=3e-4)
        assert found.mean == pytest.approx(np.mean(values))


def test_pairs_are_subtracted_before_they_are_averaged() -> None:
    """Two arms that spread widely but differ by the same amount on every seed differ for certain."""
    found = made(arms={"a": (1.0, 100.0, -50.0), "b": (0.0, 99.0, -51.0)})
    assert found.verdict == "supported" and found.difference(found.comparisons[0]).half == pytest.approx(0)
    assert found.mean("a").half > 100


@pytest.mark.parametrize(
    ("values", "direction", "margin", "verdict"),
    [
        ((1.0, 1.1, 0.9), "above", 0, "supported"),
        ((1.0, 1.1, 0.9), "below", 0, "contradicted"),
        ((1.0, -1.1, 0.9), "above", 0, "not shown"),
        ((0.0, 0.0, 0.0), "above", 0, "not shown"),
        ((0.0, 0.0, 0.0), "within", 0.1, "supported"),
        ((1.0, 1.1, 0.9), "within", 0.1, "contradicted"),
        ((0.05, 0.15, 0.1), "within", 0.1, "not shown"),
    ],
)
def test_the_verdict_follows_a_stated_rule(
    values: tuple[float, ...], direction: str, margin: float, verdict: str
) -> None:
    comparison = Comparison(arm="a", minus="b", direction=direction, margin=margin)  # type: ignore[arg-type]
    assert judge(comparison, interval(values)) == verdict


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seeds": (0, 1)}, "arms.a: must hold one value a seed"),
        ({"seeds": (0, 1, 1)}, "each may stand once"),
        ({"comparison": Comparison(arm="a", minus="c")}, "no arm 'c'"),
        ({"settings": {"a": Setup(recipe="grpo", env="bandit")}}, "must name the arms"),
        ({"arms": {"a": (1.0, 2.0, float("nan")), "b": (1.0, 2.0, 3.0)}}, "finite"),
    ],
)
def test_what_does_not_fit_together_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made(**changed)


def test_a_file_comes_back_as_it_was_written_and_a_stored_verdict_is_refused(tmp_path: Path) -> None:
    path = save(made(), tmp_path)
    assert load("made", tmp_path) == made()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"verdict": "supported"}))
    with pytest.raises(SettingError, match="verdict"):
        load("made", tmp_path)
    with pytest.raises(SettingError, match="there is no 'other'"):
        load("other", tmp_path)


@pytest.mark.parametrize("name", names())
def test_stored_evidence_validates_and_its_verdict_follows(name: str) -> None:
    """The verdict again, from the raw file, with numpy and a printed t table (the next smaller freedom: wider)."""
    found, raw = load(name), json.loads((FOLDER / f"{name}.json").read_text())
    assert len(found.seeds) >= 5 or found.verdict is None
    for each in found.settings.values():
        preset(each.recipe, each.env).with_settings(each.overrides)
    if found.comparison is None:
        return
    side = raw["comparison"]
    values = np.subtract(raw["arms"][side["arm"]], raw["arms"][side["minus"]])
    t = T_975[max(freedom for freedom in T_975 if freedom < len(values))]
    half = t * values.std(ddof=1) / np.sqrt(len(values))
    low, high = values.mean() - half, values.mean() + half
    if side["direction"] == "within":
        inside = -side["margin"] <= low and high <= side["margin"]
        expected = "supported" if inside else "contradicted" if abs(values.mean()) - half > side["margin"] else "not shown"
    else:
        sign = 1 if side["direction"] == "above" else -1
        expected = "supported" if sign * values.mean() > half else "contradicted" if -sign * values.mean() > half else "not shown"
    assert found.verdict == expected


@pytest.mark.parametrize("name", names())
def test_stored_evidence_has_its_experiment(name: str) -> None:
    assert (Path(__file__).resolve().parents[2] / "benchmarks" / "evidence" / f"{name}.py").is_file()
    assert load(name).command == f"python -m benchmarks.evidence {name}"
