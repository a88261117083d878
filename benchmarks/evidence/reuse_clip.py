"""Thirty-two passes over every batch, with and without the clip."""

from benchmarks.evidence import TWENTY, command, final_return, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

OFTEN = {"epochs": 32, "lr": 0.2}
OPEN = {"eps_low": 1.0, "eps_high": 1000.0}
PLAIN = {"kl_beta": 0.0}
SETTINGS = {
    "PPO": Setup(recipe="ppo", env="gridworld", steps=30, overrides=OFTEN),
    "PPO, no clip": Setup(recipe="ppo", env="gridworld", steps=30, overrides=OFTEN | OPEN),
    "GRPO": Setup(recipe="grpo", env="gridworld", steps=30, overrides=OFTEN | PLAIN),
    "GRPO, no clip": Setup(recipe="grpo", env="gridworld", steps=30, overrides=OFTEN | PLAIN | OPEN),
    "GSPO": Setup(recipe="gspo", env="gridworld", steps=30, overrides=OFTEN),
    "GSPO, no clip": Setup(recipe="gspo", env="gridworld", steps=30, overrides=OFTEN | OPEN),
    "GRPO, no clip, 4 passes": Setup(
        recipe="grpo", env="gridworld", steps=30, overrides=OFTEN | PLAIN | OPEN | {"epochs": 4}
    ),
    "GRPO, 4 passes": Setup(recipe="grpo", env="gridworld", steps=30, overrides=OFTEN | PLAIN | {"epochs": 4}),
}


def evidence() -> Evidence:
    return Evidence(
        name="reuse_clip",
        claim="Reusing every batch 32 times, a policy with the clip ends better than the same one without.",
        measure="Exact expected return after 30 steps on the gridworld, lr 0.2, 32 passes a batch, ε = 0.2",
        unit="reward",
        command=command("reuse_clip"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TWENTY,
        arms=measured(SETTINGS, TWENTY, final_return),
        comparison=Comparison(arm="GRPO", minus="GRPO, no clip"),
        further=(
            Comparison(arm="PPO", minus="PPO, no clip", says="for PPO, too, the clip helps"),
            Comparison(arm="GSPO", minus="GSPO, no clip", says="for GSPO at ε = 0.2, too, the clip helps"),
            Comparison(arm="GRPO, 4 passes", minus="GRPO, no clip, 4 passes", says="with 4 passes, too, the clip helps"),
            Comparison(arm="GSPO", minus="GRPO", says="GSPO ends better than GRPO under this reuse"),
        ),
    )
