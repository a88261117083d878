"""What a policy is built for: the kind of observation and of action. No environment and no network here."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from rlcore.knobs import Value


class Shape(Value):
    """Exactly one of `states` (a finite set, observed as an index) and `features` (a float vector) is set; exactly one
    of `actions` (a finite set) and `action_dim` (a Box) is set.
    """

    kind: Literal["shape"] = "shape"
    states: int | None = None
    features: int | None = None
    actions: int | None = None
    action_dim: int | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Shape:
        if (self.states is None) == (self.features is None):
            raise ValueError("exactly one of states and features must be set")
        if (self.actions is None) == (self.action_dim is None):
            raise ValueError("exactly one of actions and action_dim must be set")
        return self

    @property
    def widest(self) -> int:
        """The most numbers that one observation or one action distribution takes."""
        return max(self.features or 1, self.actions or 1, self.action_dim or 1)
