"""Advantages: a group's rewards and what becomes of them, dead groups, loudness, expected gradients, credit by step.

Reads the records of `rlcore.explore.groups`, `.difficulty`, `.exact` and `.credit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from figures.drawing import Drawing, dashed
from figures.plate import Plate
from figures.theme import CUSTOM, Look, Mode, look

if TYPE_CHECKING:
    from rlcore.explore.credit import Credited
    from rlcore.explore.difficulty import Dead, Loudness, Observed
    from rlcore.explore.exact import Enumerated
    from rlcore.explore.groups import Judged

LOOKS: dict[str, tuple[str, Look]] = {
    "std": ("GRPO: (R − mean) ÷ std", look("grpo")),
    "none": ("Dr. GRPO: R − mean", look("dr_grpo")),
    "batch": ("(R − mean) ÷ batch std", look("dapo")),
    "leave_one_out": ("RLOO: R − mean of the others", dashed(look("rloo"), "dot")),
    "gae": ("GAE", look("ppo")),
    "group_std": ("GRPO: one number a row", look("grpo")),
    "group_mean": ("Dr. GRPO: one number a row", look("dr_grpo")),
    "monte_carlo": ("return − V", look("ppo_rlhf")),
    "td": ("TD error", look("sapo")),
    "returns": ("return, no baseline", look("reinforce_pp")),
}


def group(found: Judged, scale: str) -> Plate:
    """Rewards with the baseline each of them meets, and below the advantages that come out."""
    names = _names(found)

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode, heights=(0.5, 0.5))
        d.marks(names, found.score, "reward", size=10, opacity=1, hover="reward %{y:.4g}")
        d.marks(
            names, found.baseline, "baseline", symbol="line-ew-open", size=18, color=d.color.mark, opacity=1,
            hover="baseline %{y:.4g}",
        )  # fmt: skip
        for label, chosen, paint, hatch in (
            ("A > 0: more likely", found.advantages > 0, d.color.better, ""),
            ("A < 0: less likely", found.advantages < 0, d.color.worse, "/"),
            ("A = 0: nothing", found.advantages == 0, d.color.mark, ""),
        ):
            height = np.where(chosen, found.advantages, np.nan)
            d.bars(names, height, label, color=paint, hatch=hatch, row=2, hover="advantage %{y:+.4f}")
            if chosen.any():
                texts = [f"{a:+.3g}" if c else "" for a, c in zip(found.advantages, chosen, strict=True)]
                d.traces[-1] |= {
                    "text": texts,
                    "textposition": "outside" if len(names) <= 16 else "none",
                    "cliponaxis": False,
                }
        d.y("reward", row=1)
        d.y("advantage", row=2)
        d.x("answer" if found.group.max() == 0 else "answer (prompt · answer)", type="category")
        return d.figure(height=440, barmode="overlay")

    flat = " All advantages are 0: this batch teaches nothing." if not found.advantages.any() else ""
    first = [int(np.flatnonzero(found.group == number)[0]) for number in np.unique(found.group)]
    of = " and ".join(f"{found.mean[i]:.4g} ± {found.std[i]:.4g}" for i in first)
    told = (
        f"{len(names)} rewards, mean ± std {of}. {LOOKS[scale][0]}: advantages from {found.advantages.min():+.4f} to "
        f"{found.advantages.max():+.4f}, their squares add up to {found.square_sum:.4f}.{flat}"
    )
    table = {
        "answer": names, "reward": found.score.tolist(), "baseline": found.baseline.tolist(),
        "scale": found.scale.tolist(), "advantage": found.advantages.tolist(),
    }  # fmt: skip
    return Plate("group-advantages", "A group's rewards and advantages", draw, told, table)


def _names(found: Judged) -> list[str]:
    several = found.group.max() > 0
    place: dict[int, int] = {}
    names = []
    for number in found.group.tolist():
        place[number] = place.get(number, 0) + 1
        names.append(f"{number + 1} · {place[number]}" if several else str(place[number]))
    return names


def conventions(found: Mapping[str, Judged], labels: Mapping[str, str]) -> Plate:
    """The same scores by every library's convention, one kind of mark each."""
    looks = (
        look("grpo"), look("sapo"), look("gspo"), look("gmpo"), look("dr_grpo"), look("dapo"), look("ppo"),
        look("reinforce_pp"),
    )  # fmt: skip
    names = _names(next(iter(found.values())))

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        places = np.arange(len(names))
        for shift, (name, each), drawn in zip(np.linspace(-0.3, 0.3, len(found)), found.items(), looks, strict=True):
            d.marks(
                places + shift, each.advantages, labels[name], color=drawn.color(mode), symbol=drawn.marker, size=8,
                opacity=1, hover=labels[name] + ": %{y:+.5f}",
            )  # fmt: skip
        d.across(0, along="y")
        d.x("answer", tickvals=places.tolist(), ticktext=names, zeroline=False)
        d.y("advantage")
        return d.figure(height=380)

    told = "; ".join(f"{labels[name]} {each.advantages[0]:+.5g}" for name, each in found.items())
    columns = {"answer": names} | {labels[name]: each.advantages.tolist() for name, each in found.items()}
    return Plate("conventions", "One group, every convention", draw, f"Advantage of the first answer: {told}.", columns)


def dead(found: Dead, seen: Observed, *, p: float, group_size: int) -> Plate:
    """Share of groups that teach nothing over p, one line a group size; a mark for what sampling showed."""
    looks = (
        dashed(look("sapo"), "dot"), dashed(look("gspo"), "dash"), dashed(look("grpo"), "dashdot"),
        dashed(look("rloo"), "longdash"), dashed(look("cispo"), "dot"), look("ppo"),
    )  # fmt: skip

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for (size, share), drawn in zip(found.by_size.items(), looks, strict=False):
            own = size == group_size
            drawn = dashed(drawn, "solid") if own else drawn
            d.line(
                found.p,
                share,
                f"G = {size}",
                look=drawn,
                width=3.4 if own else 1.8,
                hover=f"G = {size}: %{{y:.1%}} at p = %{{x:.2f}}",
            )
        d.marks([p], [seen.fraction], f"observed, {seen.groups} groups", size=12, opacity=1, hover="observed %{y:.1%}")
        d.x("p: probability that one answer is right", range=[0, 1], tickformat=".0%")
        d.y("groups without signal", range=[0, 1.02], tickformat=".0%")
        return d.figure(height=400)

    told = (
        f"At p = {p:g} and G = {group_size}, {seen.expected:.1%} of groups have equal rewards and teach nothing; of "
        f"{seen.groups} sampled groups {seen.fraction:.1%} did."
    )
    table = {"p": found.p.tolist()} | {f"G = {size}": share.tolist() for size, share in found.by_size.items()}
    return Plate("dead-groups", "Groups that teach nothing", draw, told, table)


def loudness(found: Loudness, *, group_size: int, p: float) -> Plate:
    """Expected gradient of a prompt over its true gradient, by its difficulty."""

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for name, weight in found.weight.items():
            label, drawn = LOOKS[name]
            d.line(found.p, weight, label, look=drawn, hover=label + ": %{y:.3f} at p = %{x:.2f}")
        d.line(found.p, found.rule, "1/√(p(1 − p))", look=CUSTOM, width=1.2, hover="rule of thumb %{y:.2f}")
        d.across(p, color=d.color.mark, dash="dot")
        d.x("p: how often the prompt is answered rightly", range=[0, 1], tickformat=".0%")
        d.y("gradient ÷ true gradient", range=[0, 5])
        return d.figure(height=400)

    at = int(np.abs(found.p - p).argmin())
    parts = "; ".join(f"{LOOKS[name][0]} {weight[at]:.2f}" for name, weight in found.weight.items())
    told = f"G = {group_size}, p = {found.p[at]:.2f}: gradient over true gradient is {parts}."
    table = (
        {"p": found.p.tolist()}
        | {LOOKS[n][0]: w.tolist() for n, w in found.weight.items()}
        | {"rule": found.rule.tolist()}
    )
    return Plate("loudness", "How loudly a prompt speaks", draw, told, table)


def expected(found: Enumerated) -> Plate:
    """Expected gradient per arm of every baseline beside the true one."""
    arms = [f"arm {i + 1} (pays {r:g})" for i, r in enumerate(found.rewards)]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.bars(arms, found.truth, "true gradient", color=d.ink, hover="true gradient %{y:+.4f}")
        for each, hatch in zip(found.estimators, (".", "/", "x"), strict=True):
            label, drawn = LOOKS[each.name]
            d.bars(arms, each.mean, label, look=drawn, hatch=hatch, hover=label + ": %{y:+.4f}")
        d.across(0, along="y")
        d.y("expected gradient per logit")
        return d.figure(height=400)

    parts = []
    for each in found.estimators:
        ratios = ", ".join(f"{r:.3f}" for r in each.ratio)
        turned = (
            f"; wrong sign on arm {', '.join(str(i + 1) for i in np.flatnonzero(each.turned))}"
            if each.turned.any()
            else ""
        )
        parts.append(f"{LOOKS[each.name][0]}: {ratios} of the truth, cosine {each.cosine:.2f}{turned}")
    table = {"arm": arms, "probability": found.policy.tolist(), "true": found.truth.tolist()}
    table |= {LOOKS[e.name][0]: e.mean.tolist() for e in found.estimators}
    table |= {f"{LOOKS[e.name][0]}, std of one group": e.std.tolist() for e in found.estimators}
    return Plate("expected-gradient", "Expected gradient by baseline", draw, "; ".join(parts) + ".", table)


def scatter(found: Enumerated, name: str) -> Plate:
    """Single groups' gradients around their expectation and the truth, for one baseline."""
    each = next(e for e in found.estimators if e.name == name)
    label, drawn = LOOKS[name]

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        for arm in range(found.rewards.size):
            x = arm + np.linspace(-0.28, 0.28, len(each.drawn))
            d.marks(
                x, each.drawn[:, arm], "one group", color=drawn.color(mode), symbol=drawn.marker, size=6, opacity=0.6,
                legend=arm == 0, hover="one group's gradient %{y:+.3f}",
            )  # fmt: skip
            ends = [arm - 0.36, arm + 0.36]
            d.line(ends, [each.mean[arm]] * 2, "expected", width=3, legend=arm == 0, hover="expected %{y:+.4f}")
            d.line(
                ends, [found.truth[arm]] * 2, "true", color=d.color.dead, dash="dash", width=2, legend=arm == 0,
                hover="true %{y:+.4f}",
            )  # fmt: skip
        arms = [f"arm {i + 1}" for i in range(found.rewards.size)]
        d.x("", tickvals=list(range(len(arms))), ticktext=arms, zeroline=False)
        d.y("gradient per logit")
        return d.figure(height=400)

    spread = ", ".join(f"{s:.2f}" for s in each.std)
    told = f"{label}: {len(each.drawn)} sampled groups; standard deviation of one group's gradient by arm {spread}."
    table = {f"arm {i + 1}": each.drawn[:, i].tolist() for i in range(found.rewards.size)}
    return Plate("single-groups", "One group at a time", draw, told, table)


def credit(found: Credited, row: int, names: tuple[str, ...]) -> Plate:
    """One recorded episode, step by step: true advantage as bars, every estimator's as a line."""
    valid = found.mask[row]
    steps = np.arange(1, int(valid.sum()) + 1)

    def draw(mode: Mode) -> go.Figure:
        d = Drawing(mode)
        d.bars(
            steps, found.truth[row][valid], "true advantage", color=d.color.mark, hover="true %{y:+.4f} at step %{x}"
        )
        for name in names:
            label, drawn = LOOKS[name]
            hover = label + ": %{y:+.4f} at step %{x}"
            d.line(steps, found.by_name[name].advantages[row][valid], label, look=drawn, marks=True, hover=hover)
        d.across(0, along="y")
        d.x("step of the episode")
        d.y("advantage")
        return d.figure(height=420)

    told = "; ".join(
        f"{LOOKS[n][0]} {found.by_name[n].correlation:.2f} (error's standard deviation {found.by_name[n].noise:.3f})" for n in names
    )
    table = {
        "step": steps.tolist(), "state": found.state[row][valid].tolist(), "reward": found.reward[row][valid].tolist(),
        "V": found.value[row][valid].tolist(), "true": found.truth[row][valid].tolist(),
    }  # fmt: skip
    table |= {LOOKS[n][0]: found.by_name[n].advantages[row][valid].tolist() for n in names}
    return Plate(
        "credit", "Credit by step", draw, f"Correlation with the true advantage over the whole batch: {told}.", table
    )  # fmt: skip
