"""Routing choices of the sparse word model that change with updates."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence._routes import moved
from benchmarks.evidence._words import started, starts_of
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

WARM = 8
SPARSE: dict[str, float | str | None | dict[str, float | str]] = {
    "policy.feed_forward": {"kind": "moe"}, "policy.start": "addition-moe-0", "kl_beta": 0.0, "lr": 3e-4,
}  # fmt: skip
SETUP = Setup(recipe="grpo", env="addition", steps=WARM, overrides=SPARSE)


def evidence() -> Evidence:
    arms = {
        f"after {n} update{'s' if n > 1 else ''}": tuple(
            float(m.flipped[m.mask].mean()) for m in (moved(started(SETUP, seed), warm=WARM, updates=n) for seed in TEN)
        )
        for n in (1, 4)
    }
    return Evidence(
        name="moe_flips",
        claim="An update changes which experts some tokens visit, and more updates change more of them.",
        measure="Share of reply tokens of which some layer's set of 2 experts out of 8 is another one after so many updates "
        f"(GRPO, lr 3e-4) of the sparse word model; from {len(starts_of('addition-moe'))} pretrained starts in turn",
        unit="share of tokens",
        command=command("moe_flips"),
        versions=dict(measured_with()),
        settings=dict.fromkeys(arms, SETUP),
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="after 4 updates", minus="after 1 update"),
    )
