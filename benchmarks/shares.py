"""Where a training step's time goes, and how its cost grows with rows and with history."""

from __future__ import annotations

import time

from torch.profiler import ProfilerActivity, profile

from benchmarks.peers import CARTPOLE, GRIDWORLD, ours
from rlcore.config import RunConfig
from rlcore.engine import init, step_slices
from rlcore.presets import preset
from rlcore.state import TrainState
from rlcore.timeline import Timeline

ARITHMETIC = (
    "aten::addmm",
    "aten::mm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::tanh",
    "aten::tanh_",
    "aten::_log_softmax",
)


def report() -> str:
    """Two tables: phases of a step, and growth."""
    works = {"bandit, GRPO": preset("grpo", "bandit"), "gridworld, GRPO": preset("grpo", "gridworld"),
             "gridworld, PPO, SB3's work": ours(GRIDWORLD, 0), "CartPole, PPO, SB3's work": ours(CARTPOLE, 0)}  # fmt: skip
    head = (
        "| run | ms a step | environment + advantages | updates | records | arithmetic kernels, share of all kernels "
        "| torch calls an update |\n|---|---|---|---|---|---|---|\n"
    )
    rows = "\n".join(_phases(name, config) for name, config in works.items())
    return f"## Where the time goes (CPU)\n{head}{rows}\n\n{_growth()}"


def _phases(name: str, config: RunConfig, steps: int = 20) -> str:
    state, _ = _timed(init(config), config)
    collect = updates = records = 0.0
    for _ in range(steps):
        state, (a, b, c) = _timed(state, config)
        collect, updates, records = collect + a, updates + b, records + c
    total = (collect + updates + records) / steps * 1e3
    kernels, calls = _kernels(state, config)
    parts = (f"{x / (collect + updates + records):.0%}" for x in (collect, updates, records))
    return f"| {name} | {total:.1f} | {' | '.join(parts)} | {kernels:.0%} | {calls:.0f} |"


def _timed(state: TrainState, config: RunConfig) -> tuple[TrainState, tuple[float, float, float]]:
    """One step, and its CPU seconds in (environment and advantages, updates, records)."""
    marks = [time.process_time()]
    slices = step_slices(state, config)
    while True:
        try:
            next(slices)
            marks.append(time.process_time())
        except StopIteration as finished:
            state, _ = finished.value
            return state, (marks[1] - marks[0], marks[-1] - marks[1], time.process_time() - marks[-1])


def _kernels(state: TrainState, config: RunConfig) -> tuple[float, float]:
    """(share of matrix products and activations in all kernel time, torch calls an optimiser step, rollout included)."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        _timed(state, config)
    events = [e for e in seen.key_averages() if e.key.startswith("aten::")]
    spent = sum(e.self_cpu_time_total for e in events)
    arithmetic = sum(e.self_cpu_time_total for e in events if e.key in ARITHMETIC)
    return arithmetic / spent, sum(e.count for e in events) / (config.batch.epochs * config.batch.minibatches)


def _growth() -> str:
    """Milliseconds a step by rows, and early against late in a long run."""
    base = preset("ppo", "gridworld")
    by_rows = {rows: _mean_ms(base.with_settings({"prompts": rows})) for rows in (256, 1024, 4096)}
    run = Timeline(preset("grpo", "bandit"))
    early, late = _window(run, 200), (_skip(run, 4000), _window(run, 200))[1]
    rows = " · ".join(f"{rows} rows {ms:.1f} ms" for rows, ms in by_rows.items())
    return f"Growth with rows (gridworld, PPO): {rows}.\nBandit step: {early:.2f} ms at step 0-200, {late:.2f} ms at 4,200-4,400."


def _mean_ms(config: RunConfig, steps: int = 8) -> float:
    state, _ = _timed(init(config), config)
    began = time.process_time()
    for _ in range(steps):
        state, _ = _timed(state, config)
    return (time.process_time() - began) / steps * 1e3


def _window(run: Timeline, steps: int) -> float:
    began = time.process_time()
    _skip(run, steps)
    return (time.process_time() - began) / steps * 1e3


def _skip(run: Timeline, steps: int) -> None:
    for _ in range(steps):
        run.advance()
