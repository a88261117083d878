"""What a page may ask of a run: small messages, bounded and validated before anything is touched.

Both transports, the WebSocket route and the polled fragment, read the same messages here. Ranges of settings are the
knobs' own and are checked by the run; this module knows their form only. A new command is a class with `obey`, named
in `Command`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, TypeAdapter, ValidationError

from live.run import LiveRun
from rlcore.knobs import Value, explain

MAX_BYTES = 16_384  # a map of 20 x 20 cells with a reward on each
MAX_SETTINGS = 16
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_.]*$")]
Kind = Annotated[str, Field(strict=True, min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")]
Painted = Annotated[str, Field(strict=True, max_length=8000, pattern=r"^[A-Za-z0-9.#^><_\\-]*$")]
Ref = Annotated[int, Field(ge=0, lt=2**53)]


class Look(Value):
    """What the page already shows, and whether anybody can see it. Sent first, and when the tab is hidden or shown."""

    op: Literal["look"]
    cursor: int = Field(0, ge=0, lt=2**24)
    epoch: int = Field(0, ge=0, lt=2**24)
    visible: bool = True


class Set(Value):
    """New values by setting, a number, the kind for a slot or a painted map; `ref` comes back with the step at which they took effect."""

    op: Literal["set"]
    values: dict[Name, StrictFloat | StrictInt | StrictBool | Kind | Painted] = Field(min_length=1, max_length=MAX_SETTINGS)
    ref: Ref = 0

    def obey(self, run: LiveRun) -> None:
        run.set(self.values, ref=self.ref)


class Act(Value):
    """A button of the transport."""

    op: Literal["act"]
    action: Literal["play", "pause", "step", "minibatch", "epoch", "back", "reset", "fork", "undo"]
    ref: Ref = 0

    def obey(self, run: LiveRun) -> None:
        actions: dict[str, Callable[[], None]] = {
            "play": run.play, "pause": run.pause, "step": run.step_once, "back": run.back, "reset": run.reset,
            "minibatch": lambda: run.step_part("minibatch"), "epoch": lambda: run.step_part("epoch"),
            "fork": lambda: run.fork(ref=self.ref), "undo": lambda: run.undo(ref=self.ref),
        }  # fmt: skip
        actions[self.action]()


class Pace(Value):
    """Updates a second asked for."""

    op: Literal["pace"]
    rate: float = Field(ge=0.1, le=1000)

    def obey(self, run: LiveRun) -> None:
        run.pace(self.rate)


class Until(Value):
    """Go on to an event; `value` is its threshold, where it has one."""

    op: Literal["until"]
    event: Literal["clip", "dead", "kl", "kl_old", "reward", "diverge"]
    value: Annotated[float, Field(ge=-1e9, le=1e9)] | None = None

    def obey(self, run: LiveRun) -> None:
        run.until(self.event, self.value)


class Open(Value):
    """Look at a step of the path; the newest one leads back to the present."""

    op: Literal["open"]
    step: int = Field(ge=0, lt=2**24)

    def obey(self, run: LiveRun) -> None:
        run.open(self.step)


class Switch(Value):
    """Show another branch of the tree."""

    op: Literal["switch"]
    branch: int = Field(ge=0, lt=2**24)

    def obey(self, run: LiveRun) -> None:
        run.switch(self.branch)


Order = Set | Act | Pace | Until | Open | Switch
Command = Look | Order
_COMMAND: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="op")])


class CommandError(ValueError):
    """A message was not understood; the text says why and is safe to show."""


def parse(text: str) -> Command:
    """The command in a message. Raises CommandError on anything too long, malformed or out of range."""
    if len(text.encode()) > MAX_BYTES:
        raise CommandError(f"a message holds at most {MAX_BYTES} bytes")
    try:
        return _COMMAND.validate_python(json.loads(text, parse_constant=_refuse))
    except ValidationError as error:
        raise CommandError(str(explain(error))) from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"not a JSON message: {error}") from error


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number here")


def obey(run: LiveRun, command: Order) -> None:
    """Do what was asked. Raises SettingError, naming field, rule and value, where it is refused."""
    command.obey(run)
