"""What the live room's parts promise each other: a request, the engine's side of a run, and who looks at it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Setting = float | int | bool
Step = Generator[None, None, tuple[int, Mapping[str, float]]]
"""One training step, cut where the worker may look after another run; returns the step's number and its metrics."""


@dataclass(frozen=True)
class Request:
    """What a page asks to have trained: plain values, so asking needs no engine yet. `settings` are name, value."""

    recipe: str = "grpo"
    env: str = "gridworld"
    seed: int = 0
    settings: tuple[tuple[str, Setting], ...] = ()


@dataclass(frozen=True)
class Opened:
    """One training step, ready to be made once more: `rlcore.engine.step(state, config, trace=True)` gives its record,
    bit-equal to what the run saw. `state` is the one BEFORE the step; both are the engine's values.
    """

    state: Any
    config: Any
    label: str


class Training(Protocol):
    """The engine's side of a run. `config` is an immutable value whose type only the engine knows.

    preset   the live settings a run of this recipe starts with when nothing was asked for
    propose  the config with other values; raises SettingError and changes nothing where one is refused
    advance  one step; nothing has happened before it is exhausted
    scene    the world and the samples of the last step, ready for JSON
    opened   the step that led to a node (default: the newest). Raises SettingError where there is none
    """

    config: Any

    @property
    def preset(self) -> Mapping[str, Setting]: ...
    def about(self, config: Any) -> dict[str, Any]: ...
    def settings(self, config: Any) -> dict[str, Setting]: ...
    def propose(self, config: Any, values: Mapping[str, Setting]) -> Any: ...
    def advance(self, config: Any, *, traced: bool) -> Step: ...
    def scene(self, config: Any) -> dict[str, Any]: ...
    def restart(self, config: Any) -> None: ...
    def opened(self, node: int | None) -> Opened: ...


class Viewer(Protocol):
    """Somebody in front of the run. `wake` is called, from any thread, when there is something new to show."""

    visible: bool

    def wake(self) -> None: ...


Start = Callable[[Request], Training]
