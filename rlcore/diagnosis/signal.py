"""Rules about whether there is anything to learn from: dead groups, truncated replies, a penalty that outweighs all else."""

from __future__ import annotations

from rlcore.advantages import GroupRelative, LeaveOneOut
from rlcore.diagnosis.finding import RECENT, Experiment, Finding, View, mean, nice
from rlcore.words.env import Words

DEAD = 0.5
"""Half of the batch gives no gradient: the point from which DAPO's refilling costs twice the samples (arXiv:2503.14476)."""
TRUNCATED = 0.93
"""Mean length over the longest allowed: with replies that end by themselves, the mean stays well below the limit."""
HELD_BETA, HELD_ENTROPY, HELD_PROGRESS, HELD_KL = 0.2, 0.9, 0.6, 0.1
"""β of at least 0.2 against advantages around 1, entropy still 90 % of its start, less than 60 % of the way, less than
0.1 nats from the reference: it is being held."""
LONGEST_GROUP = 64


def dead_groups(view: View) -> Finding | None:
    """Groups whose rows all score alike, although the task is not solved."""
    if not isinstance(view.config.algorithm.advantage, GroupRelative | LeaveOneOut) or view.solved:
        return None
    share, size = view.now("dead_group_fraction"), view.config.batch.group_size
    if not view.over("dead_groups", share, DEAD):
        return None
    seen = f"dead_group_fraction {share:.2f} with G = {size} (mean of {view.span()}), reward {mean(view.reward[-RECENT:]):.3g}"
    says = "Most groups are dead: all their rows score alike, so their advantages are 0 and they teach nothing."
    return Finding("dead_groups", "act", says, seen, _larger_groups(view), "arXiv:2503.14476, sec. 3.2")


def _larger_groups(view: View) -> Experiment:
    batch = view.config.batch
    factor = min(4, batch.prompts, max(1, LONGEST_GROUP // batch.group_size))
    if factor >= 2:
        values = {"prompts": batch.prompts // factor, "group_size": batch.group_size * factor}
        return Experiment(values, f"groups of {values['group_size']}, fewer of them: the same number of rows")
    return Experiment({"group_size": 2 * batch.group_size}, f"groups of {2 * batch.group_size}")


def truncated(view: View) -> Finding | None:
    """Replies are cut at the limit, and what is cut earns nothing."""
    if not isinstance(view.config.env, Words) or view.solved:
        return None
    limit, length = view.config.env.horizon, view.now("length_mean")
    if not length / limit > (0.97 * TRUNCATED if "truncated" in view.said else TRUNCATED):
        return None
    seen = f"length_mean {length:.1f} of at most {limit} tokens (mean of {view.span()})"
    trial = Experiment({"env.task.max_length": 2 * limit}, f"room for {2 * limit} tokens (a new run)")
    return Finding("truncated", "act", "Replies run into the length limit and are cut.", seen, trial, "arXiv:2503.14476, sec. 3.4")


def held_back(view: View) -> Finding | None:
    """The KL penalty weighs more than the reward: the policy stays at the reference."""
    beta, kl = view.now("kl_beta"), view.now("kl_ref")
    start, now = view.early("entropy", 3), view.now("entropy")
    steps = 2 * RECENT
    if not (beta >= HELD_BETA and len(view) >= 2 * steps and kl < HELD_KL and view.under("held_back", view.progress, HELD_PROGRESS)):
        return None
    if now < HELD_ENTROPY * start or not _settled(view, steps):
        return None
    seen = (
        f"β {beta:g}, kl_ref {kl:.2g} nats and entropy {now:.3g} of {start:.3g} at the start (mean of {view.span()}), "
        f"{100 * max(0.0, view.progress):.0f} % of the possible gain reached"
    )
    trial = Experiment({"kl_beta": nice(beta / 10)}, f"β = {nice(beta / 10):g}")
    says = "β is too large: the penalty outweighs the reward and the policy stays near the reference."
    return Finding("held_back", "act", says, seen, trial, "π* = π_ref exp(r/β)/Z, arXiv:2305.18290, eq. 4")


def _settled(view: View, steps: int) -> bool:
    """kl_ref no longer grows: its last window is within a fifth of the one before."""
    kl = view.get("kl_ref")
    late, before = kl[-steps:].mean(), kl[-2 * steps : -steps].mean()
    return bool(abs(late - before) <= (0.5 if "held_back" in view.said else 0.25) * max(before, 1e-9))


RULES_OF_SIGNAL = (dead_groups, truncated, held_back)
