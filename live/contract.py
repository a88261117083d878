"""What the live room's parts promise each other: a request, the engine's side of a run, and who looks at it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Setting = float | int | bool | str
"""A number, or the kind of value that stands in a slot ("sequence" for `ratio`)."""
Change = dict[str, tuple[Setting, Setting]]
"""name: (old, new). Slots come before the numbers that live in them."""
Piece = Callable[[], dict[str, Any]] | None
"""What a slice of a step made, to be looked at if somebody wants to (see `Training.advance`)."""
Step = Generator[Piece, None, tuple[int, Mapping[str, float]]]
"""One training step, cut where the worker may look after another run; returns the step's number and its metrics."""
Errand = Generator[object, None, Any]
"""Work beside training (an old step recomputed), cut in the same way."""


@dataclass(frozen=True)
class Request:
    """What a page asks to have trained: plain values, so asking needs no engine yet. `settings` are name, value.

    then  settings that change on the way: (step, ((name, value), ...)), in force from that step on
    stop  a step to go to at once and pause at; None: play
    story, arm  a story's name and which of its runs: its settings are the preset then
    """

    recipe: str = "grpo"
    env: str = "gridworld"
    seed: int = 0
    settings: tuple[tuple[str, Setting], ...] = ()
    then: tuple[tuple[int, tuple[tuple[str, Setting], ...]], ...] = ()
    stop: int | None = None
    story: str = ""
    arm: str = ""


@dataclass(frozen=True)
class Opened:
    """One training step, ready to be made once more: `rlcore.engine.step(state, config, trace=True)` gives its record,
    bit-equal to what the run saw. `state` is the one BEFORE the step; both are the engine's values.
    """

    state: Any
    config: Any
    label: str


class Training(Protocol):
    """The engine's side of a run: a tree of steps with a head. `config` is an immutable value only the engine knows.

    preset      the live settings a run of this recipe starts with when nothing was asked for
    about       what is known of a config's structure: knobs, slots, events, which metric is the reward
    standing    what its numbers make of it: the recipe's name, cautions, the look it is drawn in
    propose     the config with other values; raises SettingError and changes nothing where one is refused
    difference  what separates two configs, by setting
    insight     what can be said of the curves so far, and how a story ended; `said` names what was said before
    advance     one step from the head; nothing has happened before it is exhausted. What it yields is None, or gives
                {"epoch", "minibatch", "samples", ...} of the piece just made
    visit       the picture of a node's step; the head stays
    seek        the head moves to a node
    scene       the picture at the head, ready for JSON
    opened      the step that led to a node (default: the newest). Raises SettingError where there is none
    path        the engine's nodes from the root to the head, each with its config and record: what an export is made of
    """

    config: Any

    @property
    def preset(self) -> Mapping[str, Setting]: ...
    @property
    def head(self) -> int: ...
    def about(self, config: Any) -> dict[str, Any]: ...
    def standing(self, config: Any) -> dict[str, Any]: ...
    def settings(self, config: Any) -> dict[str, Setting]: ...
    def propose(self, config: Any, values: Mapping[str, Setting]) -> Any: ...
    def difference(self, before: Any, after: Any) -> Change: ...
    def insight(self, config: Any, columns: Mapping[str, Any], said: Sequence[str]) -> dict[str, Any]: ...
    def config_of(self, node: int) -> Any: ...
    def advance(self, config: Any, *, traced: bool) -> Step: ...
    def visit(self, node: int) -> Errand: ...
    def seek(self, node: int) -> Errand: ...
    def scene(self, config: Any) -> dict[str, Any]: ...
    def restart(self, config: Any) -> None: ...
    def opened(self, node: int | None) -> Opened: ...
    def path(self) -> Sequence[Any]: ...


class Viewer(Protocol):
    """Somebody in front of the run. `wake` is called, from any thread, when there is something new to show."""

    visible: bool

    def wake(self) -> None: ...


Start = Callable[[Request], Training]
