"""The base of the explorers' own settings: numbers of a thought experiment, not of a run.

Their knobs are declared like all others, but they are no `Value`: no config holds them and the glossary leaves them out.
"""

from __future__ import annotations

from pydantic import BaseModel

from rlcore.knobs import Value


class Setting(BaseModel):
    """A frozen, validated set of numbers that a page asks for."""

    model_config = Value.model_config
