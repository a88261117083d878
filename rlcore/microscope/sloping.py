"""The gradient phase: what each token's log-probability is asked to do, in closed form and as the engine found it."""

from __future__ import annotations

import math

import numpy as np

from rlcore.kl import K1, K2, AbsLogRatio, AsWritten, ExactKl, GradientOfK2, KlInLoss, RatioCorrected, RatioWeightedK2
from rlcore.microscope.clipping import dead
from rlcore.microscope.moving import UNMOVED, ratio_symbol
from rlcore.microscope.naming import what
from rlcore.microscope.phase import Blank, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.ratios import SequenceProduct, SequenceRatio, TokenRatio
from rlcore.records import Array
from rlcore.surrogates import Cispo, Gmpo, Sapo, ScoreFunction, Vespo

UP, DOWN, STILL = "likelier", "less likely", "neither"


def gradient(scene: Scene) -> Phase:
    """d loss / d log pi of the selected token, and the direction of the step that follows from it."""
    assert scene.here is not None
    value, w, u = scene.now("grad_logp"), scene.now("weight"), scene.update
    push, pull = gain_slope(scene), kl_slope(scene)
    symbol, written = _slope_words(scene)
    how = "" if symbol == "0" else f"{symbol}="
    lines = [line(rf"\frac{{\partial{_gain(scene)}}}{{\partial\log\pi}}={how}@push@\quad\text{{{written}}}", push=push)]
    has_kl = isinstance(scene.of.config.algorithm.kl, KlInLoss)
    if has_kl:
        lines.append(line(r"\frac{\partial k}{\partial\log\pi}=@pull@", pull=pull))
        lines.append(line(r"\frac{\partial\mathcal L}{\partial\log\pi}=-@w@\cdot\big(@push@-@beta@\cdot @(pull)@\big)=@g@",
                          w=w, push=push, beta=u.kl_beta, pull=pull, g=value))  # fmt: skip
    else:
        lines.append(line(r"\frac{\partial\mathcal L}{\partial\log\pi}=-@w@\cdot @(push)@=@g@", w=w, push=push, g=value))
    lines.append(line(r"\lVert\nabla_\theta\mathcal L\rVert=@norm@\quad\text{(all parameters, before scaling)}", norm=u.grad_norm))
    answer = STILL if abs(value) < 1e-9 else UP if value < 0 else DOWN
    question = Question("choice", f"What is this {what(scene)}'s probability asked to become?", answer,
                        f"∂L/∂log π = {value:+.4g}, and the step goes against the gradient.", (UP, STILL, DOWN))  # fmt: skip
    formula = rf"\frac{{\partial\mathcal L}}{{\partial\log\pi_\theta(a_{{it}})}}=-w_{{it}}\Big[\frac{{\partial{_gain(scene)}}}{{\partial\log\pi}}"
    formula += r"-\beta\,\frac{\partial k}{\partial\log\pi}\Big]" if has_kl else r"\Big]"
    blanks = (Blank("g", r"\partial\mathcal L/\partial\log\pi", "slope of the loss in this log-probability", value, 1, _mistakes(scene, push, pull)),
              Blank("push", rf"\partial{_gain(scene)}/\partial\log\pi", "slope of the gain", push, 2, _of_push(scene, push)))  # fmt: skip
    sentence = (
        "Each log-probability is asked to move: the advantage says which way, ratio and weight how strongly, and a bound that bites "
        "says not at all. From there the chain rule goes on into the parameters."
    )
    return Phase("gradient", "Gradient", sentence, formula, tuple(lines), blanks, question, _note(scene), shows="grad_logp")


# ---------------------------------------------------------------- closed forms


def gain_slope(scene: Scene) -> float:
    """d (sum over the row of c psi) / d log pi of the selected token, per unit of weight."""
    surrogate = scene.of.config.algorithm.surrogate
    a, c, rho = (scene.row_now(n).astype(np.float64) for n in ("advantages", "correction", "ratio"))
    me, alive = _me(scene), ~dead(scene)
    if isinstance(surrogate, ScoreFunction):
        return float(c[me] * a[me])
    if isinstance(surrogate, Cispo):
        return float(c[me] * a[me] * np.clip(rho[me], 1 - surrogate.eps_low, 1 + surrogate.eps_high))
    if isinstance(surrogate, Vespo):
        return float(c[me] * scene.now("gain") / scene.now("logp_new"))
    if isinstance(surrogate, Gmpo):
        return float(scene.now("gain") * alive[me] * c.sum() / (len(c) + surrogate.eps))
    steep = alive.astype(np.float64)
    if isinstance(surrogate, Sapo):
        tau = np.where(a > 0, surrogate.tau_pos, surrogate.tau_neg)
        gate = 1 / (1 + np.exp(-tau * (rho - 1)))
        steep = 4 * gate * (1 - gate)
    return through_ratio(scene, c * a * steep)


def through_ratio(scene: Scene, x: Array) -> float:
    """d (sum_t x_t ratio_t) / d log pi of the selected token, for constants x [L] along the row."""
    slot, rho, me = scene.of.config.algorithm.ratio, scene.row_now("ratio").astype(np.float64), _me(scene)
    if isinstance(slot, SequenceRatio):
        return float((x * rho).mean())
    if isinstance(slot, SequenceProduct):
        return float((x * rho).sum())
    if slot.clamp is not None:
        own = scene.now("token_log_ratio" if isinstance(slot, TokenRatio) else "log_ratio")
        if (abs(own) if isinstance(slot, TokenRatio) else own) > slot.clamp:
            return 0.0
    return float(x[me] * rho[me])


def kl_slope(scene: Scene) -> float:
    """d k / d log pi of the selected token, per unit of weight; 0 without a KL in the loss."""
    slot = scene.of.config.algorithm.kl
    if not isinstance(slot, KlInLoss):
        return 0.0
    gap = scene.now("logp_new") - scene.collected("logp_ref")
    if isinstance(slot.gradient, GradientOfK2):
        return gap
    if isinstance(slot.gradient, RatioWeightedK2):
        return min(scene.now("ratio"), slot.gradient.cap) * gap
    own = _estimate_slope(slot, gap)
    if isinstance(slot.gradient, AsWritten):
        return own
    assert isinstance(slot.gradient, RatioCorrected)
    return scene.now("ratio") * own + through_ratio(scene, scene.row_now("kl") / scene.row_now("ratio"))


def _estimate_slope(slot: KlInLoss, gap: float) -> float:
    """The estimator's own derivative; an exact KL's runs through all actions, not through this one's log-probability."""
    estimator = slot.estimator
    if isinstance(estimator, K1):
        return 0.0 if estimator.value_clamp is not None and abs(gap) > estimator.value_clamp else 1.0
    if isinstance(estimator, K2):
        return 0.0 if estimator.value_clamp is not None and 0.5 * gap**2 > estimator.value_clamp else gap
    if isinstance(estimator, AbsLogRatio):
        return float(np.sign(gap))
    if isinstance(estimator, ExactKl):
        return 0.0
    inside = estimator.log_clamp is None or -gap <= estimator.log_clamp
    small = estimator.value_clamp is None or math.exp(-gap) + gap - 1 <= estimator.value_clamp
    return 1 - math.exp(-gap) if inside and small else 0.0


def _me(scene: Scene) -> int:
    """The selected token's position among its row's valid tokens in the update."""
    assert scene.here is not None
    row, token = scene.here
    return int(scene.update.mask[row][:token].sum())


# ---------------------------------------------------------------- words


def _c(scene: Scene) -> str:
    """The letter of the correction, where this recipe has one."""
    corrected = "logp_rollout" in scene.of.trace.rollout and scene.of.config.algorithm.correction.kind != "no_correction"
    return "c" if corrected or scene.of.config.algorithm.gate.kind != "all_tokens" else ""


def _gain(scene: Scene) -> str:
    return r"(c\psi)" if _c(scene) else r"\psi"


def _slope_words(scene: Scene) -> tuple[str, str]:
    """The slope as a formula, and why it is what it is."""
    surrogate, slot = scene.of.config.algorithm.surrogate, scene.of.config.algorithm.ratio
    if scene.now("dead_low") or scene.now("dead_high") or scene.now("dead_dual"):
        return "0", "(dead: the bound is a constant)"
    rho = ratio_symbol(scene)
    c, c_t = _c(scene), "c_t" if _c(scene) else ""
    special = {
        ScoreFunction: (rf"{c} A", "(no ratio)"), Cispo: (rf"{c}\,\mathrm{{clip}}({rho})\,A", "(never dead)"),
        Vespo: (rf"{c}\,\varphi A", ""), Gmpo: (rf"\tfrac{{1}}{{|o_i|}}\sum_t {c_t}\,\psi_i", ""),
        Sapo: (rf"{c}\,A\,{rho}\cdot4\sigma(1-\sigma)", "(fading, never dead)"),
    }.get(type(surrogate))  # fmt: skip
    if special:
        return special
    if isinstance(slot, SequenceRatio):
        return rf"\tfrac1{{|o_i|}}\sum_t {c_t}A_t\,s_i", "(every token of the row the same)"
    if isinstance(slot, SequenceProduct):
        return rf"\sum_t {c_t}A_t\,\rho_i", "(every token of the row the same)"
    return rf"{c}\,{rho} A", "(alive)" if scene.now("advantages") else "(no advantage, no push)"


def _mistakes(scene: Scene, push: float, pull: float) -> tuple[Mistake, ...]:
    w, beta, value = scene.now("weight"), scene.update.kl_beta, scene.now("grad_logp")
    a, rho = scene.now("advantages"), scene.now("ratio")
    found = [
        Mistake(-value, "The sign is wrong: the loss is minus the gain."),
        Mistake(-(push - beta * pull), "The weight is missing."),
        Mistake(-w * push, "The KL's own slope is missing."),
        Mistake(-w * (rho * a - beta * pull), "You gave a dead token a slope: where the bound counts, the gain is a constant."),
        Mistake(-w * (a - beta * pull), "The ratio is missing: d ρ / d log π = ρ."),
        Mistake(-w * (push + beta * pull), "The KL pulls the other way."),
    ]
    return tuple(m for m in found if abs(m.value - value) > max(0.02 * abs(value), 1e-6))


def _of_push(scene: Scene, push: float) -> tuple[Mistake, ...]:
    a, rho = scene.now("advantages"), scene.now("ratio")
    return (Mistake(rho * a, "The bound bites here: the slope is 0."), Mistake(a, "The ratio is missing: d ρ / d log π = ρ."),
            Mistake(-push, "The sign is wrong: a gain rises with A > 0."))  # fmt: skip


def _note(scene: Scene) -> str:
    algorithm, said = scene.of.config.algorithm, []
    if algorithm.entropy_coef:
        said.append("The entropy bonus acts on the whole distribution, not through this log-probability; it is in the parameters' gradient.")
    if isinstance(algorithm.kl, KlInLoss) and isinstance(algorithm.kl.estimator, ExactKl):
        said.append("The exact KL acts on the whole distribution, not through this log-probability.")
    at_one = np.abs(scene.row_now("log_ratio")).max() < UNMOVED
    if at_one and scene.now("advantages"):
        said.append("At ratio 1 this is plain REINFORCE: −w·A (and the KL's part). Clip has nothing to say in a first update.")
    return " ".join(said)
