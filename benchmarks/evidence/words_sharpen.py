"""What reinforcement adds on addition: more of what the start could do already, or something it could not."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence.words_time import SETTINGS, curves
from rlcore.evidence import Comparison, Evidence, measured_with

KINDS = {"sampled": "sampled", "greedy": "greedy", "pass@4": "pass_at_4"}


def evidence() -> Evidence:
    runs = curves()["GRPO"]
    hundred = [next(m for m in run if m["at"] == 100) for run in runs]
    before = {f"{name}, start": tuple(run[0][key] for run in runs) for name, key in KINDS.items()}
    after = {f"{name}, after 100": tuple(m[key] for m in hundred) for name, key in KINDS.items()}
    gains = {
        f"{name}, gain": tuple(b - a for a, b in zip(before[f"{name}, start"], after[f"{name}, after 100"], strict=True))
        for name in KINDS
    }
    arms = before | after | gains
    return Evidence(
        name="words_sharpen",
        claim="On addition reinforcement mostly sharpens: sampled accuracy gains more than greedy accuracy does.",
        measure="Share of right replies to 128 held-out sums, sampled (4 each), greedy and pass@4, at the start and after 100 "
        "updates of the GRPO preset; gain: after minus start; seed s from start addition-s",
        unit="share of right replies",
        command=command("words_sharpen"),
        versions=dict(measured_with()),
        settings=dict.fromkeys(arms, SETTINGS["GRPO"]),
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="sampled, gain", minus="greedy, gain"),
        further=(
            Comparison(arm="sampled, after 100", minus="pass@4, start", says="samples end above the start's pass@4"),
            Comparison(arm="greedy, gain", minus="pass@4, gain", direction="within", margin=0.05, says="greedy and pass@4 gain alike"),
        ),
    )  # fmt: skip
