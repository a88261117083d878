"""How far a sampler that is not the trainer pulls log-ratios apart before any update."""

from __future__ import annotations

import numpy as np

from benchmarks.evidence import TEN, command
from benchmarks.evidence._samplers import SETTINGS, WARM, mismatch
from rlcore.evidence import Comparison, Evidence, measured_with


def outside(log_rho: np.ndarray, mask: np.ndarray) -> float:
    """Share of replies whose sequence ratio leaves GSPO's band of its paper, 1 - 3e-4 to 1 + 4e-4."""
    ratio = np.exp(log_rho.sum(1) / mask.sum(1))
    return float(((ratio < 1 - 3e-4) | (ratio > 1 + 4e-4)).mean())


def evidence() -> Evidence:
    found = {name: [mismatch(name, seed) for seed in TEN] for name in SETTINGS}
    arms = {f"{name}, replies outside": tuple(outside(m.log_rho, m.mask.numpy()) for m in each) for name, each in found.items()}
    arms |= {
        f"{name}, tokens beyond ±0.2": tuple(float((np.abs(np.expm1(m.log_rho)) > 0.2)[m.mask.numpy()].mean()) for m in each)
        for name, each in found.items()
    }
    return Evidence(
        name="mismatch_spread",
        claim="Rounding the sampler's weights to bf16 alone puts more than half of the replies outside the band of GSPO's paper.",
        measure=f"Before the update of step {WARM} of GRPO on addition: share of replies whose sequence ratio to the sampler lies "
        "outside 3e-4/4e-4, and of tokens whose ratio is beyond ±0.2; seed s from start addition-s",
        unit="share",
        command=command("mismatch_spread"),
        versions=dict(measured_with()),
        settings={arm: SETTINGS[arm.partition(", ")[0]] for arm in arms} | {"half": SETTINGS["bf16"]},
        seeds=TEN,
        arms=arms | {"half": tuple(0.5 for _ in TEN)},
        comparison=Comparison(arm="bf16, replies outside", minus="half"),
        further=(
            Comparison(arm="int8, replies outside", minus="bf16, replies outside", says="int8 is coarser"),
            Comparison(arm="int4, tokens beyond ±0.2", minus="int8, tokens beyond ±0.2", says="int4 moves single tokens far"),
        ),
        caveat="Weights are rounded, arithmetic stays float32. Six to nine tokens a reply: long ones average the noise away.",
    )
