"""The sections of the Clip-and-KL page: controls in, records from `rlcore.explore`, figures out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from figures import kl as kl_figures
from figures import reuse as reuse_figures
from figures import surrogate as figures
from figures.theme import look
from rlcore.config import Batch, EpochKlStop
from rlcore.explore import curves, estimators, penalty, recorded, reuse
from rlcore.kl import KlInLoss
from rlcore.optim import Adam
from rlcore.records import UpdateTrace
from rlcore.surrogates import Cispo, DualClip, PpoClip, Sapo, ScoreFunction, Unclipped
from ui import controls, figure, refusals

OVERLAYS = ("dual_clip", "cispo", "sapo", "score_function", "unclipped", "clip_without_min")
RECIPES = ("grpo", "ppo", "dapo", "gspo", "cispo", "rloo")
WORLDS = {"gridworld": "Gridworld", "bandit": "Bandit", "contextual": "Contextual bandit"}
UPDATES = 10
SIGNS = {"gain": "A = +1", "loss": "A = −1"}


def _eps_low() -> float:
    return controls.number("eps_low", controls.declared(PpoClip, "eps_low"), 0.2)


def _eps_high() -> float:
    return controls.number("eps_high", controls.declared(PpoClip, "eps_high"), 0.2)


def _beta() -> float:
    return controls.number("kl_beta", controls.declared(KlInLoss, "kl_beta", suggested=(0, 20)), 5.0, step=0.5)


def _band() -> tuple[float, float]:
    low, high = st.columns(2)
    with low:
        eps_low = _eps_low()
    with high:
        eps_high = _eps_high()
    return eps_low, eps_high


def _on_a_batch(section: Callable[[tuple[UpdateTrace, ...]], None]) -> Callable[[], None]:
    """A section about a recorded batch; the choice of the run stands below it and outside its fragment."""

    def whole() -> None:
        place = st.container()
        told = refusals.any_of("recipe", "env", "step")
        with st.expander("Which run the samples come from", icon=":material/movie:", expanded=told):
            recipe = controls.choice("recipe", "Recipe", RECIPES, shown=lambda key: look(key).label)
            env = controls.choice("env", "World", tuple(WORLDS), shown=WORLDS.__getitem__)
            about = controls.counted(0, 30, "training step of the run, from 0")
            step = controls.whole("step", about, 0, name="training step")
        record = recorded.recorded(recipe, env, steps=step, epochs=UPDATES)
        assert record.trace is not None
        with place:
            st.fragment(section)(record.trace.updates)

    return whole


def _band_and_update(updates: tuple[UpdateTrace, ...]) -> tuple[float, float, UpdateTrace]:
    """ε_low, ε_high, and which of the updates on the batch is looked at."""
    low, high, third = st.columns(3)
    with low:
        eps_low = _eps_low()
    with high:
        eps_high = _eps_high()
    with third:
        about = controls.counted(1, UPDATES, "which pass over the step's batch; before the first, every ratio is 1")
        update = controls.whole("update", about, UPDATES, name="update on this batch")
    return eps_low, eps_high, updates[update - 1]


@_on_a_batch
def objective(updates: tuple[UpdateTrace, ...]) -> None:
    """Curves for both signs, with the recorded tokens of each, and one token taken apart."""
    eps_low, eps_high, update = _band_and_update(updates)
    found = curves.samples(PpoClip(eps_low=eps_low, eps_high=eps_high), update)
    chosen = controls.several("curves", "Compare with", OVERLAYS, default=(), shown=lambda kind: figures.LOOKS[kind][0])
    c = 3.0
    if "dual_clip" in chosen:
        c = controls.number("dual_clip", controls.declared(DualClip, "c"), 3.0, name="dual clip")
    slots = _slots(eps_low, eps_high, c)
    low, high = curves.ratio_window(eps_low=eps_low, eps_high=eps_high, far=1.25 * c if "dual_clip" in chosen else 2.0)
    grid = curves.ratio_grid(low=low, high=high, kinks=(1 - eps_low, 1 + eps_high, c))
    drawn = [
        tuple(curves.curve(slots[name], advantage=advantage, ratio=grid) for advantage in (1.0, -1.0))
        for name in ("ppo_clip", *chosen)
    ]
    figure.show(figures.objective(drawn, found, eps_low=eps_low, eps_high=eps_high), key="curve")
    _one_token(eps_low, eps_high)


def _slots(eps_low: float, eps_high: float, c: float) -> dict[str, curves.Curved]:
    return {
        "ppo_clip": PpoClip(eps_low=eps_low, eps_high=eps_high),
        "dual_clip": DualClip(eps_low=eps_low, eps_high=eps_high, c=c),
        "cispo": Cispo(eps_low=eps_low, eps_high=eps_high),
        "sapo": Sapo(),
        "score_function": ScoreFunction(),
        "unclipped": Unclipped(),
        "clip_without_min": curves.ClipWithoutMin(eps_low=eps_low, eps_high=eps_high),
    }


def _one_token(eps_low: float, eps_high: float) -> None:
    asked = refusals.any_of("ratio", "advantage")
    shown = st.expander(
        "One token, term by term", icon=":material/functions:", expanded=asked, on_change="rerun", key="one"
    )
    if shown.open:
        with shown:
            _term_by_term(eps_low, eps_high)


def _term_by_term(eps_low: float, eps_high: float) -> None:
    left, right = st.columns(2)
    with left:
        ratio = controls.number("ratio", controls.declared(curves.Token, "ratio"), 1.35, name="ratio")
    with right:
        advantage = controls.number("advantage", controls.declared(curves.Token, "advantage"), 1.0, name="advantage")
    p = curves.probe(curves.Token(ratio=ratio, advantage=advantage), eps_low=eps_low, eps_high=eps_high)
    st.latex(
        rf"\min(\,\underbrace{{{p.ratio:.3g} \cdot {p.advantage:.3g}}}_{{\rho A \,=\, {p.unclipped:.4g}}},\;"
        rf"\underbrace{{{p.clipped_ratio:.4g} \cdot {p.advantage:.3g}}}_{{\mathrm{{clip}}(\rho) A \,=\, {p.clipped:.4g}}}"
        rf"\,) = {p.objective:.4g}"
    )
    where = "outside the band" if p.outside else "inside the band"
    gradient = "zero, since A = 0" if p.advantage == 0 else "zero" if p.dead else "alive"
    st.markdown(
        f"This token is **{where}** and its gradient is **{gradient}**: "
        f"d objective / d log π = **{p.slope:.4g}**."
    )


@_on_a_batch
def gradient(updates: tuple[UpdateTrace, ...]) -> None:
    """The plane of ratio and advantage, both counts, and who logs which."""
    eps_low, eps_high, update = _band_and_update(updates)
    found = curves.samples(PpoClip(eps_low=eps_low, eps_high=eps_high), update)
    left, right = st.columns(2)
    left.metric("Outside the band", f"{found.outside_fraction:.1%}", border=True)
    left.markdown(":small[CleanRL `losses/clipfrac`, SB3 `train/clip_fraction`; here `clip_fraction_outside`]")
    right.metric("Gradient removed by the bound", f"{found.dead_fraction:.1%}", border=True)
    right.markdown(
        ":small[TRL `clip_ratio/region_mean`, verl `actor/pg_clipfrac`, OpenRLHF `ppo_clip_ratio`; here `clip_fraction`]"
    )
    figure.show(figures.plane(found, eps_low=eps_low, eps_high=eps_high), key="plane")


@st.fragment
def epochs() -> None:
    """Ten updates on one batch: the fan of ratios, then the same under other mechanisms."""
    eps_low, eps_high = _band()
    left, middle, right = st.columns(3)
    with left:
        lr = controls.number("lr", controls.declared(Adam, "lr", suggested=(1e-3, 1.0)), 0.1, name="learning rate")
    with middle:
        count = controls.whole("epochs", controls.declared(Batch, "epochs", suggested=(1, 30)), 10, name="updates")
    with right:
        env = controls.choice("env", "World", tuple(WORLDS), default="contextual", shown=WORLDS.__getitem__)
    with st.expander("What else may hold the ratio", icon=":material/tune:", expanded=True):
        chosen = controls.several(
            "mechanisms", "Compare", tuple(reuse.MECHANISMS), default=("clip", "none", "k1", "k3"),
            shown=lambda name: reuse_figures.LOOKS[name][0],
        )  # fmt: skip
        price, stop = st.columns(2)
        with price:
            beta = _beta()
        with stop:
            target = controls.number("kl_stop", controls.declared(EpochKlStop, "target", suggested=(1e-3, 1)), 0.015)
    brakes = reuse.Brakes(eps_low=eps_low, eps_high=eps_high, kl_beta=beta, kl_stop=target)
    settings = {"env": env, "lr": lr, "epochs": min(count, 100)}
    clip = reuse.fan("clip", brakes, **settings)
    figure.show(reuse_figures.fan(clip, eps_low=eps_low, eps_high=eps_high), key="fan")
    if chosen:
        fans = [reuse.fan(name, brakes, **settings) for name in chosen]
        figure.show(reuse_figures.compare(fans, eps_low=eps_low, eps_high=eps_high), key="mechanisms_figure")


@_on_a_batch
def kl(updates: tuple[UpdateTrace, ...]) -> None:
    """The slope of one sample under the clip and under each penalty, and what becomes of the recorded tokens."""
    eps_low, eps_high, update = _band_and_update(updates)
    left, right = st.columns(2)
    with left:
        beta = _beta()
    with right:
        sign = controls.choice("sign", "One sample with", ("gain", "loss"), shown=SIGNS.__getitem__)
    low, high = curves.ratio_window(eps_low=eps_low, eps_high=eps_high, far=3.0)
    grid = curves.ratio_grid(low=max(low, 0.1), high=high, kinks=(1 - eps_low, 1 + eps_high))
    names = tuple(penalty.ESTIMATORS)
    settings = {"kl_beta": beta, "eps_low": eps_low, "eps_high": eps_high}
    found = penalty.penalty_curves(names, advantage=1.0 if sign == "gain" else -1.0, ratio=grid, **settings)
    figure.show(kl_figures.penalty(found, **settings), key="penalty")
    st.markdown("**The recorded tokens** (those with A ≠ 0) at their ratios of this update:")
    counted = penalty.judged(names, update, **settings)
    labels = [reuse_figures.LOOKS[name][0] for name in counted]
    columns = {"pushed as A asks": "pushed", "gradient zero": "silent", "pushed against A": "pulled"}
    table = {label: [getattr(each, field) for each in counted.values()] for label, field in columns.items()}
    st.table({"mechanism": labels, **table}, hide_index=True)
    st.caption(
        "k1 asks the same of every sampled token, whatever its ratio: minus β. Averaged over what the policy samples, that "
        "moves nothing."
    )


@st.fragment
def bench() -> None:
    """Value and gradient of every estimator on four tokens."""
    left, right = st.columns(2)
    with left:
        distance = controls.number("distance", controls.declared(estimators.Trials, "distance"), 1.0, name="distance")
    with right:
        samples = controls.whole("samples", controls.declared(estimators.Trials, "samples"), 64, name="samples")
    setting = estimators.Trials(distance=distance, samples=samples)
    tried = estimators.bench(*estimators.policies(setting))
    spread = estimators.estimates(tried, samples=samples, repeats=200)
    left, right = st.columns(2)
    with left:
        figure.show(kl_figures.values(tried, spread, samples=samples), key="values")
    with right:
        figure.show(kl_figures.gradients(tried), key="gradients")


SECTIONS: Mapping[str, Callable[[], None]] = {
    "objective": objective, "gradient": gradient, "epochs": epochs, "kl": kl, "bench": bench,
}  # fmt: skip
