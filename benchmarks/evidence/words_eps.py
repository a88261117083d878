"""Clip widths on the adding language model when every batch is used four times."""

from benchmarks.evidence import TEN, command, mean_reward, measured
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 16
REUSED = {"epochs": 4, "lr": 3e-4}


def _arm(recipe: str, low: float, high: float) -> Setup:
    plain = {"kl_beta": 0.0} if recipe == "grpo" else {}
    return Setup(recipe=recipe, env="addition", steps=STEPS, overrides=REUSED | plain | {"eps_low": low, "eps_high": high})


SETTINGS = {
    "GSPO, ε = 0.2": _arm("gspo", 0.2, 0.2),
    "GSPO, ε = 3e-3": _arm("gspo", 3e-3, 4e-3),
    "GSPO, ε = 3e-4": _arm("gspo", 3e-4, 4e-4),
    "GRPO, ε = 0.2": _arm("grpo", 0.2, 0.2),
    "GRPO, ε = 0.05": _arm("grpo", 0.05, 0.05),
}


def evidence() -> Evidence:
    return Evidence(
        name="words_eps",
        claim="On answers of several tokens GSPO needs a narrower ε than GRPO's 0.2.",
        measure=f"Reward averaged over {STEPS} steps of the adding language model, every batch used 4 times, lr 3e-4",
        unit="share of right answers",
        command=command("words_eps"),
        versions=dict(measured_with()),
        settings=SETTINGS,
        seeds=TEN,
        arms=measured(SETTINGS, TEN, mean_reward),
        comparison=Comparison(arm="GSPO, ε = 3e-3", minus="GSPO, ε = 0.2"),
        further=(
            Comparison(arm="GSPO, ε = 3e-4", minus="GSPO, ε = 3e-3", direction="below", says="the paper's ε is too narrow here"),
            Comparison(arm="GSPO, ε = 3e-3", minus="GRPO, ε = 0.2", says="GSPO beats GRPO at the usual settings"),
            Comparison(arm="GSPO, ε = 3e-3", minus="GRPO, ε = 0.05", says="GSPO beats GRPO once GRPO's ε is tuned, too"),
            Comparison(arm="GRPO, ε = 0.05", minus="GRPO, ε = 0.2", says="GRPO, too, wants a narrower ε under reuse"),
        ),
        caveat="One pretrained start and answers of about six tokens; the widths tried were chosen by hand.",
    )  # fmt: skip
