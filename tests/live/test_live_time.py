"""Steps opened, forked, undone and waited for; with a count in place of the engine, so every number can be foreseen."""

import pytest

from live import effect
from live.run import LiveRun
from rlcore.knobs import SettingError
from tests.live.fake import ANY, Clock, Watcher, starter


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def made(clock):
    """A run of some pieces a step that is held and watched."""

    def make(steps=0, **how):
        run = LiveRun(how.pop("request", ANY), starter(clock=clock, **how), clock=clock)
        run.watch(Watcher())
        run.hold()
        go(run, clock)
        while run.history.total < steps:
            go(run, clock)
        return run

    return make


def go(run, clock, quanta=1, each=0.05):
    for _ in range(quanta):
        clock.now += each
        run.quantum()


def eps(run):
    return [round(float(x), 3) for x in run.history.rows()[:, run.history.columns.index("eps")]]


def test_opening_a_step_pauses_and_shows_it_and_the_newest_leads_back(made, clock):
    run = made(6)
    run.open(2)
    assert run.state == "looking back" and run.status()["open"] == {"step": 2, "node": 2, "ready": False, "differs": {}}
    go(run, clock, 3)
    total = run.history.total
    assert run.status()["open"]["ready"] and '"step":2' in run.scene.text and '"opened":true' in run.scene.text
    go(run, clock, 5)
    assert run.history.total == total
    run.open(total)
    assert run.state == "paused" and run.status()["open"] is None
    go(run, clock, 2)
    assert f'"step":{total}' in run.scene.text
    with pytest.raises(SettingError, match=f"step: must be between 0 and {total}, got {total + 1}"):
        run.open(total + 1)


def test_back_and_next_walk_over_the_steps_and_next_makes_one_at_the_end(made, clock):
    run = made(4)
    run.pause()
    total = run.history.total
    run.back()
    run.back()
    assert run.looked_at == total - 2
    run.step_once()
    assert run.looked_at == total - 1
    run.step_once()
    assert run.looked_at == total and run.state == "paused"
    run.step_once()
    go(run, clock, 2)
    assert run.history.total == total + 1


def test_a_fork_keeps_what_came_before_and_the_parent_stays_beside_it(made, clock):
    run = made(6)
    run.open(3)
    run.set({"eps_high": 0.7})
    assert run.status()["open"]["differs"] == {"eps_high": (0.2, 0.7)}
    go(run, clock, 2)
    parents = run.history.total
    run.fork()
    while run.history.total != 8 or run.epoch == 0:
        go(run, clock)
    assert eps(run) == [0.2] * 3 + [0.7] * 5
    assert [mark["step"] for mark in run.status()["marks"]] == [4]
    first, second = run.status()["tree"]
    assert (first["tip"], first["until"], second["start"], second["differs"]) == (parents, 3, 3, {"eps_high": (0.2, 0.7)})
    assert run.frame(0, 0).full and [b.id for b in run.faint()] == [0]


def test_turning_a_knob_while_looking_back_touches_the_fork_only(made, clock):
    run = made(5)
    run.open(2)
    run.set({"eps_high": 0.9})
    run.play()
    go(run, clock, 3)
    assert set(eps(run)) == {0.2} and run.settings()["eps_high"] == 0.2


def test_another_branch_is_shown_where_it_was_left_with_its_own_settings(made, clock):
    run = made(6)
    run.pause()
    go(run, clock)
    total = run.history.total
    run.open(3)
    run.set({"eps_high": 0.7})
    run.fork()
    go(run, clock, 6)
    run.switch(0)
    go(run, clock, 2)
    assert run.state == "paused" and run.history.total == total and eps(run) == [0.2] * total
    run.step_once()
    go(run, clock, 2)
    assert eps(run)[-1] == 0.2 and run.history.since(total - 1).shape[0] == 2
    with pytest.raises(SettingError, match="there is no branch 9"):
        run.switch(9)


def test_reset_leaves_the_run_so_far_as_a_branch(made, clock):
    run = made(5)
    run.reset()
    go(run, clock, 3)
    assert run.epoch == 1 and len(run.status()["tree"]) == 2 and run.faint()[0].tip >= 5
    for _ in range(3):
        run.reset()
        run.quantum()
    assert len(run.status()["tree"]) <= 3, "resets on which nothing was made leave nothing"


def test_branches_are_bounded(made, clock):
    run = made(3)
    for _ in range(40):
        run.open(1) if run.history.total > 1 else None
        run.fork()
        go(run, clock, 3)
    assert len(run.status()["tree"]) <= 25 and eps(run)


def test_undo_takes_back_whole_drags_newest_first(made, clock):
    run = made(3)
    for value in (0.3, 0.4, 0.5):
        run.set({"eps_high": value})
    clock.now += 2
    run.set({"lr": 0.5})
    assert run.status()["undo"] == 2
    run.undo()
    assert run.settings() == {"eps_high": 0.5, "lr": 0.01}
    run.undo()
    assert run.settings() == {"eps_high": 0.2, "lr": 0.01}
    run.undo()
    go(run, clock, 2)
    assert eps(run)[-1] == 0.2 and run.status()["undo"] == 0


def test_it_runs_to_an_event_at_full_speed_and_says_what_happened(made, clock):
    run = made(2)
    run.pace(0.1)
    run.until("reward", 75.0)
    for _ in range(10):
        go(run, clock, each=1e-4)
    assert run.state == "paused" and run.history.total == 8, "reward is ten times the step"
    assert "step 8, reward above 75: reward mean is 80" in run.status()["note"]
    with pytest.raises(SettingError, match="no event 'lunch'"):
        run.until("lunch")


def test_an_event_that_never_comes_stops_at_the_limit_and_says_so(clock):
    run = LiveRun(ANY, starter(clock=clock), clock=clock, stop_after=5)
    run.watch(Watcher())
    run.hold()
    run.until("clip")
    go(run, clock, 20)
    assert run.history.total == 5 and "without the first clip" in run.status()["note"]


def test_a_step_is_made_piece_by_piece_and_can_be_finished_or_given_up(made, clock):
    run = made(2, pieces=5)  # the batch and three passes, then the end
    run.pause()
    go(run, clock, 2)
    total, places = run.history.total, []
    for part in ("minibatch", "minibatch", "epoch"):
        run.step_part(part)
        go(run, clock, 2)
        places.append(run.status()["piece"]["epoch"])
    assert places == [0, 1, 2] and run.history.total == total and '"ratio":[3.0]' in run.scene.text
    run.set({"eps_high": 0.6})
    run.step_once()
    told = run.version
    go(run, clock, 2)
    assert run.version > told, "whoever shows the piece hears that it is over"
    assert run.history.total == total + 1 and run.status()["piece"] is None
    assert eps(run)[-1] == 0.2, "the step had begun before the change"
    run.step_part("epoch")
    go(run, clock, 2)
    assert run.status()["piece"]["epoch"] == 1
    run.back()
    go(run, clock, 2)
    assert run.history.total == total + 1 and run.status()["piece"] is None
    run.play()
    go(run, clock, 3)
    assert eps(run)[total:] == [0.2, *[0.6] * (run.history.total - total - 1)], "what was asked for is not lost"


def test_a_failed_run_opens_its_last_good_step_and_forks_from_there(made, clock):
    run = made(0, breaks_at=3)
    go(run, clock, 10)
    assert run.state == "failed" and run.history.total == 3
    with pytest.raises(SettingError, match="open its last good step"):
        run.play()
    run.open(3)
    run.set({"lr": 0.001})
    run._training.breaks_at = None
    run.fork()
    go(run, clock, 6)
    assert run.state == "playing" and run.history.total > 3 and run.status()["error"] == ""


def test_an_address_with_changes_and_a_step_gives_the_same_path(made, clock):
    first = made(3)
    first.set({"eps_high": 0.4})
    go(first, clock, 4)
    first.set({"lr": 0.5})
    go(first, clock, 3)
    first.pause()
    go(first, clock)
    settings, log = first.beginning()
    assert settings == {"eps_high": 0.2, "lr": 0.01} and [step for step, _ in log] == [4, 8]
    request = type(ANY)(then=tuple((step, tuple(values.items())) for step, values in log), stop=9)
    second = made(request=request)
    go(second, clock, 12, each=1e-4)
    assert second.history.total == 9 and second.state == "paused" and second.looked_at == 9
    assert eps(second) == eps(first)[:9] and second.settings() == first.settings()


def test_the_last_change_is_told_with_numbers_or_called_noise(made, clock):
    run = made(25)
    run.set({"eps_high": 0.9})
    go(run, clock, 2)
    assert "too few updates so far" in run.status()["effect"]
    go(run, clock, 25)
    said = run.status()["effect"]
    assert said.startswith("ε_high 0.2 → 0.9 from step 26: reward") and "as it did before" in said
    assert f"({effect.LONGEST} updates before and after)" in said
