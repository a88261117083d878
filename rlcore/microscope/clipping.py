"""The clip phase: the gain of one token under every surrogate, and which tokens of its row a bound silences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rlcore.microscope.moving import ratio_symbol
from rlcore.microscope.naming import what
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.records import Array
from rlcore.surrogates import (
    Cispo,
    DualClip,
    Gmpo,
    PpoClip,
    Sapo,
    ScoreFunction,
    TwoSidedClip,
    Unclipped,
    Vespo,
)

MOST_ASKED = 16
Told = tuple[str, str, tuple[Line, ...], tuple[Mistake, ...], tuple[Blank, ...]]
"""sentence, formula, lines, mistakes about the gain, further blanks"""


def dead(scene: Scene) -> Array:
    """True on the selected row's valid tokens whose gradient a bound removed, in order."""
    flags: Array = scene.row_now("dead_low") | scene.row_now("dead_high") | scene.row_now("dead_dual")
    return flags


def clip(scene: Scene) -> Phase:
    """What the surrogate makes of ratio and advantage, and whether any gradient is left."""
    surrogate, gain = scene.of.config.algorithm.surrogate, scene.now("gain")
    sentence, formula, lines, wrong, more = _WRITERS[type(surrogate)](scene)
    if isinstance(surrogate, PpoClip | DualClip | TwoSidedClip | Cispo | Sapo | Unclipped):
        symbol = ratio_symbol(scene)
        formula, *rest = (_written(text, symbol) for text in (formula, *(each.template for each in lines)))
        lines = tuple(replace(each, template=text) for each, text in zip(lines, rest, strict=True))
    blanks = (Blank("gain", r"\psi", f"gain of this {what(scene)}", gain, 1, (Mistake(-gain, "The sign is wrong."), *wrong)), *more)
    return Phase("clip", "Clip", sentence, formula, lines, blanks, _asked(scene), _fate(scene), shows="gain")


def _fate(scene: Scene) -> str:
    """What the bounds did to this token, in words."""
    if scene.now("dead_low") or scene.now("dead_high") or scene.now("dead_dual"):
        return "**Dead**: the bound is what counts here, it is a constant, " + (
            f"so this {what(scene)}'s gradient from the gain is 0.")
    if not np.any(scene.row_now("advantages") if scene.one_ratio else scene.now("advantages")):
        return f"No bound bites, and there is nothing to bite: A = 0, so this {what(scene)}'s gain and its slope are 0."
    if scene.now("outside"):
        return "Outside the band and **alive**: the bound forbids profit, and moving back is not profit."
    return f"**Alive**: no bound touches this {what(scene)}; its gradient is whole."


def _written(text: str, symbol: str) -> str:
    """A formula with the recipe's own sign for its ratio."""
    return re.sub(r"\\rho(?![A-Za-z_])", lambda _: symbol, text)


def _asked(scene: Scene) -> Question:
    """Which tokens die; of a long row, those around the selected one."""
    flags, names = dead(scene), what(scene)
    if len(flags) == 1 or scene.by_transition:
        answer = "dead" if flags.any() else "alive"
        return Question("choice", f"Does this {names} keep its gradient?", answer, _told(scene, flags), ("alive", "dead"))
    window = asked(scene)
    found = frozenset(int(n) for n in window if flags[n])
    return Question("tokens", f"Which {names}s of this row lose their gradient? (None is an answer too.)", found,
                    _told(scene, flags), tuple(str(n) for n in window))  # fmt: skip


def asked(scene: Scene) -> list[int]:
    """Positions among the row's valid tokens that the question is about: all, or a window around the selected one."""
    n = scene.length
    if n <= MOST_ASKED:
        return list(range(n))
    mine = int(np.searchsorted(scene.tokens, scene.at.token))
    start = min(max(mine - MOST_ASKED // 2, 0), n - MOST_ASKED)
    return list(range(start, start + MOST_ASKED))


def _told(scene: Scene, flags: Array) -> str:
    outside = scene.row_now("outside")
    return f"{int(flags.sum())} of {len(flags)} lost it; {int(outside.sum())} are outside the band. A = {scene.now('advantages'):+.3g}."


# ---------------------------------------------------------------- one writer a surrogate


def _numbers(scene: Scene) -> tuple[float, float, float, float]:
    return scene.now("ratio"), scene.now("advantages"), scene.now("gain"), scene.now("logp_new")


def _clipped(scene: Scene, low: float, high: float, rho: float, a: float) -> tuple[list[Line], float, list[Mistake], Blank]:
    """The two products that PPO's clip compares."""
    inside = min(max(rho, low), high)
    lines = [
        line(r"\rho A=@rho@\cdot @(A)@=@plain@", rho=rho, A=a, plain=rho * a),
        line(r"\mathrm{clip}(@rho@,\,@low@,\,@high@)\cdot A=@inside@\cdot @(A)@=@bound@", rho=rho, low=low, high=high,
             inside=inside, A=a, bound=inside * a),
    ]  # fmt: skip
    wrong = [
        Mistake(max(rho * a, inside * a), "That is the larger of the two. The clip takes the *smaller*: it is a pessimist."),
        Mistake(inside * a, "You always took the clipped product; the minimum may be the plain one."),
        Mistake(rho * a, "You took the plain product; the clipped one is smaller."),
        Mistake(inside, "Multiply by the advantage."),
    ]
    return lines, inside, wrong, Blank("inside", r"\mathrm{clip}(\rho)", "clipped ratio", inside, 2,
                                       (Mistake(rho, "It is outside the band: take the bound."),), max(0.02 * abs(inside - 1), 2e-5))  # fmt: skip


def _ppo(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, PpoClip)
    rho, a, gain, _ = _numbers(scene)
    lines, inside, wrong, blank = _clipped(scene, 1 - slot.eps_low, 1 + slot.eps_high, rho, a)
    lines.append(line(r"\psi=\min(@plain@,\,@bound@)=@gain@", plain=rho * a, bound=inside * a, gain=gain))
    return (
        "The gain is the smaller of the plain and the clipped product: no profit from leaving the band, full blame for it.",
        r"\psi=\min\big(\rho A,\ \mathrm{clip}(\rho,\,1-\varepsilon_{\text{low}},\,1+\varepsilon_{\text{high}})\,A\big)",
        tuple(lines), tuple(wrong), (blank,),
    )  # fmt: skip


def _dual(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, DualClip)
    rho, a, gain, _ = _numbers(scene)
    lines, inside, wrong, blank = _clipped(scene, 1 - slot.eps_low, 1 + slot.eps_high, rho, a)
    once = min(rho * a, inside * a)
    lines.append(line(r"\min(@plain@,\,@bound@)=@once@", plain=rho * a, bound=inside * a, once=once))
    if a < 0:
        lines.append(line(r"\psi=\max(@once@,\ @c@\cdot @(A)@)=@gain@", once=once, c=slot.c, A=a, gain=gain))
    else:
        lines.append(line(r"A\ge 0:\quad\psi=@gain@", gain=gain))
    wrong.append(Mistake(once, "The second bound is missing: for A < 0 never worse than c·A."))
    return (
        "As PPO's clip; and for A < 0 the loss may not exceed c times the advantage, however far the ratio ran.",
        r"\psi=\max\big(\min(\rho A,\mathrm{clip}(\rho)A),\ cA\big)\ \text{for}\ A<0", tuple(lines), tuple(wrong), (blank,),
    )  # fmt: skip


def _two_sided(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, TwoSidedClip)
    rho, a, gain, _ = _numbers(scene)
    capped = min(rho, slot.delta)
    lines, inside, wrong, blank = _clipped(scene, 1 - slot.eps_low, 1 + slot.eps_high, rho, a)
    lines.append(line(r"\psi=\min\big(\min(@rho@,@delta@)\cdot @(A)@,\ @bound@\big)=\min(@capped@,@bound@)=@gain@",
                      rho=rho, delta=slot.delta, A=a, bound=inside * a, capped=capped * a, gain=gain))  # fmt: skip
    return (
        "As PPO's clip, on a ratio that is itself capped at δ, so that a negative advantage cannot blow up.",
        r"\psi=\min\big(\min(\rho,\delta)A,\ \mathrm{clip}(\rho)A\big)", tuple(lines), tuple(wrong), (blank,),
    )  # fmt: skip


def _cispo(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, Cispo)
    rho, a, gain, logp = _numbers(scene)
    weight = min(max(rho, 1 - slot.eps_low), 1 + slot.eps_high)
    lines = (
        line(r"\mathrm{sg}[\mathrm{clip}(@rho@,\,@low@,\,@high@)]=@weight@", rho=rho, low=1 - slot.eps_low, high=1 + slot.eps_high,
             weight=weight),
        line(r"\psi=@weight@\cdot @(A)@\cdot @(logp)@=@gain@", weight=weight, A=a, logp=logp, gain=gain),
    )  # fmt: skip
    wrong = (
        Mistake(weight * a, "log π is missing: in CISPO the ratio is only a weight without gradient."),
        Mistake(rho * a, "That is ρA, PPO's; CISPO multiplies A log π by a clipped weight."),
        Mistake(rho * a * logp, "The weight is not clipped."),
    )
    return (
        "The ratio is only a *weight*, clipped and without gradient; the gradient comes from log π, so no token is ever silenced.",
        r"\psi=\mathrm{sg}\big[\mathrm{clip}(\rho,1-\varepsilon_{\text{low}},1+\varepsilon_{\text{high}})\big]\,A\,\log\pi_\theta",
        lines, wrong, (),
    )  # fmt: skip


def _sapo(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, Sapo)
    rho, a, gain, _ = _numbers(scene)
    tau, other = (slot.tau_pos, slot.tau_neg) if a > 0 else (slot.tau_neg, slot.tau_pos)

    def gate(t: float) -> float:
        return 4 / t / (1 + math.exp(-t * (rho - 1)))

    lines = (
        line(r"\sigma(@tau@\cdot(@rho@-1))=@sig@", tau=tau, rho=rho, sig=gate(tau) * tau / 4),
        line(r"\psi=@(A)@\cdot\frac{4}{@tau@}\cdot @sig@=@gain@", A=a, tau=tau, sig=gate(tau) * tau / 4, gain=gain),
    )
    wrong = (Mistake(a * gate(other), "That is the other side's τ: it goes by the sign of A."),
             Mistake(rho * a, "That is ρA without the gate."), Mistake(a * gate(tau) * tau / 4, "4/τ is missing."))  # fmt: skip
    return (
        "A sigmoid gate stands in for the clip: the further the ratio has run, the less is left of the gradient; never none.",
        r"\psi=A\cdot\frac4\tau\,\sigma\big(\tau(\rho-1)\big),\qquad \tau=\tau_+\ (A>0),\ \tau_-\ (A\le 0)", lines, wrong, (),
    )  # fmt: skip


def _gmpo(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, Gmpo)
    a, gain = scene.now("advantages"), scene.now("gain")
    every = scene.row_now("token_log_ratio").astype(np.float64)
    sided = np.minimum(every, slot.eps_high) if a > 0 else np.maximum(every, -slot.eps_low)
    mean = float(sided.sum() / (len(sided) + slot.eps)) if a else 0.0
    own = scene.now("token_log_ratio")
    mine = min(own, slot.eps_high) if a > 0 else max(own, -slot.eps_low)
    bound = r"\le @high@" if a > 0 else r"\ge -@low@"
    lines = (
        line(rf"\log\rho_{{@t@}}=@own@\ \to\ @mine@\quad({bound})", t=str(scene.at.token + 1), own=own, mine=mine, low=slot.eps_low,
             high=slot.eps_high),
        line(r"\psi=@(A)@\cdot\exp\Big(\tfrac1{@n@}\textstyle\sum_t\mathrm{clip}(\log\rho_t)\Big)=@(A)@\cdot e^{@mean@}=@gain@",
             A=a, n=str(len(every)), mean=mean, gain=gain),
    )  # fmt: skip
    wrong = (
        Mistake(a * math.exp(float(every.mean())), "Nothing was clipped: each log-ratio is bounded before the mean."),
        Mistake(a * math.exp(float(np.clip(every, -slot.eps_low, slot.eps_high).mean())), "Only the side that A pushes to is clipped."),
        Mistake(a * math.exp(own), "That is this token's own ratio; GMPO takes the row's geometric mean."),
    )
    return (
        "Every token's *log*-ratio is clipped on the side that A pushes to; the row's geometric mean times A is the gain.",
        r"\psi_i=A_i\exp\Big(\frac1{|o_i|}\sum_t\mathrm{clip}_{\mathrm{sgn}A}(\log\rho_{it})\Big)", lines, wrong, (),
    )  # fmt: skip


def _vespo(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.surrogate
    assert isinstance(slot, Vespo)
    _, a, gain, logp = _numbers(scene)
    phi = gain / (a * logp) if a * logp else 0.0
    total = float(scene.row_now("token_log_ratio").astype(np.float64).sum())
    lines = (
        line(r"\log W=\textstyle\sum_t\log\rho_t=@total@,\qquad \varphi(W)=@phi@", total=total, phi=phi),
        line(r"\psi=@phi@\cdot @(A)@\cdot @(logp)@=@gain@", phi=phi, A=a, logp=logp, gain=gain),
    )
    return (
        "The row's whole importance weight sets a soft gate; the gradient comes from log π.",
        r"\psi=A\,\mathrm{sg}[\varphi(W)]\,\log\pi_\theta,\quad \varphi(W)=e^{\lambda+k\log W-\lambda W}", lines,
        (Mistake(a * logp, "The gate is missing."),), (),
    )  # fmt: skip


def _score_function(scene: Scene) -> Told:
    rho, a, gain, logp = _numbers(scene)
    lines = (line(r"\psi=@(A)@\cdot @(logp)@=@gain@", A=a, logp=logp, gain=gain),)
    wrong = (Mistake(a, "log π is missing."), Mistake(rho * a, "That is ρA; plain REINFORCE has no ratio."))
    return (
        "There is nothing to clip: the gain is the advantage times the log-probability, plain REINFORCE.",
        r"\psi=A\,\log\pi_\theta(a\mid s)", lines, wrong, (),
    )  # fmt: skip


def _unclipped(scene: Scene) -> Told:
    rho, a, gain, _ = _numbers(scene)
    return (
        "There is no bound: the gain is ratio times advantage.", r"\psi=\rho A",
        (line(r"\psi=@rho@\cdot @(A)@=@gain@", rho=rho, A=a, gain=gain),), (Mistake(a, "The ratio is missing."),), (),
    )  # fmt: skip


_WRITERS: dict[type, Callable[[Scene], Told]] = {
    PpoClip: _ppo, DualClip: _dual, TwoSidedClip: _two_sided, Cispo: _cispo, Sapo: _sapo, Gmpo: _gmpo, Vespo: _vespo,
    ScoreFunction: _score_function, Unclipped: _unclipped,
}  # fmt: skip
