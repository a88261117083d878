"""What is going on in a run, and how its story ended: told at most once a second, from the curves alone.

The rules are the engine's (`rlcore.diagnosis`, `rlcore.stories`), which this module imports only when there is a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from live.contract import Request, Setting

EVERY = 1.0  # seconds


class Insight:
    """Not thread-safe: its run locks. `found` is ready for JSON; {} before there is anything to say."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self._told_at, self._told_of = 0.0, (-1, -1)

    @property
    def said(self) -> tuple[str, ...]:
        """Names of the findings that stand on the page."""
        return tuple(each["name"] for each in self.found.get("findings", ()))

    def due(self, epoch: int, step: int, *, playing: bool) -> float | None:
        """When it is time to look again; None where the path is still the one last looked at. At once when at rest."""
        if (epoch, step) == self._told_of or not step:
            return None
        return self._told_at + EVERY if playing else self._told_at

    def take(self, found: Mapping[str, Any], epoch: int, step: int, now: float) -> bool:
        """True where something else is said now."""
        self._told_at, self._told_of = now, (epoch, step)
        changed = found != self.found
        self.found = dict(found)
        return changed


def told(
    request: Request, preset: Mapping[str, Setting], config: Any, columns: Mapping[str, Any], said: Sequence[str]
) -> dict[str, Any]:
    """Findings, and what came of the request's story: {"findings": [...], "story": {...} or None}."""
    from live import menu
    from rlcore.config import find_setting
    from rlcore.diagnosis import Experiment, findings
    from rlcore.knobs import SettingError

    now = menu.menu_of(config).settings(config)

    def experiment(each: Experiment | None) -> dict[str, Any] | None:
        if each is None:
            return None
        try:
            named = {menu.short(config, name): value for name, value in each.values.items() if find_setting(config, name)}
        except SettingError:
            return None
        return {"says": each.says, "values": named, "at": each.at, "fresh": not set(named) <= set(now)}

    all_found = [
        {
            "name": each.name, "severity": each.severity, "says": each.says, "evidence": each.evidence,
            "source": each.source, "experiment": experiment(each.experiment),
        }
        for each in findings(columns, config, said=said)
    ]  # fmt: skip
    return {"findings": all_found, "story": _ending(request, preset, now, columns) if request.story else None}


def _ending(
    request: Request, preset: Mapping[str, Setting], now: Mapping[str, Setting], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Where the story stands: waiting for its step, or ended. `turned` names settings that are no longer the story's."""
    from rlcore.stories import story

    it = story(request.story)
    turned = sorted(name for name, value in now.items() if preset.get(name) != value)
    made = len(next(iter(columns.values()), ()))
    if made < it.steps:
        return {"at": it.steps, "outcome": None, "evidence": "", "turned": turned}
    ending = it.check({name: column[: it.steps] for name, column in columns.items()})
    return {"at": it.steps, "outcome": ending.outcome.key, "evidence": ending.evidence, "turned": turned}
