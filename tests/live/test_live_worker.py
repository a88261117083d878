"""The worker's promises: fair, paced, isolated. Time is a fake clock, so nothing here waits."""

import threading

from live.run import LiveRun
from live.trained import QUANTUM
from live.worker import IDLE, Worker
from tests.live.fake import ANY, Clock, Watcher, starter


def _run(clock, *, rate=20.0, **how):
    run = LiveRun(ANY, starter(clock=clock, **how), rate=rate, clock=clock)
    run.watch(Watcher())
    run.hold()
    return run


def _work(worker, clock, seconds):
    end = clock.now + seconds
    while clock.now < end:
        wait = worker.round()
        clock.now += max(wait, 1e-4)


def test_a_run_is_paced_to_its_rate():
    clock = Clock()
    run = _run(clock, rate=20.0, cost=0.002)
    _work(Worker(lambda: [run], clock=clock), clock, 5)
    assert 95 <= run.history.total <= 102


def test_runs_advance_alike_when_the_worker_is_overloaded():
    clock = Clock()
    runs = [_run(clock, rate=1000.0, cost=0.003) for _ in range(16)]
    _work(Worker(lambda: runs, clock=clock), clock, 4)
    totals = [run.history.total for run in runs]
    assert min(totals) > 20 and max(totals) - min(totals) <= 2


def test_a_run_with_cheap_steps_may_not_take_more_than_its_quantum():
    clock = Clock()
    cheap, dear = _run(clock, rate=1000.0, cost=0.0001), _run(clock, rate=1000.0, cost=0.004)
    cheap.quantum(), dear.quantum()  # builds, and the first steps
    worker = Worker(lambda: [cheap, dear], clock=clock)
    clock.now += 1.0
    before = clock.now
    worker.round()
    assert clock.now - before <= 2 * (QUANTUM + 0.0045)


def test_a_long_step_is_cut_so_that_others_get_their_turn():
    clock = Clock()
    long, short = _run(clock, cost=0.003, pieces=30), _run(clock, rate=1000.0, cost=0.001)
    worker = Worker(lambda: [long, short], clock=clock)
    while long.history.total < 2:
        worker.round()
    assert short.history.total > 50, "a step of 90 ms does not hold the others up"


def test_an_error_stops_that_run_only_and_is_told_on_it():
    clock = Clock()
    bad, good = _run(clock, breaks_at=3), _run(clock)
    _work(Worker(lambda: [bad, good], clock=clock), clock, 2)
    assert bad.state == "failed" and "step 3: loss is not finite" in bad.status()["error"]
    assert bad.history.total == 3, "what was recorded is kept"
    assert good.history.total > 30 and good.state == "playing"
    assert bad.due(clock.now) is None, "a failed run costs nothing"


def test_a_failed_run_can_be_reset():
    clock = Clock()
    run = _run(clock, breaks_at=3)
    worker = Worker(lambda: [run], clock=clock)
    _work(worker, clock, 1)
    run._training.breaks_at = None
    run.reset()
    _work(worker, clock, 0.2)
    assert run.state == "paused" and run.epoch == 1 and run.history.total == 0 and run.status()["error"] == ""


def test_an_engine_that_cannot_start_is_reported_not_raised():
    def start(request):
        raise LookupError("no such recipe")

    clock = Clock()
    run = LiveRun(ANY, start, clock=clock)
    Worker(lambda: [run], clock=clock).round()
    assert run.state == "failed" and "no such recipe" in run.status()["error"]


def test_nothing_due_means_a_long_wait():
    clock = Clock()
    run = _run(clock)
    worker = Worker(lambda: [run], clock=clock)
    worker.round()
    run.pause()
    clock.now += 1
    worker.round()
    clock.now += 1
    assert worker.round() == IDLE


def test_the_thread_starts_once_trains_and_is_a_daemon():
    reached = threading.Event()

    class Bell(Watcher):
        def wake(self):
            if run.history.total >= 5:
                reached.set()

    run = LiveRun(ANY, starter(), rate=500.0)
    run.watch(Bell())
    run.hold()
    worker = Worker(lambda: [run])
    worker.wake(), worker.wake()
    assert reached.wait(10)
    threads = [t for t in threading.enumerate() if t is worker._thread]
    assert len(threads) == 1 and threads[0].daemon
    run.close()
