"""The sections of the Ratios page: controls in, records from `rlcore.explore`, figures out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from figures import ratios as figures
from figures.theme import look
from rlcore.explore import lengths, recorded, tokens
from rlcore.surrogates import PpoClip
from ui import bars, controls, figure, refusals

SOURCES = {
    "addition": "Adding language model", "sorting": "Sorting language model", "gridworld": "Gridworld", "bandit": "Bandit",
    "typed": "Typed in",
}  # fmt: skip
WHOSE = {
    "sequence mean": "GRPO, GSPO", "token mean": "DAPO; TRL, verl by default", "constant length": "Dr. GRPO",
    "sequence sum": "RLOO",
}  # fmt: skip
RECIPES = ("grpo", "gspo", "dapo", "ppo")
UPDATES = 10
MOST_BARS = 64


def _bands() -> tokens.Bands:
    """Clip widths of the token ratio and of the sequence ratio."""
    names = (
        ("eps_low", 0.2, "token"),
        ("eps_high", 0.2, "token"),
        ("seq_eps_low", 3e-4, "sequence"),
        ("seq_eps_high", 4e-4, "sequence"),
    )
    found = {}
    for column, (key, default, level) in zip(st.columns(4), names, strict=True):
        with column:
            found[key] = controls.number(key, controls.declared(PpoClip, key.removeprefix("seq_")), default, name=level)
    return tokens.Bands(**found)


def _row() -> tokens.Row:
    """The response that is looked at: recorded, or typed in."""
    sources = tuple(SOURCES)
    told = refusals.any_of("source", "recipe", "step", "update", "row", "log_ratios")
    with st.expander("Which response", icon=":material/movie:", expanded=told):
        default = "typed" if "log_ratios" in st.query_params else sources[0]
        source = controls.choice("source", "From", sources, default=default, shown=SOURCES.__getitem__)
        if source == "typed":
            typed = controls.numbers(
                "log_ratios",
                "Log-ratios, token by token",
                (0.02, -0.05, 1.2, 0.01),
                low=-20,
                high=20,
                least=1,
                most=200,
            )
            sign = controls.choice(
                "sign", "Advantage", ("gain", "loss"), shown={"gain": "+1", "loss": "−1"}.__getitem__
            )
            return tokens.Row(
                tokens.as_array(typed), tuple(str(i + 1) for i in range(len(typed))), 1.0 if sign == "gain" else -1.0
            )
        recipe = controls.choice("recipe", "Recipe of the run", RECIPES, shown=lambda key: look(key).label)
        left, middle, right = st.columns(3)
        with left:
            step = controls.whole(
                "step", controls.counted(0, 30, "training step of the run, from 0"), 0, name="training step"
            )
        with middle:
            about = controls.counted(1, UPDATES, "which pass over the batch; before the first, every ratio is 1")
            update = controls.whole("update", about, UPDATES, name="update")
        record = recorded.recorded(recipe, source, steps=step, epochs=UPDATES)
        assert record.trace is not None
        with right:
            about = controls.counted(1, len(record.trace.updates[update - 1].rows), "which row of the batch")
            row = controls.whole("row", about, 1, name="row")
        return tokens.row_of(record, update - 1, row - 1)


def one_response() -> None:
    """One response; which one is chosen below, outside the fragment."""
    place = st.container()
    row = _row()
    with place:
        _token_by_token(row)


@st.fragment
def _token_by_token(row: tokens.Row) -> None:
    """Token ratios, one of which may be moved, and what each recipe keeps."""
    bands = _bands()
    left, right = st.columns(2)
    with left:
        about = controls.counted(1, len(row.log_ratio), "the token that the next slider moves")
        token = min(controls.whole("token", about, 1, name="token"), len(row.log_ratio))
    with right:
        nudge = controls.number("nudge", controls.declared(tokens.Nudge, "nudge"), 0.0, name="of that token")
    moved = tokens.nudged(row.log_ratio, token - 1, nudge)
    if len(moved) <= MOST_BARS:
        bars.dragged(
            "log_ratio_bars", "Log-ratio of every token: drag one", [float(x) for x in moved], each="log-ratio of token",
            names=row.names, limits=(-20, 20), least=(-0.5, 0.5),
            on_drag=partial(_nudge_to, [float(x) for x in row.log_ratio], [float(x) for x in moved]),
        )  # fmt: skip
    found = tokens.response(moved, advantage=row.advantage, bands=bands)
    if row.prompt:
        st.markdown(f"Asked `{row.prompt}`, the model answered `{''.join(row.names)}`: A = {row.advantage:+.3f}.")
    figure.show(figures.response(found, row.names, bands, chosen=token - 1), key="response")


def _nudge_to(recorded: list[float], shown: list[float], values: tuple[float, ...]) -> None:
    """The token that was dragged is the one to be moved; all others stand where they were recorded."""
    change = [abs(new - old) for new, old in zip(values, shown, strict=True)]
    at = change.index(max(change))
    about = controls.declared(tokens.Nudge, "nudge")
    st.session_state["token"] = at + 1
    st.session_state["nudge"] = min(max(float(f"{values[at] - recorded[at]:.6g}"), about.low), about.high)


@st.fragment
def sequence() -> None:
    """Ratios of growing answers, and how far a geometric mean is from an importance weight."""
    left, right = st.columns(2)
    with left:
        length = controls.whole("length", controls.declared(lengths.Length, "length"), 1000, name="tokens")
    with right:
        each = controls.number(
            "each", controls.declared(lengths.Length, "each"), 0.01, name="of every token", step=0.005
        )
    setting = lengths.Length(length=length, each=each)
    figure.show(figures.growth(lengths.growth(setting), each=each), key="growth")
    old, new, size = (0.5, 0.5), (0.8, 0.2), 3
    found = lengths.weighing(old, new, length=size)
    st.markdown(
        f"**Is it an importance weight?** Old policy {old}, new policy {new}, {size} tokens. The new policy writes the first token "
        f"{size} times with probability **{found.truth:.3f}**. Estimated from the old policy's samples, by enumeration: weighted with "
        f"the product **{found.product:.3f}**, weighted with the sequence ratio **{found.sequence:.3f}**."
    )


@st.fragment
def band() -> None:
    """Token and sequence ratios on one axis with both clip widths, and the share that each silences."""
    bands = _bands()
    left, right = st.columns(2)
    with left:
        length = controls.whole("length", controls.declared(lengths.Length, "length"), 200, name="tokens")
    with right:
        sd = controls.number("sd", controls.declared(lengths.Length, "sd"), 0.05, name="of a token's log-ratio")
    found = lengths.spread(lengths.Length(length=length, sd=sd), bands)
    figure.show(figures.bands(found, bands, length=length), key="bands")
    columns = st.columns(len(found.clipped))
    for column, (label, share) in zip(columns, found.clipped.items(), strict=True):
        column.metric(
            label, f"{share:.3%}", border=True, help="share whose gradient the bound removes, half of it with A > 0"
        )


@st.fragment
def weights() -> None:
    """What one token of a short and of a long answer weighs under each rule."""
    first, second, third = st.columns(3)
    with first:
        short = controls.whole("short", controls.declared(lengths.Length, "short"), 10, name="tokens, short answer")
    with second:
        length = controls.whole("length", controls.declared(lengths.Length, "length"), 100, name="tokens, long answer")
    with third:
        constant = controls.whole(
            "constant", controls.declared(lengths.Length, "constant"), 1000, name="constant divisor"
        )
    setting = lengths.Length(short=short, length=length, constant=constant)
    found = lengths.weighed(setting, advantages=(1.0, -1.0))
    figure.show(figures.weights(found, (short, length)), key="weights")
    st.markdown("**Push on one token**, the short answer right (A = +1), the long one wrong (A = −1), every ratio 1:")
    st.table(
        {
            "rule": [f"{name} ({WHOSE[name]})" for name in found],
            f"short ({short})": [f"{each.push[0, 0]:+.5f}" for each in found.values()],
            f"long ({length})": [f"{each.push[1, 0]:+.5f}" for each in found.values()],
            "short, whole answer": [f"{each.push[0].sum():+.4f}" for each in found.values()],
            "long, whole answer": [f"{each.push[1].sum():+.4f}" for each in found.values()],
        },
        hide_index=True,
    )


SECTIONS: Mapping[str, Callable[[], None]] = {
    "tokens": one_response, "sequence": sequence, "band": band, "weights": weights,
}  # fmt: skip
