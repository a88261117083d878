"""What may be turned on a live run, and within which bounds: the engine's knobs by short name, hot ones first.

Ranges, symbols, help and sources are the knobs' own; added here is only what a server shared by several people needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from live import painted, slots
from live.contract import Change, Setting
from rlcore.advantages import Gae, Returns
from rlcore.config import Path, RunConfig, find_setting, knobs, settings_of
from rlcore.kl import KlInLoss, NoKl
from rlcore.knobs import Knob, SettingError, knobs_of
from rlcore.ratios import TokenRatio
from rlcore.surrogates import DualClip, PpoClip, TwoSidedClip

BETA: Path = ("algorithm", "kl", "kl_beta")
SIZES = ("group_size", "prompts")
HOT = ("eps_low", "eps_high", "tau_pos", "tau_neg", "kl_beta", "lr")  # in reach of the thumb, in this order
TOKEN_BAND = (0.0, 0.6)  # token ratios live on this scale; a sequence's mean of log-ratios on a logarithmic one
MAX_ROWS = 8192
MAX_SAMPLES = 1_000_000


@dataclass(frozen=True)
class Menu:
    """The live knobs of every config of one structure (the same kinds of values in the same slots), by short name."""

    structure: tuple[object, ...]
    knobs: Mapping[str, tuple[Path, Knob]]

    def fits(self, config: RunConfig) -> bool:
        return self.structure == _structure(config)

    def settings(self, config: RunConfig) -> dict[str, Setting]:
        """Every live setting's value; what a drag asks for many times a second."""
        numbers = {name: _value(config, path) for name, (path, _) in self.knobs.items()}
        return numbers | {slot.name: slot.kind for slot in slots.slots(config.algorithm)} | painted.texts(config)

    def as_json(self, config: RunConfig) -> list[dict[str, Any]]:
        """What sliders are made of; `slot` says where in the equation or the run a number lives."""
        return [
            {
                "name": name, "slot": _home(path), "symbol": about.symbol, "help": about.help, "source": about.source, "unit": about.unit,
                "legal": [about.low, min(about.high, 1e9)], "low": about.suggested[0], "high": about.suggested[1],
                "scale": about.scale, "integer": isinstance(_value(config, path), int),
                "hot": name in HOT,
            }
            for name, (path, about) in self.knobs.items()
        ]  # fmt: skip


def menu_of(config: RunConfig) -> Menu:
    """The menu of a config's structure; made once for each, since every notch of a drag asks."""
    structure = _structure(config)
    if structure not in _MENUS:
        if len(_MENUS) >= KEPT_MENUS:
            _MENUS.clear()
        _MENUS[structure] = _made(config)
    return _MENUS[structure]


KEPT_MENUS = 256
_MENUS: dict[tuple[object, ...], Menu] = {}


def _made(config: RunConfig) -> Menu:
    found = {path: about for path, (about, _) in knobs(config).items() if about.live}
    if isinstance(config.algorithm.kl, NoKl):  # β from 0 upwards puts a penalty into the loss
        found[BETA] = knobs_of(KlInLoss)["kl_beta"]
    if config.batch.segment is not None:  # rows are streams then, and their number belongs to the run
        found = {path: about for path, about in found.items() if path[-1] not in SIZES}
    if isinstance(config.algorithm.advantage, Gae | Returns):  # nothing is compared within a group
        found.pop(("batch", "group_size"), None)
    found = {path: _scaled(config, path, about) for path, about in found.items()}
    order = [*HOT, *SIZES]
    ranked = sorted(found, key=lambda path: order.index(path[-1]) if path[-1] in order else len(order))
    names = _short_names(config, ranked)
    return Menu(_structure(config), {names[path]: (path, found[path]) for path in ranked})


def slots_as_json(config: RunConfig) -> list[dict[str, Any]]:
    """What can stand in each slot: every kind with what it is, and why it doesn't fit this run where it doesn't."""
    return [
        {
            "name": slot.name, "slot": slot.owner, "label": slots.LABELS.get(slot.name, slot.name.replace(".", " ")),
            "main": slot.name in slots.MAIN,
            "options": [
                {"kind": kind, "help": about, "refused": _misfit(config, slot.name, kind) if kind != slot.kind else ""}
                for kind, about in slot.options.items()
            ],
        }
        for slot in slots.slots(config.algorithm)
    ]  # fmt: skip


def fresh_as_json(config: RunConfig) -> list[dict[str, Any]]:
    """Knobs that a run keeps for life: another value needs a new run."""
    found = {path: (about, value) for path, (about, value) in knobs(config).items() if not about.live}
    if config.batch.segment is not None:
        found |= {
            ("batch", name): (knobs_of(type(config.batch))[name], getattr(config.batch, name)) for name in ("prompts",)
        }
    names = _short_names(config, found)
    return [
        {
            "name": names[path], "slot": _home(path), "symbol": about.symbol, "help": about.help, "source": about.source,
            "unit": about.unit, "legal": [about.low, min(about.high, 1e9)], "low": about.suggested[0],
            "high": about.suggested[1], "scale": about.scale, "integer": isinstance(value, int), "value": value,
        }
        for path, (about, value) in found.items()
    ]  # fmt: skip


def with_settings(config: RunConfig, values: Mapping[str, Setting]) -> RunConfig:
    """The config with other kinds in slots first, then other numbers. Raises SettingError and changes nothing."""
    kinds = {
        name: value
        for name, value in values.items()
        if isinstance(value, str) and slots.is_slot(config.algorithm, name)
    }
    rest = {name: value for name, value in values.items() if name not in kinds}
    return slots.with_slots(config, kinds).with_settings(rest) if kinds else config.with_settings(rest)


def difference(before: RunConfig, after: RunConfig) -> Change:
    """What separates two configs: slots first, then the numbers that still differ once the slots are alike."""
    old, new = ({slot.name: slot.kind for slot in slots.slots(each.algorithm)} for each in (before, after))
    kinds: Change = {}
    alike = before
    for slot in slots.slots(after.algorithm) if old != new else ():
        now = next((each.kind for each in slots.slots(alike.algorithm) if each.name == slot.name), slot.kind)
        if now != slot.kind:
            kinds[slot.name] = (old.get(slot.name, now), slot.kind)
            alike = slots.with_slots(alike, {slot.name: slot.kind})
    was, now_is = menu_of(alike).settings(alike), menu_of(after).settings(after)
    numbers: Change = {name: (was[name], value) for name, value in now_is.items() if was.get(name, value) != value}
    return kinds | {name: pair for name, pair in numbers.items() if name not in kinds}


def affordable(config: RunConfig) -> RunConfig:
    """The config, unless a step of it would take a server's memory. Raises SettingError."""
    steps = config.batch.segment or getattr(config.env, "horizon", None) or 1
    if config.batch.rows > MAX_ROWS or config.batch.rows * steps > MAX_SAMPLES:
        raise SettingError(
            f"batch: here at most {MAX_ROWS} rows (prompts × group_size) and {MAX_SAMPLES} samples (rows × steps), "
            f"got {config.batch.rows} × {steps}; the shell and notebooks have no such limit"
        )
    return painted.sensible(config)


def number(text: str) -> Setting:
    """A number as an address writes it. Raises ValueError."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def value_of(config: RunConfig, name: str, text: str) -> Setting:
    """A setting as an address writes it: a kind where `name` is a slot, else a number. Raises ValueError."""
    return text if slots.is_slot(config.algorithm, name) or painted.is_text(config, name) else number(text)


def short(config: RunConfig, name: str) -> str:
    """The name that a live setting goes by here, whatever length it was given in. Raises SettingError."""
    path = find_setting(config, name)
    if painted.is_text(config, name):
        return path[-1]
    return next((known for known, (at, _) in menu_of(config).knobs.items() if at == path), name)


def refusal(config: RunConfig, name: str, text: str) -> str | None:
    """Why a setting from an address cannot be taken, in words; None where it can."""
    try:
        if slots.is_slot(config.algorithm, name):
            affordable(slots.with_slots(config, {name: text}))
            return None
        path = find_setting(config, name)
        if painted.is_text(config, name):
            config.with_settings({name: text})  # whether it makes sense is only known with all of the address
            return None
        if path not in knobs(config) and path != BETA:
            return f"{name}: an address can only set numbers with a range, and this is none"
        affordable(config.with_settings({name: number(text)}))
    except SettingError as error:
        return str(error)
    except ValueError:
        return f"{name}: must be a number, got {text[:60]!r}"
    return None


def _scaled(config: RunConfig, path: Path, about: Knob) -> Knob:
    """The knob with the slider that suits this algorithm: a token ratio's band is linear, a sequence's logarithmic."""
    bounds = isinstance(config.algorithm.surrogate, PpoClip | DualClip | TwoSidedClip) and path[-1] in (
        "eps_low",
        "eps_high",
    )
    if bounds and isinstance(config.algorithm.ratio, TokenRatio):
        return replace(about, suggested=TOKEN_BAND, scale="linear")
    return about


def _home(path: Path) -> str:
    return path[1] if path[0] == "algorithm" and len(path) > 2 else path[0]


def _misfit(config: RunConfig, name: str, kind: str) -> str:
    try:
        slots.with_slots(config, {name: kind})
    except SettingError as error:
        return str(error)
    return ""


def _structure(config: RunConfig) -> tuple[object, ...]:
    kinds = ((slot.name, slot.kind) for slot in slots.slots(config.algorithm))
    around = (
        config.env, getattr(config.env, "task", None), config.policy, config.optim, getattr(config.optim, "schedule", None),
        config.batch.early_stop,
    )  # fmt: skip
    return (*kinds, *(type(each) for each in around), config.batch.segment is None)


def _value(config: RunConfig, path: Path) -> Any:
    found: Any = config
    for part in path:
        found = getattr(found, part)
    return found


def _short_names(config: RunConfig, paths: Iterable[Path]) -> dict[Path, str]:
    """The shortest ending of each path that no other setting of the config has, dotted."""
    seen = Counter(path[-length:] for path, _ in settings_of(config) for length in range(1, len(path) + 1))

    def shortest(path: Path) -> str:
        lengths = (length for length in range(1, len(path)) if seen[path[-length:]] <= 1)
        return ".".join(path[-next(lengths, len(path)) :])

    return {path: shortest(path) for path in paths}
