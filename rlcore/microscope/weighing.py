"""Phases from gain to loss: the token's weight, the critic's error, the sum with its sign turned."""

from __future__ import annotations

import numpy as np
import torch

from rlcore.aggregation import ConstantLength, SequenceMean, SequenceSum, TokenMean
from rlcore.critic import NoCritic, ValueClipMax, ValueClipOnly, ValueMse
from rlcore.kl import KlInLoss
from rlcore.microscope.crediting import sign_of
from rlcore.microscope.naming import what
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.records import Array, UpdateTrace


def counts(scene: Scene) -> tuple[int, int, int, int]:
    """(rows B of the update, tokens N, this row's tokens L, padded length T), as the update saw them."""
    assert scene.here is not None
    mask = scene.update.mask
    return len(mask), int(mask.sum()), int(mask[scene.here[0]].sum()), mask.shape[1]


def weight(scene: Scene) -> Phase:
    """How much this token counts in the loss."""
    rule = scene.of.config.algorithm.aggregate
    rows, tokens, length, width = counts(scene)
    value = scene.now("weight")
    if isinstance(rule, SequenceMean | SequenceSum | ConstantLength):
        empty = int((~scene.update.mask.any(1)).sum())
        rows = int(rule.rows) if rule.rows is not None else rows if rule.count_empty else rows - empty
    sentence, formula, written = {
        SequenceMean: (
            "First the mean over each row's tokens, then the mean over rows: a token of a long row counts less.",
            r"w_{it}=\frac{1}{B\,|o_i|}", r"w=\frac{1}{@B@\cdot @L@}=@w@"),
        TokenMean: (
            "One mean over all tokens of this minibatch: every token counts the same, and a long row counts more.",
            r"w_{it}=\frac1N,\quad N=\sum_i|o_i|", r"w=\frac{1}{@N@}=@w@"),
        SequenceSum: (
            "Token sums, then the mean over rows: a row's push grows with its length.",
            r"w_{it}=\frac1B", r"w=\frac{1}{@B@}=@w@"),
        ConstantLength: (
            "Token sums over one constant length: neither the row's own length nor its neighbours' matter.",
            r"w_{it}=\frac{1}{B\,L_{\max}}", r"w=\frac{1}{@B@\cdot @C@}=@w@"),
    }[type(rule)]  # fmt: skip
    constant = (rule.length or width) if isinstance(rule, ConstantLength) else 0
    others = {"B·L": rows * length, "N": tokens, "B": rows, "B·T": rows * width, "L": length, "tokens under padding": rows * width}
    said = {
        "B·L": "That is the mean over rows of token means; this recipe weighs another way.",
        "N": "That is one over the batch's token count; this recipe weighs another way.",
        "B": "That is one over the number of rows; this recipe also looks at length.",
        "B·T": f"You counted padding: the mask leaves {length} of {width} positions in this row.",
        "L": "The number of rows B is missing.",
    }  # fmt: skip
    wrong = tuple(Mistake(1 / n, said[name]) for name, n in others.items() if name in said and n and abs(1 / n - value) > 1e-9)
    values: dict[str, float | str] = {"B": str(rows), "L": str(length), "N": str(tokens), "C": f"{constant:g}", "w": value}
    told = f"w = {value:.4g}: {rows} rows, {tokens} {what(scene)}s in this update, {length} in this row."
    size = "every step is a row of its own" if scene.by_transition else f"this row has {length}"
    question = Question("number", f"This update has {rows} rows and {tokens} {what(scene)}s; {size}. How much does one "
                        f"{what(scene)} weigh?", value, told, tolerance=0.02 * value)  # fmt: skip
    blanks = (Blank("w", "w", f"weight of this {what(scene)}", value, 1, wrong),)
    note = f"The whole row together weighs {value * length:.4g}."
    return Phase("weight", "Weight", sentence, formula, (line(written, **values),), blanks, question, note, shows="weight")


# ---------------------------------------------------------------- critic


def value(scene: Scene) -> Phase | None:
    """The critic's error at this step; None without a critic's loss."""
    rule = scene.of.config.algorithm.critic
    if isinstance(rule, NoCritic):
        return None
    v, old, target = scene.now("value_new"), scene.collected("value_old"), scene.now("returns")
    plain = (v - target) ** 2
    lines: list[Line] = [line(r"(V_\theta-\hat R)^2=(@v@-@(R)@)^2=@plain@", v=v, R=target, plain=plain)]
    front, error, formula = 1.0, plain, r"L_V=c_v\,\big(V_\theta(s)-\hat R\big)^2"
    wrong: list[Mistake] = []
    if isinstance(rule, ValueMse):
        front = rule.half
        formula = r"L_V=c_v\cdot@@\,\big(V_\theta(s)-\hat R\big)^2".replace("@@", r"\tfrac12" if rule.half == 0.5 else "1")
        wrong.append(Mistake(rule.coef * (1.5 - rule.half) * plain, "The factor ½ is missing." if rule.half == 0.5
                             else "This form has no ½."))  # fmt: skip
    else:
        near = min(max(v, old - rule.eps_value), old + rule.eps_value)
        banded = (near - target) ** 2
        lines.append(line(r"V_{\text{clip}}=\mathrm{clip}(@v@,\,@old@\pm@eps@)=@near@,\quad (V_{\text{clip}}-\hat R)^2=@banded@",
                          v=v, old=old, eps=rule.eps_value, near=near, banded=banded))  # fmt: skip
        if isinstance(rule, ValueClipMax):
            front, error = 0.5, max(plain, banded)
            formula = r"L_V=\tfrac{c_v}{2}\max\big((V_\theta-\hat R)^2,\ (V_{\text{clip}}-\hat R)^2\big)"
            wrong += [Mistake(rule.coef * 0.5 * min(plain, banded), "That is the smaller error; the loss takes the larger: min and max."),
                      Mistake(rule.coef * error, "The factor ½ is missing.")]  # fmt: skip
        elif isinstance(rule, ValueClipOnly):
            error, formula = banded, r"L_V=c_v\,(V_{\text{clip}}-\hat R)^2"
    loss = rule.coef * front * error
    wrong.append(Mistake(front * error, "The coefficient c_v is missing."))
    lines.append(line(r"\ell_V=@coef@\cdot @front@\cdot @error@=@loss@\quad\text{(each step weighs }1/N)",
                      coef=rule.coef, front=front, error=error, loss=loss))  # fmt: skip
    answer = "up" if target > v + 1e-9 else "down" if target < v - 1e-9 else "nowhere"
    question = Question("choice", "Where does the critic's prediction have to go here?", answer,
                        f"V = {v:.4g}, target {target:.4g}.", ("up", "nowhere", "down"))  # fmt: skip
    sentence = "The critic is fitted to what the advantages were made of, advantage plus old value; a second loss, in the same step."
    blanks = (Blank("loss", r"\ell_V", "critic's loss of this step", loss, 1, tuple(wrong)),
              Blank("plain", r"(V_\theta-\hat R)^2", "squared error", plain, 2))  # fmt: skip
    formula = formula.replace("L_V=", r"L_V=\tfrac1N\textstyle\sum_{i,t}\ell_V,\quad \ell_V=")  # a mean in all three forms
    return Phase("value", "Value", sentence, formula, tuple(lines), blanks, question, shows="value_new")


# ---------------------------------------------------------------- loss


def contributions(scene: Scene, update: UpdateTrace) -> Array:
    """What each token adds to the loss, critic apart: [b, T] of the update's rows, 0 under the mask.

    -w (c psi - beta k + eta H); with an entropy aggregate of its own the bonus is weighted by that.
    """
    algorithm = scene.of.config.algorithm
    if algorithm.entropy_aggregate is None or algorithm.entropy_coef == 0:
        found: Array = -update.weight * update.objective
        return found
    mask = torch.tensor(update.mask)
    spread = algorithm.entropy_aggregate(mask, torch.tensor(update.logp_new)).numpy()
    bonus = algorithm.entropy_coef * np.where(update.mask, update.entropy, 0)
    rest: Array = -update.weight * (update.objective - bonus) - spread * bonus
    return rest


def loss(scene: Scene) -> Phase:
    """This token's share of the loss, and the sum of all shares."""
    u, algorithm = scene.update, scene.of.config.algorithm
    assert scene.here is not None
    mine = float(contributions(scene, u)[scene.here])
    w, gain, c = scene.now("weight"), scene.now("gain"), scene.now("correction")
    values: dict[str, float | str] = {"w": w, "gain": gain, "mine": mine}
    inner, general = "@gain@", r"\psi"
    if c != 1:
        inner, general, values["c"] = r"@c@\cdot @(gain)@", r"c\,\psi", c
    wrong = [Mistake(-mine, "The sign turns once, here: a gain is to be raised, a loss to be lowered."),
             Mistake(mine / w if w else 0.0, "The weight is missing.")]  # fmt: skip
    if isinstance(algorithm.kl, KlInLoss):
        inner, general = inner + r"-@beta@\cdot @(k)@", general + r"-\beta k"
        values |= {"beta": u.kl_beta, "k": scene.now("kl")}
        wrong += [Mistake(-w * c * gain, "The KL penalty is missing."),
                  Mistake(-w * (c * gain + u.kl_beta * scene.now("kl")), "The KL is a price: it is subtracted from the gain.")]  # fmt: skip
    if algorithm.entropy_coef:
        inner, general = inner + r"+@eta@\cdot @H@", general + r"+\eta H"
        values |= {"eta": algorithm.entropy_coef, "H": scene.now("entropy")}
    lines = (line(rf"\ell_{{it}}=-@w@\cdot\big({inner}\big)=@mine@", **values), _sum(scene, u))
    answer = sign_of(mine, 1e-12)
    question = Question("choice", f"What is the sign of this {what(scene)}'s share of the loss?", answer,
                        f"It is {mine:+.4g}; the whole loss is {u.loss:+.4g}.", ("positive", "zero", "negative"))  # fmt: skip
    formula = rf"\mathcal L=-\sum_{{i,t}}w_{{it}}\big[{general}\big]" + ("" if isinstance(algorithm.critic, NoCritic) else r"+L_V")
    sentence = "Weights times brackets are added up, and here, once, the sign turns: what was to be raised becomes a loss to lower."
    blanks = (Blank("mine", r"\ell_{it}", "this token's share of the loss", mine, 1, tuple(wrong)),)
    note = _zero(scene, u)
    return Phase("loss", "Loss", sentence, formula, lines, blanks, question, note, shows="loss")


def _sum(scene: Scene, u: UpdateTrace) -> Line:
    algorithm = scene.of.config.algorithm
    gain = r"c\,\psi" if u.correction.min() != 1 or u.correction.max() != 1 else r"\psi"
    parts = rf"\underbrace{{@policy@}}_{{-\sum w\,{gain}}}"
    values = {"policy": u.policy_loss, "loss": u.loss}
    if isinstance(algorithm.kl, KlInLoss):
        parts, values["kl"] = parts + r"+\underbrace{@(kl)@}_{\beta k}", u.kl_loss
    if algorithm.entropy_coef:
        parts, values["bonus"] = parts + r"-\underbrace{@(bonus)@}_{\eta H}", u.entropy_bonus
    if not isinstance(algorithm.critic, NoCritic):
        parts, values["value"] = parts + r"+\underbrace{@(value)@}_{L_V}", u.value_loss
    return line(rf"\mathcal L={parts}=@loss@", **values)


def _zero(scene: Scene, u: UpdateTrace) -> str:
    if not np.any(np.where(u.mask, u.advantages, 0)):
        return "No row of this update has an advantage, so the gain and its slopes are 0; what gradient is left comes from the other terms."
    if abs(u.policy_loss) < 1e-6 and np.abs(u.grad_logp).max() > 1e-9:
        return "The policy part of the loss is (nearly) 0, and its gradient is not: with every ratio at 1 the gains are the "\
               "advantages, which cancel (inside a group, or by whitening); their *slopes* do not. Don't judge a run by its loss."  # fmt: skip
    return ""
