"""Groups whose rows all got the same reward teach nothing; how often depends on their size."""

from statistics import fmean

from benchmarks.evidence import TWENTY, command, measured, trained
from rlcore.config import RunConfig
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

FIRST = 5


def _arm(prompts: int, size: int) -> Setup:
    return Setup(
        recipe="grpo", env="addition", steps=FIRST, overrides={"kl_beta": 0.0, "prompts": prompts, "group_size": size}
    )


SETTINGS = {"G = 2": _arm(64, 2), "G = 4": _arm(32, 4), "G = 16": _arm(8, 16), "G = 32": _arm(4, 32)}


def dead(config: RunConfig, steps: int) -> float:
    """Share of groups without a gradient, mean over the first steps."""
    return fmean(record.metrics["dead_group_fraction"] for _, record in trained(config, steps))


def evidence() -> Evidence:
    return Evidence(
        name="dead_groups",
        claim="At 128 answers a step, groups of 2 are dead more often than groups of 16.",
        measure=f"Share of groups in which all answers got the same reward, first {FIRST} steps of the adding model",
        unit="share of groups",
        command=command("dead_groups"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TWENTY,
        arms=measured(SETTINGS, TWENTY, dead),
        comparison=Comparison(arm="G = 2", minus="G = 16"),
        further=(Comparison(arm="G = 4", minus="G = 16", says="groups of 4 are dead more often than groups of 16"),),
    )
