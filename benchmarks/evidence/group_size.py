"""Small groups on the gridworld at the same number of episodes: does learning suffer?"""

from benchmarks.evidence import TWENTY, command, mean_exact_return, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 30


def _arm(prompts: int, size: int) -> Setup:
    return Setup(
        recipe="grpo", env="gridworld", steps=STEPS, overrides={"kl_beta": 0.0, "prompts": prompts, "group_size": size}
    )


SETTINGS = {"G = 2": _arm(32, 2), "G = 4": _arm(16, 4), "G = 16": _arm(4, 16), "G = 64": _arm(1, 64)}


def evidence() -> Evidence:
    return Evidence(
        name="group_size",
        claim="At 64 episodes a step, GRPO with groups of 2 learns more slowly than with groups of 16.",
        measure=f"Exact expected return averaged over the first {STEPS} steps on the gridworld",
        unit="reward",
        command=command("group_size"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TWENTY,
        arms=measured(SETTINGS, TWENTY, mean_exact_return),
        comparison=Comparison(arm="G = 2", minus="G = 16", direction="below"),
        further=(
            Comparison(arm="G = 4", minus="G = 16", direction="below", says="groups of 4 learn more slowly than groups of 16"),
            Comparison(arm="G = 64", minus="G = 16", says="one group of 64 learns faster than groups of 16"),
        ),
    )
