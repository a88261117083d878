"""Entropy under a narrow clip, an upper bound raised alone, and the clip nobody meets, where batches are used four times."""

from __future__ import annotations

from benchmarks.evidence import command
from benchmarks.evidence._words import final, last
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, SEEDS = 24, tuple(range(5))
REUSED = {"epochs": 4.0, "kl_beta": 0.0}
SETTINGS = {
    name: Setup(recipe="grpo", env="sentences", steps=STEPS, overrides=REUSED | {"eps_low": low, "eps_high": high})
    for name, low, high in (("ε = 0.05 / 0.05", 0.05, 0.05), ("ε = 0.05 / 0.28", 0.05, 0.28), ("ε = 0.2 / 0.28", 0.2, 0.28))
}


def evidence() -> Evidence:
    arms = final(SETTINGS, SEEDS, lambda run: last(run["entropy"], 5))
    arms["start"] = final({"any": SETTINGS["ε = 0.05 / 0.05"]}, SEEDS, lambda run: run["entropy"][0])["any"]
    return Evidence(
        name="words_clip_higher",
        claim="Raising the upper bound alone (clip-higher) keeps more entropy than a clip that is as narrow on both sides.",
        measure=f"Entropy a token over the last 5 of {STEPS} updates of 4 passes on opinions, where many replies are right",
        unit="nats",
        command=command("words_clip_higher"),
        versions=dict(measured_with()),
        settings=SETTINGS | {"start": SETTINGS["ε = 0.05 / 0.05"]},
        seeds=SEEDS,
        arms=arms,
        comparison=Comparison(arm="ε = 0.05 / 0.28", minus="ε = 0.05 / 0.05"),
        further=(
            Comparison(arm="ε = 0.05 / 0.05", minus="start", direction="below", says="entropy falls in any case"),
            Comparison(arm="ε = 0.05 / 0.28", minus="ε = 0.2 / 0.28", says="a narrow lower bound beside it keeps more still"),
        ),
        caveat="One pretrained start and 24 updates; collapse over thousands of updates is another matter.",
    )
