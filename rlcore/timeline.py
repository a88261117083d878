"""Timeline: the only mutable thing, a tree of states and records. Go on, go back, fork, look closer.

Metrics are kept for every node. States are kept at spaced nodes, the spacing doubling as the tree grows, and at those
used last; full traces at the newest nodes that were asked for one. Any other state or trace is recomputed from the
nearest kept state, bit-equal.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace

from rlcore.config import RunConfig, needs_new_run
from rlcore.engine import Made, finished, init, step_slices
from rlcore.knobs import SettingError
from rlcore.records import StepRecord
from rlcore.state import TrainState

KEPT_STATES = 200
KEPT_RECENT = 16
KEPT_TRACES = 8
KEPT_BYTES = 256 * 2**20
"""Bound of the kept states and, separately, of the kept traces; the root and the newest are kept whatever their size."""
FIRST_SPACING = 8


@dataclass(frozen=True)
class Node:
    """A point of the tree: the state after `step` steps. `record` is the step that led here; the root has none."""

    id: int
    parent: int | None
    step: int
    config: RunConfig
    record: StepRecord | None

    @property
    def trace_bytes(self) -> int:
        """Bytes of the trace kept here; 0 without one."""
        return 0 if self.record is None or self.record.trace is None else self.record.trace.nbytes


class Timeline:
    """A run and everything branched off it. `head` is where the next step starts."""

    def __init__(self, config: RunConfig) -> None:
        """Raises SettingError where the config cannot start."""
        self._nodes = [Node(0, None, 0, config, None)]
        self._kept = Kept(init(config))
        self._traced: list[int] = []
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._head = 0
        self._config = config

    # ------------------------------------------------------------ reading

    @property
    def head(self) -> Node:
        """Where the next step starts."""
        return self._nodes[self._head]

    @property
    def config(self) -> RunConfig:
        """The settings of the next step."""
        return self._config

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in order of creation; a node's id is its index."""
        return tuple(self._nodes)

    def node(self, node_id: int) -> Node:
        """One node. Raises SettingError for an id that does not exist."""
        if not 0 <= node_id < len(self._nodes):
            raise SettingError(f"node: must be between 0 and {len(self._nodes) - 1}, got {node_id}")
        return self._nodes[node_id]

    def path(self, node_id: int | None = None) -> tuple[Node, ...]:
        """From the root to a node (default: the head)."""
        found = [self.node(self._head if node_id is None else node_id)]
        while found[-1].parent is not None:
            found.append(self._nodes[found[-1].parent])
        return tuple(found[::-1])

    def state(self, node_id: int | None = None) -> TrainState:
        """The state at a node (default: the head), recomputed where it was not kept."""
        return finished(self.state_slices(node_id))

    def state_slices(self, node_id: int | None = None) -> Generator[Made, None, TrainState]:
        """`state`, cut at optimiser steps (see `engine.step_slices`)."""
        node = self.node(self._head if node_id is None else node_id)
        replay: list[Node] = []
        while (state := self._kept.get(node.id)) is None:
            replay.append(node)
            assert node.parent is not None
            node = self._nodes[node.parent]
        for node in reversed(replay):
            state, _ = yield from step_slices(state, node.config)
        return state

    def trace(self, node_id: int | None = None) -> StepRecord:
        """The record of the step that led to a node, with its full trace. Raises SettingError at the root."""
        return finished(self.trace_slices(node_id))

    def trace_slices(self, node_id: int | None = None) -> Generator[Made, None, StepRecord]:
        """`trace`, cut at optimiser steps; the state at the node is kept meanwhile, as if somebody had been there."""
        node = self.node(self._head if node_id is None else node_id)
        if node.parent is None or node.record is None:
            raise SettingError(f"node {node.id}: no step led here, so there is nothing to trace")
        if node.record.trace is not None:
            return node.record
        before = yield from self.state_slices(node.parent)
        after, record = yield from step_slices(before, node.config, trace=True)
        self._kept.add(node.id, after)
        return replace(record, seconds=node.record.seconds)

    # ------------------------------------------------------------ going on

    def advance(self, config: RunConfig | None = None, *, trace: bool = False) -> StepRecord:
        """One step from the head; `config` applies from now on. On an error the head stays where it was."""
        return finished(self.advance_slices(config, trace=trace))

    def advance_slices(
        self, config: RunConfig | None = None, *, trace: bool = False
    ) -> Generator[Made, None, StepRecord]:
        """`advance`, cut at optimiser steps (see `engine.step_slices`); nothing changes before it is exhausted."""
        config = self._config if config is None else self._accepted(config)
        start = self._head
        state, record = yield from step_slices(self.state(start), config, trace=trace)
        self._config = config
        self._append(start, state, record)
        return record

    def seek(self, node_id: int) -> Node:
        """Move the head to a node, with the settings that led there; the next step branches off if it has children."""
        return finished(self.seek_slices(node_id))

    def seek_slices(self, node_id: int) -> Generator[Made, None, Node]:
        """`seek`, cut at optimiser steps; the head moves when it is exhausted."""
        node = self.node(node_id)
        state = yield from self.state_slices(node.id)
        self._kept.add(node.id, state)
        self._head, self._config = node.id, node.config
        return node

    def fork(self, node_id: int, config: RunConfig | None = None) -> Node:
        """`seek`, then go on with other settings. Both branches meet the same dice."""
        accepted = None if config is None else self._accepted(config)
        node = self.seek(node_id)
        self._config = self._config if accepted is None else accepted
        return node

    # ------------------------------------------------------------ keeping

    def _accepted(self, config: RunConfig) -> RunConfig:
        changed = needs_new_run(self._nodes[0].config, config)
        if changed:
            raise SettingError(f"{', '.join(changed)}: cannot change while a run goes on; start a new run")
        return config

    def _append(self, parent: int, state: TrainState, record: StepRecord) -> None:
        light = replace(record, metrics=self._row(record.metrics))
        node = Node(len(self._nodes), parent, state.step, record.config, light)
        self._nodes.append(node)
        self._head = node.id
        self._kept.add(node.id, state)
        if record.trace is not None:
            self._traced.append(node.id)
            self._drop_traces()

    def _row(self, metrics: Mapping[str, float]) -> Row:
        names = tuple(metrics)
        return Row(self._names.setdefault(names, names), array("d", metrics.values()))

    def _drop_traces(self) -> None:
        """Forget the oldest traces; they can be recomputed."""
        sizes = [self._nodes[i].trace_bytes for i in self._traced]
        while len(sizes) > 1 and (len(sizes) > KEPT_TRACES or sum(sizes) > KEPT_BYTES):
            sizes.pop(0)
            oldest = self._nodes[self._traced.pop(0)]
            assert oldest.record is not None
            self._nodes[oldest.id] = replace(oldest, record=replace(oldest.record, trace=None))


class Row(Mapping[str, float]):
    """A step's metrics in an eighth of a dict's memory: the names are shared by all rows that have the same ones."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: array[float]) -> None:
        self._names, self._values = names, values

    def __getitem__(self, name: str) -> float:
        try:
            return self._values[self._names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


class Kept:
    """Some of a tree's states, by node id: the root, spaced ones, and those used last."""

    def __init__(self, root: TrainState) -> None:
        self._spaced, self._recent = {0: root}, {0: root}
        self._spacing = FIRST_SPACING

    def __len__(self) -> int:
        return len(self._spaced.keys() | self._recent.keys())

    def get(self, node_id: int) -> TrainState | None:
        """The state at a node, or None where it was not kept."""
        return self._spaced.get(node_id) or self._recent.get(node_id)

    def add(self, node_id: int, state: TrainState) -> None:
        """Keep a state as the newest, and let go of others beyond the bounds."""
        limit = max(1, KEPT_BYTES // state.nbytes)
        self._recent.pop(node_id, None)
        self._recent[node_id] = state
        while len(self._recent) > min(limit, KEPT_RECENT):
            del self._recent[next(iter(self._recent))]
        if state.step % self._spacing == 0:
            self._spaced[node_id] = state
        while len(self._spaced) > min(limit, KEPT_STATES):
            self._spacing *= 2
            self._spaced = {i: s for i, s in self._spaced.items() if s.step % self._spacing == 0}
