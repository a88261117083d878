"""Phases about how far the policy has moved: ratio, sampler correction, KL."""

from __future__ import annotations

import math

import numpy as np
import torch

from rlcore.correction import GatedIs, MaskedIs, NoCorrection, PlainIs, TruncatedIs
from rlcore.gates import AllTokens, OffPolicyRows
from rlcore.kl import (
    K1,
    K2,
    K3,
    AbsLogRatio,
    AsWritten,
    ExactKl,
    GradientOfK2,
    KlInLoss,
    KlInReward,
    RatioCorrected,
)
from rlcore.microscope.naming import what
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.ratios import SequenceProduct, SequenceRatio, SequenceTokenRatio, TokenRatio
from rlcore.surrogates import Gmpo, ScoreFunction

SUMMANDS = 4
UNMOVED = 1e-5
"""Log-ratios below this are rounding: scoring and sampling add the same numbers in another order."""


def near_one(ratio: float) -> float:
    """How exactly a ratio must be typed: a fiftieth of its distance from 1, for that distance is what counts."""
    return max(0.02 * abs(ratio - 1), 2e-5)


def ratio_symbol(scene: Scene) -> str:
    """What this recipe's ratio is written as: rho of a token, s of a row (GSPO), rho_i for the row's product."""
    slot = scene.of.config.algorithm.ratio
    return {SequenceRatio: "s_i", SequenceTokenRatio: "s_{it}", SequenceProduct: r"\rho_i"}.get(type(slot), r"\rho")


def ratio(scene: Scene) -> Phase:
    """How much likelier the row or token has become since it was sampled."""
    slot = scene.of.config.algorithm.ratio
    new, old = scene.now("logp_new"), scene.now("logp_old")
    token, value = scene.now("token_log_ratio"), scene.now("ratio")
    first = line(
        r"\log\rho_{@t@}=\log\pi_\theta-\log\pi_{\text{old}}=@new@-@(old)@=@diff@", t=str(scene.at.token + 1), new=new, old=old,
        diff=token,
    )  # fmt: skip
    step_blank = Blank("diff", r"\log\rho_t", f"log-ratio of this {what(scene)}", token, 2,
                       (Mistake(-token, "Upside down: new minus old."), Mistake(new + old, "Subtract the old one.")),
                       max(0.01 * abs(token), 2e-6))  # fmt: skip
    whole = _of_token(scene, slot, token, value) if isinstance(slot, TokenRatio) else _of_row(scene, slot, value)
    lines, blank, sentence, formula = whole
    answer = "exactly 1" if abs(math.log(value)) < UNMOVED else "above 1" if value > 1 else "below 1"
    question = Question(
        "choice", "Is this ratio above 1, below 1, or exactly 1?", answer,
        f"It is {value:.6g}. " + ("Nothing has moved since sampling: before the first update of a step every ratio is 1."
                                  if answer == "exactly 1" else "Earlier updates on this batch have moved the policy."),
        ("above 1", "exactly 1", "below 1"),
    )  # fmt: skip
    note = _unused(scene)
    return Phase("ratio", "Ratio", sentence, formula, (first, *lines), (blank, step_blank), question, note, shows="ratio")


def _unused(scene: Scene) -> str:
    surrogate = scene.of.config.algorithm.surrogate
    if isinstance(surrogate, ScoreFunction):
        return "This recipe's gain is A · log π: the ratio is worked out for the metrics and used by nobody."
    return "GMPO clips these log-ratios first and averages afterwards; see the next phase." if isinstance(surrogate, Gmpo) else ""


Whole = tuple[tuple[Line, ...], Blank, str, str]


def _of_token(scene: Scene, slot: TokenRatio, log_ratio: float, value: float) -> Whole:
    clamped = "" if slot.clamp is None else r",\quad |\log\rho|\le @clamp@"
    lines = (line(rf"\rho=e^{{@diff@}}=@rho@{clamped}", diff=log_ratio, rho=value, clamp=slot.clamp or 0.0),)
    wrong = (
        Mistake(1 / value, "Upside down: new over old, not old over new."),
        Mistake(log_ratio, "That is the log-ratio; exponentiate it."),
        Mistake(10**log_ratio, "The base is e, not 10."),
    )
    sentence = f"Each {what(scene)} has a ratio of its own: how much likelier the policy makes it now than when it was sampled."
    formula = r"\rho_{it}=\frac{\pi_\theta(a_{it}\mid s_{it})}{\pi_{\text{old}}(a_{it}\mid s_{it})}=e^{\log\pi_\theta-\log\pi_{\text{old}}}"
    return lines, Blank("rho", r"\rho", "ratio", value, 1, wrong, near_one(value)), sentence, formula


def _of_row(scene: Scene, slot: SequenceRatio | SequenceTokenRatio | SequenceProduct, value: float) -> Whole:
    every = scene.row_now("token_log_ratio").astype(np.float64)
    total, n, padded = float(every.sum()), len(every), scene.mask.shape[1]
    product = isinstance(slot, SequenceProduct)
    parts = "+".join(f"@(x{t})@" for t in range(min(n, SUMMANDS))) + (r"+\dots" if n > SUMMANDS else "")
    summed = {f"x{t}": float(x) for t, x in enumerate(every[:SUMMANDS])}
    lines = [line(rf"\textstyle\sum_t\log\rho_{{t}}={parts + '=' if n > 1 else ''}@sum@", sum=total, **summed)]
    if product:
        lines.append(line(r"\rho_i=e^{@sum@}=@rho@", sum=total, rho=value))
    else:
        lines.append(line(r"s_i=\exp\big(@sum@\,/\,@n@\big)=e^{@mean@}=@rho@", sum=total, n=str(n), mean=total / max(n, 1), rho=value))
    own = scene.now("token_log_ratio")
    wrong = [
        Mistake(math.exp(total / n if product else total), "You divided by the length; this recipe takes the product." if product
                else "That is the product of the ratios, the true importance weight; GSPO divides the sum by the length."),
        Mistake(math.exp(own), "That is this token's own ratio; the recipe has one ratio for the whole row."),
        Mistake(1 / value, "Upside down: new over old."),
        Mistake(math.exp(total / padded), f"You divided by the padded length {padded}; only the {n} tokens under the mask count."),
        Mistake(float(np.exp(every).mean()), "That is the arithmetic mean of the ratios; the recipe takes the geometric one."),
    ]  # fmt: skip
    sentence = (
        "The whole row has one ratio, the product of its tokens' ratios: its true importance weight." if product
        else "The whole row has one ratio, the geometric mean of its tokens' ratios; all its tokens share that number's fate."
    )  # fmt: skip
    formula = {
        SequenceProduct: r"\rho_i=\prod_t\frac{\pi_\theta(a_{it})}{\pi_{\text{old}}(a_{it})}",
        SequenceRatio: r"s_i=\exp\Big(\frac1{|o_i|}\sum_t\log\frac{\pi_\theta(a_{it})}{\pi_{\text{old}}(a_{it})}\Big)",
        SequenceTokenRatio: r"s_{it}=\mathrm{sg}[s_i]\cdot\frac{\pi_\theta(a_{it})}{\mathrm{sg}[\pi_\theta(a_{it})]},\quad "
        r"s_i=\exp\Big(\frac1{|o_i|}\sum_t\log\rho_{it}\Big)",
    }[type(slot)]
    symbol = r"\rho_i" if product else "s_i"
    return tuple(lines), Blank("rho", symbol, "ratio of the row", value, 1, tuple(wrong), near_one(value)), sentence, formula


# ---------------------------------------------------------------- correction


def correct(scene: Scene) -> Phase | None:
    """The weight that makes up for a sampler that is not the trainer, and the gate; None where the recipe has neither."""
    algorithm = scene.of.config.algorithm
    sampled = "logp_rollout" in scene.of.trace.rollout
    if (isinstance(algorithm.correction, NoCorrection) or not sampled) and isinstance(algorithm.gate, AllTokens):
        return None
    value = scene.now("correction")
    old = scene.now("logp_old")
    sampler = scene.collected("logp_rollout") if sampled else old
    rho = math.exp(old - sampler)
    lines = [line(r"\frac{\pi_{\text{old}}}{\pi_{\text{sampler}}}=e^{@old@-@(sampler)@}=@rho@", old=old, sampler=sampler, rho=rho)]
    rule = algorithm.correction
    level = getattr(rule, "level", getattr(rule, "unit", "token"))
    how = {
        PlainIs: r"c=\rho^{\text{mis}}", TruncatedIs: r"c=\min(\rho^{\text{mis}},\,C)",
        MaskedIs: r"c=\rho^{\text{mis}}\ \text{inside}\ [\rho_{\min},\rho_{\max}],\ \text{else}\ 0",
        GatedIs: r"c=\text{kept where the divergence is small},\ \text{else}\ 0", NoCorrection: "c=1",
    }[type(rule)]  # fmt: skip
    bounds = ", ".join(f"{n} = {getattr(rule, n):g}" for n in ("low", "cap", "high") if getattr(rule, n, None) is not None)
    lines.append(line(rf"g\cdot c=@c@\quad\text{{({level.replace('_', ' ')} level{'; ' + bounds if bounds else ''})}}", c=value))
    gate = "" if isinstance(algorithm.gate, AllTokens) else (
        " A gate drops rows that are off policy." if isinstance(algorithm.gate, OffPolicyRows) else " Only uncertain tokens may push.")  # fmt: skip
    wrong = (Mistake(1 / rho, "Upside down: the trainer's probability over the sampler's."),
             Mistake(rho, "That is the raw ratio of this token; the rule bounds it, or takes the row's."))  # fmt: skip
    sentence = f"What drew the samples was not exactly the trainer's policy; each gain is multiplied by a weight for that.{gate}"
    return Phase("correct", "Correct", sentence, how, tuple(lines),
                 (Blank("c", "c", "correction of this token", value, 1, wrong),), shows="correction")  # fmt: skip


# ---------------------------------------------------------------- KL


def kl(scene: Scene) -> Phase:
    """The distance to the reference policy as this recipe estimates it, in the loss; or why there is nothing here."""
    slot = scene.of.config.algorithm.kl
    if not isinstance(slot, KlInLoss):
        why = (
            "This recipe takes its KL off the reward, so it went into the advantage long ago; nothing is added here."
            if isinstance(slot, KlInReward)
            else "This recipe has no KL to a reference policy; what holds the policy back is the clip alone."
        )
        return Phase("kl", "KL", why, "", present=False)
    new, ref, value, beta = scene.now("logp_new"), scene.collected("logp_ref"), scene.now("kl"), scene.update.kl_beta
    gap = new - ref
    formula, written = _estimators(slot)
    lines = [line(r"\log\pi_\theta=@new@,\quad\log\pi_{\text{ref}}=@ref@,\quad \Delta=\log\pi_\theta-\log\pi_{\text{ref}}=@gap@",
                  new=new, ref=ref, gap=gap)]  # fmt: skip
    lines.append(line(written, gap=gap, minus=-gap, k=value, rho=scene.now("ratio")))
    lines.append(line(r"\beta k=@beta@\cdot @(k)@=@price@", beta=beta, k=value, price=beta * value))
    blanks = (
        Blank("k", "k", "KL estimate of this token", value, 1, kl_mistakes(slot.estimator, gap, value)),
        Blank("price", r"\beta k", "what it costs", beta * value, 2, (Mistake(value, "β is missing."),)),
    )
    answer = "zero" if abs(value) < 1e-7 else "positive" if value > 0 else "negative"
    question = Question(
        "choice", "What is the sign of this token's KL estimate?", answer,
        f"k = {value:.4g} at Δ = {gap:+.4g}. "
        + ("k3 and k2 are never negative; k1 is whenever the token became less likely than under the reference."),
        ("positive", "zero", "negative"),
    )  # fmt: skip
    sentence = "Beside the gain stands a price for distance to the reference policy; it meets no advantage and no clip."
    return Phase("kl", "KL", sentence, formula, tuple(lines), blanks, question, _gradient_note(slot), shows="kl")


def estimator_words(estimator: K1 | K2 | K3 | AbsLogRatio | ExactKl) -> tuple[str, str]:
    """An estimator as a formula, and with the numbers gap, minus (the gap turned round) and k."""
    return {
        K1: (r"k_1=\log\pi_\theta-\log\pi_{\text{ref}}", r"k_1=@k@"),
        K2: (r"k_2=\tfrac12(\log\pi_\theta-\log\pi_{\text{ref}})^2", r"k_2=\tfrac12\cdot @(gap)@^2=@k@"),
        K3: (
            r"k_3=\frac{\pi_{\text{ref}}}{\pi_\theta}-\log\frac{\pi_{\text{ref}}}{\pi_\theta}-1",
            r"k_3=e^{@minus@}-@(minus)@-1=@k@",
        ),
        AbsLogRatio: (r"k=|\log\pi_\theta-\log\pi_{\text{ref}}|", r"k=|@gap@|=@k@"),
        ExactKl: (
            r"k=\sum_a\pi_\theta(a)\,\log\frac{\pi_\theta(a)}{\pi_{\text{ref}}(a)}",
            r"k=\textstyle\sum_a\pi_\theta(a)\,(\dots)=@k@\quad\text{(over all actions)}",
        ),
    }[type(estimator)]


def _estimators(slot: KlInLoss) -> tuple[str, str]:
    general, written = estimator_words(slot.estimator)
    if isinstance(slot.gradient, RatioCorrected):
        return rf"\rho\cdot\Big[{general}\Big]", written.replace("=@k@", r",\quad \rho\,k=@rho@\cdot k=@k@")
    return general, written


def kl_mistakes(estimator: K1 | K2 | K3 | AbsLogRatio | ExactKl, gap: float, value: float) -> tuple[Mistake, ...]:
    """What other estimators and slips would give at this gap."""
    k3 = math.exp(-gap) + gap - 1
    found = [
        Mistake(math.exp(gap) - gap - 1, "The ratio inside is upside down: reference over policy."),
        Mistake(math.exp(-gap) + gap, "The − 1 is missing."),
        Mistake(math.exp(-gap) - gap - 1, "The sign of the middle term is wrong: minus log(ref/π)."),
        Mistake(gap, "That is k1, the plain log-ratio; this recipe uses another estimator."),
        Mistake(-gap, "Upside down: policy minus reference."),
        Mistake(0.5 * gap**2, "That is k2; this recipe uses another estimator."),
        Mistake(gap**2, "The half is missing." if isinstance(estimator, K2) else "That is the squared log-ratio."),
        Mistake(k3, "That is k3; this recipe uses another estimator, or weights it."),
    ]
    return tuple(m for m in found if abs(m.value - value) > max(0.02 * abs(value), 1e-6))


def _gradient_note(slot: KlInLoss) -> str:
    if isinstance(slot.gradient, AsWritten):
        return {
            K1: "As a loss, k1's expected gradient is zero: this term does nothing on average.",
            K2: "As a loss, k2's expected gradient is exactly that of KL(π‖ref).",
            K3: "As a loss, k3's expected gradient is that of KL(ref‖π), the other direction.",
        }.get(type(slot.estimator), "")
    if isinstance(slot.gradient, RatioCorrected):
        return "Multiplied by the ratio, its expected gradient is exactly that of KL(π‖ref)."
    how = "k2's" if isinstance(slot.gradient, GradientOfK2) else "ratio times k2's"
    return f"The value is this estimate's, the gradient {how}."


def exact_support(scene: Scene) -> np.ndarray | None:
    """Probabilities of every action now and under the reference, [2, A]; None where actions are not finite."""
    ref = scene.of.trace.rollout.get("dist_ref")
    if ref is None or scene.here is None:
        return None
    of = scene.of
    with torch.no_grad():
        params = of.state.layout.parts(scene.applied.before)
        dist = of.config.policy.evaluate(params, scene.rollout, critic=False).dist
    assert dist is not None
    row, token = scene.at.row, scene.at.token
    return np.stack([np.exp(dist[row, token].numpy()), np.exp(ref[row, token])])
