"""Stories on CartPole: many steps, a network, a critic."""

from __future__ import annotations

from rlcore.stories.story import Arm, Outcome, Story, at_least, below, largest, last

TWENTY = Story(
    name="cartpole-without-clip",
    title="CartPole: twenty passes without a bound",
    recipe="ppo", env="CartPole-v1", settings={"epochs": 20}, steps=15, rate=5,
    claim="Twenty passes over each batch do no harm with ε = 0.2; without a bound, a batch moves the policy by nats and its entropy is gone.",
    question="Twenty passes over every batch and no bound on the ratio. How far does a batch move the policy at its worst "
    "(KL to the old policy; 0.02 is usual), and what is left of the entropy (0.69 at the start)?",
    outcomes=(
        Outcome(
            key="broken", says="By more than 0.5 nats, and entropy ends below 0.25",
            when=(at_least(largest("approx_kl"), 0.5), below(last("entropy"), 0.25)),
        ),
        Outcome(key="calm", says="By less than 0.1 nats", when=(below(largest("approx_kl"), 0.1),)),
        Outcome(key="between", says="Something in between"),
    ),
    arms=(
        Arm(name="no bound", settings={"eps_low": 1.0, "eps_high": 100.0}, expects="broken"),
        Arm(name="ε = 0.2", expects="calm"),
    ),
    because="Each pass pushes the same actions further. With the bound a sample falls silent at ρ = 1.2; without it the last passes "
    "still push what the first ones made almost certain.",
    source="arXiv:1707.06347",
)  # fmt: skip

TOO_FAST = Story(
    name="cartpole-too-fast",
    title="CartPole: ten times the learning rate",
    recipe="ppo", env="CartPole-v1", settings={"lr": 0.03}, steps=30, rate=5,
    claim="At ten times the preset's learning rate a batch moves the policy twenty times as far as SB3 or CleanRL would let it.",
    question="Learning rate 0.03 instead of 0.003. What will the largest KL to the old policy be in 30 updates (target_kl is usually 0.01 to 0.03)?",
    outcomes=(
        Outcome(key="small", says="Below 0.1: the clip takes care of it", when=(below(largest("approx_kl"), 0.1),)),
        Outcome(key="large", says="From 0.1 to 0.5", when=(below(largest("approx_kl"), 0.5),)),
        Outcome(key="huge", says="Above 0.5"),
    ),
    arms=(
        Arm(name="lr 0.03", expects="huge"),
        Arm(name="lr 0.003", settings={"lr": 0.003}, expects="small"),
    ),
    because="The clip looks at ratios before a step; it removes the pull of samples outside the band, and has no hand in how far one "
    "step goes. That is what a small learning rate, gradient clipping and stopping at a target KL are for.",
    source="arXiv:2005.12729",
)  # fmt: skip

STORIES = (TWENTY, TOO_FAST)
