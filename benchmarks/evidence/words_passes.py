"""Four passes over every batch of the word model, with a clip that bites and with one that comes too late."""

from __future__ import annotations

from benchmarks.evidence import command
from benchmarks.evidence._words import final, sampled_at_end, sampled_at_start
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, SEEDS = 30, tuple(range(5))
REUSED = {"epochs": 4.0, "lr": 3e-4}
SETTINGS = {
    "GSPO, ε = 0.2": Setup(recipe="gspo", env="addition", steps=STEPS, overrides=REUSED | {"eps_low": 0.2, "eps_high": 0.2}),
    "GSPO, ε = 3e-3": Setup(recipe="gspo", env="addition", steps=STEPS, overrides=REUSED),
    "GRPO, no clip": Setup(
        recipe="grpo", env="addition", steps=STEPS, overrides=REUSED | {"kl_beta": 0.0, "eps_low": 1.0, "eps_high": 1000.0}
    ),
    "GRPO, ε = 0.05": Setup(
        recipe="grpo", env="addition", steps=STEPS, overrides=REUSED | {"kl_beta": 0.0, "eps_low": 0.05, "eps_high": 0.05}
    ),
}


def evidence() -> Evidence:
    arms = final(SETTINGS, SEEDS, sampled_at_end)
    arms["start"] = final({"any": SETTINGS["GSPO, ε = 3e-3"]}, SEEDS, sampled_at_start)["any"]
    return Evidence(
        name="words_passes",
        claim="With four passes over every batch, training ends better with a clip that bites than with none.",
        measure=f"Share of right replies among 512 sampled for 128 held-out sums after {STEPS} updates of 4 passes at lr 3e-4; "
        "seed s from start addition-s",
        unit="share of right replies",
        command=command("words_passes"),
        versions=dict(measured_with()),
        settings=SETTINGS | {"start": SETTINGS["GSPO, ε = 3e-3"]},
        seeds=SEEDS,
        arms=arms,
        comparison=Comparison(arm="GRPO, ε = 0.05", minus="GRPO, no clip"),
        further=(
            Comparison(arm="GSPO, ε = 3e-3", minus="GSPO, ε = 0.2", says="GSPO: 0.2 is far too wide for a sequence ratio"),
            Comparison(arm="GSPO, ε = 0.2", minus="start", direction="below", says="with it, training ends below its start"),
        ),
    )
