"""`python -m benchmarks.stories [NAME...]`: run every arm over SEEDS, write `assets/stories/NAME.json`, print the counts."""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib.metadata import version

import torch

from rlcore.config import RunConfig
from rlcore.engine import init, step
from rlcore.state import Diverged
from rlcore.stories import STORIES, Counted, Story, story
from rlcore.stories.counted import FOLDER, as_told

SEEDS = (0, 1, 2, 3, 4)
MORE = (5, 6, 7)
"""Seeds of a story that costs little: a small table, few passes."""
CHEAP = ("bandit", "contextual", "gridworld")


def columns(config: RunConfig, steps: int) -> dict[str, list[float]]:
    """The metrics of a run by name; a run that diverges ends there."""
    found: dict[str, list[float]] = defaultdict(list)
    state = init(config)
    for _ in range(steps):
        try:
            state, record = step(state, config)
        except Diverged:
            break
        for name, value in record.metrics.items():
            found[name].append(value)
    return dict(found)


def counted(told: Story) -> Counted:
    """All arms over the same seeds."""
    cheap = told.env in CHEAP and told.config().batch.epochs <= 4
    seeds = SEEDS + MORE if cheap else SEEDS
    outcomes: dict[str, tuple[str, ...]] = {}
    evidence: dict[str, tuple[str, ...]] = {}
    for arm in told.arms:
        ends = [told.check(columns(told.config(arm.name, seed=seed), told.steps)) for seed in seeds]
        outcomes[arm.name] = tuple(end.outcome.key for end in ends)
        evidence[arm.name] = tuple(end.evidence for end in ends)
    versions = {name: version(name) for name in ("torch", "numpy")}
    return Counted(
        story=told.name, command=f"python -m benchmarks.stories {told.name}", versions=versions, told=as_told(told),
        seeds=seeds, outcomes=outcomes, evidence=evidence,
    )  # fmt: skip


def main() -> None:
    """Run the stories asked for (default: all)."""
    torch.set_num_threads(1)
    for told in [story(name) for name in sys.argv[1:]] or STORIES:
        result = counted(told)
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{told.name}.json").write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
        print(f"{told.name}: {'holds' if result.holds(told) else 'DOES NOT HOLD'}; {result.words(told)}", flush=True)
        for arm in told.arms:
            print(f"    {arm.name}: {' '.join(result.outcomes[arm.name])}", flush=True)


if __name__ == "__main__":
    main()
