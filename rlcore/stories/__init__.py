"""Stories: presets with a claim, a prediction to make, and a check computed from the run's own metrics.

`python -m benchmarks.stories` runs every arm of every story over several seeds and writes what it found to
`assets/stories`; `found` reads it. A claim that does not hold there says so wherever its story is shown.
"""

from __future__ import annotations

from rlcore.knobs import SettingError
from rlcore.stories import on_bandits, on_control, on_grids, on_word_failures, on_words
from rlcore.stories.counted import Counted, found
from rlcore.stories.story import Arm, Ending, Outcome, Story

STORIES: tuple[Story, ...] = (
    on_grids.COLLAPSE, on_bandits.IDLE, on_grids.HARMLESS, on_grids.DEAD, on_bandits.SURE_AND_WRONG, on_grids.BETA,
    on_grids.KL_PLACE, on_bandits.SMALL_GROUPS, on_bandits.ADAM_HIDES, on_bandits.ADAM, on_grids.CRITIC, on_grids.GROUP,
    on_control.TWENTY, on_control.TOO_FAST, on_words.LONGER, on_words.LR, on_words.GSPO, on_words.AGGREGATE,
    on_words.HIGHER, on_word_failures.LATE, on_word_failures.HELD, on_word_failures.TOO_HARD, on_word_failures.TOO_EASY,
)  # fmt: skip
"""In the order of the gallery."""


def story(name: str) -> Story:
    """One story by name. Raises SettingError."""
    for each in STORIES:
        if each.name == name:
            return each
    raise SettingError(f"story: must be one of {', '.join(each.name for each in STORIES)}, got {name[:60]!r}")


__all__ = ["STORIES", "Arm", "Counted", "Ending", "Outcome", "Story", "found", "story"]
