"""What becomes of addition in 500 updates at the presets: whether what was learned is kept."""

from __future__ import annotations

from benchmarks.evidence import command
from benchmarks.evidence._words import curve, started
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, FROM = 500, 100
AT = tuple(range(FROM, STEPS + 1, 40))
SEEDS = tuple(range(10))
SETTINGS = {name: Setup(recipe=name.lower(), env="addition", steps=STEPS) for name in ("PPO", "GRPO", "GSPO")}


def evidence() -> Evidence:
    runs = {
        name: [curve(started(setup, seed), steps=STEPS, measured_at=AT)["measured"] for seed in SEEDS]
        for name, setup in SETTINGS.items()
    }
    lowest = {f"{name}, lowest": tuple(min(m["sampled"] for m in run) for run in each) for name, each in runs.items()}
    final = {f"{name}, after {STEPS}": tuple(run[-1]["sampled"] for run in each) for name, each in runs.items()}
    arms = lowest | final | {"90 %": tuple(0.9 for _ in SEEDS)}
    return Evidence(
        name="words_keep",
        claim="With the GRPO preset, addition stays at 90 % sampled held-out accuracy or above up to update 500.",
        measure=f"Share of right replies among 512 sampled for 128 held-out sums: the lowest measurement from update {FROM} to "
        f"{STEPS}, every 40, and the last; seed s from start addition-s",
        unit="share of right replies",
        command=command("words_keep"),
        versions=dict(measured_with()),
        settings={arm: SETTINGS.get(arm.partition(",")[0], SETTINGS["GRPO"]) for arm in arms},
        seeds=SEEDS,
        arms=arms,
        comparison=Comparison(arm="GRPO, lowest", minus="90 %"),
        further=tuple(
            Comparison(arm=arm, minus="90 %", says=f"{arm}: above 90 %") for arm in (*lowest, *final) if arm != "GRPO, lowest"
        ),
        caveat="The lowest of 11 measurements is pulled down by their own noise, about 1.3 points each.",
    )
