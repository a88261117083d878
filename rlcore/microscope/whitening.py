"""The whitening phase: advantages brought to mean 0 and spread 1, over the batch or over a minibatch."""

from __future__ import annotations

import numpy as np

from rlcore.advantages import NoWhitening, Whiten
from rlcore.microscope.crediting import SIGNS, over, sign_of
from rlcore.microscope.phase import Blank, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene


def whiten(scene: Scene) -> Phase | None:
    """Advantages brought to mean 0 and spread 1, over the batch or over this minibatch; None where the recipe doesn't."""
    rule = scene.of.config.algorithm.whiten
    if isinstance(rule, NoWhitening):
        return None
    row, token = scene.at.row, scene.at.token
    raw = np.where(scene.mask, scene.raw.advantages.numpy(), np.nan)
    among = raw if rule.scope == "batch" else np.where(np.isnan(scene.table("advantages")), np.nan, raw)
    pool = among[np.isfinite(among) & scene.of.trace.kept[:, None]].astype(np.float64)
    mean, value = float(pool.mean()), scene.now("advantages")
    centred = float(((pool - mean) ** 2).sum())
    variance, other = (centred / max(len(pool) - d, 1) for d in (rule.ddof, 1 - rule.ddof))
    below, written = divisor(rule, variance)
    lines = (
        line(r"\mathrm{mean}=@mean@,\quad \mathrm{var}=\tfrac{1}{@n@-@ddof@}\textstyle\sum(\hat A-\mathrm{mean})^2=@var@",
             mean=mean, n=str(len(pool)), ddof=str(rule.ddof), var=variance),
        line(rf"\tilde A=\frac{{@A@-@(mean)@}}{{{written}}}=@white@", A=float(raw[row, token]), mean=mean, var=variance,
             std=variance**0.5, eps=rule.eps, white=value),
    )  # fmt: skip
    gap = float(raw[row, token]) - mean
    wrong = (
        Mistake(over(gap, divisor(rule, other)[0]), f"That is the divisor n − {1 - rule.ddof}; this recipe takes n − {rule.ddof}."),
        Mistake(over(float(raw[row, token]), below), "You did not subtract the mean."),
        Mistake(over(gap, variance), "You divided by the variance, not by its square root."),
        Mistake(-value, "The sign is wrong."),
    )
    blanks = (Blank("white", r"\tilde A", "whitened advantage", value, 1, wrong),
              Blank("mean", r"\mathrm{mean}", "mean advantage", mean, 2))  # fmt: skip
    question = Question("choice", "What is this advantage's sign *after* whitening?", sign_of(value),
                        f"Before: {raw[row, token]:+.4g}, mean {mean:+.4g}, after: {value:+.4g}.", SIGNS)  # fmt: skip
    where = "the whole batch" if rule.scope == "batch" else "this minibatch"
    sentence = (
        f"All advantages of {where} ({len(pool)} of them) are shifted and stretched to mean 0 and spread 1: one that did better "
        "than expected can come out negative if the others did better still."
    )
    formula = rf"\tilde A_{{it}}=\frac{{\hat A_{{it}}-\mathrm{{mean}}}}{{{_general(rule)}}}"
    return Phase("whiten", "Whiten", sentence, formula, lines, blanks, question, shows="advantages")


def divisor(rule: Whiten, variance: float) -> tuple[float, str]:
    """(what whitening divides by, how that is written with numbers)."""
    if rule.form == "outside":
        return variance**0.5 + rule.eps, "@std@+@eps@"
    if rule.form == "inside":
        return (variance + rule.eps) ** 0.5, r"\sqrt{@var@+@eps@}"
    return (max(variance, rule.eps) ** 0.5, r"\sqrt{\max(@var@,@eps@)}") if rule.form == "floor" else (1.0, "1")


def _general(rule: Whiten) -> str:
    return {
        "outside": r"\mathrm{std}+\varepsilon", "inside": r"\sqrt{\mathrm{var}+\varepsilon}",
        "floor": r"\sqrt{\max(\mathrm{var},\varepsilon)}", "centre": "1",
    }[rule.form]  # fmt: skip
