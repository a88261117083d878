"""One update a batch: whatever ε is, no ratio has left 1 when the gradient is taken."""

from benchmarks.evidence import TEN, command, final_return, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

ONCE = {"kl_beta": 0.0, "epochs": 1}
NARROW, WIDE = {"eps_low": 0.01, "eps_high": 0.01}, {"eps_low": 0.9, "eps_high": 0.9}
SETTINGS = {
    "ε = 0.01, one update": Setup(recipe="grpo", env="gridworld", steps=40, overrides=ONCE | NARROW),
    "ε = 0.9, one update": Setup(recipe="grpo", env="gridworld", steps=40, overrides=ONCE | WIDE),
    "ε = 0.01, four updates": Setup(recipe="grpo", env="gridworld", steps=40, overrides={"kl_beta": 0.0} | NARROW),
    "ε = 0.9, four updates": Setup(recipe="grpo", env="gridworld", steps=40, overrides={"kl_beta": 0.0} | WIDE),
}


def evidence() -> Evidence:
    return Evidence(
        name="idle_clip",
        claim="With one update per batch ε changes nothing, since every ratio is 1.",
        measure="Exact expected return after 40 steps of GRPO on the gridworld",
        unit="reward",
        command=command("idle_clip"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TEN,
        arms=measured(SETTINGS, TEN, final_return),
        comparison=Comparison(arm="ε = 0.01, one update", minus="ε = 0.9, one update", direction="within", margin=1e-6),
        further=(
            Comparison(
                arm="ε = 0.01, four updates", minus="ε = 0.9, four updates", direction="below",
                says="with four updates a narrow ε holds learning back",
            ),
        ),
    )  # fmt: skip
