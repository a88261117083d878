"""Timeline: the only mutable thing, a tree of states and records. Go on, go back, fork, look closer.

Metrics are kept for every node. States are kept at spaced nodes only, the spacing doubling as the tree grows; any
other state, and any full trace, is recomputed from the nearest kept one, bit-equal.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from rlcore.config import RunConfig, needs_new_run
from rlcore.engine import init, step_slices
from rlcore.knobs import SettingError
from rlcore.records import StepRecord
from rlcore.state import TrainState

KEPT_STATES = 200
FIRST_SPACING = 8


@dataclass(frozen=True)
class Node:
    """A point of the tree: the state after `step` steps. `record` is the step that led here; the root has none."""

    id: int
    parent: int | None
    step: int
    config: RunConfig
    record: StepRecord | None


class Timeline:
    """A run and everything branched off it. `head` is where the next step starts."""

    def __init__(self, config: RunConfig) -> None:
        """Raises SettingError where the config cannot start."""
        self._nodes = [Node(0, None, 0, config, None)]
        self._states: dict[int, TrainState] = {0: init(config)}
        self._spacing = FIRST_SPACING
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
        wanted = self._head if node_id is None else node_id
        replay: list[Node] = []
        node = self.node(wanted)
        while node.id not in self._states:
            replay.append(node)
            assert node.parent is not None
            node = self._nodes[node.parent]
        state = self._states[node.id]
        for node in reversed(replay):
            state, _ = _run(state, node.config)
        return state

    def trace(self, node_id: int | None = None) -> StepRecord:
        """The record of the step that led to a node, with its full trace. Raises SettingError at the root."""
        node = self.node(self._head if node_id is None else node_id)
        if node.parent is None or node.record is None:
            raise SettingError(f"node {node.id}: no step led here, so there is nothing to trace")
        if node.record.trace is not None:
            return node.record
        _, record = _run(self.state(node.parent), node.config, trace=True)
        return replace(record, seconds=node.record.seconds)

    # ------------------------------------------------------------ going on

    def advance(self, config: RunConfig | None = None, *, trace: bool = False) -> StepRecord:
        """One step from the head; `config` applies from now on. On an error the head stays where it was."""
        slices = self.advance_slices(config, trace=trace)
        while True:
            try:
                next(slices)
            except StopIteration as finished:
                record: StepRecord = finished.value
                return record

    def advance_slices(
        self, config: RunConfig | None = None, *, trace: bool = False
    ) -> Generator[None, None, StepRecord]:
        """`advance`, cut at optimiser steps (see `engine.step_slices`); nothing changes before it is exhausted."""
        config = self._config if config is None else self._accepted(config)
        start = self._head
        state, record = yield from step_slices(self.state(start), config, trace=trace)
        self._config = config
        self._append(start, state, record)
        return record

    def seek(self, node_id: int) -> Node:
        """Move the head to a node, with the settings that led there; the next step branches off if it has children."""
        node = self.node(node_id)
        self._keep(node.id, self.state(node.id))
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
        node = Node(len(self._nodes), parent, state.step, record.config, record)
        self._nodes.append(node)
        self._head = node.id
        self._keep(node.id, state)
        if self._nodes[parent].step % self._spacing:
            self._states.pop(parent, None)
        if len(self._states) > KEPT_STATES:
            self._thin()

    def _keep(self, node_id: int, state: TrainState) -> None:
        self._states[node_id] = state

    def _thin(self) -> None:
        self._spacing *= 2
        kept = {0, self._head}
        self._states = {
            i: s for i, s in self._states.items() if i in kept or self._nodes[i].step % self._spacing == 0
        }


def _run(state: TrainState, config: RunConfig, *, trace: bool = False) -> tuple[TrainState, StepRecord]:
    slices = step_slices(state, config, trace=trace)
    while True:
        try:
            next(slices)
        except StopIteration as finished:
            result: tuple[TrainState, StepRecord] = finished.value
            return result
