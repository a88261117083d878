"""Stories of the tiny language model going nowhere, or backwards: one setting each, and what it does to the run."""

from __future__ import annotations

from rlcore.stories.story import Arm, Outcome, Story, at_least, first, last, overall

_GAIN = last("reward_mean", 5)
_START = first("reward_mean", 3)

HELD = Story(
    name="held-at-the-reference",
    title="So expensive to leave that it stays",
    recipe="grpo", env="addition", settings={"kl_beta": 10.0}, steps=40, rate=5,
    claim="At β = 10 the policy gains next to nothing: every step away from the reference costs more than a right sum brings.",
    question="β = 10 instead of 0.04. How much has the share of right sums (about 0.45 at first) risen after 40 updates?",
    outcomes=(
        Outcome(key="much", says="By more than 0.25", when=(at_least(_GAIN, 0.25, minus=_START),)),
        Outcome(key="some", says="By 0.15 to 0.25", when=(at_least(_GAIN, 0.15, minus=_START),)),
        Outcome(key="little", says="By less than 0.15"),
    ),
    arms=(Arm(name="β = 10", expects="little"), Arm(name="β = 0.04", settings={"kl_beta": 0.04}, expects="much")),
    because="The penalty's slope grows with the distance, the reward's does not: they balance close to the reference. KL to the "
    "reference stays in the thousandths, entropy where it was.",
    source="arXiv:2402.03300",
)  # fmt: skip

TOO_HARD = Story(
    name="too-hard",
    title="All wrong, so nothing to compare",
    recipe="grpo", env="sorting", settings={"policy.start": "addition-0"}, steps=20, rate=5,
    claim="Asked to sort digits, a model that only ever learned sums is never right: nearly all groups are dead, nothing is learned.",
    question="A model that has never seen sorting is asked to sort. What share of its groups is dead (all rewards equal)?",
    outcomes=(
        Outcome(key="most", says="Nine in ten or more", when=(at_least(overall("dead_group_fraction"), 0.9),)),
        Outcome(key="half", says="A third to nine in ten", when=(at_least(overall("dead_group_fraction"), 0.33),)),
        Outcome(key="few", says="Less than a third"),
    ),
    arms=(
        Arm(name="never saw it", expects="most"),
        Arm(name="half-way", settings={"policy.start": "sorting-0"}, expects="few"),
    ),
    because="A group-relative advantage is a difference to the group's mean. Where all rewards are 0 all differences are 0. Easier "
    "prompts, partial credit or a better start help; a higher learning rate does not.",
    source="arXiv:2503.14476",
)  # fmt: skip

TOO_EASY = Story(
    name="too-easy",
    title="All right, so nothing to compare",
    recipe="grpo", env="addition", settings={"policy.start": "addition-fluent-0"}, steps=20, rate=5,
    claim="Asked what it always gets right, a model has dead groups as well: most of the batch is paid for and teaches nothing.",
    question="A model that is right in 99 % of all sums is asked for sums. What share of its groups of 16 is dead?",
    outcomes=(
        Outcome(key="most", says="Four in five or more", when=(at_least(overall("dead_group_fraction"), 0.8),)),
        Outcome(key="half", says="A third to four in five", when=(at_least(overall("dead_group_fraction"), 0.33),)),
        Outcome(key="few", says="Less than a third"),
    ),
    arms=(
        Arm(name="fluent", expects="most"),
        Arm(name="half-way", settings={"policy.start": "addition-0"}, expects="few"),
    ),
    because="The chance that 16 replies agree is p^16 + (1 - p)^16: 0.85 at p = 0.99, and next to nothing at 0.45. Dynamic sampling (DAPO) "
    "throws dead groups away and samples others; better prompts are those that are right about half the time.",
    source="arXiv:2503.14476",
)  # fmt: skip

LATE = Story(
    name="gspo-late-clip",
    title="GSPO with GRPO's ε",
    recipe="gspo", env="addition", settings={"epochs": 4, "lr": 3e-4, "eps_low": 0.2, "eps_high": 0.2}, steps=24, rate=3,
    claim="At ε = 0.2 GSPO's clip comes too late: with four passes over each batch the model ends no better than it began. At 3e-3 it learns.",
    question="GSPO with ε = 0.2, four passes over every batch at lr 3e-4. After 24 updates the share of right sums is …",
    outcomes=(
        Outcome(key="up", says="clearly higher than at first", when=(at_least(_GAIN, 0.2, minus=_START),)),
        Outcome(key="some", says="a little higher", when=(at_least(_GAIN, 0.05, minus=_START),)),
        Outcome(key="down", says="no higher, and often much lower"),
    ),
    arms=(
        Arm(name="ε = 0.2", expects="down"),
        Arm(name="ε = 3e-3 / 4e-3", settings={"eps_low": 3e-3, "eps_high": 4e-3}, expects="up"),
    ),
    because="A sequence ratio is a mean over the reply's tokens: it reaches 1.2 only when the reply as a whole has changed by 18 % a token. "
    "By then the update has gone far beyond what the batch can vouch for. One pass a batch would not even show it: nothing is ever clipped.",
    source="arXiv:2507.18071",
)  # fmt: skip
