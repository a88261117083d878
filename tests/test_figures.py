"""Every figure of the explorers: valid, legible in both themes, told in words and numbers, and ready for a paper."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from figures import advantages, duel, evidence, kl, paper, ratios, reuse, surrogate
from figures.drawing import Drawing, clustered, dark_of, spec, thinned
from figures.plate import Plate, csv_text
from figures.theme import MEANING, Mode, look
from rlcore.evidence import load
from rlcore.explore import (
    credit,
    curves,
    difficulty,
    estimators,
    exact,
    groups,
    lengths,
    penalty,
    recorded,
    tokens,
    whatif,
)
from rlcore.explore import duel as duels
from rlcore.explore import reuse as reuses
from rlcore.presets import preset
from rlcore.surrogates import Cispo, DualClip, PpoClip, Sapo, ScoreFunction, Unclipped

PAGE: dict[Mode, str] = {"light": "#FDFDFB", "dark": "#15181C"}
MODES: tuple[Mode, Mode] = ("light", "dark")


@cache
def plates() -> dict[str, Plate]:
    """One plate of every kind, from real records."""
    update = recorded.recorded("grpo", "gridworld", epochs=10).trace.updates[-1]
    grid = curves.ratio_grid(low=0.02, high=4, kinks=(0.8, 1.2, 3))
    slots = (
        PpoClip(), DualClip(), Cispo(), Sapo(), ScoreFunction(), Unclipped(), curves.ClipWithoutMin()
    )  # fmt: skip
    pairs = [tuple(curves.curve(slot, advantage=a, ratio=grid) for a in (1.0, -1.0)) for slot in slots]
    found = curves.samples(PpoClip(), update)
    fans = [reuses.fan(name, reuses.Brakes(), env="contextual", lr=0.1, epochs=10) for name in reuses.MECHANISMS]
    slopes = penalty.penalty_curves(
        tuple(penalty.ESTIMATORS), advantage=1.0, kl_beta=5, eps_low=0.2, eps_high=0.2, ratio=grid[1:]
    )
    tried = estimators.bench(*estimators.policies(estimators.Trials()))
    two = [(1.0, 0.0, 0.0, 1.0), (3.0, 1.0)]
    labels = {name: convention.label for name, convention in groups.CONVENTIONS.items()}
    prompt = difficulty.Prompt(p=0.2, group_size=8)
    bandit = exact.SmallBandit()
    arms = exact.enumerated(bandit, exact.leaning(bandit))
    credited = credit.credited("gridworld", steps=3, gamma=0.99, lam=0.95)
    response = tokens.response((0.1, 1.2, -0.3, 0.0), advantage=1.0, bands=tokens.Bands())
    setting = lengths.Length(short=10, length=100)
    band = {"eps_low": 0.2, "eps_high": 0.2}
    return {
        "objective": surrogate.objective(pairs, found, **band),
        "plane": surrogate.plane(found, **band),
        "fan": reuse.fan(fans[1], **band),
        "compare": reuse.compare(fans, **band),
        "penalty": kl.penalty(slopes, kl_beta=5, **band),
        "values": kl.values(tried, estimators.estimates(tried, samples=16, repeats=50), samples=16),
        "gradients": kl.gradients(tried),
        "group": advantages.group(groups.judged(groups.SCALES["std"], two), "std"),
        "conventions": advantages.conventions(groups.by_convention(two), labels),
        "dead": advantages.dead(
            difficulty.dead((2, 8), np.linspace(0, 1, 11)), difficulty.observed(prompt, groups=64), p=0.2, group_size=8
        ),
        "loudness": advantages.loudness(difficulty.loudness(4, points=9), group_size=4, p=0.2),
        "expected": advantages.expected(arms),
        "scatter": advantages.scatter(arms, "leave_one_out"),
        "credit": advantages.credit(credited, 0, tuple(credited.by_name)),
        "response": ratios.response(response, ("a", "b", "c", "d"), tokens.Bands(), chosen=1),
        "growth": ratios.growth(lengths.growth(setting), each=0.01),
        "bands": ratios.bands(lengths.spread(lengths.Length(length=50), tokens.Bands()), tokens.Bands(), length=50),
        "weights": ratios.weights(lengths.weighed(setting, advantages=(1.0, -1.0)), (10, 100)),
        **duel_plates(),
        "seeds": evidence.seeds(load("credit")),
    }


def duel_plates() -> dict[str, Plate]:
    """A duel on a moved batch."""
    run = preset("grpo", "gridworld")
    frozen = duels.frozen_at(run, steps=8, updates=3)
    keys = ("ppo", "grpo", "gspo")
    found = duels.duel(frozen, whatif.contenders(keys, run, numbers="here"))
    looks, rows = [look(key) for key in keys], np.arange(4)
    words = [["x"] * int(found.rollout["mask"][row].sum()) for row in rows]
    state = int(found.rollout["obs"][0, 0])
    return {
        "duel_tokens": duel.tokens(found, looks, words, quantity="gradient", rows=rows),
        "duel_weights": duel.tokens(found, looks, words, quantity="weight", rows=rows),
        "cosines": duel.cosines(found, looks),
        "moved": duel.moved(duels.probabilities(frozen, found, state), "abcd", dict(zip(keys, looks, strict=True)), place="s"),
        "replies": duel.replies(found, looks),
    }


NAMES = (
    "objective", "plane", "fan", "compare", "penalty", "values", "gradients", "group", "conventions", "dead", "loudness",
    "expected", "scatter", "credit", "response", "growth", "bands", "weights",
    "duel_tokens", "duel_weights", "cosines", "moved", "replies", "seeds",
)  # fmt: skip
each_plate = pytest.mark.parametrize("name", NAMES)
each_mode = pytest.mark.parametrize("mode", MODES)


def test_the_list_of_names_is_complete() -> None:
    assert set(NAMES) == set(plates())


@each_plate
@each_mode
def test_plotly_accepts_the_figure(name: str, mode: Mode) -> None:
    drawn = json.loads(spec(plates()[name].draw(mode)))
    go.Figure(drawn)  # validates every property


@each_plate
def test_axes_say_what_they_show_and_hovering_says_more_than_a_number(name: str) -> None:
    drawn = plates()[name].draw("light").to_plotly_json()
    layout = drawn["layout"]
    named = [axis for key, axis in layout.items() if key.startswith(("xaxis", "yaxis")) and "title" in axis]
    assert any(axis["title"]["text"] for axis in named)
    for trace in drawn["data"]:
        assert len(trace["hovertemplate"].removesuffix("<extra></extra>")) > 3
    assert layout["uirevision"] and layout["height"] >= 300
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"


@each_plate
def test_both_themes_show_the_same_data(name: str) -> None:
    light, dark = (json.loads(spec(plates()[name].draw(mode)))["data"] for mode in MODES)
    for a, b in zip(light, dark, strict=True):
        assert {k: a.get(k) for k in ("x", "y", "z", "name")} == {k: b.get(k) for k in ("x", "y", "z", "name")}


@each_plate
def test_swapping_colors_turns_the_light_figure_into_the_dark_one(name: str) -> None:
    table = dark_of()
    light, dark = (spec(plates()[name].draw(mode)) for mode in MODES)
    assert re.sub(r"#[0-9A-Fa-f]{6}", lambda found: table.get(found[0], found[0]), light) == dark


@each_plate
def test_drawing_twice_gives_the_same(name: str) -> None:
    assert spec(plates()[name].draw("dark")) == spec(plates()[name].draw("dark"))


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@each_plate
@each_mode
def test_lines_and_marks_stand_out_from_the_page(name: str, mode: Mode) -> None:
    for trace in plates()[name].draw(mode).to_plotly_json()["data"]:
        for part in (trace.get("line", {}), trace.get("marker", {})):
            if isinstance(color := part.get("color"), str):
                assert contrast(color, PAGE[mode]) >= 3, f"{trace['name']} in {color}"


@each_plate
def test_no_two_entries_of_the_legend_differ_by_color_alone(name: str) -> None:
    drawn = plates()[name].draw("light").to_plotly_json()
    shapes: dict[str, tuple[object, ...]] = {}
    for trace in drawn["data"]:
        if trace.get("showlegend") is not False and trace["type"] != "heatmap":
            marker, line = trace.get("marker", {}), trace.get("line", {})
            hatch = marker.get("pattern", {}).get("shape")
            shapes[trace["legendgroup"]] = (
                trace["type"],
                trace.get("mode"),
                line.get("dash"),
                line.get("width"),
                marker.get("symbol"),
                hatch,
            )
    assert len(shapes) - len(set(shapes.values())) <= TWINS.get(name, 0), shapes


TWINS = {"group": 1, "objective": 2}
"""Bars for A > 0 and for A = 0 differ in height; all seven surrogates at once outnumber the five dashes."""


@each_plate
def test_the_sentence_has_numbers_and_no_holes(name: str) -> None:
    alt = plates()[name].alt
    assert any(c.isdigit() for c in alt) and alt.endswith(".")
    assert "nan" not in alt and "None" not in alt and "  " not in alt


@each_plate
def test_the_table_survives_csv(name: str) -> None:
    table = plates()[name].table
    read = list(csv.reader(io.StringIO(csv_text(table))))
    assert read[0] == list(table)
    assert len(read) - 1 == len(next(iter(table.values())))
    first = next((column for column in table.values() if isinstance(column[0], float)), None)
    if first is not None:
        place = list(table.values()).index(first)
        assert float(read[1][place]) == first[0]


def test_a_plate_with_columns_of_unequal_length_is_refused() -> None:
    with pytest.raises(ValueError, match="equal length"):
        Plate("x", "x", lambda mode: go.Figure(), "1.", {"a": [1, 2], "b": [1]})


# ---------------------------------------------------------------- publication figures


@each_plate
def test_a_paper_figure_is_drawn_without_a_browser(name: str) -> None:
    plate = plates()[name]
    data = paper.render(plate.draw("light"), "svg", title="A title of mine", width_cm=14, height_cm=9)
    root = ElementTree.fromstring(data)
    assert root.attrib["width"].endswith("pt")
    assert float(root.attrib["width"].removesuffix("pt")) == pytest.approx(14 / 2.54 * 72, rel=0.01)
    paths = list(root.iter("{http://www.w3.org/2000/svg}path"))
    assert len(paths) > 20


@pytest.mark.parametrize(("kind", "magic"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_each_format_is_what_it_says(kind: str, magic: bytes) -> None:
    data = paper.render(plates()["penalty"].draw("light"), kind, title="T", width_cm=8, height_cm=6)
    assert data.startswith(magic)


def test_interactive_html_needs_no_network() -> None:
    page = paper.page(plates()["dead"].draw("light"), "Dead groups").decode()
    assert "Dead groups" in page and "https://cdn" not in page.split("<script", 1)[0]
    assert len(page) > 1_000_000


def test_a_trace_that_paper_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'pie'"):
        paper.render(go.Figure(go.Pie(values=[1, 2])), "png", title="", width_cm=8, height_cm=6)


def test_bars_of_several_traces_stand_side_by_side_on_paper() -> None:
    d = Drawing("light")
    d.bars(["a", "b"], [1.0, 2.0], "one", look=look("ppo"))
    d.bars(["a", "b"], [2.0, 1.0], "two", look=look("grpo"))
    svg = paper.render(d.figure(height=300), "svg", title="", width_cm=10, height_cm=8).decode()
    assert look("ppo").light.lower() in svg and look("grpo").light.lower() in svg


# ---------------------------------------------------------------- drawing


def test_panels_share_their_x_axis_and_fill_the_height() -> None:
    d = Drawing("light", heights=(2, 1))
    layout = d.figure(height=300).to_plotly_json()["layout"]
    assert layout["xaxis"]["matches"] == "x2" and layout["xaxis2"]["showticklabels"]
    assert layout["yaxis"]["domain"][1] == pytest.approx(1) and layout["yaxis2"]["domain"][0] == pytest.approx(0)
    upper, lower = (b - a for a, b in (layout["yaxis"]["domain"], layout["yaxis2"]["domain"]))
    assert upper == pytest.approx(2 * lower)


def test_a_note_on_a_logarithmic_axis_stays_at_its_place() -> None:
    d = Drawing("light")
    d.x("x", type="log")
    d.note(100.0, 1.0, "here")
    (note,) = d.figure(height=300).to_plotly_json()["layout"]["annotations"]
    assert note["x"] == 2 and note["y"] == 1


def unpacked(value: object) -> np.ndarray:
    assert isinstance(value, dict) and value["dtype"] == "f4"
    flat = np.frombuffer(base64.b64decode(value["bdata"]), "<f4")
    return flat.reshape([int(n) for n in value["shape"].split(",")]) if "shape" in value else flat


def test_numbers_reach_the_browser_as_they_are() -> None:
    d = Drawing("light")
    d.line(np.array([0.5, 1.5]), np.array([np.nan, 2.0]), "gap")
    d.heat(np.array([[1.0, np.nan], [3.0, 4.0]]), x=["a", "b"], y=["c", "d"], title="z")
    line, heat = json.loads(spec(d.figure(height=300)))["data"]
    assert np.array_equal(unpacked(line["x"]), [0.5, 1.5])
    assert np.array_equal(unpacked(line["y"]), [np.nan, 2], equal_nan=True)
    assert np.array_equal(unpacked(heat["z"]), [[1, np.nan], [3, 4]], equal_nan=True)


def test_a_list_with_nan_is_refused_instead_of_breaking_the_page() -> None:
    d = Drawing("light")
    d.line([1.0], [float("nan")], "hole")
    with pytest.raises(ValueError, match="JSON"):
        spec(d.figure(height=300))


def test_dots_that_would_cover_each_other_become_one_that_counts_them() -> None:
    x = np.array([0.0, 0.001, 0.002, 1.0])
    first, count = clustered(x, np.zeros(4), cells=(0.1, 1))
    assert sorted(count) == [1, 3] and set(x[first]) == {0.0, 1.0}


@pytest.mark.parametrize("size", [1, 149, 150, 151, 5000])
def test_thinning_keeps_the_ends_and_the_limit(size: int) -> None:
    kept = thinned(np.arange(size))
    assert kept[0] == 0 and kept[-1] == size - 1 and len(kept) == min(size, 150)
    assert (np.diff(kept) > 0).all() if size > 1 else True


@each_mode
def test_meaningful_colors_stand_out(mode: Mode) -> None:
    color = MEANING[mode]
    assert all(contrast(c, PAGE[mode]) >= 3 for c in (color.better, color.worse, color.dead, color.mark))
