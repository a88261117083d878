"""Training on replies of an int4 sampler, uncorrected and with two corrections."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence._words import final
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 40
INT4: dict[str, float | str | None | dict[str, float | str]] = {"kl_beta": 0.0, "env.sampler": {"kind": "int", "bits": 4}}


def _arm(**more: dict[str, float | str]) -> Setup:
    return Setup(recipe="grpo", env="addition", steps=STEPS, overrides=INT4 | {f"algorithm.{k}": v for k, v in more.items()})


SETTINGS = {
    "uncorrected": _arm(),
    "TIS": _arm(correction={"kind": "truncated_is"}),
    "masked IS": _arm(correction={"kind": "masked_is"}),
    "same sampler": Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"kl_beta": 0.0}),
}


def evidence() -> Evidence:
    return Evidence(
        name="mismatch_cures",
        claim="With int4 rollouts, truncated importance sampling trains better than no correction.",
        measure=f"Share of right replies among 512 sampled, in float32, for 128 held-out sums after {STEPS} updates of GRPO; "
        "corrections by token, C = 2; seed s from start addition-s",
        unit="share of right replies",
        command=command("mismatch_cures"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TEN,
        arms=final(SETTINGS, TEN, lambda run: run["measured"][-1]["sampled"]),
        comparison=Comparison(arm="TIS", minus="uncorrected"),
        further=(
            Comparison(arm="masked IS", minus="uncorrected", says="masked importance sampling trains better, too"),
            Comparison(arm="uncorrected", minus="same sampler", direction="below", says="an uncorrected mismatch trains worse than none"),
        ),
    )
