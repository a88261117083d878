"""Phases that give credit: the advantage by every estimator, and whitening."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rlcore.advantages import Gae, GroupRelative, LeaveOneOut, OptimalBaseline, Returns, td_errors
from rlcore.microscope.naming import what
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.records import Array

FLAT = 1e-9
SIGNS = ("positive", "zero", "negative")
Told = tuple[str, str, tuple[Line, ...], tuple[Blank, ...]]
"""sentence, formula, lines, blanks"""


def sign_of(x: float, near: float = FLAT) -> str:
    """A number's sign in a word."""
    return "zero" if abs(x) <= near else "positive" if x > 0 else "negative"


def advantage(scene: Scene) -> Phase:
    """How much better than expected, by the recipe's own estimator, before any whitening."""
    slot = scene.of.config.algorithm.advantage
    told = _WRITERS[type(slot)](scene)
    sentence, formula, lines, blanks = told
    value = float(scene.raw.advantages[scene.at.row, scene.at.token])
    note = _note(scene)
    question = Question(
        "choice", f"What is the sign of this {what(scene)}'s advantage?", sign_of(value),
        f"A = {value:+.4g}, before any whitening.", SIGNS,
    )  # fmt: skip
    return Phase("advantage", "Advantage", sentence, formula, lines, blanks, question, note, shows="advantages")


def _note(scene: Scene) -> str:
    if not scene.kept:
        return "This row's group was left out by the recipe's selection: it takes part in no update."
    by_group = not isinstance(scene.of.config.algorithm.advantage, Gae | Returns)
    if by_group and len(scene.siblings) > 1 and np.ptp(_scores(scene)) == 0:
        return "All scores of this group are equal: a dead group, nobody in it gets an advantage."
    return ""


# ---------------------------------------------------------------- estimators over groups


def _scores(scene: Scene) -> Array:
    """Scores of the selected row's group."""
    found: Array = scene.scores[scene.siblings]
    return found


def _listed(scores: Array) -> str:
    few = [f"{x:.4g}" for x in scores[:8]]
    return ",\\ \\allowbreak ".join(few) + (rf",\ \dots\ \allowbreak\text{{({len(scores)} in all)}}" if len(scores) > 8 else "")


def _group_relative(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.advantage
    assert isinstance(slot, GroupRelative)
    row, token, raw = scene.at.row, scene.at.token, scene.raw
    scores, mine = _scores(scene), int(np.flatnonzero(scene.siblings == row)[0])
    base, scale, value = (float(x[row, token]) for x in (raw.baseline, raw.scale, raw.advantages))
    score, others = float(scores[mine]), np.delete(scores, mine)
    alone = float(others.mean()) if len(others) else score
    i = str(row + 1)
    lines = [line(rf"\text{{scores of the group: }}{_listed(scores)}")]
    lines.append(line(r"\mathrm{mean}(R)=\tfrac{1}{@n@}\textstyle\sum_j R_j=@mean@", n=str(len(scores)), mean=base))
    blanks = [Blank("mean", r"\mathrm{mean}(R)", "mean score of the group", base, 2)]
    wrong = [Mistake(score - alone, "You left this row out of its own baseline (that is RLOO); GRPO's mean includes it.")]
    if slot.scale == "none":
        lines.append(line(r"\hat A_{@i@}=@R@-@(mean)@=@A@", i=i, R=score, mean=base, A=value))
        wrong.append(Mistake(over(score - base, float(scores.std(ddof=1)) if len(scores) > 1 else 0.0),
                             "You divided by the standard deviation; this recipe does not."))  # fmt: skip
    else:
        pool = _pool(scene, slot, scores)
        eps, ddof = slot.eps, slot.ddof
        std = scale - eps if np.ptp(pool) else 0.0  # what remains of a flat group is rounding
        lines.append(
            line(
                r"\mathrm{std}(R)=\sqrt{\tfrac{1}{@n@-@ddof@}\textstyle\sum_j (R_j-@(mean)@)^2}=@std@", n=str(len(pool)),
                ddof=str(ddof), mean=float(pool.mean()), std=std,
            )
        )  # fmt: skip
        lines.append(
            line(r"\hat A_{@i@}=\frac{@R@-@(mean)@}{@std@+@eps@}=@A@", i=i, R=score, mean=base, std=std, eps=eps, A=value)
        )
        other = float(pool.std(ddof=1 - ddof)) if len(pool) > 1 else 0.0
        said = f"That is the divisor {'G' if ddof else 'G − 1'} (ddof {1 - ddof}); this run divides by {'G − 1' if ddof else 'G'}."
        blanks.append(Blank("std", r"\mathrm{std}(R)", "standard deviation of the scores", std, 2, (
            Mistake(other, said), Mistake(std**2, "That is the variance; take its square root."),
            Mistake(std + eps, "ε is added afterwards, in the advantage."),
        )))  # fmt: skip
        wrong += [
            Mistake(over(score - base, other + eps), said),
            Mistake(score - base, "You did not divide by the standard deviation."),
            Mistake(over(score - base, std**2), "You divided by the variance, not by its square root."),
            Mistake(over(score - base, std), "ε is missing below the line."),
        ]
    wrong.append(Mistake(base - score, "The sign is wrong: it is the row's score minus the mean."))
    blanks.insert(0, Blank("A", r"\hat A_i", "advantage of this row", value, 1, tuple(wrong)))
    formula = {
        "std": r"\hat A_i=\frac{R_i-\mathrm{mean}(R_{\text{group}})}{\mathrm{std}(R_{\text{group}})+\varepsilon}",
        "none": r"\hat A_i=R_i-\mathrm{mean}(R_{\text{group}})",
        "batch": r"\hat A_i=\frac{R_i-\mathrm{mean}(R_{\text{group}})}{\mathrm{std}(R_{\text{all rows}})+\varepsilon}",
    }[slot.scale]
    sentence = f"The row is compared with its {len(scores) - 1} siblings; every {what(scene)} of it gets the same number."
    return sentence, formula, tuple(lines), tuple(blanks)


def _pool(scene: Scene, slot: GroupRelative, scores: Array) -> Array:
    """The scores whose standard deviation divides: the group's, or the whole batch's."""
    if slot.scale != "batch":
        return scores
    return scene.scores


def over(x: float, y: float) -> float:
    """x / y, and 0 over nothing."""
    return x / y if y else 0.0


def _leave_one_out(scene: Scene) -> Told:
    row, token, raw = scene.at.row, scene.at.token, scene.raw
    scores, mine = _scores(scene), int(np.flatnonzero(scene.siblings == row)[0])
    base, value, score = float(raw.baseline[row, token]), float(raw.advantages[row, token]), float(scores[mine])
    lines = (
        line(rf"\text{{scores of the group: }}{_listed(scores)}"),
        line(r"b_{@i@}=\tfrac{1}{@n@}\textstyle\sum_{j\ne i}R_j=@b@", i=str(row + 1), n=str(len(scores) - 1), b=base),
        line(r"\hat A_{@i@}=@R@-@(b)@=@A@", i=str(row + 1), R=score, b=base, A=value),
    )
    mean, n = float(scores.mean()), len(scores)
    wrong = (
        Mistake(score - mean, f"You counted the row in its own baseline; the right answer is G/(G−1) = {n}/{max(n - 1, 1)} times yours."),
        Mistake(base - score, "The sign is wrong: it is the row's score minus the baseline."),
        Mistake(over(score - base, float(scores.std(ddof=1)) if n > 1 else 0.0), "RLOO does not divide by a standard deviation."),
    )
    blanks = (
        Blank("A", r"\hat A_i", "advantage of this row", value, 1, wrong),
        Blank("b", "b_i", "mean of the *other* scores", base, 2, (Mistake(mean, "That mean includes the row itself."),)),
    )
    sentence = f"The row is compared with the mean of the other {n - 1} rows, so its baseline does not depend on itself."
    return sentence, r"\hat A_i=R_i-\frac{1}{G-1}\sum_{j\ne i}R_j", lines, blanks


def _optimal_baseline(scene: Scene) -> Told:
    row, token, raw = scene.at.row, scene.at.token, scene.raw
    scores, mine = _scores(scene), int(np.flatnonzero(scene.siblings == row)[0])
    base, value, score = float(raw.baseline[row, token]), float(raw.advantages[row, token]), float(scores[mine])
    lines = (
        line(rf"\text{{scores: }}{_listed(scores)}\quad\text{{lengths: }}{_listed(scene.mask[scene.siblings].sum(1))}"),
        line(r"b=\frac{\sum_j L_j R_j}{\sum_j L_j}=@b@", b=base),
        line(r"\hat A_{@i@}=@R@-@(b)@=@A@", i=str(row + 1), R=score, b=base, A=value),
    )
    wrong = (Mistake(score - float(scores.mean()), "You took the plain mean; this baseline is weighted by length."),
             Mistake(base - score, "The sign is wrong: it is the row's score minus the baseline."))  # fmt: skip
    blanks = (Blank("A", r"\hat A_i", "advantage", value, 1, wrong), Blank("b", "b", "length-weighted mean score", base, 2))
    return "The baseline is the group's mean weighted by length.", r"\hat A_i=R_i-\frac{\sum_j L_jR_j}{\sum_j L_j}", lines, blanks


# ---------------------------------------------------------------- estimators along time


def following(scene: Scene) -> int | None:
    """The next valid token of the row's episode; None after its end."""
    rollout, row, token = scene.of.trace.rollout, scene.at.row, scene.at.token
    if rollout["terminal"][row, token] or rollout["truncated"][row, token]:
        return None
    later = scene.tokens[scene.tokens > token]
    return int(later[0]) if len(later) else None


def _returns(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.advantage
    assert isinstance(slot, Returns)
    row, token = scene.at.row, scene.at.token
    value, reward, then = float(scene.raw.advantages[row, token]), scene.reward(), following(scene)
    togo = 0.0 if then is None else float(scene.raw.advantages[row, then])
    t = str(token + 1)
    lines = (line(r"G_{@t@}=@r@+@gamma@\cdot @(next)@=@G@", t=t, r=reward, gamma=slot.gamma, next=togo, G=value),)
    past = float(np.where(scene.mask[row], scene.of.trace.shaped_reward[row], 0)[: token + 1].sum())
    wrong = (
        Mistake(togo, "This step's own reward is missing."),
        Mistake(past, "That adds up what was earned *before*; a return looks ahead."),
        Mistake(reward, "What follows is missing: add γ times the next step's return."),
    )
    blanks = (Blank("G", "G_t", "return from here on", value, 1, wrong),)
    sentence = "Each step is credited with what was earned from it on; there is no baseline yet."
    return sentence, r"\hat A_t=G_t=r'_t+\gamma\,G_{t+1}", lines, blanks


def _gae(scene: Scene) -> Told:
    slot = scene.of.config.algorithm.advantage
    assert isinstance(slot, Gae)
    row, token, rollout = scene.at.row, scene.at.token, scene.of.trace.rollout
    deltas = td_errors(scene.rollout, scene.of.reward(), gamma=slot.gamma)
    delta, value, then = float(deltas[row, token]), float(scene.raw.advantages[row, token]), following(scene)
    later = 0.0 if then is None else float(scene.raw.advantages[row, then])
    ended = bool(rollout["terminal"][row, token])
    v, reward = scene.collected("value_old"), scene.reward()
    after = 0.0 if ended else scene.collected("value_next")
    t, decay = str(token + 1), slot.gamma * slot.lam
    lines = (
        line(r"\delta_{@t@}=@r@+@gamma@\cdot @(after)@-@(v)@=@delta@", t=t, r=reward, gamma=slot.gamma, after=after, v=v, delta=delta),
        line(r"\hat A_{@t@}=@delta@+@gamma@\cdot @lam@\cdot @(later)@=@A@", t=t, delta=delta, gamma=slot.gamma, lam=slot.lam,
             later=later, A=value),
        line(r"\text{the critic's target: }\hat R_{@t@}=@(A)@+@(v)@=@target@", t=t, A=value, v=v,
             target=float(scene.raw.returns[row, token])),
    )  # fmt: skip
    wrong = (
        Mistake(delta + slot.gamma * later, "λ is missing: what follows is discounted by γ·λ."),
        Mistake(delta + later, "What follows must be multiplied by γ·λ."),
        Mistake(delta, "That is the one-step TD error; γλ times the next step's advantage comes on top."),
        Mistake(delta + decay * later + v, "That is the critic's target (advantage plus value)."),
        Mistake(-value, "The sign is wrong."),
    )
    of_delta = (
        Mistake(reward + after - v, "γ is missing in front of the next value."),
        Mistake(reward - v, "The next state's value is missing: only a terminal step has none."),
        Mistake(reward + slot.gamma * after + v, "The sign of V(s_t) is wrong: what was expected is subtracted."),
        Mistake(v - reward - slot.gamma * after, "The sign is wrong: what happened minus what was expected."),
    )
    blanks = (
        Blank("A", r"\hat A_t", "advantage of this step", value, 1, wrong),
        Blank("delta", r"\delta_t", "TD error", delta, 2, of_delta),
    )
    end = " The episode ended here by itself: nothing follows, so V of what follows is 0." if ended else ""
    if then is None and not ended and not rollout["truncated"][row, token]:
        end = " The segment ends here: the critic's V stands for all that follows."
    cut = " A time limit cut the episode here: V of what would have followed still counts." if (
        rollout["truncated"][row, token]) else ""  # fmt: skip
    sentence = f"What happened at each step is compared with what the critic expected, and surprises are summed ahead.{end}{cut}"
    formula = (
        r"\begin{gathered}\delta_t=r'_t+\gamma V(s_{t+1})-V(s_t)\\ "
        r"\hat A_t=\delta_t+\gamma\lambda\,\hat A_{t+1}\\ \hat R_t=\hat A_t+V(s_t)\end{gathered}"
    )
    return sentence, formula, lines, blanks


_WRITERS: dict[type, Callable[[Scene], Told]] = {
    GroupRelative: _group_relative, LeaveOneOut: _leave_one_out, OptimalBaseline: _optimal_baseline,
    Returns: _returns, Gae: _gae,
}  # fmt: skip
