"""The engine as the live room sees it: the only file here that knows rlcore's runs. Imported by the worker, late.

Plain values in, plain values out: settings by short name, metrics as floats, pictures as lists ready for JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from live.contract import Request, Setting, Step
from live.pictures import samples, world
from rlcore.algorithms import recognise
from rlcore.config import Path, RunConfig, find_setting, knobs, settings_of
from rlcore.kl import KlInLoss, NoKl
from rlcore.knobs import Knob, SettingError, knobs_of
from rlcore.presets import preset
from rlcore.records import StepRecord
from rlcore.surrogates import Cispo, DualClip, Gmpo, PpoClip, TwoSidedClip
from rlcore.timeline import Timeline

BETA: Path = ("algorithm", "kl", "kl_beta")
HOT = ("eps_low", "eps_high", "tau_pos", "tau_neg", "kl_beta", "lr")  # in reach of the thumb, in this order
MAX_ROWS = 8192
MAX_SAMPLES = 1_000_000
SIZES = ("group_size", "prompts")


def start(request: Request) -> LabTraining:
    """Begin a run from its preset. Raises SettingError for names and settings that are refused."""
    return LabTraining(request, configured(request))


def configured(request: Request) -> RunConfig:
    """The request's preset with its settings. Raises SettingError, also for more than a shared server can afford."""
    return affordable(_plain(request).with_settings(dict(request.settings)))


def _plain(request: Request) -> RunConfig:
    return preset(request.recipe, request.env, request.seed)


def affordable(config: RunConfig) -> RunConfig:
    """The config, unless a step of it would take a server's memory. Raises SettingError."""
    steps = config.batch.segment or getattr(config.env, "horizon", None) or 1
    if config.batch.rows > MAX_ROWS or config.batch.rows * steps > MAX_SAMPLES:
        raise SettingError(
            f"batch: here at most {MAX_ROWS} rows (prompts × group_size) and {MAX_SAMPLES} samples (rows × steps), "
            f"got {config.batch.rows} × {steps}; the shell and notebooks have no such limit"
        )
    return config


def number(text: str) -> Setting:
    """A number as an address writes it. Raises ValueError."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def refusal(request: Request, name: str, text: str) -> str | None:
    """Why a setting from an address cannot be taken, in words; None where it can."""
    config = configured(request)
    try:
        path = find_setting(config, name)
        if path not in knobs(config) and path != BETA:
            return f"{name}: an address can only set numbers with a range, and this is none"
        affordable(config.with_settings({name: number(text)}))
    except SettingError as error:
        return str(error)
    except ValueError:
        return f"{name}: must be a number, got {text[:60]!r}"
    return None


class LabTraining:
    """A timeline with the live room's manners; see `live.contract.Training`."""

    def __init__(self, request: Request, config: RunConfig) -> None:
        self.request, self.config = request, config
        self._timeline = Timeline(config)
        self.preset = {name: value for name, (_, value) in live_knobs(_plain(request)).items()}
        self._knobs: tuple[RunConfig, dict[str, tuple[Knob, Setting]]] = (config, live_knobs(config))

    def about(self, config: RunConfig) -> dict[str, Any]:
        found = recognise(config.algorithm)
        return {
            "recipe": self.request.recipe, "env": self.request.env, "seed": config.seed, "name": str(found),
            "knobs": _as_json(self._live_knobs(config)),
            "reward": "reward_mean" if config.batch.segment is None else "episode_return",
            "band": _band_kind(config),
        }  # fmt: skip

    def settings(self, config: RunConfig) -> dict[str, Setting]:
        return {name: value for name, (_, value) in self._live_knobs(config).items()}

    def propose(self, config: RunConfig, values: Mapping[str, Setting]) -> RunConfig:
        return affordable(config.with_settings(dict(values)))

    def advance(self, config: RunConfig, *, traced: bool) -> Step:
        record = yield from self._timeline.advance_slices(config, trace=traced)
        return record.step + 1, record.metrics

    def scene(self, config: RunConfig) -> dict[str, Any]:
        record = self._record()
        state = self._timeline.state()
        trace = record.trace if record is not None else None
        return {
            "step": state.step, "world": world(config, state, record),
            "samples": None if trace is None or record is None else samples(record.config, trace),
        }  # fmt: skip

    def restart(self, config: RunConfig) -> None:
        self.config, self._timeline = config, Timeline(config)

    def _live_knobs(self, config: RunConfig) -> dict[str, tuple[Knob, Setting]]:
        """Asked for at every message of a drag, hence kept for the config last asked about."""
        if self._knobs[0] is not config:
            self._knobs = (config, live_knobs(config))
        return self._knobs[1]

    def _record(self) -> StepRecord | None:
        """The last step's record with its trace, recomputed where nobody was looking when it ran."""
        if self._timeline.head.record is None:
            return None
        return self._timeline.trace()


# ---------------------------------------------------------------- knobs


def live_knobs(config: RunConfig) -> dict[str, tuple[Knob, Setting]]:
    """What may be turned while the run goes on, by the shortest name that is unique; hot ones first."""
    found = {path: (about, value) for path, (about, value) in knobs(config).items() if about.live}
    if isinstance(config.algorithm.kl, NoKl):  # β from 0 upwards puts k3 into the loss
        found[BETA] = (knobs_of(KlInLoss)["kl_beta"], 0.0)
    if config.batch.segment is not None:  # rows are streams then, and their number belongs to the run
        found = {path: each for path, each in found.items() if path[-1] not in SIZES}
    if config.batch.group_size == 1:
        found.pop(("batch", "group_size"), None)
    order = [*HOT, *SIZES]
    ranked = sorted(found, key=lambda path: order.index(path[-1]) if path[-1] in order else len(order))
    return {_short_name(config, path): found[path] for path in ranked}


def _short_name(config: RunConfig, path: Path) -> str:
    every = [other for other, _ in settings_of(config)]
    for length in range(1, len(path)):
        if sum(other[-length:] == path[-length:] for other in every) <= 1:
            return ".".join(path[-length:])
    return ".".join(path)


def _as_json(found: Mapping[str, tuple[Knob, Setting]]) -> list[dict[str, Any]]:
    sizes = [name for name in SIZES if name in found][:1]
    return [_knob_as_json(name, *each, hot=name in HOT or name in sizes) for name, each in found.items()]


def _knob_as_json(name: str, about: Knob, value: Setting, *, hot: bool) -> dict[str, Any]:
    low, high = about.suggested
    return {
        "name": name, "symbol": about.symbol, "help": about.help, "source": about.source, "unit": about.unit,
        "legal": [about.low, min(about.high, 1e9)], "low": low, "high": high, "scale": about.scale,
        "integer": isinstance(value, int), "hot": hot,
    }  # fmt: skip


def _band_kind(config: RunConfig) -> str | None:
    """How ε_low and ε_high bound the ratio: "linear" 1 ± ε, "log" exp(± ε), or None where nothing does."""
    surrogate = config.algorithm.surrogate
    if isinstance(surrogate, PpoClip | DualClip | TwoSidedClip | Cispo):
        return "linear"
    return "log" if isinstance(surrogate, Gmpo) else None


__all__ = ["LabTraining", "live_knobs", "start"]
