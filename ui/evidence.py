"""The evidence page: each section's claims with verdict, interval and seeds in one table, then each in full.

Which claims belong to which section stands here; what they say comes from `assets/evidence` alone.
"""

from __future__ import annotations

from collections import Counter

import streamlit as st

from rlcore.evidence import names
from ui.comparison import BADGES, in_full, stored

SECTIONS: dict[str, tuple[str, ...]] = {
    "gspo": ("gspo_spread", "gspo_clip", "gspo_reuse", "words_eps", "words_efficiency"),
    "experts": ("moe_flips", "moe_ratios", "moe_learning"),
    "mismatch": ("mismatch_spread", "mismatch_ess", "mismatch_cures"),
    "learning": ("words_time", "words_keep", "words_sharpen", "words_greedy"),
    "failures": ("words_lr", "words_passes", "words_beta", "words_dead", "words_length", "words_clip_higher"),
}


RULE = (
    "In brackets the 95 % t-interval of the paired difference, one number a seed. Supported: it lies on the claimed side of 0; contradicted: on the other side; else not "
    "shown. Nothing is corrected for looking at several claims: expect one in twenty to be off by chance."
)


def section(key: str) -> None:
    """What was measured for one section; what was not yet is said, with the command."""
    there = [name for name in SECTIONS[key] if name in names()]
    missing = [name for name in SECTIONS[key] if name not in names()]
    if there:
        _summary(there)
    for name in there:
        in_full(name)
    for name in missing:
        st.markdown(f":gray-badge[not measured] `python -m benchmarks.evidence {name}`")


def _summary(known: list[str]) -> None:
    judged = [stored(name) for name in known if stored(name).comparison is not None]
    counts = Counter(evidence.verdict for evidence in judged)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in BADGES if counts[verdict])
    st.markdown(f"**{len(judged)} claims: {told}.** A verdict follows by rule from the paired differences between two arms, below.")
    for evidence in judged:
        anchor = evidence.name.replace("_", "-")
        st.markdown(f"- {BADGES[evidence.verdict or 'not shown']} [{evidence.claim}](#evidence-{anchor})")
    st.caption(RULE)
