"""What dividing by a reply's own length does to lengths, where right replies can be short or long."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence._words import final, last
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 60
SETTINGS = {
    "mean over each reply": Setup(
        recipe="grpo", env="sentences", steps=STEPS, overrides={"kl_beta": 0.0, "algorithm.advantage.scale": "none"}
    ),
    "constant length (Dr. GRPO)": Setup(recipe="dr_grpo", env="sentences", steps=STEPS),
}


def evidence() -> Evidence:
    arms = final(SETTINGS, TEN, lambda run: last(run["length_mean"]))
    arms["start"] = final({"any": SETTINGS["mean over each reply"]}, TEN, lambda run: run["length_mean"][0])["any"]
    return Evidence(
        name="words_length",
        claim="Averaging over each reply's own tokens drifts to shorter replies than dividing by a constant.",
        measure=f"Mean reply length over the last 10 of {STEPS} updates on opinions that are right when positive, whatever "
        "their length; the arms differ in the aggregation alone",
        unit="tokens",
        command=command("words_length"),
        versions=dict(measured_with()),
        settings=SETTINGS | {"start": SETTINGS["mean over each reply"]},
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="mean over each reply", minus="constant length (Dr. GRPO)", direction="below"),
        further=(
            Comparison(arm="mean over each reply", minus="start", direction="below", says="shorter than at the start"),
            Comparison(arm="constant length (Dr. GRPO)", minus="start", says="longer than at the start"),
        ),
        caveat="One pretrained start. The direction is this task's: a right reply moves each of its tokens by 1/length, so "
        "short right replies move more; where wrong replies are the ones that vary, the same weights favor long ones.",
    )
