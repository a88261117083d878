"""What a page may ask of a run: small messages, bounded and validated before anything is touched.

Both transports, the WebSocket route and the polled fragment, read the same messages here. Ranges of settings are the
knobs' own and are checked by the run; this module knows their form only.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, TypeAdapter, ValidationError

from live.run import LiveRun
from rlcore.knobs import Value, explain

MAX_BYTES = 4096
MAX_SETTINGS = 16
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_.]*$")]


class Look(Value):
    """What the page already shows, and whether anybody can see it. Sent first, and when the tab is hidden or shown."""

    op: Literal["look"]
    cursor: int = Field(0, ge=0, lt=2**24)
    epoch: int = Field(0, ge=0, lt=2**24)
    visible: bool = True


class Set(Value):
    """New values by setting; `ref` comes back with the step at which they took effect."""

    op: Literal["set"]
    values: dict[Name, StrictFloat | StrictInt | StrictBool] = Field(min_length=1, max_length=MAX_SETTINGS)
    ref: int = Field(0, ge=0, lt=2**53)


class Act(Value):
    """A button of the transport."""

    op: Literal["act"]
    action: Literal["play", "pause", "step", "reset"]


class Pace(Value):
    """Updates a second asked for."""

    op: Literal["pace"]
    rate: float = Field(ge=0.1, le=1000)


Command = Look | Set | Act | Pace
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


def obey(run: LiveRun, command: Set | Act | Pace) -> None:
    """Do what was asked. Raises SettingError, naming field, rule and value, where a setting is refused."""
    match command:
        case Set(values=values, ref=ref):
            run.set(values, ref=ref)
        case Pace(rate=rate):
            run.pace(rate)
        case Act(action="play"):
            run.play()
        case Act(action="pause"):
            run.pause()
        case Act(action="step"):
            run.step_once()
        case Act(action="reset"):
            run.reset()


