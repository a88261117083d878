"""Phases before any update: sample, score."""

from __future__ import annotations

import math

import torch

from rlcore.advantages import Gae, Returns
from rlcore.kl import KlInReward, Pair, kl_reward_term
from rlcore.microscope.moving import estimator_words, kl_mistakes
from rlcore.microscope.naming import in_math, place_text, prompt_text, token_name, what
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question, line
from rlcore.microscope.scene import Scene
from rlcore.policies.heads import Gaussian
from rlcore.shaping import ClipReward, PlainReward, SoftOverlong
from rlcore.state import beta_in_force
from rlcore.words.env import Words
from rlcore.words.task import terms_of
from rlcore.words.vocabulary import TOKENS

MOST_SUMMANDS = 8
SAME = 1e-9


def sample(scene: Scene) -> Phase:
    """What was drawn, and how likely it was."""
    row, token = scene.at.row + 1, scene.at.token + 1
    name, logp = token_name(scene), scene.collected("logp_old")
    where = place_text(scene)
    sentence = (
        f"Row {row}, {what(scene)} {token}: {where + ', ' if where else ''}the policy of the last step drew **{name}** and its "
        "log-probability was written down; until the end of this step that number is a constant."
    )
    formula = r"a_{it}\sim\pi_{\text{old}}(\cdot\mid s_{it}),\qquad \log\pi_{\text{old}}(a_{it}\mid s_{it})\ \text{is stored}"
    lines, blanks = _density(scene, in_math(name), logp)
    if "logp_rollout" in scene.of.trace.rollout:
        lines = (*lines, line(r"\log\pi_{\text{sampler}}=@sampler@\quad\text{(what really drew it)}",
                              sampler=scene.collected("logp_rollout")))  # fmt: skip
    return Phase("sample", "Sample", sentence, formula, lines, blanks, shows="logp_old")


def _density(scene: Scene, name: str, logp: float) -> tuple[tuple[Line, ...], tuple[Blank, ...]]:
    dist = scene.of.trace.rollout.get("dist_old")
    if dist is None:
        return _normal(scene, logp)
    p = math.exp(logp)
    given = line(rf"\log\pi_{{\text{{old}}}}({name})=\ln @p@=@logp@", p=p, logp=logp)
    mistakes = (
        Mistake(logp / math.log(10), "That is the logarithm to base 10; log-probabilities are natural logarithms."),
        Mistake(logp / math.log(2), "That is the logarithm to base 2; log-probabilities are natural logarithms."),
        Mistake(-logp, "The sign is wrong: a probability is below 1, so its logarithm is negative."),
        Mistake(p, "That is the probability itself, not its logarithm."),
    )
    return (given,), (Blank("logp", r"\log\pi_{\text{old}}", "log-probability of what was drawn", logp, 1, mistakes),)


def _normal(scene: Scene, logp: float) -> tuple[tuple[Line, ...], tuple[Blank, ...]]:
    """A Gaussian head, dimension by dimension, under the parameters that sampled."""
    of, at = scene.of, scene.at
    with torch.no_grad():
        head = of.config.policy.act(of.state.params, scene.rollout.obs[at.row, at.token])  # type: ignore[union-attr]
    assert isinstance(head, Gaussian)
    action = scene.rollout.action[at.row, at.token]
    lines = tuple(
        line(
            r"a=@a@,\ \mu=@mu@,\ \sigma=@s@:\quad -\tfrac12\Big(\tfrac{a-\mu}{\sigma}\Big)^2-\ln\sigma-\tfrac12\ln 2\pi=@of@",
            a=float(action[d]), mu=float(head.mean[d]), s=float(head.log_std[d].exp()),
            of=float(-0.5 * ((action[d] - head.mean[d]) / head.log_std[d].exp()) ** 2 - head.log_std[d]) - 0.918938533,
        )
        for d in range(min(len(action), 4))
    )  # fmt: skip
    whole = line(r"\log\pi_{\text{old}}(a)=\textstyle\sum_d=@logp@\quad\text{(a density: it may be positive)}", logp=logp)
    return (*lines, whole), (Blank("logp", r"\log\pi_{\text{old}}", "log-density of the action", logp),)


# ---------------------------------------------------------------- score


def score(scene: Scene) -> Phase:
    """The row's rewards and what shaping and a KL in the reward make of them."""
    algorithm = scene.of.config.algorithm
    in_time = isinstance(algorithm.advantage, Gae | Returns)
    lines, blanks = _terms(scene)
    lines, blanks = [*lines, *_shaped(scene)[0]], [*blanks, *_shaped(scene)[1]]
    if not in_time:
        total, blank = _sum(scene)
        lines, blanks = [*lines, total], [blank, *blanks]
    formula = r"R_i=\sum_t r'_{it}" if not in_time else r"r'_{it}"
    if isinstance(algorithm.kl, KlInReward):
        formula += r",\qquad r'_{it}=r_{it}-\beta\,k_{it}"
    elif not isinstance(algorithm.shaping, PlainReward):
        formula += r",\qquad r'_{it}=\text{shaped}(r_{it})"
    elif in_time:
        formula = r"r_{it}\ \text{as the environment paid it}"
    sentence = (
        "The whole row is graded with one number, the sum of its rewards; which token earned it, nobody says."
        if not in_time
        else f"Every {what(scene)} keeps its own reward, for the advantage looks along time."
    )
    if isinstance(algorithm.kl, KlInReward):
        sentence += " The KL penalty is taken off here, before any advantage, with the *old* policy's log-probabilities."
    return Phase("score", "Score", sentence, formula, tuple(lines), tuple(blanks), _asked(scene, in_time), shows="reward")


def _terms(scene: Scene) -> tuple[list[Line], list[Blank]]:
    """A word task's verifier, term by term; or the environment's reward of this step."""
    env = scene.of.config.env
    if not isinstance(env, Words):
        return [line(r"r_{@i@,@t@}=@r@", i=str(scene.at.row + 1), t=str(scene.at.token + 1), r=scene.collected("reward"))], []
    graded = {n: float(x[scene.at.row]) for n, x in terms_of(env.task, scene.rollout).items()}
    worth = float(scene.rollout.score[scene.at.row])
    parts = "+".join(rf"@({n}_w)@\cdot\underbrace{{@{n}@}}_{{\text{{{n}}}}}" for n in graded)
    values = graded | {f"{n}_w": float(getattr(env.task, n)) for n in graded}
    return [line(rf"r_i={parts}=@worth@\quad\text{{on the last token}}", worth=worth, **values)], []


def _shaped(scene: Scene) -> tuple[list[Line], list[Blank]]:
    """What shaping and the KL do to the selected token's reward."""
    algorithm, rollout, at = scene.of.config.algorithm, scene.rollout, scene.at
    plain, lines, blanks = scene.collected("reward"), [], []
    after = float(algorithm.shaping(rollout, torch.where(rollout.mask, rollout.reward, 0.0))[at.row, at.token])
    if isinstance(algorithm.shaping, ClipReward):
        lines.append(line(r"r_{@t@}=@r@\to @shaped@\quad\text{(clipped)}", t=str(at.token + 1), r=plain, shaped=after))
    if isinstance(algorithm.shaping, SoftOverlong):
        lines.append(_overlong(scene, algorithm.shaping))
    if isinstance(algorithm.kl, KlInReward):
        pair = Pair(rollout.logp_old, rollout.logp_ref, rollout.dist_old, rollout.dist_ref)
        k = float(kl_reward_term(algorithm.kl, pair, rollout.mask)[at.row, at.token])
        beta, paid = beta_in_force(scene.of.state, scene.of.config), scene.reward()
        old, ref = scene.collected("logp_old"), scene.collected("logp_ref")
        lines.append(line(r"\Delta=\log\pi_{\text{old}}-\log\pi_{\text{ref}}=@old@-@(ref)@=@gap@", old=old, ref=ref, gap=old - ref))
        lines.append(line(estimator_words(algorithm.kl.estimator)[1], gap=old - ref, minus=ref - old, k=k))
        blanks.append(Blank("k", "k", "KL estimate of this token", k, 2, kl_mistakes(algorithm.kl.estimator, old - ref, k)))
        lines.append(line(r"r'_{@t@}=@r@-@beta@\cdot @(k)@=@paid@", t=str(at.token + 1), r=after, beta=beta, k=k, paid=paid))
        wrong = (
            Mistake(after + beta * k, "The sign of the penalty is wrong: distance to the reference is *subtracted*."),
            Mistake(after, "The KL penalty is missing."),
            Mistake(after - k, "β is missing in front of k."),
        )
        blanks.append(Blank("paid", f"r'_{{{at.token + 1}}}", "reward of this token after the KL penalty", paid, 2, wrong))
    return lines, blanks


def _overlong(scene: Scene, rule: SoftOverlong) -> Line:
    """What the row's length costs it, on its last token."""
    rewards = scene.rollout.reward.where(scene.rollout.mask, torch.zeros(()))
    penalty = float((rule(scene.rollout, rewards) - rewards)[scene.at.row].sum())
    return line(
        r"\text{length }@L@\text{ against }@from@\text{ to }@max@:\ \text{penalty }@pen@", L=str(scene.length),
        **{"from": str(rule.max_length - rule.cache)}, max=str(rule.max_length), pen=penalty,
    )  # fmt: skip


def _sum(scene: Scene) -> tuple[Line, Blank]:
    row = scene.at.row
    rewards = scene.of.trace.shaped_reward[row][scene.mask[row]]
    total = float(scene.scores[row])
    some = [float(r) for r in rewards if r != 0]
    values: dict[str, float | str] = {"i": str(row + 1), "R": total, "L": str(len(rewards))}
    if len(some) <= MOST_SUMMANDS:
        values |= {f"x{n}": r for n, r in enumerate(some)}
        zeros = "" if len(some) == len(rewards) else r"\quad\text{(every other reward is 0)}" if some else r"\quad\text{(every reward is 0)}"
        right = "+".join(f"@(x{n})@" for n in range(len(some))) + "=" if len(some) > 1 else ""
    else:
        right, zeros = r"\sum_{t=1}^{@L@}r'_{t}=", ""
    wrong = [Mistake(total / max(len(rewards), 1), "That is the mean over tokens; a row's score is the sum.")]
    wrong += [Mistake(float(rewards[-1]), "That is the last token's reward alone; the others count too.")]
    plain = float(scene.rollout.score[row])
    wrong += [Mistake(plain, "That is the environment's reward alone; shaping and the KL penalty come off it.")]
    return line(rf"R_{{@i@}}={right}@R@{zeros}", **values), Blank("R", "R_i", "score of this row", total, 1, tuple(wrong))


def _asked(scene: Scene, in_time: bool) -> Question | None:
    algorithm = scene.of.config.algorithm
    if isinstance(scene.of.config.env, Words) and not in_time and not isinstance(algorithm.kl, KlInReward):
        worth = float(scene.rollout.score[scene.at.row])
        said = "".join(_said(scene))
        return Question(
            "number", f"The prompt was “{prompt_text(scene)}”, the reply “{said}”. What does the verifier pay?", worth,
            f"It paid {worth:g}.", tolerance=0.01,
        )  # fmt: skip
    if isinstance(algorithm.kl, KlInReward):
        change = scene.reward() - scene.collected("reward")
        answer = "nothing" if abs(change) < SAME else "raises it" if change > 0 else "lowers it"
        return Question(
            "choice", f"What does the KL penalty do to the reward of this {what(scene)}?", answer,
            f"log π_old = {scene.collected('logp_old'):.4f}, log π_ref = {scene.collected('logp_ref'):.4f}: the reward changes by "
            f"{change:+.4g}. A token that the reference likes better than the policy is *paid*.",
            ("lowers it", "nothing", "raises it"),
        )  # fmt: skip
    return None


def _said(scene: Scene) -> list[str]:
    taken = scene.of.trace.rollout["action"][scene.at.row][scene.mask[scene.at.row]]
    return [TOKENS[int(a)] for a in taken]
