"""Parameters as a value: one flat vector and a layout that names its parts.

A flat vector makes a checkpoint one reference, the optimiser a handful of operations, and the gradient one tensor.
Leading axes (several seeds) are carried through: theta [..., P] gives parts [..., *shape].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from rlcore.knobs import SettingError

Params = dict[str, Tensor]

MOST_PARAMETERS = 20_000_000


@dataclass(frozen=True)
class Layout:
    """Names and shapes of the parts of a flat parameter vector, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self.shapes]

    def parts(self, theta: Tensor) -> Params:
        """Views of theta [..., P] by name; differentiable, nothing is copied."""
        pieces = theta.split_with_sizes(self.sizes, dim=-1)
        lead = theta.shape[:-1]
        return {n: p.view(*lead, *s) for n, s, p in zip(self.names, self.shapes, pieces, strict=True)}

    def stacked(self, theta: Tensor, names: tuple[str, ...]) -> Tensor:
        """One or two parts of the same shape as a view [n, *shape] of theta [P]: writing to it writes to theta."""
        starts = [sum(self.sizes[: self.names.index(name)]) for name in names]
        shape, size = self.shapes[self.names.index(names[0])], self.sizes[self.names.index(names[0])]
        apart = starts[-1] - starts[0] if len(names) > 1 else size
        within = torch.empty(shape).stride()
        return theta.as_strided((len(names), *shape), (apart, *within), theta.storage_offset() + starts[0])


def refuse_beyond(size: int, what: str) -> None:
    """Raises SettingError where a table or matrix of `size` numbers would exhaust the machine."""
    if size > MOST_PARAMETERS:
        raise SettingError(f"policy: must have at most {MOST_PARAMETERS} parameters, got {what} = {size}")


def flatten(params: Params) -> tuple[Tensor, Layout]:
    """One vector [P] and its layout, from named tensors."""
    layout = Layout(tuple(params), tuple(tuple(p.shape) for p in params.values()))
    return torch.cat([p.detach().reshape(-1) for p in params.values()]), layout
