"""A learning rate beyond the cliff: the word model forgets what it could do."""

from __future__ import annotations

from benchmarks.evidence import command
from benchmarks.evidence._words import final, sampled_at_end, sampled_at_start
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, SEEDS = 50, tuple(range(5))
SETTINGS = {
    "lr 1.5e-4 (preset)": Setup(recipe="grpo", env="addition", steps=STEPS),
    "lr 5e-4": Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"lr": 5e-4}),
    "lr 2e-3": Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"lr": 2e-3}),
}


def evidence() -> Evidence:
    arms = final(SETTINGS, SEEDS, sampled_at_end)
    arms["start"] = final({"preset": SETTINGS["lr 1.5e-4 (preset)"]}, SEEDS, sampled_at_start)["preset"]
    return Evidence(
        name="words_lr",
        claim="At thirteen times the preset's learning rate GRPO destroys what the pretrained start could do.",
        measure=f"Share of right replies among 512 sampled for 128 held-out sums after {STEPS} updates; seed s from start "
        "addition-s",
        unit="share of right replies",
        command=command("words_lr"),
        versions=dict(measured_with()),
        settings=SETTINGS | {"start": SETTINGS["lr 1.5e-4 (preset)"]},
        seeds=SEEDS,
        arms=arms,
        comparison=Comparison(arm="lr 2e-3", minus="start", direction="below"),
        further=(Comparison(arm="lr 1.5e-4 (preset)", minus="start", says="the preset's learning rate improves on the start"),),
    )
