"""How long each algorithm trains until nine in ten sampled replies to held-out sums are right."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence._words import curve, started
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 100
AT = tuple(range(0, STEPS + 1, 5))
GOAL = 0.9
SETTINGS = {name: Setup(recipe=name.lower(), env="addition", steps=STEPS) for name in ("PPO", "GRPO", "GSPO")}


def curves() -> dict[str, list[list[dict[str, float]]]]:
    """The measurements of every run, by arm, seed and time."""
    return {
        name: [curve(started(setup, seed), steps=STEPS, measured_at=AT)["measured"] for seed in TEN]
        for name, setup in SETTINGS.items()
    }


def seconds(measured: list[dict[str, float]]) -> float:
    """Training time of the first measurement at GOAL; a minute where none is."""
    return next((m["seconds"] for m in measured if m["sampled"] >= GOAL), 60.0)


def evidence() -> Evidence:
    arms = {name: tuple(map(seconds, runs)) for name, runs in curves().items()}
    arms["slowest of the three"] = tuple(map(max, zip(*arms.values(), strict=True)))
    arms["limit"] = tuple(8.0 for _ in TEN)
    return Evidence(
        name="words_time",
        claim="PPO, GRPO and GSPO each bring addition to 90 % sampled held-out accuracy within 8 seconds of training.",
        measure="CPU seconds of training (one thread, measuring not counted) until 90 % of 512 replies sampled for 128 "
        "held-out prompts are right, measured every 5 updates; seed s from pretrained start addition-s",
        unit="s",
        command=command("words_time"),
        versions=dict(measured_with()),
        settings=SETTINGS | {"slowest of the three": SETTINGS["PPO"], "limit": SETTINGS["PPO"]},
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="slowest of the three", minus="limit", direction="below"),
        further=(
            Comparison(arm="GSPO", minus="GRPO", direction="below", says="GSPO is sooner than GRPO"),
            Comparison(arm="GRPO", minus="PPO", direction="below", says="GRPO is sooner than PPO"),
        ),
        caveat="Seconds are of one machine; the presets' learning rates were chosen before, on three starts.",
    )
