"""The sections of the Advantages page: controls in, records from `rlcore.explore`, figures out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import streamlit as st

from figures import advantages as figures
from rlcore.explore import credit as credits
from rlcore.explore import difficulty as difficulties
from rlcore.explore import exact as exacts
from rlcore.explore import groups
from ui import bars, controls, figure
from ui.refusals import REFUSED, forget

LIMIT = 1e6
PRESETS = {
    "two of four": "1, 0, 0, 1", "one of eight": "1, 0, 0, 0, 0, 0, 0, 0", "four of eight": "1, 1, 1, 1, 0, 0, 0, 0",
    "all right": "1, 1, 1, 1", "all 0.9": "0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9", "one outlier": "0, 1, 0, 1, 0, 10",
}  # fmt: skip
SIZES = (2, 4, 8, 16, 64)
SAMPLED = 512
POLICIES = {"leaning": "leaning to the poorest arm", "uniform": "uniform"}


def _groups() -> list[tuple[float, ...]]:
    """The typed rewards of one prompt or two, with a few ready-made groups."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Fill in:", width="content")
        for name, text in PRESETS.items():
            st.button(name, type="tertiary", key=f"fill_{name}", on_click=_fill, args=(text,))
    limits = {"low": -LIMIT, "high": LIMIT, "most": 64}
    left, right = st.columns(2)
    with left:
        first = controls.numbers("rewards", "Rewards of the answers to one prompt", (1, 0, 0, 1), least=2, **limits)
    with right:
        second = controls.numbers("rewards_b", "A second prompt, if you like", (), least=0, **limits)
    typed = [first, second] if second else [first]
    for column, key, rewards in zip(st.columns(len(typed)), ("rewards", "rewards_b"), typed, strict=False):
        with column:
            bars.dragged(
                f"{key}_bars", "… or drag them", rewards, each="reward of answer",
                names=[str(i + 1) for i in range(len(rewards))], limits=(-LIMIT, LIMIT),
                on_drag=partial(_fill_in, key),
            )  # fmt: skip
    return typed


def _fill_in(key: str, values: tuple[float, ...]) -> None:
    forget(key)
    st.session_state[key] = ", ".join(controls.spelled(v) for v in values)


def _fill(text: str) -> None:
    st.session_state["rewards"] = text


@st.fragment
def group() -> None:
    """Typed rewards, the advantages of one scale, and what a shift or a factor changes."""
    typed = _groups()
    scale = controls.choice("scale", "Scale", tuple(groups.SCALES), shown=lambda name: figures.LOOKS[name][0])
    place = st.container()
    left, right = st.columns(2)
    with left:
        shift = controls.number("shift", controls.declared(groups.Affine, "shift"), 0.0, name="shift all rewards")
    with right:
        factor = controls.number("factor", controls.declared(groups.Affine, "factor"), 1.0, name="stretch all rewards")
    change = groups.moved(groups.SCALES[scale], typed, groups.Affine(shift=shift, factor=factor))
    with place:
        figure.show(figures.group(change.after, scale), key="group")
    if shift or factor != 1:
        st.markdown(f"Against the rewards as typed, no advantage has changed by more than **{change.largest:.3g}**.")


@st.fragment
def conventions() -> None:
    """The same scores under every library's convention."""
    found = groups.by_convention(_groups())
    labels = {name: convention.label for name, convention in groups.CONVENTIONS.items()}
    figure.show(figures.conventions(found, labels), key="conventions")
    rows = {
        "convention": [f"**{labels[name]}**: {c.source}" for name, c in groups.CONVENTIONS.items()],
        "divisor": [f"{each.scale[0]:.6g}" for each in found.values()],
        "advantages": [", ".join(f"{a:+.4g}" for a in each.advantages[:8]) for each in found.values()],
    }
    st.table(rows, hide_index=True)


def _prompt() -> difficulties.Prompt:
    left, right = st.columns(2)
    with left:
        p = controls.number("p", controls.declared(difficulties.Prompt, "p"), 0.2, name="right answers", step=0.01)
    with right:
        size = controls.whole(
            "group_size", controls.declared(difficulties.Prompt, "group_size"), 8, name="answers a prompt"
        )
    return difficulties.Prompt(p=p, group_size=size)


@st.fragment
def dead() -> None:
    """The formula beside sampled groups."""
    prompt = _prompt()
    seen = difficulties.observed(prompt, groups=SAMPLED)
    found = difficulties.dead(sorted({*SIZES, prompt.group_size}), np.linspace(0, 1, 101))
    left, middle, right = st.columns(3)
    left.metric("Dead, by formula", f"{seen.expected:.1%}", border=True)
    middle.metric(f"Dead, of {SAMPLED} sampled groups", f"{seen.fraction:.1%}", border=True)
    right.metric("Groups to sample for one that teaches", f"{seen.asked:.2f}", border=True)
    figure.show(figures.dead(found, seen, p=prompt.p, group_size=prompt.group_size), key="dead")


@st.fragment
def difficulty() -> None:
    """Expected gradient over true gradient by difficulty, and one group's numbers."""
    prompt = _prompt()
    found = difficulties.loudness(prompt.group_size)
    figure.show(figures.loudness(found, group_size=prompt.group_size, p=prompt.p), key="loudness")
    rows = []
    for right in sorted({1, prompt.group_size // 2}):
        for scale in ("std", "none"):
            one = difficulties.one_group(scale, right=right, group_size=prompt.group_size)
            rows.append((f"{right} of {prompt.group_size}", figures.LOOKS[scale][0], one))
    st.table(
        {
            "right answers": [r[0] for r in rows], "scale": [r[1] for r in rows],
            "A of a right one": [f"{r[2].of_right:+.3f}" for r in rows],
            "A of a wrong one": [f"{r[2].of_wrong:+.3f}" for r in rows],
            "sum of squares": [f"{r[2].square_sum:.3f}" for r in rows],
        },
        hide_index=True,
    )  # fmt: skip


@st.fragment
def exact() -> None:
    """Expected and single-group gradients of a small bandit, by enumeration."""
    left, middle, right = st.columns(3)
    with left:
        rewards = controls.numbers("arms", "What the arms pay", (0, 1, 10), low=-LIMIT, high=LIMIT, least=2, most=4)
    with middle:
        about = controls.declared(exacts.SmallBandit, "group_size")
        size = controls.whole("group_size", about, 4, name="answers a group")
    with right:
        policy = controls.choice("policy", "Policy", tuple(POLICIES), shown=POLICIES.__getitem__)
    bandit = exacts.SmallBandit(rewards=rewards, group_size=size)
    found = exacts.enumerated(bandit, exacts.leaning(bandit) if policy == "leaning" else None)
    figure.show(figures.expected(found), key="expected")
    baseline = controls.choice(
        "baseline", "Single groups with", tuple(exacts.BASELINES), shown=lambda name: figures.LOOKS[name][0]
    )
    figure.show(figures.scatter(found, baseline), key="scatter")


@st.fragment
def gae() -> None:
    """A recorded episode under a critic and under the group, held against the truth; and one typed in by hand."""
    left, middle, right = st.columns(3)
    with left:
        lam = controls.number("lam", controls.declared(credits.Episode, "lam"), 0.95)
    with middle:
        gamma = controls.number("gamma", controls.declared(credits.Episode, "gamma"), 0.99)
    with right:
        about = controls.declared(credits.Episode, "step")
        step = controls.whole("step", about, 8, name="training steps before")
    found = credits.credited("gridworld", steps=step, gamma=gamma, lam=lam)
    names = controls.several(
        "estimators",
        "Compare",
        tuple(found.by_name),
        default=("gae", "group_std"),
        shown=lambda name: figures.LOOKS[name][0],
    )
    rows = len(found.score)
    about = controls.counted(1, rows, "which episode of the batch; at first the one with the highest return")
    row = controls.whole("row", about, found.best + 1, name="episode")
    figure.show(figures.credit(found, row - 1, names), key="credit")
    st.caption(f"This episode's return: {found.score[row - 1]:+.3f}; the batch's mean: {found.score.mean():+.3f}.")
    _by_hand(gamma, lam)


def _by_hand(gamma: float, lam: float) -> None:
    st.subheader("An episode by hand", divider="gray")
    left, right = st.columns(2)
    limits = {"low": -LIMIT, "high": LIMIT, "least": 1, "most": 12}
    with left:
        rewards = controls.numbers("hand_rewards", "Rewards, step by step", (0, 0, 1), **limits)
    with right:
        values = controls.numbers("hand_values", "The critic's values V", (0.2, 0.5, 0.4), **limits)
    if len(rewards) != len(values):
        st.error(f"hand_values: needs as many numbers as there are rewards ({len(rewards)}), got {len(values)}", icon=REFUSED)
        return
    found = credits.by_hand(rewards, values, gamma=gamma, lam=lam)
    labels = {"td": "λ = 0 (TD error)", "gae": f"λ = {lam:g}", "monte_carlo": "λ = 1 (return − V)"}
    table = {"step": list(range(1, len(rewards) + 1)), "reward": list(rewards), "V": list(values)}
    st.table(table | {labels[name]: [f"{a:+.3f}" for a in each] for name, each in found.items()}, hide_index=True)


SECTIONS: Mapping[str, Callable[[], None]] = {
    "group": group, "conventions": conventions, "dead": dead, "difficulty": difficulty, "exact": exact, "gae": gae,
}  # fmt: skip
