"""Stories on bandits: one step, so everything that happens is the update's doing."""

from __future__ import annotations

from rlcore.stories.story import Arm, Outcome, Story, at_least, below, largest, last

GAPS = ((0.0, 1.0), (0.0, 0.01))
"""Two contexts: one where the better arm is plain to see, one where it pays a hundredth more."""

IDLE = Story(
    name="idle-clip",
    title="The clip that never fires",
    recipe="grpo", env="contextual", settings={"epochs": 1}, steps=40,
    claim="With one update a batch every ratio is exactly 1, so no ε can do anything.",
    question="One update per batch, ε = 0.2. What share of the samples will the clip silence at its worst?",
    outcomes=(
        Outcome(key="none", says="None, ever", when=(below(largest("clip_fraction_outside"), 1e-9),)),
        Outcome(key="few", says="Some, below 5 %", when=(below(largest("clip_fraction"), 0.05),)),
        Outcome(key="many", says="5 % or more"),
    ),
    arms=(
        Arm(name="one pass", expects="none"),
        Arm(name="four passes", settings={"epochs": 4}, expects="many"),
    ),
    because="The ratio compares the policy with the one that sampled. Before the first optimiser step they are the same "
    "policy. Only the second pass over a batch can meet a ratio other than 1.",
    source="arXiv:1707.06347",
)  # fmt: skip

ADAM_HIDES = Story(
    name="difficulty-bias",
    title="Dividing by σ pays attention to trifles",
    recipe="grpo", env="contextual", steps=40,
    settings={"env.means": GAPS, "env.noise": 0.0, "prompts": 8, "group_size": 16, "epochs": 1,
              "optim": {"kind": "sgd", "lr": 1.0}},
    claim="Divided by its own standard deviation, a difference of 0.01 pushes as hard as one of 1.0: the policy becomes "
    "sure of both.",
    question="In one context the better arm pays 1.0 more, in the other 0.01 more. After 40 steps of plain SGD, is the "
    "policy sure of both?",
    outcomes=(
        Outcome(key="both", says="Sure of both (entropy below 0.2)", when=(below(last("entropy"), 0.2),)),
        Outcome(key="one", says="Sure of one, undecided in the other", when=(below(last("entropy"), 0.55),)),
        Outcome(key="neither", says="Sure of neither"),
    ),
    arms=(
        Arm(name="divided by σ", expects="both"),
        Arm(name="not divided", settings={"algorithm.advantage.scale": "none"}, expects="one"),
    ),
    because="The group's standard deviation is the size of the difference itself, so it cancels: every group with any "
    "difference weighs the same. Dr. GRPO leaves the division out. Under Adam the effect is much smaller, since Adam "
    "rescales every parameter's gradient anyway.",
    source="arXiv:2503.20783",
)  # fmt: skip

ADAM = Story(
    name="adam-hides-it",
    title="… and Adam hides the difference",
    recipe="dr_grpo", env="contextual", steps=40,
    settings={"env.means": GAPS, "env.noise": 0.0, "prompts": 8, "group_size": 16, "epochs": 1, "lr": 0.05},
    claim="With Adam, leaving the division out makes next to no difference on a table: each parameter's step is rescaled.",
    question="Dr. GRPO (no division by σ) with Adam on the same two contexts. Is the policy undecided where the arms "
    "differ by 0.01?",
    outcomes=(
        Outcome(key="sure", says="No: nearly sure of both (entropy below 0.3)", when=(below(last("entropy"), 0.3),)),
        Outcome(key="undecided", says="Yes: it hardly moves there"),
    ),
    arms=(
        Arm(name="not divided", expects="sure"),
        Arm(name="divided by σ", settings={"algorithm.advantage.scale": "std"}, expects="sure"),
    ),
    because="A table has a parameter per context and arm, and Adam divides each one's gradient by its own size. A "
    "lesson shown with SGD need not hold with Adam, and the other way round.",
)  # fmt: skip

SURE_AND_WRONG = Story(
    name="sure-and-wrong",
    title="Entropy collapse: sure before it knows",
    recipe="grpo", env="contextual", settings={"lr": 3.0}, steps=60,
    claim="With too large a learning rate the policy becomes sure within a few updates, in some contexts of a wrong arm, and "
    "stays there: no other arm is tried any more.",
    question="Learning rate 3 instead of 0.1. What do you see after 60 updates?",
    outcomes=(
        Outcome(
            key="collapsed", says="Entropy near 0 and a reward below 0.8",
            when=(below(last("entropy"), 0.1), below(last("reward_mean"), 0.8)),
        ),
        Outcome(key="learned", says="A reward of 0.9 or more", when=(at_least(last("reward_mean"), 0.9),)),
        Outcome(key="restless", says="Something else: restless, or in between"),
    ),
    arms=(
        Arm(name="lr 3", expects="collapsed"),
        Arm(name="lr 0.1", settings={"lr": 0.1}, expects="learned"),
    ),
    because="A sample's push grows with lr, and once an arm's probability is near 0 it is not drawn again, so nothing can "
    "bring it back. The clip does not help against a single step that is too long: it looks at ratios before the step.",
)  # fmt: skip

SMALL_GROUPS = Story(
    name="two-is-a-group",
    title="G = 2 is enough for a bandit",
    recipe="grpo", env="bandit", settings={"group_size": 2, "prompts": 32}, steps=60,
    claim="At the same number of samples a step, groups of two still find the best of ten arms, more slowly than groups of 64.",
    question="32 groups of 2 instead of 1 group of 64, the same 64 pulls a step. After 60 updates the mean reward (best arm: 1.0) is …",
    outcomes=(
        Outcome(key="best", says="above 0.98", when=(at_least(last("reward_mean"), 0.98),)),
        Outcome(key="near", says="from 0.9 to 0.98: nearly there", when=(at_least(last("reward_mean"), 0.9),)),
        Outcome(key="lost", says="below 0.9: two samples are no baseline"),
    ),
    arms=(
        Arm(name="G = 2", expects="near"),
        Arm(name="G = 64", settings={"group_size": 64, "prompts": 1}, expects="best"),
    ),
    because="A mean of two is a noisy baseline, but 32 such groups average the noise out. What G = 2 costs here is the size "
    "of the advantages: divided by its own spread, a pair is always +0.7 and −0.7, however small the difference.",
    source="arXiv:2402.03300",
)  # fmt: skip

STORIES = (IDLE, SURE_AND_WRONG, SMALL_GROUPS, ADAM_HIDES, ADAM)
