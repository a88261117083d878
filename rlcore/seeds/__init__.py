"""Many seeds of one run at once: the same numbers as each alone, at a fraction of the cost where worlds are finite.

    state = start(config, seeds=range(64))
    state, record = step(state, config)          record.metrics["reward_mean"] is [64]

Seed s meets the same dice here as alone, since every die is addressed by (seed, step, stream). What cannot be batched
(`why_in_turn` says why) is run one seed after the other; the caller sees no difference but the time.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from rlcore.config import RunConfig
from rlcore.engine import finished
from rlcore.seeds import batched, stepping
from rlcore.seeds import in_turn as one_by_one
from rlcore.seeds.batched import why_in_turn
from rlcore.seeds.record import SeedsRecord

State = batched.Batched | one_by_one.InTurn


def start(config: RunConfig, seeds: Sequence[int], *, in_turn: bool = False) -> State:
    """The state before step 0 of every seed; `config.seed` does not matter. Raises SettingError.

    in_turn  one after the other in any case: for a run whose later settings cannot be batched
    """
    together = not in_turn and not why_in_turn(config) and batched.affordable(config, len(seeds))
    return batched.start(config, seeds) if together else one_by_one.start(config, seeds)


def step(state: State, config: RunConfig) -> tuple[State, SeedsRecord]:
    """One training step of every seed. Pure. A seed that diverges stops there and is NaN from then on."""
    return finished(step_slices(state, config))


def step_slices(state: State, config: RunConfig) -> Generator[object, None, tuple[State, SeedsRecord]]:
    """`step`, cut where a shared worker may look after somebody else."""
    if isinstance(state, batched.Batched):
        return stepping.step_slices(state, config)
    return one_by_one.step_slices(state, config)


__all__ = ["SeedsRecord", "State", "start", "step", "step_slices", "why_in_turn"]
