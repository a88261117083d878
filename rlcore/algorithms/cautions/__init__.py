"""Cautions: what is legal but off every paper, or idle, or easily misread, each with its source.

A caution is advice shown beside a run; it never stops one. Contradictions and numbers out of range are
errors, refused elsewhere. What this package is not told (epochs, group size …) it does not guess.
"""

from __future__ import annotations

from rlcore.algorithm import Algorithm
from rlcore.algorithms.cautions import about_data, about_loss
from rlcore.algorithms.cautions.caution import Caution, Run

RULES = (
    about_loss.of_ratio, about_loss.of_band, about_loss.of_surrogate, about_loss.of_aggregate,
    about_data.of_advantage, about_data.of_groups, about_data.of_critic, about_data.of_kl,
    about_loss.of_reuse,
)  # fmt: skip


def cautions(
    algorithm: Algorithm,
    *,
    epochs: int | None = None,
    minibatches: int | None = None,
    group_size: int | None = None,
    outcome_only: bool | None = None,
) -> tuple[Caution, ...]:
    """Everything odd about this algorithm in this run, in the equation's order; `Run` has the arguments."""
    updates = None if epochs is None or minibatches is None else epochs * minibatches
    run = Run(updates, group_size, outcome_only)
    return tuple(caution for rule in RULES for caution in rule(algorithm, run))


__all__ = ["RULES", "Caution", "Run", "cautions"]
