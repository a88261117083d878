"""The calculations that refute fifteen false beliefs, each a handful of numbers from the engine's own functions.

A card's words live elsewhere; here is only what is computed. Float64 throughout, nothing sampled but where it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rlcore.advantages import GroupRelative, Returns
from rlcore.aggregation import SequenceMean, TokenMean
from rlcore.algorithm import Algorithm, shaped_reward
from rlcore.algorithms import GRPO, GSPO
from rlcore.config import Batch, RunConfig
from rlcore.envs import Bandit
from rlcore.explore.difficulty import loudness, one_group
from rlcore.explore.estimators import REFERENCE, Trials, bench, policies
from rlcore.explore.exact import SmallBandit, enumerated, leaning
from rlcore.explore.groups import CONVENTIONS, SCALES, Affine, judged, moved
from rlcore.explore.lengths import Length, growth, spread, weighed, weighing
from rlcore.explore.recorded import reuse
from rlcore.explore.reuse import Fan, as_fan
from rlcore.explore.tokens import Bands, by_hand, pushed, response
from rlcore.groups import group_is_flat
from rlcore.kl import K1, K2, K3, KlInLoss, KlInReward, NoKl, Pair, k1, k3, kl_loss_term
from rlcore.masked import mean
from rlcore.metrics import approx_kl_tokens
from rlcore.optim import Adam
from rlcore.policies import Tabular
from rlcore.ratios import TokenRatio
from rlcore.rollout import Rollout
from rlcore.surrogates import DualClip, PpoClip, ScoreFunction

Facts = Mapping[str, Any]
FOUR = (1.0, 0.0, 0.0, 1.0)
"""The rewards of four answers to one prompt that most cards use: two right, two wrong."""


def names() -> Facts:
    """1. What the letters stand for: only differences inside a group count."""
    plain = judged(SCALES["std"], [FOUR]).advantages
    stretched = moved(SCALES["std"], [FOUR], Affine(factor=50)).after.advantages
    negative = moved(SCALES["std"], [FOUR], Affine(shift=-5))
    return {
        "grpo": GRPO.long_name, "gspo": GSPO.long_name, "plain": plain.max(), "stretched": stretched.max(),
        "shifted": moved(SCALES["std"], [FOUR], Affine(shift=100)).largest, "negative": negative.after.advantages.max(),
        "highest_reward": negative.after.score.max(),
    }  # fmt: skip


def four_arms() -> tuple[RunConfig, Rollout]:
    """A bandit with four arms, each pulled once by a uniform policy, paid 1, 0, 0, 1; GRPO without KL."""
    algorithm = GRPO.algorithm.model_copy(update={"kl": NoKl()})
    config = RunConfig(
        env=Bandit(means=FOUR, noise=0), policy=Tabular(), algorithm=algorithm, optim=Adam(lr=0.1, eps=1e-8, max_grad_norm=1e9),
        batch=Batch(prompts=1, group_size=4, epochs=10),
    )  # fmt: skip
    size, one = (4, 1), torch.ones(4, 1, dtype=torch.bool)
    zero, even = torch.zeros(size), torch.full((4, 1, 4), 0.25).log()
    rollout = Rollout(
        obs=zero.long(), action=torch.arange(4).unsqueeze(-1), mask=one, reward=torch.tensor(FOUR).unsqueeze(-1),
        logp_old=even[..., 0], logp_ref=even[..., 0], terminal=one, truncated=~one, value_old=zero, value_next=zero,
        group=torch.zeros(4, dtype=torch.int64), dist_old=even, dist_ref=even,
    )  # fmt: skip
    return config, rollout


@lru_cache(maxsize=1)
def four_arm_fan() -> Fan:
    """Ten updates on that one batch, clip 0.2."""
    config, rollout = four_arms()
    return as_fan("clip", reuse(config, rollout, epochs=10), PpoClip())


def clip_keeps_inside() -> Facts:
    """2. The clip bounds the objective, not the ratio."""
    fan = four_arm_fan()
    return {"highest": fan.highest, "lowest": fan.lowest, "dead": fan.dead.mean(1)}


QUADRANTS = ((1.0, 0.5), (1.0, 1.5), (-1.0, 0.5), (-1.0, 1.5))


def outside_is_dead() -> Facts:
    """3. Two of the four quarters outside the band are alive. Slopes are of the loss."""
    slopes, outside, dead = [], [], []
    for advantage, ratio in QUADRANTS:
        log_ratio, one = torch.tensor([[ratio]], dtype=torch.float64).log(), torch.ones(1, 1, dtype=torch.bool)
        found = pushed(_clipped(PpoClip()), log_ratio, one, torch.tensor([advantage]))
        slopes.append(-float(found.push[0, 0]) + 0.0)
        outside.append(bool(found.outside[0, 0]))
        dead.append(bool(found.dead[0, 0]))
    return {"slopes": np.array(slopes), "outside": np.mean(outside), "dead": np.mean(dead)}


def _clipped(surrogate: PpoClip | DualClip | ScoreFunction) -> Algorithm:
    return GRPO.algorithm.model_copy(update={"surrogate": surrogate, "kl": NoKl()})


def min_is_safe() -> Facts:
    """4. For A < 0 the loss grows without end as the ratio does."""
    at, one = (0.0, 1.0, 5.0, 20.0), torch.ones(1, 1, dtype=torch.bool)

    def losses(surrogate: PpoClip | DualClip) -> np.ndarray:
        rows = [torch.full((1, 1), x, dtype=torch.float64) for x in at]
        return np.array([pushed(_clipped(surrogate), row, one, torch.tensor([-1.0])).loss for row in rows])

    return {"log_ratios": np.array(at), "ppo": losses(PpoClip()), "dual": losses(DualClip(c=3.0))}


def loss_is_zero() -> Facts:
    """5. On policy the loss is minus the mean advantage, 0, and its gradient is not."""
    config, rollout = four_arms()
    update = reuse(config, rollout, epochs=1)[0]
    logits = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    logp = torch.log_softmax(logits, -1).unsqueeze(-1)
    gradient = torch.autograd.grad((logp * torch.from_numpy(update.grad_logp.astype(np.float64))).sum(), logits)[0]
    lengths = torch.tensor([2, 6, 4, 1])
    mask = torch.arange(6) < lengths.unsqueeze(-1)
    ragged = GRPO.algorithm.model_copy(update={"kl": NoKl(), "aggregate": TokenMean()})
    advantage = torch.from_numpy(judged(SCALES["std"], [FOUR]).advantages.copy())
    token_mean = pushed(ragged, torch.zeros(mask.shape, dtype=torch.float64), mask, advantage).loss
    return {"loss": abs(update.loss), "gradient": gradient.numpy(), "token_mean": token_mean}


def just_centred() -> Facts:
    """6. GRPO divides by the sample standard deviation."""
    few, half = one_group("std", right=1, group_size=8), one_group("std", right=4, group_size=8)
    few_none, half_none = one_group("none", right=1, group_size=8), one_group("none", right=4, group_size=8)
    single = [(1.0, 0.0, 0.0, 0.0)]
    return {
        "few": few, "half": half, "few_none": few_none, "half_none": half_none,
        "sample": judged(GroupRelative(), single).advantages[0],
        "population": judged(GroupRelative(ddof=0), single).advantages[0],
    }  # fmt: skip


def mean_is_unbiased() -> Facts:
    """7. The group's mean shrinks the expected gradient; the std turns it."""
    found = {}
    for size in (2, 4):
        bandit = SmallBandit(group_size=size)
        found[size] = {e.name: e for e in enumerated(bandit, leaning(bandit)).estimators}
    loud = loudness(8, points=97)
    weights = {f"p{round(100 * p):02d}": np.interp(p, loud.p, loud.weight["std"]) for p in (0.05, 0.2, 0.5)}
    return {
        "mean2": found[2]["none"].ratio, "mean4": found[4]["none"].ratio, "loo4": found[4]["leave_one_out"].ratio,
        "std4": found[4]["std"].ratio, "cosine": found[4]["std"].cosine, **weights,
    }  # fmt: skip


def k3_in_the_loss() -> Facts:
    """8. An estimator's value and its gradient are two things."""
    tried = bench(*policies(Trials()))
    by_name = {trial.name: trial for trial in tried.trials}
    return {
        "exact": tried.exact, "reverse": tried.reverse, "forward": tried.forward, "k2_mean": by_name["k2"].mean,
        "k1_std": by_name["k1"].std, "k3_std": by_name["k3"].std,
        "k1_gradient": np.abs(by_name["k1"].gradient).max(), "k2_gradient": by_name["k2"].gradient,
        "k3_gradient": by_name["k3"].gradient, "ratio_k3_gradient": by_name["ρ·k3"].gradient,
    }  # fmt: skip


def reward_or_loss() -> Facts:
    """9. Where the KL stands decides its gradient. Loss gradients on four tokens, reward 1 on the second, beta 0.1."""
    beta, logits = 0.1, torch.tensor(policies(Trials())[0], dtype=torch.float64)
    truth = _expected_gradient(logits, NoKl()) + beta * torch.from_numpy(bench(*policies(Trials())).reverse.copy())
    placed: dict[str, KlInReward | KlInLoss] = {
        "k1_in_reward": KlInReward(kl_beta=beta, estimator=K1()), "k2_in_loss": KlInLoss(kl_beta=beta, estimator=K2()),
        "k3_in_loss": KlInLoss(kl_beta=beta, estimator=K3()),
    }  # fmt: skip
    return {"true": truth.numpy()} | {name: _expected_gradient(logits, kl).numpy() for name, kl in placed.items()}


def _expected_gradient(logits: Tensor, kl: NoKl | KlInReward | KlInLoss) -> Tensor:
    """E[d loss / d logits] over every token a softmax policy can say, on policy: rows are weighted by probability."""
    leaf = logits.clone().requires_grad_()
    logp = torch.log_softmax(leaf, -1).unsqueeze(-1)
    ref = torch.log_softmax(torch.tensor(REFERENCE, dtype=torch.float64), -1).unsqueeze(-1)
    mask = torch.ones_like(logp, dtype=torch.bool)
    reward = torch.zeros_like(ref)
    reward[1] = 1.0
    rollout = _with(by_hand(mask), reward=reward, logp_old=logp.detach(), logp_ref=ref)
    algorithm = Algorithm(
        advantage=Returns(gamma=1.0), ratio=TokenRatio(), surrogate=ScoreFunction(), aggregate=SequenceMean(), kl=kl
    )
    shaped = shaped_reward(algorithm, rollout, kl.kl_beta)
    ratio = algorithm.ratio(logp, rollout.logp_old, mask)
    gain = algorithm.surrogate(ratio, algorithm.advantage(rollout, shaped).advantages, logp, mask).objective
    if isinstance(kl, KlInLoss):
        gain = gain - kl.kl_beta * kl_loss_term(kl, Pair(logp, ref), ratio, mask)
    return torch.autograd.grad(-(logp.detach().exp() * gain).sum(), leaf)[0]


def _with(rollout: Rollout, **fields: Tensor) -> Rollout:
    return Rollout(**(vars(rollout) | fields))


def two_kls() -> Facts:
    """10. The distance to the old policy is 0 before the first update; the one to the reference need not be."""
    new = torch.tensor([[-0.5, -1.0, -2.0]], dtype=torch.float64)
    ref = torch.tensor([[-0.9, -0.7, -2.5]], dtype=torch.float64)
    mask = torch.ones_like(new, dtype=torch.bool)
    return {
        "old_new": float(mean(approx_kl_tokens(new - new), mask)), "ref_k1": float(mean(k1(new, ref), mask)),
        "ref_k3": float(mean(k3(new, ref), mask)),
    }  # fmt: skip


def first_step() -> Facts:
    """11. With one update a batch all ratios are 1: GRPO, GSPO and plain REINFORCE have one gradient."""
    lengths = torch.tensor([2, 6, 4, 1])
    mask = torch.arange(6) < lengths.unsqueeze(-1)
    still = torch.zeros(mask.shape, dtype=torch.float64)
    advantage = torch.from_numpy(judged(SCALES["std"], [FOUR]).advantages.copy())
    grpo = pushed(_clipped(PpoClip()), still, mask, advantage)
    gspo = pushed(GSPO.algorithm.model_copy(update={"kl": NoKl(), "aggregate": SequenceMean()}), still, mask, advantage)
    plain = pushed(_clipped(ScoreFunction()), still, mask, advantage)
    later = torch.linspace(-0.1, 0.4, still.numel(), dtype=torch.float64).view(still.shape)
    moved_apart = pushed(_clipped(PpoClip()), later, mask, advantage).push
    gspo_later = pushed(GSPO.algorithm.model_copy(update={"kl": NoKl()}), later, mask, advantage).push
    return {
        "gspo": np.abs(grpo.push - gspo.push).max(), "reinforce": np.abs(grpo.push - plain.push).max(),
        "largest": np.abs(grpo.push).max(), "clipped": int(grpo.dead.sum() + gspo.dead.sum()),
        "later": np.abs(moved_apart - gspo_later).max(),
    }  # fmt: skip


def product_of_ratios() -> Facts:
    """12. GSPO's ratio is a geometric mean and no importance weight."""
    grown, found = growth(Length(length=1000, each=0.01)), weighing((0.5, 0.5), (0.8, 0.2), length=3)
    return {
        "product": grown.product[-1], "geometric": grown.geometric[-1], "truth": found.truth,
        "with_product": found.product, "with_sequence": found.sequence,
    }  # fmt: skip


def same_epsilon() -> Facts:
    """13. A mean of many log-ratios needs another ε. Shares are of sampled rows."""
    found = spread(Length(length=200, sd=0.05), Bands())
    wide = Bands(seq_eps_low=0.2, seq_eps_high=0.2)
    outlier = response((0.0, 1.2, 0.0, 0.0), advantage=1.0, bands=wide)
    kept = {key: int((~p.dead).sum()) for key, p in outlier.by_recipe.items()}
    shares = {
        "grpo": found.clipped["token ratio, token ε"], "gspo_wide": found.clipped["sequence ratio, token ε"],
        "gspo": found.clipped["sequence ratio, sequence ε"], "grpo_narrow": found.clipped["token ratio, sequence ε"],
    }  # fmt: skip
    return {
        "sd": found.sequence_sd,
        **shares,
        "s": outlier.geometric,
        "grpo_keeps": kept["grpo"],
        "gspo_keeps": kept["gspo"],
    }


def all_right() -> Facts:
    """14. Equal rewards teach nothing; what remains of 0.9 in float32 is rounding."""
    nine = [(0.9,) * 8]
    found = {
        name: judged(CONVENTIONS[name].outcome, nine, precision="float32").advantages[0]
        for name in ("trl", "verl", "openrlhf")
    }
    three = torch.full((3,), 0.1, dtype=torch.float64)
    return {
        "ones": np.abs(judged(SCALES["std"], [(1.0,) * 8]).advantages).max(), **found,
        "ours": np.abs(judged(SCALES["std"], nine, precision="float32").advantages).max(),
        "numpy_std": float(np.std(three.numpy())), "flat": bool(group_is_flat(three, torch.zeros(3).long()).all()),
    }  # fmt: skip


def averaging_is_a_detail() -> Facts:
    """15. The rule sets what one token weighs: answers of 10 and of 100 tokens, constant 1000."""
    found = weighed(Length(short=10, length=100, constant=1000), advantages=(1.0, -1.0))
    return {name.replace(" ", "_"): np.array([each.weight[0, 0], each.weight[1, 0]]) for name, each in found.items()}


CARDS: Mapping[int, Callable[[], Facts]] = {
    1: names, 2: clip_keeps_inside, 3: outside_is_dead, 4: min_is_safe, 5: loss_is_zero, 6: just_centred,
    7: mean_is_unbiased, 8: k3_in_the_loss, 9: reward_or_loss, 10: two_kls, 11: first_step, 12: product_of_ratios,
    13: same_epsilon, 14: all_right, 15: averaging_is_a_detail,
}  # fmt: skip


@lru_cache(maxsize=32)
def facts(card: int) -> Facts:
    """The numbers of one card. Raises KeyError for a card that does not exist."""
    return CARDS[card]()
