"""What every arm of a story came to over several seeds: outcomes as stored by the command that ran them.

Shares and the verdict are worked out when they are read; the file holds no verdict. Outcomes are named by key, and a
file whose story has changed since is refused.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from pydantic import Field, ValidationError

from rlcore.knobs import SettingError, Value, explain
from rlcore.stories.story import Story

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "stories"


class Counted(Value):
    """`outcomes[arm]` are outcome keys, `evidence[arm]` the numbers that decided them, one a seed, in order of `seeds`."""

    story: str
    command: str
    versions: dict[str, str]
    told: dict[str, object] = Field(description="the story's settings, arms, steps and outcomes when it was run")
    seeds: tuple[int, ...]
    outcomes: dict[str, tuple[str, ...]]
    evidence: dict[str, tuple[str, ...]]

    def share(self, arm: str, key: str) -> float:
        """Share of the seeds in which the arm ended so."""
        seen = self.outcomes[arm]
        return seen.count(key) / len(seen)

    def holds(self, story: Story) -> bool:
        """Whether every arm came out as the story expects in at least its share of the seeds."""
        return all(self.share(arm.name, arm.expects) >= arm.share for arm in story.arms)

    def words(self, story: Story) -> str:
        """"no bound: collapsed in 5 of 5 seeds; ε = 0.2: solved in 5 of 5"."""
        counts = (
            f"{arm.name}: as claimed in {self.outcomes[arm.name].count(arm.expects)} of {len(self.seeds)} seeds"
            for arm in story.arms
        )
        return "; ".join(counts)


def as_told(story: Story) -> dict[str, object]:
    """Everything about a story that its outcomes depend on; words may change freely."""
    kept = {"recipe", "env", "settings", "steps", "outcomes", "arms"}
    tree = json.loads(story.model_dump_json(include=kept))
    for outcome in tree["outcomes"]:
        del outcome["says"]
    for arm in tree["arms"]:
        del arm["share"]
    return dict(tree)


@cache
def found(name: str) -> Counted | None:
    """What was measured for a story; None where nobody has run it yet. Raises SettingError for a file that is no such thing."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    try:
        return Counted.model_validate_json(text)
    except ValidationError as error:
        raise explain(error) from error


def stale(counted: Counted, story: Story) -> bool:
    """True where the story is no longer the one that was run."""
    return counted.told != as_told(story)


__all__ = ["FOLDER", "Counted", "SettingError", "as_told", "found", "stale"]
