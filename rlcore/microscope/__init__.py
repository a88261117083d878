"""The microscope: one recorded training step, phase by phase, with the numbers of one row and token in each formula.

`witness` runs the step once more, bit-equal, and keeps what a trace leaves out (parameters, moments, gradient);
`phases` turns it and a selection into frozen records that a page can show and a test can check. Every number is the
trace's, or what the engine's own functions say of the trace.
"""

from __future__ import annotations

from rlcore.microscope.checking import Verdict, judge, judge_prediction
from rlcore.microscope.mapping import batch_map
from rlcore.microscope.opening import next_teaching, open_step, state_before
from rlcore.microscope.outline import Station, path_of, phase_of, phases, stations
from rlcore.microscope.phase import Blank, Line, Mistake, Phase, Question
from rlcore.microscope.picturing import picture
from rlcore.microscope.scene import Scene, Selection, lively, scene_of, teaches
from rlcore.microscope.sources import Listing, loop_of, source_of
from rlcore.microscope.tabling import row_table, token_table
from rlcore.microscope.witness import Applied, Witnessed, witness

__all__ = [
    "Applied", "Blank", "Line", "Listing", "Mistake", "Phase", "Question", "Scene", "Selection", "Station", "Verdict",
    "Witnessed", "batch_map", "judge", "judge_prediction", "lively", "loop_of", "next_teaching", "open_step", "path_of", "phase_of", "phases",
    "picture", "row_table", "scene_of", "source_of", "state_before", "stations", "teaches", "token_table", "witness",
]  # fmt: skip
