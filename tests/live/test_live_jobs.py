"""Jobs beside live runs: the worker's turns, progress, stopping, and what a closed tab leaves."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from live.jobs import GRACE, MAX_JOBS, QUANTUM, UNWATCHED, Job, Jobs, JobsFull
from live.worker import Worker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def counting(clock: Clock, seen: list[int], *, slices: int, cost: float = 0.001):
    def work() -> Generator[object, None, None]:
        for i in range(slices):
            clock.now += cost
            seen.append(i)
            yield None

    return work


def test_a_job_works_only_while_somebody_holds_and_watches_it(clock: Clock) -> None:
    job = Job(counting(clock, [], slices=100), clock=clock)
    assert job.due(clock.now) is None, "nobody holds it yet"
    job.hold()
    assert job.due(clock.now) == clock.now
    clock.now += UNWATCHED + 1
    assert job.due(clock.now) is None, "no page has asked for long"
    job.glance()
    assert job.due(clock.now) is not None
    job.let_go()
    assert job.due(clock.now) is None and job.orphan_since == clock.now


def test_a_turn_is_as_long_as_a_runs_and_at_least_one_slice(clock: Clock) -> None:
    seen: list[int] = []
    job = Job(counting(clock, seen, slices=100, cost=QUANTUM / 4), clock=clock)
    job.hold()
    job.quantum()
    assert len(seen) == 4 and job.state == "working"
    slow = Job(counting(clock, seen := [], slices=3, cost=1.0), clock=clock)
    slow.hold()
    slow.quantum()
    assert seen == [0]


def test_it_ends_done_and_an_error_is_its_own(clock: Clock) -> None:
    job = Job(counting(clock, [], slices=2), clock=clock)
    job.hold()
    job.quantum()
    assert job.state == "done" and job.due(clock.now) is None

    def broken() -> Generator[object, None, None]:
        yield None
        raise ValueError("the reason")

    job = Job(broken, clock=clock)
    job.hold()
    job.quantum()
    assert job.state == "failed" and job.error == "the reason"


def test_a_cancelled_job_makes_no_further_slice(clock: Clock) -> None:
    seen: list[int] = []
    job = Job(counting(clock, seen, slices=100, cost=QUANTUM), clock=clock)
    job.hold()
    job.quantum()
    job.cancel()
    job.quantum()
    assert seen == [0] and job.state == "cancelled" and job.due(clock.now) is None


def test_two_jobs_take_turns(clock: Clock) -> None:
    first, second = [], []
    jobs = Jobs(clock=clock)
    for seen in (first, second):
        jobs.create(counting(clock, seen, slices=50, cost=QUANTUM)).hold()
    worker = Worker(jobs.all, clock=clock)
    for _ in range(10):
        worker.round()
    assert len(first) == len(second) == 10


def test_a_job_nobody_holds_is_forgotten_after_the_grace_period(clock: Clock) -> None:
    jobs = Jobs(clock=clock)
    job = jobs.create(counting(clock, [], slices=5))
    job.hold()
    job.let_go()
    clock.now += GRACE - 1
    jobs.sweep()
    assert jobs.get(job.rid) is job
    clock.now += 2
    jobs.sweep()
    assert jobs.get(job.rid) is None and job.state == "cancelled"


def test_there_is_a_limit_and_finished_jobs_do_not_count(clock: Clock) -> None:
    jobs = Jobs(clock=clock)
    made = [jobs.create(counting(clock, [], slices=5)) for _ in range(MAX_JOBS)]
    with pytest.raises(JobsFull, match=f"{MAX_JOBS} people"):
        jobs.create(counting(clock, [], slices=5))
    made[0].cancel()
    jobs.create(counting(clock, [], slices=5))
