"""GSPO against GRPO on the sparse and on the dense word model."""

from __future__ import annotations

from benchmarks.evidence import TEN, command
from benchmarks.evidence._words import final, starts_of
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 20
SPARSE: dict[str, float | str | None | dict[str, float | str]] = {
    "policy.feed_forward": {"kind": "moe"}, "policy.start": "addition-moe-0",
}  # fmt: skip
REUSED = {"epochs": 2.0, "lr": 3e-4}
NARROW = {"kl_beta": 0.0, "eps_low": 0.05, "eps_high": 0.05}
SETTINGS = {
    "sparse, GSPO": Setup(recipe="gspo", env="addition", steps=STEPS, overrides=SPARSE | REUSED),
    "sparse, GRPO": Setup(recipe="grpo", env="addition", steps=STEPS, overrides=SPARSE | REUSED | NARROW),
    "dense, GSPO": Setup(recipe="gspo", env="addition", steps=STEPS, overrides=dict(REUSED)),
    "dense, GRPO": Setup(recipe="grpo", env="addition", steps=STEPS, overrides=REUSED | NARROW),
}


def evidence() -> Evidence:
    arms = final(SETTINGS, TEN, lambda run: sum(run["reward_mean"]) / STEPS)
    for kind in ("sparse", "dense"):
        pairs = zip(arms[f"{kind}, GSPO"], arms[f"{kind}, GRPO"], strict=True)
        arms[f"{kind}, GSPO minus GRPO"] = tuple(a - b for a, b in pairs)
    return Evidence(
        name="moe_learning",
        claim="GSPO trains a mixture of experts better than GRPO does.",
        measure=f"Reward averaged over {STEPS} updates of 2 passes at lr 3e-4 on addition, GRPO's ε tuned to 0.05; sparse: 2 of 8 "
        f"experts, {len(starts_of('addition-moe'))} starts; dense: 10 starts",
        unit="share of right replies",
        command=command("moe_learning"),
        versions=dict(measured_with()),
        settings=SETTINGS | {name: SETTINGS[name.split(" minus")[0]] for name in arms if "minus" in name},
        seeds=TEN,
        arms=arms,
        comparison=Comparison(arm="sparse, GSPO", minus="sparse, GRPO"),
        further=(
            Comparison(arm="sparse, GSPO minus GRPO", minus="dense, GSPO minus GRPO", says="more of an advantage than on the dense model"),
        ),
        caveat="No run of the sparse model collapsed here, so there was nothing to be rescued from.",
    )  # fmt: skip
