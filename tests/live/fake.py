"""A stand-in for the engine with numbers a test can foresee: a pure count, no learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from live.contract import Change, Errand, Opened, Request, Setting, Step
from rlcore.knobs import SettingError


@dataclass(frozen=True)
class FakeConfig:
    eps_high: float = 0.2
    lr: float = 0.01


@dataclass
class FakeTraining:
    """Every step is `pieces` times `cost` seconds of the fake clock; the metric `eps` tells the setting in force.

    nodes[i] is (step, config) of node i, whose parent does not matter here: a step's numbers depend on these two only.
    """

    config: Any = field(default_factory=FakeConfig)
    preset: Any = field(default_factory=lambda: {"eps_high": 0.2, "lr": 0.01})
    head: int = 0
    clock: Any = None
    cost: float = 0.0
    pieces: int = 1
    breaks_at: int | None = None
    traced: list[bool] = field(default_factory=list)
    nodes: list[tuple[int, FakeConfig]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes = [(0, self.config)]

    def about(self, config: FakeConfig) -> dict[str, Any]:
        return {"recipe": "fake", "reward": "reward_mean", "knobs": [{"name": "eps_high", "symbol": "ε_high"}]}

    def standing(self, config: FakeConfig) -> dict[str, Any]:
        return {"name": f"fake with {config.eps_high}", "look": "grpo", "cautions": []}

    def settings(self, config: FakeConfig) -> dict[str, Setting]:
        return {"eps_high": config.eps_high, "lr": config.lr}

    def propose(self, config: FakeConfig, values: Mapping[str, Setting]) -> FakeConfig:
        if not 0 <= values.get("eps_high", 0) <= 1:
            raise SettingError(f"eps_high: must be between 0 and 1, got {values['eps_high']}")
        return replace(config, **values)

    def difference(self, before: FakeConfig, after: FakeConfig) -> Change:
        old, new = self.settings(before), self.settings(after)
        return {name: (old[name], new[name]) for name in new if old[name] != new[name]}

    def insight(self, config: FakeConfig, columns: Mapping[str, Any], said: Sequence[str]) -> dict[str, Any]:
        return {"findings": [{"name": "long"}] if len(columns["step"]) >= 20 else [], "story": None}

    def config_of(self, node: int) -> FakeConfig:
        return self.nodes[node][1]

    def advance(self, config: FakeConfig, *, traced: bool) -> Step:
        step = self.nodes[self.head][0]
        if self.breaks_at == step:
            raise ArithmeticError("step 3: loss is not finite")
        for piece in range(self.pieces):
            if self.clock is not None:
                self.clock.now += self.cost
            if piece < self.pieces - 1:
                yield (lambda at=piece: self._piece(at)) if traced else None
        self.nodes.append((step + 1, config))
        self.head = len(self.nodes) - 1
        self.traced.append(traced)
        return step + 1, {"reward_mean": (step + 1) * 10.0, "eps": config.eps_high}

    def _piece(self, at: int) -> dict[str, Any]:
        """The batch, then one update a pass."""
        place = {"epoch": at, "minibatch": min(at, 1), "epochs": self.pieces - 2, "minibatches": 1}
        return place | {"samples": {"ratio": [1.0 + at]}}

    def visit(self, node: int) -> Errand:
        yield
        return {"step": self.nodes[node][0], "node": node, "world": None, "samples": None}

    def seek(self, node: int) -> Errand:
        yield
        self.head = node

    def scene(self, config: FakeConfig) -> dict[str, Any]:
        return {"step": self.nodes[self.head][0], "node": self.head, "world": None, "samples": None}

    def opened(self, node: int | None) -> Opened:
        return Opened(self.head, self.config, "a fake step")

    def restart(self, config: FakeConfig) -> None:
        self.head, self.nodes = 0, [(0, config)]


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
