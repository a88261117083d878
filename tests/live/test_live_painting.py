"""A world painted while it runs, a map in an address, and the line that says what is going on."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from live import commands, engine
from live.contract import Request
from live.run import LiveRun
from rlcore.knobs import SettingError
from tests.live.fake import FakeTraining
from ui import state

WALLED = "S.W...-.WW.W.-.W..W.-.W.H..-.W.WW.-.....G"
SHUT = "SW....-WWW.W.-.W..W.-.W.H..-.W.WW.-.....G"


def made(request: Request) -> LiveRun:
    run = LiveRun(request, engine.start, rate=1000, playing=False)
    run.hold()
    until(run, lambda: run.state == "paused")
    return run


def until(run: LiveRun, done: Callable[[], bool]) -> None:
    for _ in range(5000):
        if done():
            return
        run.quantum()
    raise AssertionError("it never happened")


def step(run: LiveRun) -> None:
    before = run.history.total
    run.step_once()
    until(run, lambda: run.history.total > before)


def send(run: LiveRun, **values: object) -> None:
    command = commands.parse(json.dumps({"op": "set", "values": values, "ref": 1}))
    assert isinstance(command, commands.Set)
    command.obey(run)


def test_a_wall_is_painted_into_the_next_step_and_marked() -> None:
    run = made(Request("grpo", "gridworld", 0))
    step(run)
    send(run, layout=WALLED)
    step(run)
    assert run.settings()["layout"] == WALLED and run.state == "paused"
    assert [mark["step"] for mark in run.status()["marks"]] == [2]
    assert run.opened().config.env.layout[0] == "S.#..."
    run.undo()
    step(run)
    assert run.opened().config.env.layout[0] == "S....."


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"layout": SHUT}, "no goal can be reached from the start in row 1, column 1"),
        ({"layout": "S....G-......"}, "another size needs a new run"),
        ({"layout": "S..-S"}, "same width"),
        ({"layout": WALLED.replace("S", ".")}, "start"),
        ({"extra": "r9c9_1"}, "outside"),
        ({"wind_direction": "sideways"}, "wind_direction"),
    ],
)
def test_a_senseless_world_is_refused_and_changes_nothing(values: dict[str, str], why: str) -> None:
    run = made(Request("grpo", "gridworld", 0))
    before = run.settings()
    with pytest.raises(SettingError, match=why):
        send(run, **values)
    assert run.settings() == before
    step(run)


def test_rewards_wind_and_gusts_are_painted_too() -> None:
    run = made(Request("ppo", "gridworld", 0))
    send(run, layout=WALLED.replace("W..W", "WU.W"), extra="r1c2_0.5", wind_direction="left", wind=0.2)
    step(run)
    env = run.opened().config.env
    assert env.layout[2][2] == "^" and env.extra[0].reward == 0.5 and env.wind == 0.2 and env.wind_direction == "left"


def test_the_largest_map_with_a_reward_on_every_cell_fits_into_a_message() -> None:
    layout = "-".join(["S" + "." * 18 + "G", *["." * 20] * 19])
    extra = "_".join(f"r{r}c{c}_-123.45" for r in range(1, 21) for c in range(1, 21))
    text = json.dumps({"op": "set", "values": {"layout": layout, "extra": extra}, "ref": 2**40})
    assert isinstance(commands.parse(text), commands.Set)


def test_an_address_holds_the_painted_world() -> None:
    run = made(Request("grpo", "gridworld", 0))
    send(run, layout=WALLED, extra="r1c2_0.5")
    step(run)
    asked = state.read({name: text for name, text in state.write(run).items() if name not in ("run", "step")})
    assert asked.refused == ()
    again = made(asked.request)
    assert again.settings()["layout"] == WALLED and again.settings()["extra"] == "r1c2_0.5"


def test_a_change_of_the_map_on_the_way_is_in_the_address_too() -> None:
    run = made(Request("grpo", "gridworld", 0))
    for _ in range(3):
        step(run)
    send(run, extra="r1c2_0.5_r2c1_-1", layout=WALLED)
    step(run)
    written = {name: text for name, text in state.write(run).items() if name not in ("run", "step")}
    asked = state.read(written)
    assert asked.refused == () and "then" in written
    again = made(asked.request)
    for _ in range(4):
        step(again)
    assert np.array_equal(again.history.rows(), run.history.rows(), equal_nan=True)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"layout": SHUT}, "no goal can be reached"),
        ({"layout": "S..-..Q"}, "layout"),
        ({"layout": "S" * 500}, "at most 20 x 20"),
        ({"extra": "r1c1_x"}, "r2c3_0.5"),
        ({"env": "bandit", "layout": WALLED}, "layout"),
        ({"story": "nope"}, "story: must be one of"),
        ({"story": "idle-clip", "arm": "nope"}, "arm: must be one of"),
        ({"story": "idle-clip", "env": "bandit"}, "is about contextual"),
    ],
)
def test_a_wrong_address_is_told_and_the_rest_of_it_taken(params: dict[str, str], why: str) -> None:
    asked = state.read(params)
    assert len(asked.refused) == 1 and why in asked.refused[0]
    engine.configured(asked.request)


def test_an_address_may_ask_for_another_size() -> None:
    asked = state.read({"layout": "S..-..G", "horizon": "10"})
    assert asked.refused == ()
    assert engine.configured(asked.request).env.shape().states == 6


def test_a_story_is_its_own_preset_and_its_end_is_read_off_the_run() -> None:
    asked = state.read({"story": "idle-clip"})
    run = made(asked.request)
    assert state.turned(run) == {} and run.settings()["epochs"] == 1
    assert state.write(run)["story"] == "idle-clip"
    for _ in range(39):
        step(run)
    assert run.status()["insight"].get("story", {}).get("outcome") is None
    step(run)
    run.quantum()
    ending = run.status()["insight"]["story"]
    assert ending["outcome"] == "none" and "0" in ending["evidence"] and ending["turned"] == []
    found = run.status()["insight"]["findings"]
    assert found[0]["name"] == "idle_clip" and found[0]["experiment"]["values"] == {"epochs": 4}
    send(run, **found[0]["experiment"]["values"])
    assert run.settings()["epochs"] == 4


def test_it_is_told_once_a_second_while_playing_and_at_once_at_rest() -> None:
    now = [100.0]
    run = LiveRun(Request(), lambda request: FakeTraining(clock=None), rate=1000, clock=lambda: now[0])
    run.hold()
    run.watch(Watcher())
    looked: list[float] = []
    for _ in range(300):
        before = run._insight._told_of
        run.quantum()
        if run._insight._told_of != before:
            looked.append(now[0])
        now[0] += 0.02
    assert len(looked) >= 5 and min(np.diff(looked)) >= 0.99
    run.pause()
    until(run, lambda: run.due(1e12) is None)
    assert run.status()["insight"]["findings"] == [{"name": "long"}]
    version = run.version
    now[0] += 5
    run.quantum()
    assert run.version == version, "nothing new is not told again"


class Watcher:
    visible = True

    def wake(self) -> None: ...
