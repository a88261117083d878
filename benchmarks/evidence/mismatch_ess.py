"""How many replies a mismatched batch is worth: effective sample size, bare and with the two cures."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence._samplers import SETTINGS, WARM, effective, mismatch
from rlcore.evidence import Comparison, Evidence, measured_with

CURES = ("bare", "TIS", "masked IS")


def evidence() -> Evidence:
    found = {name: [mismatch(name, seed) for seed in TEN] for name in SETTINGS}
    arms = {
        f"{name}, {cure}": tuple(effective(m.row_weights(cure)) for m in each) for name, each in found.items() for cure in CURES
    }
    return Evidence(
        name="mismatch_ess",
        claim="Truncating importance weights keeps more of a badly mismatched batch effective than leaving them bare.",
        measure=f"Effective share of 128 replies, (sum w)² / (n · sum w²), w the reply's ratio trainer / sampler, at step {WARM} of "
        "GRPO on addition; TIS: w at most 2; masked IS: 0 outside [0.5, 2]; seed s from start addition-s",
        unit="share of replies",
        command=command("mismatch_ess"),
        versions=dict(measured_with()),
        settings={arm: SETTINGS[arm.rpartition(", ")[0]] for arm in arms},
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="int4, TIS", minus="int4, bare"),
        further=(
            Comparison(arm="int4, masked IS", minus="int4, TIS", direction="below", says="masking throws replies away"),
            Comparison(arm="bf16, bare", minus="int4, bare", says="bf16 keeps more of the batch than int4"),
        ),
    )
