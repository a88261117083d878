"""Stories on the tiny language model: replies of a few tokens from a pretrained start, a verifier at the end."""

from __future__ import annotations

from rlcore.stories.story import Arm, Outcome, Story, at_least, below, first, last, overall

LONGER = Story(
    name="thinks-longer",
    title="Nobody rewards length",
    recipe="grpo", env="addition", steps=30, rate=4,
    claim="Rewarded for right answers only, the model discovers its scratchpad: replies grow by more than a token and a half.",
    question="The reward is 1 for a right sum and 0 else; length earns nothing. What happens to the mean length (6.4 tokens at first)?",
    outcomes=(
        Outcome(
            key="longer", says="It grows by more than 1.5 tokens",
            when=(at_least(last("length_mean", 5), 1.5, minus=first("length_mean", 3)),),
        ),
        Outcome(
            key="shorter", says="It shrinks by more than 0.5", when=(below(last("length_mean", 5), -0.5, minus=first("length_mean", 3)),)
        ),
        Outcome(key="same", says="It stays about the same"),
    ),
    arms=(Arm(name="GRPO", expects="longer"),),
    because="The pretrained start knows two ways: writing the sum at once (mostly wrong) and writing partial sums first (mostly "
    "right). The second is longer, and it is reinforced for being right.",
)  # fmt: skip

LR = Story(
    name="lr-cliff",
    title="A learning rate from the toys",
    recipe="grpo", env="addition", settings={"lr": 2e-3}, steps=30, rate=4,
    claim="At lr 2e-3 the language model unlearns what its pretraining taught it; at 1.5e-4 it improves steadily.",
    question="lr 2e-3, thirteen times the preset's. After 30 updates the share of right sums is …",
    outcomes=(
        Outcome(key="up", says="clearly higher than at first", when=(at_least(last("reward_mean", 5), 0.15, minus=first("reward_mean", 3)),)),
        Outcome(key="flat", says="about the same", when=(at_least(last("reward_mean", 5), -0.05, minus=first("reward_mean", 3)),)),
        Outcome(key="down", says="lower than at first"),
    ),
    arms=(
        Arm(name="lr 2e-3", expects="down"),
        Arm(name="lr 1.5e-4", settings={"lr": 1.5e-4}, expects="up"),
    ),
    because="All of the model's skill is in its weights; steps that are too long destroy faster than a few dozen right answers build.",
)  # fmt: skip

GSPO = Story(
    name="gspo-paper-eps",
    title="GSPO with the paper's ε on short replies",
    recipe="gspo", env="addition", settings={"epochs": 2, "minibatches": 2}, steps=20, rate=4,
    claim="ε = 3e-4 / 4e-4 suits long responses; on replies of seven tokens it silences more than half of all samples.",
    question="GSPO's own clip widths, 3e-4 and 4e-4, on replies of about 7 tokens. What share of tokens loses its gradient?",
    outcomes=(
        Outcome(key="most", says="More than half", when=(at_least(overall("clip_fraction"), 0.5),)),
        Outcome(key="some", says="5 % to 50 %", when=(at_least(overall("clip_fraction"), 0.05),)),
        Outcome(key="few", says="Less than 5 %"),
    ),
    arms=(
        Arm(name="3e-4 / 4e-4", settings={"eps_low": 3e-4, "eps_high": 4e-4}, expects="most"),
        Arm(name="3e-3 / 4e-3", settings={"eps_low": 3e-3, "eps_high": 4e-3}, expects="some"),
    ),
    because="The sequence ratio is a mean of log-ratios over the reply: its spread shrinks with length. A band made for "
    "thousands of tokens is far too narrow for seven. In one of four updates a batch every ratio is still 1, so even a band of 0 "
    "could not silence everything.",
    source="arXiv:2507.18071",
)  # fmt: skip

AGGREGATE = Story(
    name="token-or-sequence-mean",
    title="Who has how much say: token mean or sequence mean",
    recipe="grpo", env="sentences", steps=40, rate=4,
    claim="Averaged within each reply first, short good replies win and replies shrink; averaged over all tokens they do not.",
    question="Each reply's loss is averaged over its own tokens (sequence mean). What happens to the length (about 6 tokens at first)?",
    outcomes=(
        Outcome(key="shorter", says="Replies get shorter by half a token or more", when=(below(last("length_mean"), -0.5, minus=first("length_mean")),)),
        Outcome(key="kept", says="They keep their length, or grow"),
    ),
    arms=(
        Arm(name="sequence mean", settings={"algorithm.aggregate": {"kind": "sequence_mean"}}, expects="shorter"),
        Arm(name="token mean", settings={"algorithm.aggregate": {"kind": "token_mean"}}, expects="kept"),
    ),
    because="With 1/length in front, a token of a short good reply is pushed harder than a token of a long good one, so short wins. "
    "The token mean gives every token the same say. Which way lengths then drift depends on which replies are right: here they stay or grow.",
    source="arXiv:2503.20783; arXiv:2503.14476",
)  # fmt: skip

HIGHER = Story(
    name="clip-higher",
    title="Clip-higher against entropy collapse: not here",
    recipe="grpo", env="addition", settings={"epochs": 2}, steps=30, rate=4,
    claim="DAPO raises ε_high to 0.28 so that rare tokens can rise and entropy lasts. On this toy it changes nothing: the upper "
    "bound silences less than one token in a hundred.",
    question="Entropy starts near 0.45 nats a token. With ε_high = 0.28 instead of 0.2, where is it after 30 updates?",
    outcomes=(
        Outcome(key="kept", says="Above 0.2: clip-higher keeps it up", when=(at_least(last("entropy", 5), 0.2),)),
        Outcome(key="low", says="From 0.12 to 0.2", when=(at_least(last("entropy", 5), 0.12),)),
        Outcome(key="gone", says="Below 0.12, as without it"),
    ),
    arms=(
        Arm(name="ε_high = 0.28", settings={"eps_high": 0.28}, expects="gone"),
        Arm(name="ε_high = 0.2", expects="gone"),
    ),
    because="A bound that hardly ever fires can be moved without effect. The claim is about long training of large models, where it "
    "fires; what this toy shows is that a remedy needs its disease. Look at clip fraction high.",
    source="arXiv:2503.14476",
)  # fmt: skip

STORIES = (LONGER, LR, GSPO, AGGREGATE, HIGHER)
