"""GSPO and GRPO where an answer is one token: the sequence's ratio is the token's."""

from benchmarks.evidence import TEN, command, final_return, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

PLAIN = {"kl_beta": 0.0, "eps_low": 0.2, "eps_high": 0.2}
SETTINGS = {
    "GSPO": Setup(recipe="gspo", env="bandit", steps=30, overrides=PLAIN),
    "GRPO": Setup(recipe="grpo", env="bandit", steps=30, overrides=PLAIN),
}


def evidence() -> Evidence:
    return Evidence(
        name="one_token",
        claim="With answers of one token and the same ε, GSPO and GRPO are the same algorithm.",
        measure="Exact expected return after 30 steps on the bandit, KL off in both",
        unit="reward",
        command=command("one_token"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TEN,
        arms=measured(SETTINGS, TEN, final_return),
        comparison=Comparison(arm="GSPO", minus="GRPO", direction="within", margin=1e-6),
    )
