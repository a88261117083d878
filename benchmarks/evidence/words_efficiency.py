"""The three algorithms on the adding language model, near on-policy, same rows a step."""

from benchmarks.evidence import TEN, command, mean_reward, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 40
SETTINGS = {
    "PPO": Setup(recipe="ppo", env="addition", steps=STEPS),
    "GRPO": Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"kl_beta": 0.0}),
    "GSPO": Setup(recipe="gspo", env="addition", steps=STEPS),
}


def evidence() -> Evidence:
    return Evidence(
        name="words_efficiency",
        claim="Near on-policy, GSPO learns a word task from fewer samples than GRPO.",
        measure=f"Reward averaged over the first {STEPS} steps of the adding language model, 128 answers a step",
        unit="share of right answers",
        command=command("words_efficiency"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TEN,
        arms=measured(SETTINGS, TEN, mean_reward),
        comparison=Comparison(arm="GSPO", minus="GRPO"),
        further=(Comparison(arm="GRPO", minus="PPO", says="GRPO learns faster than PPO with an untuned value head"),),
        caveat="One pretrained start, presets' learning rates; PPO's value head starts from nothing and is not tuned.",
    )
