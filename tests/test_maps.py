"""Maps as text, what makes one senseless, gusts, and painting a world while a run goes on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlcore.engine import init, step
from rlcore.envs import CellReward, Gridworld, tables
from rlcore.envs.maps import problem, rewards_as_text, rows_as_text, rows_from_text
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.timeline import Timeline

CELLS = "#.SGH^>v<"


@st.composite
def worlds(draw: st.DrawFn) -> Gridworld:
    height, width = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    cells = [draw(st.text(CELLS, min_size=width, max_size=width)) for _ in range(height)]
    row, column = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    cells[row] = cells[row][:column] + "S" + cells[row][column + 1 :]
    places = draw(st.lists(st.tuples(st.integers(0, height - 1), st.integers(0, width - 1)), max_size=5, unique=True))
    pays = [round(draw(st.floats(-1e6, 1e6)), 2) for _ in places]
    extra = tuple(CellReward(row=r, column=c, reward=p) for (r, c), p in zip(places, pays, strict=True))
    return Gridworld(layout=tuple(cells), extra=extra)


@given(worlds())
def test_a_map_survives_being_written_and_read(env: Gridworld) -> None:
    text = rows_as_text(env.layout)
    assert set(text) <= set("-.SGHWURDL"), "nothing an address would have to escape"
    assert rows_from_text(text) == env.layout
    short = {"layout": text, "extra": rewards_as_text(env.extra)}
    again = Gridworld.model_validate(short)
    assert again.layout == env.layout
    for cell, back in zip(env.extra, again.extra, strict=True):
        assert (cell.row, cell.column) == (back.row, back.column)
        assert back.reward == pytest.approx(cell.reward, rel=1e-5)


@given(worlds())
def test_every_world_that_is_accepted_has_proper_tables(env: Gridworld) -> None:
    mdp = tables(env)
    assert np.allclose(mdp.probability.sum(-1), 1) and (mdp.probability >= -1e-12).all()
    assert 0 <= mdp.following.min() and mdp.following.max() < mdp.states


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        ("S.#.G", "no goal can be reached from the start in row 1, column 1"),
        ("S.H.G", "no goal can be reached"),
        ("S.G.#-###.S", None),
        ("S...", "needs a goal"),
        ("GS-#.-.S-##-.S", "no goal can be reached from the start in row 5, column 2"),
    ],
)
def test_a_map_without_a_way_is_told(layout: str, says: str | None) -> None:
    found = problem(Gridworld.model_validate({"layout": layout}))
    assert (found is None) if says is None else (found is not None and says in found)


def test_a_cell_that_pays_is_as_good_as_a_goal() -> None:
    assert problem(Gridworld(layout=("S..",), extra=(CellReward(row=0, column=2, reward=0.5),))) is None
    assert problem(Gridworld(layout=("S..",), extra=(CellReward(row=0, column=2, reward=-0.5),))) is not None
    assert problem(Gridworld(layout=("S.#",), extra=(CellReward(row=0, column=2, reward=0.5),))) is not None


def test_a_gust_blows_on_its_cell_and_nowhere_else() -> None:
    mdp = tables(Gridworld(layout=("S>.G",), gust=0.25))
    left = 3
    moved = {int(s): p for s, p in zip(mdp.following[1, left], mdp.probability[1, left], strict=True)}
    assert moved == {0: 0.75, 2: 0.25}
    assert mdp.probability[0, left].tolist() == [1.0, 0.0]


def test_a_gust_takes_the_place_of_the_wind_on_its_cell() -> None:
    mdp = tables(Gridworld(layout=("S^.G", "...."), wind=0.4, wind_direction="right", gust=1.0))
    assert mdp.probability[1].max(-1).tolist() == [1.0] * 4
    assert mdp.probability[0, 0].tolist() == pytest.approx([0.6, 0.0, 0.4])


@pytest.mark.parametrize("text", ["r0c1_1", "r1c1", "r1c1_x", "r1c99_1", "r1c1_1e999", "r1c1_1_zzz"])
def test_a_wrong_reward_is_refused_and_says_why(text: str) -> None:
    with pytest.raises(SettingError, match="env.extra"):
        preset().with_settings({"extra": text})


def test_a_wall_painted_between_two_steps_is_in_the_way_from_the_next_step_on() -> None:
    run = Timeline(preset("grpo", "gridworld"))
    for _ in range(3):
        run.advance()
    before = run.state()
    walled = run.config.with_settings({"layout": "S.#...-.####.-.#..#.-.#.H..-.#.##.-.....G"})
    record = run.advance(walled)
    assert record.visits is not None and record.visits[2] == 0, "nobody enters a wall"
    assert run.node(3).record.visits[2] > 0, "before, the cell was visited"
    again, _ = step(before, walled)
    assert bool((again.theta == run.state().theta).all()), "a function of state and settings, as ever"


def test_a_step_remembers_the_world_it_was_made_in() -> None:
    run = Timeline(preset("grpo", "gridworld"))
    run.advance()
    run.advance(run.config.with_settings({"layout": "S....G-......-......-......-......-......"}))
    run.seek(1)
    assert run.config.env == preset("grpo", "gridworld").env
    run.seek(2)
    assert run.config.env.layout[0] == "S....G"


def test_rows_that_stand_where_a_wall_is_painted_walk_out_of_it() -> None:
    config = preset("ppo", "gridworld").with_settings({"batch.segment": 4})
    state, _ = step(init(config), config)
    fenced = config.with_settings({"layout": "S####G-.#####-......-......-......-......"})
    after, _ = step(state, fenced)
    for _ in range(12):
        after, record = step(after, fenced)
    assert record.visits is not None and record.visits[1] == 0
