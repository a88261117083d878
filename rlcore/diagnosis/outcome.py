"""Rules about what becomes of the policy and its reward: entropy collapse, drift, a useless critic, decline, a plateau."""

from __future__ import annotations

import numpy as np

from rlcore.advantages import Gae
from rlcore.diagnosis.ceiling import ceiling
from rlcore.diagnosis.finding import RECENT, SOLVED, Experiment, Finding, View, finite, highest, mean, nice, rolled
from rlcore.words.env import Words

COLLAPSED = 0.2
"""Entropy now over its largest early value (arXiv:2505.22617 sees the reward stop where entropy is used up)."""
NEARLY = 0.8
"""Share of the possible gain from which certainty is no longer premature."""
NO_VALUE = 0.0
"""Explained variance at or below 0: a constant would predict the returns as well."""
VANISHED = 0.02
"""Value loss now over its early level: below it, there is no variance left to explain."""
FAR, WITHOUT = 1.0, 0.1
"""More than 1 nat from the reference, and less than 10 % of the possible gain for it since the half."""
DROP = 0.35
"""Share of the gain that is lost again, on smoothed rewards."""
LONGER = 1.8
"""Mean length now over its early value."""
CLEAR, WORTH = 4.0, 0.15
"""Standard errors from which a rise and a fall count; share of the possible gain that must have been there to lose."""
PLATEAU = 30
"""Steps in each of the two windows that are compared."""


def entropy_collapse(view: View) -> Finding | None:
    """Sure, and not right: no other action is tried any more."""
    entropy = view.get("entropy")
    top, now = highest(entropy[:5]), view.now("entropy", 5)
    nearly = view.progress >= (SOLVED if "entropy_collapse" in view.said else NEARLY)
    if nearly or not top > 0 or not view.under("entropy_collapse", now / top, COLLAPSED):
        return None
    if not view.flat("entropy_collapse", RECENT):
        return None
    half = int(view.steps[np.flatnonzero(rolled(entropy, 3) > 0.5 * top)[-1]]) if (entropy > 0.5 * top).any() else 0
    reached = f", {100 * view.progress:.0f} % of the possible gain" if np.isfinite(view.progress) else ""
    seen = f"entropy {now:.2g} of {top:.2g} nats early on ({view.span(5)}), reward {mean(view.reward[-RECENT:]):.3g}{reached}"
    coef = view.config.algorithm.entropy_coef
    new = 0.01 if coef == 0 else nice(3 * coef)
    trial = Experiment({"entropy_coef": new}, f"an entropy bonus of {new:g}, from step {half} where there was still a choice", half)
    says = "Entropy has collapsed before the task was learned: the policy is sure and explores no more."
    return Finding("entropy_collapse", "act", says, seen, trial, "arXiv:2505.22617; clip-higher: arXiv:2503.14476")


def useless_critic(view: View) -> Finding | None:
    """The value function explains nothing of the returns."""
    steps = 2 * RECENT
    if not isinstance(view.config.algorithm.advantage, Gae) or view.solved or len(view) < 2 * steps:
        return None
    explained, loss, early = view.now("explained_variance", steps), view.now("value_loss"), view.early("value_loss")
    if not explained <= (0.05 if "useless_critic" in view.said else NO_VALUE) or not loss > VANISHED * early:
        return None
    seen = f"explained_variance {explained:.2f} (mean of {view.span(steps)}), value_loss {early:.2g} at first and {loss:.2g} now"
    trial = Experiment({"lr": nice(3 * float(view.setting("lr")))}, "a larger learning rate, so that the critic can follow")
    if view.now("approx_kl") > 0.01:
        trial = Experiment({"prompts": 2 * view.config.batch.prompts}, "twice the rows a batch: targets with less noise")
    says = "The critic is no better than a constant: advantages are as noisy as plain returns."
    return Finding("useless_critic", "look", says, seen, trial, "explained variance as in SB3 and CleanRL")


def drift(view: View) -> Finding | None:
    """Farther and farther from the reference, for nothing."""
    half = len(view) // 2
    kl, now = view.get("kl_ref"), view.now("kl_ref")
    moved = now - mean(kl[half : half + RECENT])
    if view.solved or not view.over("drift", now, FAR) or moved <= 0.3 or len(view) < 4 * RECENT:
        return None
    gain, total = mean(view.reward[-RECENT:]) - mean(view.reward[half : half + RECENT]), _range(view)
    if not gain < WITHOUT * total:
        return None
    seen = f"kl_ref {now:.2g} nats ({view.span()}), {moved:+.2g} since step {view.steps[half]:.0f}; reward {gain:+.2g} since then"
    beta = view.now("kl_beta")
    new = 0.05 if not beta > 0 else nice(3 * beta)
    trial = Experiment({"kl_beta": new}, f"a price on the distance: β = {new:g}")
    return Finding("drift", "look", "The policy drifts away from the reference and gains nothing by it.", seen, trial, "E2 of the diagnostic rules; arXiv:2210.10760")


def decline(view: View) -> Finding | None:
    """The reward was higher and has been lost again."""
    smooth = rolled(view.reward)
    peak = int(smooth[RECENT - 1 :].argmax()) + RECENT - 1
    start, best, now = mean(view.reward[:3]), float(smooth[peak]), mean(view.reward[-RECENT:])
    spread = finite(np.diff(view.reward))
    error = spread.std() / np.sqrt(2 * RECENT) if spread.size > 3 else np.nan
    gained, top = max(best - start, 1e-9), ceiling(view.config)
    worth = top is None or gained >= WORTH * (top - start)
    if not worth or not min(gained, best - now) > CLEAR * error or peak >= len(view) - RECENT:
        return None
    if not view.over("decline", (best - now) / gained, DROP):
        return None
    at = int(view.steps[peak])
    seen = f"reward {best:.3g} around step {at} and {now:.3g} now (means of {RECENT} steps)"
    return Finding("decline", "act", "What was learned is being lost again.", seen, view.calmer(at=at), "H3 of the diagnostic rules")


def longer(view: View) -> Finding | None:
    """Replies grow while the reward does not."""
    early, now = view.early("length_mean", RECENT), view.now("length_mean")
    if not isinstance(view.config.env, Words) or not view.over("longer", now / early, LONGER) or not view.flat("longer", RECENT):
        return None
    seen = f"length_mean {early:.1f} at first and {now:.1f} tokens in {view.span()}; reward within noise over the last {2 * RECENT} steps"
    trial = Experiment({"aggregate": "token_mean"}, "token mean, which does not divide by a row's own length")
    return Finding("longer", "look", "Replies grow longer without earning more.", seen, trial, "arXiv:2503.20783")


def plateau(view: View) -> Finding | None:
    """No change beyond noise, far from the best."""
    change, error = view.gain(PLATEAU)
    if len(view) < 2 * PLATEAU or not view.under("plateau", view.progress, 0.7):
        return None
    if not abs(change) <= (4 if "plateau" in view.said else 2) * error:
        return None
    seen = (
        f"reward {change:+.2g} from {PLATEAU} steps to the next {PLATEAU}, within ±{2 * error:.2g} of noise ({view.span(2 * PLATEAU)}); "
        f"{100 * max(0.0, view.progress):.0f} % of the possible gain reached"
    )
    lr = float(view.setting("lr"))
    trial = Experiment({"prompts": 2 * view.config.batch.prompts}, "twice the prompts a batch: less noise in each step")
    if view.now("approx_kl") < 0.002:
        trial = Experiment({"lr": nice(3 * lr)}, f"a learning rate of {nice(3 * lr):g}")
    says = f"No measurable change for {2 * PLATEAU} steps, far from the best possible reward."
    return Finding("plateau", "look", says, seen, trial, "H1 of the diagnostic rules: two standard errors")


def _range(view: View) -> float:
    """From the first rewards to the largest so far."""
    return max(highest(view.reward) - mean(view.reward[:3]), 1e-9)


RULES_OF_POLICY = (drift, longer, entropy_collapse, useless_critic)
RULES_OF_REWARD = (decline, plateau)
