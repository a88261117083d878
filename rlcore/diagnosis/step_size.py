"""Rules about how far an update goes: divergence, KL blow-up, saturation, an idle clip, steps too small to matter."""

from __future__ import annotations

import numpy as np

from rlcore.diagnosis.finding import RECENT, Experiment, Finding, View, finite, nice, rolled
from rlcore.ratios import TokenRatio

WATCHED = ("loss", "grad_norm", "entropy", "approx_kl")
EXPLODED = 30.0
"""Gradient norm now over its median so far: ten times is a spike that clipping catches, thirty for ten steps is not."""
KL_OVERFLOW = 50.0
"""k3 of KL(new || ref) in nats: no policy of a few actions is that far away; exp(log_ratio) has exploded."""
KL_LARGE = 0.1
"""KL(old || new) a batch, mean of ten steps. SB3 and CleanRL stop at 0.015 to 0.03; toys with large steps live up to 0.1."""
SATURATED = 0.4
"""Share of tokens that a bound silences: 0.02 to 0.2 is usual (arXiv:2006.05990); healthy toy runs stay below 0.35."""
TIMID_KL = 1e-5
"""KL(old || new) below which 1,000 such updates would not move a policy by 0.01 nats."""


def diverged(view: View) -> Finding | None:
    """A number is no longer finite, the gradient has exploded, or the KL estimate has overflowed."""
    updated = view.get("updates")[-RECENT:] != 0  # without an update (all groups dropped) nothing was measured
    for name in WATCHED:
        broken = updated & ~np.isfinite(view.get(name)[-RECENT:])
        if broken[-1] and np.isfinite(view.get(name)[:-1]).any():
            at = int(view.steps[-RECENT:][broken][0])
            says = f"{name.replace('_', ' ')} is not a number any more."
            return _diverged(view, says, f"{name} was finite before and is not at step {at}", at)
    grad = view.get("grad_norm")
    usual = float(np.median(finite(grad[:-RECENT]))) if finite(grad[:-RECENT]).size else np.nan
    now = float(np.median(finite(grad[-RECENT:]))) if finite(grad[-RECENT:]).size else np.nan
    if usual > 0 and now > 1 and not view.solved and view.over("diverged", now / usual, EXPLODED):
        seen = f"grad_norm {now:.3g} (median of {view.span()}), {now / usual:.0f} times its median before"
        return _diverged(view, "The gradient has exploded.", seen, int(view.steps[-RECENT:][0]))
    kl = view.now("kl_ref")
    if view.over("diverged", kl, KL_OVERFLOW):
        seen = f"kl_ref {kl:.3g} nats (mean of {view.span()})"
        says = "The policy gives next to no probability to what it just did: the KL estimate overflows."
        return _diverged(view, says, seen, int(view.steps[-RECENT:][0]))
    return None


def _diverged(view: View, says: str, seen: str, at: int) -> Finding:
    source = "B1 and B5 of the diagnostic rules; thresholds measured on the presets"
    return Finding("diverged", "act", says, seen, view.calmer(at=max(0, at - 5)), source)


def kl_blow_up(view: View) -> Finding | None:
    """One batch moves the policy further than its samples can vouch for."""
    kl = rolled(view.get("approx_kl"))[-2 * RECENT :]
    worst = int(kl.argmax())
    if not view.over("kl_blow_up", float(kl[worst]), KL_LARGE):
        return None
    end = int(view.steps[-len(kl) :][worst])
    seen = f"approx_kl {kl[worst]:.2g} nats a batch (mean of the {min(RECENT, end)} steps up to {end}); usual is 0.03 or less"
    says = "A batch moves the policy too far: its samples no longer tell what the new policy would do."
    return Finding("kl_blow_up", "act", says, seen, view.calmer(at=max(0, end - RECENT)), "SB3 and CleanRL target_kl; arXiv:2006.05990")


def saturated(view: View) -> Finding | None:
    """Most samples have no gradient left."""
    share = view.now("clip_fraction")
    if not view.over("saturated", share, SATURATED):
        return None
    seen = f"clip_fraction {share:.2f} (mean of {view.span()})"
    says = "The bound takes the gradient of most samples: much of the batch is collected for nothing."
    high, low = view.setting("eps_high"), view.setting("eps_low")
    if high and low and (not isinstance(view.config.algorithm.ratio, TokenRatio) or high < 0.05):
        values = {"eps_low": nice(min(1.0, 10 * low)), "eps_high": nice(10 * high)}
        trial = Experiment(values, f"a band ten times wider, ε = {values['eps_high']:g}")
    else:
        trial = view.calmer()
    return Finding("saturated", "act", says, seen, trial, "arXiv:2006.05990; GSPO's ε: arXiv:2507.18071")


def idle_clip(view: View) -> Finding | None:
    """The bound cannot act: one update a batch, and every ratio is 1."""
    outside, most = view.get("clip_fraction_outside")[-2 * RECENT :], view.get("ratio_max")[-2 * RECENT :]
    one = (view.get("updates")[-2 * RECENT :] == 1).all() and view.passes == 1
    if not one or view.setting("eps_high") is None or not (outside == 0).all() or (np.abs(most - 1) > 1e-5).any():
        return None
    seen = f"updates 1 a step, ratio_max {most.max():.6g}, clip_fraction_outside 0 ({view.span(2 * RECENT)})"
    trial = Experiment({"epochs": 4}, "4 passes a batch: from the second on there are ratios to clip")
    says = "The clip is idle: with one update a batch every ratio is exactly 1, and ε does nothing."
    return Finding("idle_clip", "note", says, seen, trial, "arXiv:1707.06347, eq. 7 at θ = θ_old")


def timid(view: View) -> Finding | None:
    """Several updates a batch and next to no movement, while there is something to learn."""
    kl = view.now("approx_kl", 2 * RECENT)
    learning = view.get("grad_norm")[-RECENT:]
    if not (view.passes > 1 and view.under("timid", kl, TIMID_KL) and not view.solved and view.flat("timid", RECENT)):
        return None
    if not finite(learning).size or finite(learning).min() <= 1e-6 or view.early("approx_kl", 10) > 10 * TIMID_KL:
        return None
    lr = float(view.setting("lr"))
    seen = f"approx_kl {kl:.1g} nats a batch (mean of {view.span(2 * RECENT)}) at lr {lr:g}, with a gradient of norm {view.now('grad_norm'):.2g}"
    trial = Experiment({"lr": nice(10 * lr)}, f"a learning rate of {nice(10 * lr):g}")
    return Finding("timid", "look", "The steps are too small to matter.", seen, trial, "D6 of the diagnostic rules")


RULES_OF_NUMBERS = (diverged,)
RULES_OF_STEPS = (kl_blow_up, saturated, timid, idle_clip)
