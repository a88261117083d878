"""Stories on gridworlds: several steps, one reward at the end, and who gets the credit."""

from __future__ import annotations

from rlcore.stories.story import Arm, Outcome, Story, at_least, below, first, last

NO_BOUND = {"eps_low": 1.0, "eps_high": 100.0}
FAR = "-".join(["S.......", *["........"] * 6, ".......G"])

COLLAPSE = Story(
    name="clip-prevents-collapse",
    title="The clip, and 32 passes over every batch",
    recipe="ppo", env="gridworld", settings={"epochs": 32, "lr": 0.2}, steps=60, rate=8,
    claim="Reusing each batch 32 times, PPO learns the maze in most seeds with ε = 0.2 and in none without a bound: it "
    "becomes sure of something useless.",
    question="No bound on the ratio, 32 passes over every batch. Where does the reward (best possible: 0.9) end up?",
    outcomes=(
        Outcome(key="solved", says="above 0.8: it learns the maze", when=(at_least(last("reward_mean"), 0.8),)),
        Outcome(
            key="collapsed", says="below 0.3, with an entropy near 0: collapse",
            when=(below(last("reward_mean"), 0.3), below(last("entropy"), 0.2)),
        ),
        Outcome(key="between", says="somewhere in between"),
    ),
    arms=(
        Arm(name="no bound", settings=NO_BOUND, expects="collapsed"),
        Arm(name="ε = 0.2", expects="solved", share=0.6),
    ),
    because="Thirty-two passes push the same samples again and again. With a bound, a sample stops pushing once its ratio has "
    "left the band; without one, early luck or bad luck is amplified until one action has all the probability.",
    source="arXiv:1707.06347",
)  # fmt: skip

HARMLESS = Story(
    name="no-clip-no-harm",
    title="No clip, four passes: no harm",
    recipe="grpo", env="gridworld", settings=NO_BOUND, steps=60,
    claim="With the preset's four passes the bound can be taken away and GRPO still learns the maze.",
    question="Without any bound on the ratio, but only four passes over a batch. Does it collapse?",
    outcomes=(
        Outcome(key="solved", says="No: the reward ends above 0.85", when=(at_least(last("reward_mean"), 0.85),)),
        Outcome(key="collapsed", says="Yes: below 0.3", when=(below(last("reward_mean"), 0.3),)),
        Outcome(key="between", says="It learns, but worse"),
    ),
    arms=(
        Arm(name="no bound", expects="solved"),
        Arm(name="ε = 0.2", settings={"eps_low": 0.2, "eps_high": 0.2}, expects="solved"),
    ),
    because="A clip is an insurance against reusing data. Where the policy hardly moves within a batch there is nothing to "
    "insure.",
)  # fmt: skip

DEAD = Story(
    name="dead-groups",
    title="Dead groups: nobody found the goal",
    recipe="grpo", env="gridworld", settings={"layout": FAR, "group_size": 4, "prompts": 16}, steps=60,
    claim="While the goal is rarely found, most groups of four score alike and teach nothing; yet one lucky group is enough "
    "to start from.",
    question="The goal is 14 steps away and a random walk seldom gets there. Of the first five batches' groups of 4, how "
    "many teach nothing, and does it learn in the end?",
    outcomes=(
        Outcome(
            key="dead-then-learned", says="At least 3 of 4 are dead, and it learns nevertheless (reward above 0.8)",
            when=(at_least(first("dead_group_fraction"), 0.75), at_least(last("reward_mean"), 0.8)),
        ),
        Outcome(
            key="alive", says="Fewer are dead, and it learns", when=(at_least(last("reward_mean"), 0.8),)
        ),
        Outcome(key="stuck", says="It never learns"),
    ),
    arms=(
        Arm(name="G = 4", expects="dead-then-learned"),
        Arm(name="G = 64", settings={"group_size": 64, "prompts": 1}, expects="alive", share=0.7),
    ),
    because="A group whose rows all score alike has advantages of 0. One row that arrives makes its group speak, loudly, since "
    "dividing by σ makes the rare success the largest advantage there can be.",
    source="arXiv:2503.14476, sec. 3.2",
)  # fmt: skip

BETA = Story(
    name="beta-too-large",
    title="β = 1: chained to the reference",
    recipe="grpo", env="gridworld", settings={"kl_beta": 1.0}, steps=60,
    claim="At β = 1 the penalty outweighs the reward and the policy stays near the reference; at β = 0.1 it learns and "
    "keeps some entropy.",
    question="β = 1 on rewards of at most 1. After 60 updates …",
    outcomes=(
        Outcome(
            key="stuck", says="the reward is still below 0.3 and the policy nearly the reference",
            when=(below(last("reward_mean"), 0.3), below(last("kl_ref"), 0.1)),
        ),
        Outcome(key="learned", says="it reaches 0.8, only more slowly", when=(at_least(last("reward_mean"), 0.8),)),
        Outcome(key="half", says="it gets half way"),
    ),
    arms=(
        Arm(name="β = 1", expects="stuck"),
        Arm(name="β = 0.1", settings={"kl_beta": 0.1}, expects="learned"),
    ),
    because="The optimum of reward minus β·KL is π_ref·exp(r/β): at β = 1 a reward of 1 may raise an outcome's odds by a "
    "factor of e, no more.",
    source="arXiv:2305.18290, eq. 4",
)  # fmt: skip

CORRIDOR = (
    Outcome(key="walks", says="It walks to the goal (reward above 0.5)", when=(at_least(last("reward_mean", 20), 0.5),)),
    Outcome(key="late", says="It gets there sometimes", when=(at_least(last("reward_mean", 20), -0.5),)),
    Outcome(key="lost", says="It never learns to (reward below −0.5)"),
)

CRITIC = Story(
    name="critic-pays",
    title="A long noisy corridor: what a critic is good for",
    recipe="ppo", env="corridor", steps=150, rate=20,
    claim="On 20 cells with noise on every step's reward, PPO with GAE (λ = 0.95) learns to walk; a group's baseline mostly "
    "does not.",
    question="The goal is 19 steps away and every step's reward carries noise of σ = 0.3. PPO, 150 updates:",
    outcomes=CORRIDOR,
    arms=(Arm(name="PPO, λ = 0.95", expects="walks"),),
    because="A critic with λ < 1 judges each step by what came right after it; a row's total adds up the noise of eighty "
    "steps. The next story runs GRPO on the same corridor.",
    source="arXiv:1506.02438",
)  # fmt: skip

GROUP = Story(
    name="group-in-the-noise",
    title="… and the same corridor with a group baseline",
    recipe="grpo", env="corridor", steps=150, rate=20,
    claim="GRPO gives a row's noisy total to each of its steps; on the noisy corridor it mostly fails where PPO succeeds.",
    question="The same noisy corridor with GRPO, 150 updates:",
    outcomes=CORRIDOR,
    arms=(
        Arm(name="σ = 0.3", expects="lost", share=0.5),
        Arm(name="no noise", settings={"env.noise": 0.0}, expects="walks"),
    ),
    because="Without noise GRPO walks this corridor too: the length alone does not hurt. It is the noise of eighty steps, summed "
    "into one number, that drowns the goal.",
    source="arXiv:2402.03300",
)  # fmt: skip

KL_PLACE = Story(
    name="kl-in-reward-or-loss",
    title="The same β, in the reward or in the loss",
    recipe="ppo", env="gridworld", steps=60,
    claim="For PPO β = 0.1 inside the reward costs far more than β = 0.1 beside the loss.",
    question="PPO with a KL penalty of β = 0.1 subtracted from every step's reward. Where does the reward (best 0.9) end up?",
    outcomes=(
        Outcome(key="free", says="above 0.85: the penalty hardly matters", when=(at_least(last("reward_mean"), 0.85),)),
        Outcome(key="costly", says="from 0.3 to 0.85: it walks, but dithers", when=(at_least(last("reward_mean"), 0.3),)),
        Outcome(key="stuck", says="below 0.3: it stays at the reference"),
    ),
    arms=(
        Arm(name="in the reward", settings={"algorithm.kl": {"kind": "kl_in_reward", "kl_beta": 0.1}}, expects="costly"),
        Arm(name="in the loss", settings={"algorithm.kl": {"kind": "kl_in_loss", "kl_beta": 0.1}}, expects="free"),
    ),
    because="In the reward the price is paid at every step of the walk and held against a goal worth 1 in all. In the loss it is "
    "held against advantages that were whitened to a spread of 1, and it shrinks against them as the policy becomes sure.",
    source="arXiv:2203.02155 (reward), arXiv:2402.03300 (loss)",
)  # fmt: skip

STORIES = (COLLAPSE, HARMLESS, DEAD, BETA, CRITIC, GROUP, KL_PLACE)
