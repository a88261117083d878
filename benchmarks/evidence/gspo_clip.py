"""What each clip does to the same off-policy batches: gradient removed, and ratio outside the band; tokens and rows."""

from __future__ import annotations

import numpy as np

from benchmarks.evidence import TEN, command
from benchmarks.evidence._traced import Rows, off_policy
from benchmarks.evidence._words import started
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS = 20
SETUP = Setup(recipe="grpo", env="addition", steps=STEPS, overrides={"kl_beta": 0.0})
BANDS = {"GRPO ±0.2": (0.2, 0.2), "GSPO 3e-4/4e-4": (3e-4, 4e-4), "GSPO 3e-3/4e-3": (3e-3, 4e-3), "GSPO ±0.2": (0.2, 0.2)}


def shares(rows: Rows) -> dict[str, float]:
    """Shares of tokens and rows without gradient (dead) and outside the band, by rule, of those that an advantage pushes."""
    pushed = rows.adv != 0
    mask = rows.mask[pushed]
    found = {}
    for name, (low, high) in BANDS.items():
        by_token = name.startswith("GRPO")
        log_ratio = rows.log_ratio[pushed] if by_token else np.where(mask, rows.sequence[pushed][:, None], 0.0)
        ratio, up = np.exp(log_ratio), rows.adv[pushed][:, None] > 0
        above, below = ratio > 1 + high, ratio < 1 - low
        found[f"{name}, tokens dead"] = float(((above & up) | (below & ~up))[mask].mean())
        found[f"{name}, tokens outside"] = float((above | below)[mask].mean())
        if not by_token:
            found[f"{name}, rows dead"] = float(((above & up) | (below & ~up))[:, 0].mean())
    return found


def evidence() -> Evidence:
    each = [shares(off_policy(started(SETUP, seed), STEPS)) for seed in TEN]
    return Evidence(
        name="gspo_clip",
        claim="On the same batches GSPO's clip at its paper's ε removes the gradient of more tokens than GRPO's at 0.2.",
        measure=f"Share of tokens (or rows) whose gradient the clip removes, or whose ratio lies outside, one optimiser step off "
        f"policy; {STEPS} updates of GRPO on addition, groups with an advantage; seed s from start addition-s",
        unit="share",
        command=command("gspo_clip"),
        versions=dict(measured_with()),
        settings=dict.fromkeys(each[0], SETUP),
        seeds=TEN,
        arms={name: tuple(one[name] for one in each) for name in each[0]},
        comparison=Comparison(arm="GSPO 3e-4/4e-4, tokens dead", minus="GRPO ±0.2, tokens dead"),
        further=(
            Comparison(arm="GSPO 3e-3/4e-3, tokens dead", minus="GSPO 3e-4/4e-4, tokens dead", direction="below", says="ten times wider, it removes fewer"),
            Comparison(arm="GSPO ±0.2, rows dead", minus="GRPO ±0.2, tokens dead", direction="within", margin=0.01, says="GSPO at GRPO's 0.2 hardly clips here"),
        ),
        caveat="A property of ε and of replies of six to nine tokens, not of GSPO as such.",
    )  # fmt: skip
