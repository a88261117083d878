"""Groups whose replies all earn the same: prompts that are too hard, or too easy, for the model that is asked."""

from __future__ import annotations

from benchmarks.evidence import command
from benchmarks.evidence._words import final
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, SEEDS = 20, tuple(range(5))
SETTINGS = {
    "half-way": Setup(recipe="grpo", env="addition", steps=STEPS),
    "too easy": Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"policy.start": "addition-fluent-0"}),
    "too hard": Setup(recipe="grpo", env="sorting", steps=STEPS, overrides={"policy.start": "addition-0"}),
}


def evidence() -> Evidence:
    return Evidence(
        name="words_dead",
        claim="Asked what it always or never gets right, a model gets dead groups: nothing to compare, nothing to learn.",
        measure=f"Share of groups of 16 replies with equal rewards, mean over {STEPS} updates. Half-way: sums for a model right "
        "in 43 % of them. Too easy: sums for one right in 99 %. Too hard: sorting, for one that only learned sums",
        unit="share of groups",
        command=command("words_dead"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=SEEDS,
        arms=final(SETTINGS, SEEDS, lambda run: sum(run["dead_group_fraction"]) / len(run["dead_group_fraction"])),
        comparison=Comparison(arm="too hard", minus="half-way"),
        further=(Comparison(arm="too easy", minus="half-way", says="too easy is as bad"),),
    )
