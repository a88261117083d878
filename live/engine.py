"""The engine as the live room sees it: the only file here that makes rlcore train. Imported late, by the worker.

Plain values in, plain values out: settings by short name, metrics as floats, pictures as lists ready for JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from live import insight, menu, painted
from live.contract import Change, Errand, Opened, Request, Setting, Step
from live.events import EVENTS
from live.heldout import heldout
from live.pictures import piece, samples, standing_at, world
from rlcore.advantages import Gae, Returns
from rlcore.algorithms import cautions, recognise
from rlcore.config import RunConfig
from rlcore.engine import Made
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.state import TrainState
from rlcore.stories import story
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, TwoSidedClip
from rlcore.timeline import Timeline


def start(request: Request) -> LabTraining:
    """Begin a run from its preset. Raises SettingError for names and settings that are refused."""
    return LabTraining(request, configured(request))


def configured(request: Request) -> RunConfig:
    """The request's preset with its settings. Raises SettingError, also for more than a shared server can afford."""
    return menu.affordable(menu.with_settings(_preset(request), dict(request.settings)))


def accepted(request: Request, name: str, text: str) -> tuple[str, Setting]:
    """A setting from an address that is not refused: the name it goes by, and the kind or number meant."""
    config = configured(request)
    return menu.short(config, name), menu.value_of(config, name, text)


def value(request: Request, name: str, text: str) -> Setting:
    """The kind or number that an address means by a setting. Raises ValueError."""
    return menu.value_of(configured(request), name, text)


def refusal(request: Request, name: str, text: str) -> str | None:
    """Why a setting from an address cannot join the request, in words; None where it can."""
    return menu.refusal(configured(request), name, text)


def joined(request: Request, name: str, value: Setting) -> tuple[Request, str]:
    """The request with one more setting, and ""; or the request, and why they do not fit together."""
    more = replace(request, settings=tuple((dict(request.settings) | {name: value}).items()))
    try:
        configured(more)
    except SettingError as error:
        return request, str(error)
    return more, ""


def planned(
    request: Request, asked: Sequence[tuple[int, Mapping[str, str]]]
) -> tuple[tuple[tuple[int, tuple[tuple[str, Setting], ...]], ...], str]:
    """Changes on the way as an address writes them, each checked against the settings it will meet.

    Gives those before the first wrong one, and what is wrong with that ("" where none is).
    """
    config, found = configured(request), list[tuple[int, tuple[tuple[str, Setting], ...]]]()
    for step, texts in asked:
        values = dict[str, Setting]()
        for name, text in texts.items():
            problem = menu.refusal(config, name, text)
            if problem:
                return tuple(found), f"step {step}: {problem}"
            known, value = menu.short(config, name), menu.value_of(config, name, text)
            config, values[known] = menu.with_settings(config, {known: value}), value
        found.append((step, tuple(values.items())))
    return tuple(found), ""


def _preset(request: Request) -> RunConfig:
    if request.story:
        return story(request.story).config(request.arm, seed=request.seed)
    return preset(request.recipe, request.env, request.seed)


class LabTraining:
    """A timeline with the live room's manners; see `live.contract.Training`."""

    def __init__(self, request: Request, config: RunConfig) -> None:
        self.request, self.config = request, config
        self._timeline = Timeline(config)
        self._menu = menu.menu_of(config)
        plain = _preset(request)
        self.preset = menu.menu_of(plain).settings(plain)

    @property
    def head(self) -> int:
        return self._timeline.head.id

    # ------------------------------------------------------------ settings

    def about(self, config: RunConfig) -> dict[str, Any]:
        return {
            "recipe": self.request.recipe, "env": self.request.env, "seed": config.seed,
            "knobs": self._menu_of(config).as_json(config), "slots": menu.slots_as_json(config),
            "fresh": menu.fresh_as_json(config), "reward": reward_column(config), "band": _band_kind(config),
            "events": [{"name": e.name, "label": e.label, "value": e.value} for e in EVENTS if _can_happen(e.name, config)],
        }  # fmt: skip

    def standing(self, config: RunConfig) -> dict[str, Any]:
        found = recognise(config.algorithm)
        batch = config.batch
        odd = cautions(
            config.algorithm, epochs=batch.epochs, minibatches=batch.minibatches, group_size=batch.group_size
        )
        return {
            "name": str(found), "look": found.recipe.key if found.named else "custom",
            "cautions": [{"slot": c.slot, "level": c.level, "text": c.text, "source": c.source} for c in odd],
        }  # fmt: skip

    def settings(self, config: RunConfig) -> dict[str, Setting]:
        return self._menu_of(config).settings(config)

    def propose(self, config: RunConfig, values: Mapping[str, Setting]) -> RunConfig:
        return painted.same_run(config, menu.affordable(menu.with_settings(config, values)))

    def difference(self, before: RunConfig, after: RunConfig) -> Change:
        return menu.difference(before, after)

    def insight(self, config: RunConfig, columns: Mapping[str, Any], said: Sequence[str]) -> dict[str, Any]:
        return insight.told(self.request, self.preset, config, columns, said)

    def config_of(self, node: int) -> RunConfig:
        return self._timeline.node(node).config

    # ------------------------------------------------------------ training and looking

    def advance(self, config: RunConfig, *, traced: bool) -> Step:
        steps = self._timeline.advance_slices(config, trace=traced)
        while True:
            try:
                made = next(steps)
            except StopIteration as end:
                record: StepRecord = end.value
                break
            yield _look(config, made) if traced else None
        measured = yield from heldout(self._timeline.config, self._timeline.state())
        at = standing_at(self._timeline.config, self._timeline.state())
        return record.step + 1, {**record.metrics, **measured, **at}

    def visit(self, node: int) -> Errand:
        timeline = self._timeline
        record = None if timeline.node(node).parent is None else (yield from timeline.trace_slices(node))
        state = yield from timeline.state_slices(node)
        return self._picture(timeline.node(node).config, state, record, node)

    def seek(self, node: int) -> Generator[Made, None, None]:
        yield from self._timeline.seek_slices(node)

    def scene(self, config: RunConfig) -> dict[str, Any]:
        record = None if self._timeline.head.record is None else self._timeline.trace()
        return self._picture(config, self._timeline.state(), record, self.head)

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

    def path(self) -> Sequence[Any]:
        return self._timeline.path()

    def _picture(self, config: RunConfig, state: TrainState, record: StepRecord | None, node: int) -> dict[str, Any]:
        seen = None if record is None or record.trace is None else samples(record.config, record.trace.updates)
        return {"step": state.step, "node": node, "world": world(config, state, record), "samples": seen}

    def _menu_of(self, config: RunConfig) -> menu.Menu:
        if not self._menu.fits(config):
            self._menu = menu.menu_of(config)
        return self._menu


def reward_column(config: RunConfig) -> str:
    """The metric that is the reward of this run: a segment's rows end anywhere, so episodes tell it there."""
    return "reward_mean" if config.batch.segment is None else "episode_return"


def _look(config: RunConfig, made: Made) -> Callable[[], dict[str, Any]]:
    return lambda: piece(config, made)


def _can_happen(event: str, config: RunConfig) -> bool:
    if event == "dead":
        return not isinstance(config.algorithm.advantage, Gae | Returns)
    return event != "clip" or isinstance(config.algorithm.surrogate, PpoClip | DualClip | TwoSidedClip | Gmpo)


def _band_kind(config: RunConfig) -> str | None:
    """How ε_low and ε_high bound the ratio: "linear" 1 ± ε, "log" exp(± ε), or None where nothing does."""
    surrogate = config.algorithm.surrogate
    if isinstance(surrogate, PpoClip | DualClip | TwoSidedClip | Cispo):
        return "linear"
    return "log" if isinstance(surrogate, Gmpo) else None


__all__ = ["LabTraining", "accepted", "configured", "joined", "planned", "refusal", "reward_column", "start", "value"]
