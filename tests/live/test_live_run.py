import pytest

from live import changes
from live.presence import UNWATCHED
from live.run import LiveRun
from live.server import GRACE, Server, ServerFull
from rlcore.knobs import SettingError
from tests.live.fake import ANY, Clock, Watcher, starter


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def run(clock):
    made = LiveRun(ANY, starter(clock=clock), clock=clock)
    made.watch(Watcher())
    made.hold()
    made.quantum()
    return made


def _go(run, clock, quanta=1, each=0.05):
    for _ in range(quanta):
        clock.now += each
        run.quantum()


def _rows(run):
    return [dict(zip(run.history.columns, row, strict=True)) for row in run.history.since(0).tolist()]


def test_ids_cannot_be_guessed(clock):
    ids = {LiveRun(ANY, starter(), clock=clock).rid for _ in range(50)}
    assert len(ids) == 50 and all(len(rid) >= 24 for rid in ids)


def test_a_setting_applies_at_the_next_step_and_is_marked_there(run, clock):
    _go(run, clock, 3)
    before = run.history.total
    run.set({"eps_high": 0.5}, ref=7)
    assert run.history.total == before, "asking does not train"
    _go(run, clock, 2)
    eps = {row["step"]: round(row["eps"], 3) for row in _rows(run)}
    assert eps[before] == 0.2 and eps[before + 1] == 0.5
    status = run.status()
    assert status["marks"] == [{"step": before + 1, "changes": {"eps_high": (0.2, 0.5)}}]
    assert status["applied"] == [7, before + 1]
    assert status["settings"]["eps_high"] == 0.5


def test_a_turned_knob_is_answered_at_once_at_a_lively_rate_and_on_time_at_a_slow_one(clock):
    for rate, soon in ((20.0, True), (2.0, False)):
        run = LiveRun(ANY, starter(clock=clock), rate=rate, clock=clock)
        run.watch(Watcher())
        run.hold()
        _go(run, clock, 40, each=1 / rate)
        before = run.due(clock.now)
        run.set({"eps_high": 0.3})
        assert (run._schedule.next(held=True) - clock.now <= 1 / 40 + 1e-9) is soon
        assert before is not None


def test_a_drag_is_one_mark_from_its_first_value_to_its_last(run, clock):
    for i, eps in enumerate((0.3, 0.4, 0.6)):
        run.set({"eps_high": eps}, ref=i)
        _go(run, clock)
    assert [m["changes"] for m in run.status()["marks"]] == [{"eps_high": (0.2, 0.6)}]
    clock.now += changes.SAME_DRAG + 0.1
    run.set({"eps_high": 0.7})
    _go(run, clock)
    assert len(run.status()["marks"]) == 2


def test_a_refused_setting_changes_nothing_and_names_field_rule_and_value(run, clock):
    with pytest.raises(SettingError, match="eps_high.*between 0 and 1.*got 3"):
        run.set({"eps_high": 3, "lr": 0.5})
    with pytest.raises(SettingError, match="seed: cannot be changed while it runs"):
        run.set({"seed": 3})
    _go(run, clock)
    assert run.settings() == {"eps_high": 0.2, "lr": 0.01} and run.status()["marks"] == []


def test_pause_step_and_play(run, clock):
    _go(run, clock, 2)
    run.pause()
    at = run.history.total
    _go(run, clock, 5)
    assert run.history.total == at and run.state == "paused"
    run.step_once()
    _go(run, clock, 3)
    assert run.history.total == at + 1 and run.state == "paused"
    run.play()
    _go(run, clock, 3)
    assert run.history.total == at + 4


def test_reset_starts_a_new_epoch_with_the_settings_as_they_stand(run, clock):
    run.set({"eps_high": 0.5})
    _go(run, clock, 4)
    run.reset()
    _go(run, clock)
    assert run.epoch == 1 and run.status()["marks"] == []
    assert _rows(run)[0] == {"step": 1.0, "reward_mean": 10.0, "eps": 0.5}


def test_a_run_stops_by_itself_and_play_gives_it_another_stretch(clock):
    run = LiveRun(ANY, starter(clock=clock), clock=clock, stop_after=5)
    run.watch(Watcher())
    run.hold()
    _go(run, clock, 20)
    assert run.history.total == 5 and run.state == "paused" and "after 5 updates" in run.status()["note"]
    run.play()
    _go(run, clock, 20)
    assert run.history.total == 10


def test_frames_follow_a_cursor_without_loss_or_repeats(run, clock):
    _go(run, clock, 5)
    first = run.frame(0, 0)
    _go(run, clock, 3)
    second = run.frame(first.total, first.epoch)
    assert not second.full
    steps = [row[0] for row in (*first.rows, *second.rows)]
    assert steps == list(range(1, run.history.total + 1))
    assert run.frame(second.total, 0) is None


def test_a_cursor_of_another_epoch_gets_everything(run, clock):
    _go(run, clock, 5)
    run.reset()
    _go(run, clock, 2)
    frame = run.frame(5, 0)
    assert frame.full and frame.epoch == 1 and len(frame.rows) == run.history.total


def test_without_a_lease_it_pauses_at_once_and_goes_on_when_held_again(run, clock):
    _go(run, clock, 2)
    at = run.history.total
    run.let_go()
    _go(run, clock, 5)
    assert run.history.total == at and run.due(clock.now) is None
    run.hold()
    _go(run, clock, 2)
    assert run.history.total == at + 2


def test_a_run_that_no_page_shows_stops_training_after_a_while(clock):
    run = LiveRun(ANY, starter(clock=clock), clock=clock)
    viewer = Watcher()
    run.watch(viewer)
    run.hold()
    run.quantum()
    run.unwatch(viewer)
    clock.now += UNWATCHED / 2
    assert run.due(clock.now) is not None
    clock.now += UNWATCHED
    assert run.due(clock.now) is None
    run.watch(viewer)
    assert run.due(clock.now) is not None


def test_pictures_are_made_only_for_somebody_who_sees_them(clock):
    run = LiveRun(ANY, starter(clock=clock), clock=clock)
    viewer = Watcher(visible=False)
    run.watch(viewer)
    run.hold()
    _go(run, clock, 5, each=0.2)
    assert run.scene.serial == 0 and not any(run._training.traced)
    viewer.visible = True
    _go(run, clock, 5, each=0.2)
    assert run.scene.serial == 5 and '"step":' in run.scene.text


def test_the_server_closes_orphans_after_the_grace_period_and_bounds_its_runs(clock):
    server = Server(starter(), clock=clock, max_runs=2, threaded=False)
    kept, orphan = server.create(ANY), server.create(ANY)
    kept.hold()
    clock.now += GRACE - 1
    server.sweep()
    assert server.get(orphan.rid) is orphan
    clock.now += 2
    server.sweep()
    assert server.get(orphan.rid) is None and orphan.state == "closed" and server.get(kept.rid) is kept

    second = server.create(ANY)
    third = server.create(ANY)
    assert second.closed and not third.closed, "an orphan makes room"
    third.hold()
    with pytest.raises(ServerFull, match="at most 2 runs"):
        server.create(ANY)


def test_closing_forgets_and_wakes_whoever_watches(clock):
    server = Server(starter(), clock=clock, threaded=False)
    run, viewer = server.create(ANY), Watcher()
    run.watch(viewer)
    woken = viewer.woken
    server.close(run.rid)
    assert run.state == "closed" and viewer.woken > woken and server.get(run.rid) is None
