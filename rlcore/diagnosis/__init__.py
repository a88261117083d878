"""What is going on in a run, in rules: each finding quotes its evidence and proposes one experiment.

Rules stand in causal order: numbers, signal, step size, drift and entropy, critic, reward. The first in that order is
usually the cause of those after it. Curves audit and prove nothing; without evidence nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from rlcore.config import RunConfig
from rlcore.diagnosis.finding import SHORTEST, Experiment, Finding, View
from rlcore.diagnosis.outcome import RULES_OF_POLICY, RULES_OF_REWARD
from rlcore.diagnosis.signal import RULES_OF_SIGNAL
from rlcore.diagnosis.step_size import RULES_OF_NUMBERS, RULES_OF_STEPS

Rule = Callable[[View], Finding | None]
CAUSES: tuple[Rule, ...] = (*RULES_OF_NUMBERS, *RULES_OF_SIGNAL, *RULES_OF_STEPS, *RULES_OF_POLICY)
CONSEQUENCES: tuple[Rule, ...] = RULES_OF_REWARD
"""Said only where no cause worth acting on was found."""
AT_MOST = 3


def findings(columns: Mapping[str, Any], config: RunConfig, *, said: Collection[str] = ()) -> tuple[Finding, ...]:
    """What can be said of a run from its metric columns (one value a step, in order), most telling first, at most three.

    said  names of what was found the last time: it is held on to a little longer, so that a line doesn't flicker
    """
    view = View(columns, config, said)
    if len(view) < SHORTEST:
        return ()
    found = [finding for rule in CAUSES if (finding := rule(view)) is not None]
    if not any(finding.severity == "act" for finding in found):
        found += [finding for rule in CONSEQUENCES if (finding := rule(view)) is not None]
    order = ("act", "look", "note")
    return tuple(sorted(found, key=lambda each: order.index(each.severity))[:AT_MOST])


__all__ = ["AT_MOST", "SHORTEST", "Experiment", "Finding", "findings"]
