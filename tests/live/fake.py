"""A stand-in for the engine with numbers a test can foresee: a pure count, no learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from live.contract import Opened, Request, Setting, Step
from rlcore.knobs import SettingError


@dataclass(frozen=True)
class FakeConfig:
    eps_high: float = 0.2
    lr: float = 0.01


@dataclass
class FakeTraining:
    """Every step is `pieces` times `cost` seconds of the fake clock; the metric `eps` tells the setting in force."""

    config: Any = field(default_factory=FakeConfig)
    preset: Any = field(default_factory=lambda: {"eps_high": 0.2, "lr": 0.01})
    step: int = 0
    clock: Any = None
    cost: float = 0.0
    pieces: int = 1
    breaks_at: int | None = None
    traced: list[bool] = field(default_factory=list)

    def about(self, config: FakeConfig) -> dict[str, Any]:
        return {"recipe": "fake", "knobs": [{"name": "eps_high", "low": 0, "high": 1}]}

    def settings(self, config: FakeConfig) -> dict[str, Setting]:
        return {"eps_high": config.eps_high, "lr": config.lr}

    def propose(self, config: FakeConfig, values: Mapping[str, Setting]) -> FakeConfig:
        if not 0 <= values.get("eps_high", 0) <= 1:
            raise SettingError(f"eps_high: must be between 0 and 1, got {values['eps_high']}")
        return replace(config, **values)

    def advance(self, config: FakeConfig, *, traced: bool) -> Step:
        if self.breaks_at == self.step:
            raise ArithmeticError("step 3: loss is not finite")
        for piece in range(self.pieces):
            if self.clock is not None:
                self.clock.now += self.cost
            if piece < self.pieces - 1:
                yield
        self.step += 1
        self.traced.append(traced)
        return self.step, {"reward_mean": self.step * 10.0, "eps": config.eps_high}

    def scene(self, config: FakeConfig) -> dict[str, Any]:
        return {"step": self.step, "world": None, "samples": None}

    def opened(self, node: int | None) -> Opened:
        return Opened(self.step, self.config, "a fake step")

    def restart(self, config: FakeConfig) -> None:
        self.step = 0


class Clock:
    """A clock that only moves when told."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def starter(**how: Any) -> Any:
    """A `Start` whose trainings are made with `how`."""
    return lambda request: FakeTraining(**how)


class Watcher:
    """A viewer that counts how often it was woken."""

    def __init__(self, visible: bool = True) -> None:
        self.visible, self.woken = visible, 0

    def wake(self) -> None:
        self.woken += 1


ANY = Request("grpo", "gridworld", 0)
