"""The Compare page's body: the shared worker runs every arm on the same seeds; figures follow while it does.

    setup -> job on the worker -> curves so far -> smoothed, on one axis, mean and interval -> plates
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from figures import compare as figures
from live.jobs import Job, JobsFull
from live.server import shared
from rlcore.knobs import Knob
from rlcore.seeds.summary import Band, band, ending, grid_of, on_grid, smoothed
from rlcore.seeds.sweep import Curves, Sweep
from ui import controls, figure
from ui.compare_arms import KINDS, Asked, picked

POLL = 0.7  # seconds between looks at a job that works
MOST_TOGETHER, MOST_IN_TURN = 160_000, 8_000  # arms * seeds * steps
SEEDS = Knob("", "seeds of every arm; each meets the same dice in all of them", 1, 64, (1, 64), "linear", True, "", "")
SEED = Knob("", "the first of the seeds, the others follow it", 0, 2**32 - 100, (0, 99), "linear", True, "", "")
STEPS = Knob("", "training steps of every run", 5, 1000, (10, 400), "linear", True, "", "")
SMOOTH = Knob("", "weight of the past in an exponential average; 0 shows what was measured", 0, 0.99, (0, 0.95), "linear", True, "", "")
AXES = {"steps": "Steps", "samples": "Samples", "seconds": "Seconds"}
X_TITLES = {
    "steps": "training step", "samples": "samples (environment steps) so far", "seconds": "seconds of computing so far, a seed",
}  # fmt: skip
METRICS = {
    "reward_mean": "reward, mean of the batch", "episode_return": "return of finished episodes", "entropy": "entropy, nats",
    "kl_ref": "KL to the reference (k3), nats", "kl_ref_exact": "KL to the reference (exact), nats",
    "approx_kl": "KL to the old policy, nats", "clip_fraction": "share of tokens whose gradient the clip removed",
    "clip_fraction_outside": "share of tokens outside the clip band", "dead_group_fraction": "share of dead groups",
    "grad_norm": "gradient norm", "explained_variance": "explained variance", "length_mean": "length of an episode, steps",
    "ratio_max": "largest ratio", "loss": "loss",
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """How it is looked at: nothing here needs a run."""

    metric: str
    x: str
    smooth: float
    single: bool


def show(kind: str) -> None:
    """Controls for one way of comparing, then the figures."""
    asked = KINDS[kind]()
    left, middle, right = st.columns(3)
    with left:
        n = controls.whole("seeds", SEEDS, 16, name="seeds an arm")
    with middle:
        steps = controls.whole("steps", STEPS, 60, name="training steps")
    with right:
        first = controls.whole("seed", SEED, 0, name="first seed")
    if not asked:
        return
    sweep = Sweep([each.arm for each in asked], range(first, first + n), steps)
    most = MOST_IN_TURN if any(sweep.in_turn) else MOST_TOGETHER
    if len(asked) * n * steps > most:
        st.error(f"arms × seeds × steps must be at most {most:,} here, got {len(asked)} × {n} × {steps}: fewer seeds or steps")
        return
    if reason := next(filter(None, sweep.in_turn), ""):
        st.caption(f"Seeds run one after the other here ({reason}), so this takes a while.")
    _watched(sweep, asked)


def _watched(sweep: Sweep, asked: Sequence[Asked]) -> None:
    try:
        sweep, job = _job(sweep)
    except JobsFull as full:
        st.warning(str(full), icon="⏳")
        return
    view = _view()
    st.fragment(run_every=None if job.closed else POLL)(_picture)(sweep, job, asked, view, job.closed)


def _view() -> View:
    with st.container(border=True):
        left, middle, right = st.columns([2, 1.4, 1.6], vertical_alignment="bottom")
        with left:
            metric = picked("metric", "Curve", tuple(METRICS), "reward_mean", shown=METRICS.__getitem__)
        with middle:
            x = controls.choice("x", "Along", tuple(AXES), shown=AXES.__getitem__)
            single = controls.toggle("single", "Single runs", default=True)
        with right:
            smooth = controls.number("smooth", SMOOTH, 0.0, name="smoothing", step=0.05)
    return View(metric, x, smooth, single)


# ---------------------------------------------------------------- the job


def _job(sweep: Sweep) -> tuple[Sweep, Job]:
    """This session's job for exactly these arms, seeds and steps: the one it has, or a new one in its place."""
    key = (sweep.arms, sweep.seeds, sweep.steps)
    held = st.session_state.get("compare_job")
    if held is not None and held[0] == key:
        job = shared().jobs.get(held[1])
        if job is not None:
            job.glance()
            return held[2], job
    if held is not None:
        shared().jobs.close(held[1])
    job = shared().jobs.create(sweep.slices)
    st.session_state["compare_job"] = (key, job.rid, sweep)
    _lease(job.rid)
    return sweep, job


@st.cache_resource(scope="session", on_release=lambda job: job.let_go(), show_spinner=False)
def _lease(rid: str) -> Job:
    """This session's hold on a job: it ends with the tab, and the job stops."""
    job = shared().jobs.get(rid)
    if job is None:
        raise LookupError(rid)
    job.hold()
    return job


def _again() -> None:
    held = st.session_state.pop("compare_job", None)
    if held is not None:
        shared().jobs.close(held[1])


def _picture(sweep: Sweep, job: Job, asked: Sequence[Asked], view: View, was_closed: bool) -> None:
    """Polled while the job works; a finished one is drawn once more, without polling."""
    if job.closed and not was_closed:
        st.rerun()
    job.glance()
    _status(sweep, job)
    arms = [sweep.curves(place) for place in range(len(asked))]
    for each in arms:
        for place, reason in each.diverged.items():
            st.warning(f"{each.label}, seed {sweep.seeds[place]}: {reason}")
    if min(each.steps for each in arms) < 2:
        return
    missing = [each.label for each in arms if view.metric not in each.metrics]
    drawn = [(one, curves) for one, curves in zip(asked, arms, strict=True) if view.metric in curves.metrics]
    if missing:
        st.caption(f"Not measured in {', '.join(missing)}.")
    if not drawn:
        return
    _figures(drawn, view)


def _status(sweep: Sweep, job: Job) -> None:
    if job.state == "failed":
        st.error(job.error)
    done = round(sweep.progress * sweep.steps)
    if job.closed:
        if job.state != "done":
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"Stopped after {done} of {sweep.steps} steps.", width="content")
                st.button("Run again", on_click=_again, icon=":material/replay:")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(sweep.progress, f"Step {done} of {sweep.steps}: {len(sweep.arms)} arms × {len(sweep.seeds)} seeds")
        st.button("Cancel", on_click=job.cancel, icon=":material/stop_circle:")


# ---------------------------------------------------------------- from curves to plates


def _figures(drawn: Sequence[tuple[Asked, Curves]], view: View) -> None:
    steps = min(curves.steps for _, curves in drawn)
    x = [_axis(curves, view.x)[:steps] for _, curves in drawn]
    grid = grid_of(x)
    values = [curves.metrics[view.metric][:steps] for _, curves in drawn]
    raw = [on_grid(at, y, grid) for at, y in zip(x, values, strict=True)]
    smooth = [on_grid(at, smoothed(y, view.smooth), grid) for at, y in zip(x, values, strict=True)]
    axes = figures.Axes(view.metric, METRICS[view.metric], X_TITLES[view.x], view.smooth)
    lines = [_line(one, grid, each, band(plain).mean) for (one, _), each, plain in zip(drawn, smooth, raw, strict=True)]
    figure.show(figures.curves(lines, axes, single=view.single), key="compare_curves")
    _ends([one.arm.label for one, _ in drawn], raw)
    if len(lines) > 1:
        st.subheader("In pairs", divider="gray")
        st.markdown(
            f"Each seed's difference from **{lines[0].label}**: the same dice on both sides, so luck that both share cancels."
        )
        pairs = [
            _line(one, grid, each - smooth[0], band(plain - raw[0]).mean)
            for (one, _), each, plain in zip(drawn[1:], smooth[1:], raw[1:], strict=True)
        ]
        figure.show(figures.differences(lines[0].label, pairs, axes), key="compare_pairs")


def _axis(curves: Curves, x: str) -> np.ndarray:
    if x == "steps":
        return np.broadcast_to(np.arange(1.0, curves.steps + 1)[:, None], curves.samples.shape)
    return curves.samples if x == "samples" else curves.seconds


def _line(one: Asked, grid: np.ndarray, runs: np.ndarray, raw: np.ndarray) -> figures.Line:
    found: Band = band(runs)
    return figures.Line(one.arm.label, one.look, grid, found.mean, found.low, found.high, found.n, runs, raw)


def _ends(names: Sequence[str], raw: Sequence[np.ndarray]) -> None:
    """The last tenth of the runs in numbers: mean and interval of each arm, and of its difference from the first."""
    ends = [ending(values) for values in raw]
    rows = []
    for name, values in zip(names, ends, strict=True):
        alone, pair = band(values), band(values - ends[0])
        rows.append(
            {
                "arm": name, "last tenth, mean": _number(alone.mean), "95 % interval": _range(alone),
                f"minus {names[0]}, in pairs": "" if name == names[0] else _number(pair.mean, sign=True),
                "its 95 % interval": "" if name == names[0] else _range(pair, sign=True), "seeds": int(alone.n),
            }  # fmt: skip
        )
    st.table(rows, hide_index=True)


def _number(x: np.ndarray, *, sign: bool = False) -> str:
    return f"{float(x):{'+' if sign else ''}.4g}"


def _range(found: Band, *, sign: bool = False) -> str:
    if np.isnan(found.low):
        return "one seed has none"
    return f"{_number(found.low, sign=sign)} to {_number(found.high, sign=sign)}"
