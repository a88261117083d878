"""What is asked of a run while its head is on the way to another step: kept, done on arrival, or refused with words."""

import pytest

from live.run import LiveRun
from rlcore.knobs import SettingError
from tests.live.fake import ANY, Clock, Watcher, starter


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def leaving(clock):
    """A paused run of 8 steps that was just asked to fork from step 3; the way there is not begun."""
    run = LiveRun(ANY, starter(clock=clock), clock=clock)
    run.watch(Watcher())
    run.hold()
    while run.history.total < 8:
        go(run, clock)
    run.open(3)
    go(run, clock)
    run.fork(ref=4)
    run.pause()
    return run


def go(run, clock, quanta=1):
    for _ in range(quanta):
        clock.now += 0.05
        run.quantum()


def eps(run):
    return [round(float(x), 3) for x in run.history.rows()[:, run.history.columns.index("eps")]]


def test_a_setting_turned_on_the_way_is_the_forks(leaving, clock):
    leaving.set({"eps_high": 0.6}, ref=5)
    assert leaving.settings()["eps_high"] == 0.6
    leaving.step_once()
    go(leaving, clock, 3)
    assert eps(leaving) == [0.2] * 3 + [0.6]
    assert leaving.status()["applied"] == [5, 4], "the page learns from which step on its request holds"
    assert leaving.status()["tree"][1]["differs"] == {"eps_high": (0.2, 0.6)}


def test_the_second_of_two_quick_forks_is_the_first(leaving, clock):
    leaving.fork()
    go(leaving, clock, 3)
    assert [(b["start"], b["parent"]) for b in leaving.status()["tree"]] == [(0, None), (3, 0)]
    assert leaving.state == "playing" and leaving.history.total > 3


def test_opening_a_step_on_the_way_is_refused_with_words(leaving, clock):
    for ask in (lambda: leaving.open(2), leaving.back):
        with pytest.raises(SettingError, match="step: .* being recomputed"):
            ask()
    go(leaving, clock, 2)
    leaving.open(2)
    assert leaving.looked_at == 2


def test_steps_asked_for_before_the_fork_are_not_made_and_those_after_are(leaving, clock):
    leaving.step_once()
    leaving.reset()
    go(leaving, clock, 3)
    assert leaving.history.total == 0, "asked for before the reset"
    leaving.fork()
    leaving.pause()
    leaving.step_once()
    go(leaving, clock, 3)
    assert leaving.history.total == 1


def test_the_last_of_two_ways_counts_and_nothing_of_the_first_remains(leaving, clock):
    """A reset while a fork is recomputed."""
    first = leaving._errands[0]
    leaving.reset()
    leaving.set({"lr": 0.5})
    list(first)  # the worker was in the midst of it
    assert len(leaving.status()["tree"]) == 1
    leaving.step_once()
    go(leaving, clock, 3)
    assert [b["start"] for b in leaving.status()["tree"]] == [0, 0]
    assert leaving.history.total == 1 and leaving.settings()["lr"] == 0.5


def test_the_branch_shown_can_be_chosen_again_on_the_way_from_it(leaving, clock):
    leaving.switch(0)
    go(leaving, clock, 3)
    assert leaving.history.total >= 8 and len(leaving.status()["tree"]) == 1


def test_a_failed_run_that_is_being_forked_can_be_played_already(clock):
    run = LiveRun(ANY, starter(clock=clock, breaks_at=3), clock=clock)
    run.watch(Watcher())
    run.hold()
    while run.state != "failed":
        go(run, clock)
    run.open(1)
    run.fork()
    run.play()
    go(run, clock)
    assert run.state == "playing" and run.status()["error"] == ""
