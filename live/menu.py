"""What may be turned on a live run, and within which bounds: the engine's knobs by short name, hot ones first.

Ranges, symbols, help and sources are the knobs' own; added here is only what a server shared by several people needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from live.contract import Setting
from rlcore.advantages import Gae, Returns
from rlcore.config import Path, RunConfig, find_setting, knobs, settings_of
from rlcore.kl import KlInLoss, NoKl
from rlcore.knobs import Knob, SettingError, knobs_of

BETA: Path = ("algorithm", "kl", "kl_beta")
SIZES = ("group_size", "prompts")
HOT = ("eps_low", "eps_high", "tau_pos", "tau_neg", "kl_beta", "lr")  # in reach of the thumb, in this order
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
        return {name: _value(config, path) for name, (path, _) in self.knobs.items()}

    def as_json(self, config: RunConfig) -> list[dict[str, Any]]:
        """What sliders are made of."""
        size = next((name for name in SIZES if name in self.knobs), None)
        return [
            {
                "name": name, "symbol": about.symbol, "help": about.help, "source": about.source, "unit": about.unit,
                "legal": [about.low, min(about.high, 1e9)], "low": about.suggested[0], "high": about.suggested[1],
                "scale": about.scale, "integer": isinstance(_value(config, path), int),
                "hot": name in HOT or name == size,
            }
            for name, (path, about) in self.knobs.items()
        ]  # fmt: skip


def menu_of(config: RunConfig) -> Menu:
    """The menu of a config's structure."""
    found = {path: about for path, (about, _) in knobs(config).items() if about.live}
    if isinstance(config.algorithm.kl, NoKl):  # β from 0 upwards puts a penalty into the loss
        found[BETA] = knobs_of(KlInLoss)["kl_beta"]
    if config.batch.segment is not None:  # rows are streams then, and their number belongs to the run
        found = {path: about for path, about in found.items() if path[-1] not in SIZES}
    if isinstance(config.algorithm.advantage, Gae | Returns):  # nothing is compared within a group
        found.pop(("batch", "group_size"), None)
    order = [*HOT, *SIZES]
    ranked = sorted(found, key=lambda path: order.index(path[-1]) if path[-1] in order else len(order))
    names = _short_names(config, ranked)
    return Menu(_structure(config), {names[path]: (path, found[path]) for path in ranked})


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


def refusal(config: RunConfig, name: str, text: str) -> str | None:
    """Why a setting from an address cannot be taken, in words; None where it can."""
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


def _structure(config: RunConfig) -> tuple[object, ...]:
    slots = (type(getattr(config.algorithm, name)) for name in type(config.algorithm).model_fields)
    return (*slots, type(config.env), type(config.policy), type(config.optim), config.batch.segment is None)


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
