"""What changed routes do to token and sequence ratios, and whether the sparse model's are noisier than the dense one's."""

from __future__ import annotations

import numpy as np

from benchmarks.evidence import TEN, command
from benchmarks.evidence._routes import Moved, moved
from benchmarks.evidence._words import started, starts_of
from benchmarks.evidence.moe_flips import SPARSE, WARM
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

SETTINGS = {
    "sparse": Setup(recipe="grpo", env="addition", steps=WARM, overrides=SPARSE),
    "dense": Setup(recipe="grpo", env="addition", steps=WARM, overrides={"kl_beta": 0.0, "lr": 3e-4}),
}


def sizes(m: Moved) -> dict[str, float]:
    """Mean |log-ratio| of tokens by whether they were rerouted, and of sequences by whether a token of theirs was."""
    size, rows = np.abs(m.log_ratio), m.flipped.any(1)
    same = m.mask & ~m.flipped
    return {
        "tokens rerouted": float(size[m.flipped].mean()) if m.flipped.any() else 0.0,
        "tokens not rerouted": float(size[same].mean()),
        "sequences with a rerouted token": float(np.abs(m.sequence[rows]).mean()) if rows.any() else 0.0,
        "sequences without": float(np.abs(m.sequence[~rows]).mean()) if (~rows).any() else 0.0,
        "all tokens, sparse": float(size[m.mask].mean()),
        "all sequences, sparse": float(np.abs(m.sequence).mean()),
    }


def evidence() -> Evidence:
    sparse = [sizes(moved(started(SETTINGS["sparse"], seed), warm=WARM, updates=1)) for seed in TEN]
    dense = [sizes(moved(started(SETTINGS["dense"], seed), warm=WARM, updates=1)) for seed in TEN]
    arms = {name: tuple(one[name] for one in sparse) for name in sparse[0]}
    for level in ("tokens", "sequences"):
        arms[f"all {level}, dense"] = tuple(one[f"all {level}, sparse"] for one in dense)
    return Evidence(
        name="moe_ratios",
        claim="Token ratios of a mixture of experts are noisier than those of a dense model.",
        measure="Mean |log-ratio| after one update (GRPO, lr 3e-4), of tokens and of whole replies; sparse: 2 of 8 experts, "
        f"{len(starts_of('addition-moe'))} starts; dense: 10 starts",
        unit="nats",
        command=command("moe_ratios"),
        versions=dict(measured_with()),
        settings={name: SETTINGS["dense" if name.endswith("dense") else "sparse"] for name in arms},
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="all tokens, sparse", minus="all tokens, dense"),
        further=(
            Comparison(arm="tokens rerouted", minus="tokens not rerouted", says="rerouted tokens moved farther"),
            Comparison(arm="sequences with a rerouted token", minus="sequences without", says="so did their sequences"),
            Comparison(arm="all sequences, sparse", minus="all sequences, dense", says="sequence ratios: sparse against dense"),
        ),
        caveat="A token whose hidden state moved far is both rerouted and changed: the comparison cannot tell cause from company.",
    )
