"""Which row of a recorded step is shown: the one that was sampled, also where selection dropped some."""

import numpy as np
import pytest

from rlcore.explore.recorded import recorded
from rlcore.explore.tokens import row_of


@pytest.mark.parametrize("recipe", ["dapo", "grpo"])
def test_tokens_of_a_row_are_the_actions_whose_log_probs_it_has(recipe: str) -> None:
    record = recorded(recipe, "gridworld", steps=5, epochs=2)
    trace = record.trace
    assert trace is not None
    first = np.arange(trace.kept.sum())
    assert recipe == "grpo" or not np.array_equal(np.flatnonzero(trace.kept), first), "an earlier group is dropped"
    for row in range(len(trace.updates[1].rows)):
        at = trace.updates[1].mask[row]
        logp = trace.updates[1].logp_old[row][at]
        found = row_of(record, 1, row)
        matching = [
            i for i in range(len(trace.kept))
            if trace.rollout["mask"][i].sum() == at.sum() and np.array_equal(trace.rollout["logp_old"][i][trace.rollout["mask"][i]], logp)
        ]
        names = {"".join("↑→↓←"[a] for a in trace.rollout["action"][i][trace.rollout["mask"][i]]) for i in matching}
        assert "".join(found.names) in names
