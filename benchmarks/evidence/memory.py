"""Bytes a run has to hold between two steps, counted in the tensors themselves."""

from benchmarks.evidence import TEN, command, measured
from rlcore.config import RunConfig
from rlcore.engine import init
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

SETTINGS = {
    "PPO": Setup(recipe="ppo", env="CartPole-v1"),
    "GRPO": Setup(recipe="grpo", env="CartPole-v1"),
    "GSPO": Setup(recipe="gspo", env="CartPole-v1"),
    "PPO, value head": Setup(recipe="ppo", env="addition"),
    "GRPO, words": Setup(recipe="grpo", env="addition"),
}


def kilobytes(config: RunConfig, steps: int) -> float:
    """Parameters, the optimizer's two moments and the reference policy, critic included where there is one."""
    return init(config).nbytes / 1000


def evidence() -> Evidence:
    return Evidence(
        name="memory",
        claim="PPO with a critic network of its own holds more than GRPO: the critic, its reference copy, its moments.",
        measure="Parameters, optimizer moments and reference held before the first step",
        unit="kB",
        command=command("memory"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TEN,
        arms=measured(SETTINGS, TEN, kilobytes),
        comparison=Comparison(arm="PPO", minus="GRPO"),
        further=(
            Comparison(arm="GSPO", minus="GRPO", direction="within", margin=0.001, says="GSPO holds what GRPO holds"),
            Comparison(arm="PPO, value head", minus="GRPO, words", says="a value head on a shared trunk adds something, too"),
        ),
        caveat="Counted, so it is the same for every seed. This engine keeps the reference also where β is 0.",
    )
