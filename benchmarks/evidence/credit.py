"""A long corridor with noise on every step's reward: credit by step (a critic) against credit by episode (the group)."""

from benchmarks.evidence import TWENTY, command, final_return, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

QUIET = {"env.noise": 0.0}
SETTINGS = {
    "PPO": Setup(recipe="ppo", env="corridor", steps=150),
    "PPO, λ = 1": Setup(recipe="ppo", env="corridor", steps=150, overrides={"lam": 1.0}),
    "GRPO": Setup(recipe="grpo", env="corridor", steps=150, overrides={"kl_beta": 0.0}),
    "GSPO": Setup(recipe="gspo", env="corridor", steps=150),
    "PPO, no noise": Setup(recipe="ppo", env="corridor", steps=150, overrides=QUIET),
    "GRPO, no noise": Setup(recipe="grpo", env="corridor", steps=150, overrides={"kl_beta": 0.0} | QUIET),
}


def evidence() -> Evidence:
    return Evidence(
        name="credit",
        claim="Over long episodes with noise on every step, a critic with λ < 1 beats one advantage per episode.",
        measure="Exact expected return after 150 steps on a corridor of 20 cells, noise 0.3 a step, 64 episodes a step",
        unit="reward",
        command=command("credit"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TWENTY,
        arms=measured(SETTINGS, TWENTY, final_return),
        comparison=Comparison(arm="PPO", minus="GRPO"),
        further=(
            Comparison(arm="PPO", minus="GSPO", says="PPO beats GSPO, too"),
            Comparison(arm="PPO", minus="PPO, λ = 1", says="λ < 1 adds to a critic with λ = 1"),
            Comparison(arm="PPO, λ = 1", minus="GRPO", says="a critic as a mere baseline (λ = 1) beats the group"),
            Comparison(arm="PPO, no noise", minus="GRPO, no noise", says="a long episode alone, without noise, is enough for PPO to end better"),
        ),
        caveat="A table for a policy and one start: the critic's job is easy here. PPO discounts with 0.99, GRPO does not.",
    )
