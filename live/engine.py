"""The engine as the live room sees it: the only file here that makes rlcore train. Imported late, by the worker.

Plain values in, plain values out: settings by short name, metrics as floats, pictures as lists ready for JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from live import menu
from live.contract import Opened, Request, Setting, Step
from live.heldout import heldout
from live.pictures import samples, world
from rlcore.algorithms import recognise
from rlcore.config import RunConfig
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, TwoSidedClip
from rlcore.timeline import Timeline


def start(request: Request) -> LabTraining:
    """Begin a run from its preset. Raises SettingError for names and settings that are refused."""
    return LabTraining(request, configured(request))


def configured(request: Request) -> RunConfig:
    """The request's preset with its settings. Raises SettingError, also for more than a shared server can afford."""
    return menu.affordable(_preset(request).with_settings(dict(request.settings)))


def refusal(request: Request, name: str, text: str) -> str | None:
    """Why a setting from an address cannot join the request, in words; None where it can."""
    return menu.refusal(configured(request), name, text)


def _preset(request: Request) -> RunConfig:
    return preset(request.recipe, request.env, request.seed)


class LabTraining:
    """A timeline with the live room's manners; see `live.contract.Training`."""

    def __init__(self, request: Request, config: RunConfig) -> None:
        self.request, self.config = request, config
        self._timeline = Timeline(config)
        self._menu = menu.menu_of(config)
        plain = _preset(request)
        self.preset = menu.menu_of(plain).settings(plain)

    def about(self, config: RunConfig) -> dict[str, Any]:
        return {
            "recipe": self.request.recipe, "env": self.request.env, "seed": config.seed,
            "name": str(recognise(config.algorithm)), "knobs": self._menu_of(config).as_json(config),
            "reward": "reward_mean" if config.batch.segment is None else "episode_return",
            "band": _band_kind(config),
        }  # fmt: skip

    def settings(self, config: RunConfig) -> dict[str, Setting]:
        return self._menu_of(config).settings(config)

    def propose(self, config: RunConfig, values: Mapping[str, Setting]) -> RunConfig:
        return menu.affordable(config.with_settings(dict(values)))

    def advance(self, config: RunConfig, *, traced: bool) -> Step:
        record = yield from self._timeline.advance_slices(config, trace=traced)
        measured = yield from heldout(self._timeline.config, self._timeline.state())
        return record.step + 1, {**record.metrics, **measured}

    def scene(self, config: RunConfig) -> dict[str, Any]:
        record, state = self._record(), self._timeline.state()
        seen = None if record is None or record.trace is None else samples(record.config, record.trace)
        return {"step": state.step, "node": self._timeline.head.id, "world": world(config, state, record), "samples": seen}

    def restart(self, config: RunConfig) -> None:
        self.config, self._timeline = config, Timeline(config)

    def opened(self, node: int | None) -> Opened:
        """The step that led to a node. Safe beside the worker: it only reads, and recomputes in the caller's thread."""
        timeline = self._timeline
        at = timeline.head if node is None else timeline.node(node)
        if at.parent is None:
            raise SettingError(f"node: no step led to node {at.id}; open one from 1 on, once the run has made it")
        name, request = recognise(at.config.algorithm), self.request
        label = f"{name} on {request.env}, seed {at.config.seed}: step {at.step} of the run"
        return Opened(timeline.state(at.parent), at.config, label)

    def _menu_of(self, config: RunConfig) -> menu.Menu:
        if not self._menu.fits(config):
            self._menu = menu.menu_of(config)
        return self._menu

    def _record(self) -> StepRecord | None:
        """The last step's record with its trace, recomputed where nobody was looking when it ran."""
        return None if self._timeline.head.record is None else self._timeline.trace()


def _band_kind(config: RunConfig) -> str | None:
    """How ε_low and ε_high bound the ratio: "linear" 1 ± ε, "log" exp(± ε), or None where nothing does."""
    surrogate = config.algorithm.surrogate
    if isinstance(surrogate, PpoClip | DualClip | TwoSidedClip | Cispo):
        return "linear"
    return "log" if isinstance(surrogate, Gmpo) else None
