"""Cautions about what the loss is made of: advantages, groups, critic, and the KL to the reference."""

from __future__ import annotations

from collections.abc import Iterator

from rlcore.advantages import Gae, GroupRelative, LeaveOneOut, OptimalBaseline, Returns, Whiten
from rlcore.algorithm import Algorithm
from rlcore.algorithms.cautions.caution import Caution, Run
from rlcore.critic import NoCritic
from rlcore.kl import K1, AbsLogRatio, AsWritten, KlInLoss, KlInReward
from rlcore.shaping import DropFlatGroups

GROUPED = (GroupRelative, LeaveOneOut, OptimalBaseline)


def scaled_by_group(alg: Algorithm) -> bool:
    """True where a standard deviation of rewards divides the advantages."""
    return isinstance(alg.advantage, GroupRelative) and alg.advantage.scale != "none"


def of_advantage(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if isinstance(alg.advantage, Gae) and run.outcome_only and alg.advantage.gamma * alg.advantage.lam < 1:
        yield Caution(
            "gae_outcome_only", "advantage", "note",
            f"The only reward is at the end: with γλ = {alg.advantage.gamma * alg.advantage.lam:g} a step k "
            "before it sees it through (γλ)^k and, for the rest, through the critic. Language-model "
            "trainers set γ = λ = 1.",
            "arXiv:1506.02438, sec. 3; defaults of verl 0.9.1 and OpenRLHF 0.11.2",
        )  # fmt: skip
    if isinstance(alg.whiten, Whiten) and scaled_by_group(alg):
        yield Caution(
            "scaled_twice", "whiten", "note",
            "Advantages are already centred and scaled by group; whitening scales them again, so the "
            "group's own scale is lost.",
            "arXiv:2501.03262 whitens after subtracting the group mean only",
        )  # fmt: skip
    if alg.whiten.scope == "minibatch" and isinstance(alg.advantage, GROUPED):
        yield Caution(
            "whiten_splits_groups", "whiten", "note",
            "Whitening per minibatch centres rows on whichever others they were shuffled with, not on their "
            "group.",
            "CleanRL and SB3 do so for GAE; no group method does",
        )  # fmt: skip
    if isinstance(alg.advantage, Returns) and not isinstance(alg.whiten, Whiten):
        yield Caution(
            "no_baseline", "advantage", "note",
            "Returns without baseline or whitening: right on average, with the largest variance of all "
            "estimators here.",
            "Williams 1992; arXiv:2501.03262 whitens over the batch",
        )  # fmt: skip


def of_groups(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if run.group_size == 1 and isinstance(alg.advantage, GROUPED):
        keeps = getattr(alg.advantage, "singleton", "keep") == "keep"
        fate = "keeps its raw reward" if keeps else "gets advantage 0"
        yield Caution(
            "group_of_one", "advantage", "warning",
            f"A group of one has no siblings to beat: each row {fate}.",
            "TRL 1.16 refuses it; verl 0.9.1 keeps the reward; OpenRLHF 0.11.2 asserts n > 1",
        )  # fmt: skip
    if run.group_size == 1 and isinstance(alg.select, DropFlatGroups):
        yield Caution(
            "drops_everything", "select", "warning",
            "A group of one is always flat, so every row is dropped and nothing is left to learn from.",
            "arXiv:2503.14476, sec. 3.2",
        )  # fmt: skip
    if run.group_size == 2 and isinstance(alg.advantage, GroupRelative) and alg.advantage.scale == "std":
        size = "1/√2" if alg.advantage.ddof == 1 else "1"
        yield Caution(
            "std_of_two", "advantage", "warning",
            f"With two rows a group, (R − mean)/std is ±{size} whatever the gap between their rewards (or "
            "0).",
            "arithmetic; arXiv:2503.20783 on the bias of dividing by std",
        )  # fmt: skip


def of_critic(alg: Algorithm, run: Run) -> Iterator[Caution]:
    if isinstance(alg.advantage, Gae) and isinstance(alg.critic, NoCritic):
        yield Caution(
            "unfitted_value", "critic", "warning",
            "GAE reads a value function that no loss fits: its estimates stay at their initial guess.",
            "arXiv:1707.06347, eq. 9",
        )  # fmt: skip
    if not isinstance(alg.advantage, Gae) and not isinstance(alg.critic, NoCritic):
        yield Caution(
            "unread_value", "critic", "note",
            f"{type(alg.advantage).__name__} never reads the value function that this critic's loss fits.",
            "arXiv:2402.03300, sec. 4.1",
        )  # fmt: skip


def of_kl(alg: Algorithm, run: Run) -> Iterator[Caution]:
    kl = alg.kl
    if isinstance(kl, KlInLoss | KlInReward) and kl.kl_beta == 0:
        yield Caution(
            "kl_without_price", "kl", "note",
            "β is 0: the KL is measured and changes nothing.",
            "TRL 1.16's default",
        )  # fmt: skip
    if isinstance(kl, KlInLoss) and isinstance(kl.gradient, AsWritten) and isinstance(kl.estimator, K1):
        yield Caution(
            "k1_in_loss", "kl", "warning",
            "k1 as a loss has expected gradient 0 on policy: it adds noise and no pull. Use k2, or multiply "
            "by the ratio.",
            "arXiv:2510.01555",
        )  # fmt: skip
    if isinstance(kl, KlInLoss | KlInReward) and isinstance(kl.estimator, AbsLogRatio):
        yield Caution(
            "abs_is_no_kl", "kl", "note",
            "|log π − log π_ref| is a distance, not an estimate of the KL: neither its value nor its "
            "gradient is the KL's.",
            "verl 0.9.1 `kl_penalty=abs`; arXiv:2510.01555",
        )  # fmt: skip
    if isinstance(kl, KlInReward) and scaled_by_group(alg):
        yield Caution(
            "kl_is_rescaled", "kl", "note",
            "A KL in the reward is centred and divided by the std with it, so β no longer is a price per "
            "nat.",
            "arXiv:2402.03300, sec. 4.1.1 moves it into the loss for that reason",
        )  # fmt: skip
