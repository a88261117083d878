"""How far token ratios and sequence ratios of the same replies spread, by length."""

from __future__ import annotations

import numpy as np

from benchmarks.evidence import TEN, command
from benchmarks.evidence._traced import Rows, off_policy
from benchmarks.evidence._words import started
from rlcore.evidence import Comparison, Evidence, Setup, measured_with

STEPS, SHORT, LONG = 20, 5, 8
SETUP = Setup(recipe="gspo", env="addition", steps=STEPS)


def spreads(rows: Rows) -> dict[str, float]:
    """Standard deviations of log-ratios by level and length, and what independent tokens would give a sequence."""
    found = {}
    for name, kept in (("short", rows.length <= SHORT), ("long", rows.length >= LONG)):
        token = rows.log_ratio[kept][rows.mask[kept]]
        found[f"token, {name}"] = float(token.std())
        found[f"sequence, {name}"] = float(rows.sequence[kept].std())
        found[f"token / √length, {name}"] = float(token.std() / np.sqrt(rows.length[kept].mean()))
    return found


def evidence() -> Evidence:
    each = [spreads(off_policy(started(SETUP, seed), STEPS)) for seed in TEN]
    return Evidence(
        name="gspo_spread",
        claim="On the same replies the sequence ratio spreads less than the token ratio.",
        measure=f"Standard deviation of log-ratios after one optimiser step, replies of at most {SHORT} or at least {LONG} tokens, "
        f"pooled over {STEPS} updates of the GSPO preset on addition; seed s from start addition-s",
        unit="nats",
        command=command("gspo_spread"),
        versions=dict(measured_with()),
        settings=dict.fromkeys(each[0], SETUP),
        seeds=TEN,
        arms={name: tuple(one[name] for one in each) for name in each[0]},
        comparison=Comparison(arm="sequence, long", minus="token, long", direction="below"),
        further=(
            Comparison(arm="sequence, short", minus="token, short", direction="below", says="for short replies, too"),
            Comparison(arm="sequence, long", minus="sequence, short", direction="below", says="longer replies have calmer sequence ratios"),
            Comparison(arm="sequence, long", minus="token / √length, long", direction="below", says="calmer than an average of independent tokens"),
        ),
        caveat="A mean of n numbers spreads less than one of them, whatever they are: this is arithmetic, not a merit of training.",
    )  # fmt: skip
