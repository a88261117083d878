"""The three algorithms on the gridworld: how much return by when, same number of episodes a step."""

from benchmarks.evidence import TWENTY, command, mean_exact_return, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 30
SETTINGS = {
    "PPO": Setup(recipe="ppo", env="gridworld", steps=STEPS),
    "GRPO": Setup(recipe="grpo", env="gridworld", steps=STEPS, overrides={"kl_beta": 0.0}),
    "GSPO": Setup(recipe="gspo", env="gridworld", steps=STEPS),
}


def evidence() -> Evidence:
    return Evidence(
        name="toy_efficiency",
        claim="With a dense task and one start, PPO learns from fewer episodes than GRPO.",
        measure=f"Exact expected return averaged over the first {STEPS} steps on the gridworld, 64 episodes a step",
        unit="reward",
        command=command("toy_efficiency"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TWENTY,
        arms=measured(SETTINGS, TWENTY, mean_exact_return),
        comparison=Comparison(arm="PPO", minus="GRPO"),
        further=(Comparison(arm="GSPO", minus="GRPO", says="GSPO (ε = 0.2 here) learns faster than GRPO"),),
    )
