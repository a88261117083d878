"""A KL price so high that the policy stays where it was."""

from __future__ import annotations

from benchmarks.evidence import command
from benchmarks.evidence._words import final, sampled_at_end, sampled_at_start
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, SEEDS = 60, tuple(range(5))
SETTINGS = {
    f"β = {beta:g}": Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"kl_beta": beta}) for beta in (0.04, 1.0, 10.0)
}


def evidence() -> Evidence:
    arms = final(SETTINGS, SEEDS, sampled_at_end)
    arms["start"] = final({"any": SETTINGS["β = 0.04"]}, SEEDS, sampled_at_start)["any"]
    return Evidence(
        name="words_beta",
        claim="At β = 10 the policy gains less than half of what it gains at β = 0.04: it is held at the reference.",
        measure=f"Share of right replies among 512 sampled for 128 held-out sums after {STEPS} updates of GRPO; half-way: the "
        "mean of the start and of β = 0.04; seed s from start addition-s",
        unit="share of right replies",
        command=command("words_beta"),
        versions=dict(measured_with()),
        settings=SETTINGS | {"start": SETTINGS["β = 0.04"], "half-way": SETTINGS["β = 0.04"]},
        seeds=SEEDS,
        arms=arms | {"half-way": tuple((a + b) / 2 for a, b in zip(arms["start"], arms["β = 0.04"], strict=True))},
        comparison=Comparison(arm="β = 10", minus="half-way", direction="below"),
        further=(Comparison(arm="β = 1", minus="β = 0.04", direction="below", says="β = 1 is slower already"),),
    )
