"""Runs on disk: one folder a run, readable at every moment, also after the process was killed.

    config.json     the RunConfig
    versions.json   what produced it, and the format's version
    metrics.csv     one line a step, flushed as it is written; columns are glossary names
    state.safetensors + state.json   the last state that was saved (weights, moments, step)

Nothing is unpickled. A folder of another format or with damaged files is refused with the reason.
"""

from __future__ import annotations

import csv
import json
import math
import platform
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import gymnasium
import numpy as np
import safetensors.torch
import torch

from rlcore.config import RunConfig, loads
from rlcore.engine import init
from rlcore.knobs import SettingError
from rlcore.optim import Moments
from rlcore.records import StepRecord
from rlcore.state import TrainState

FORMAT = 1


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "format": str(FORMAT), "python": platform.python_version(), "torch": torch.__version__,
        "numpy": np.__version__, "gymnasium": gymnasium.__version__, "platform": platform.machine(),
    }  # fmt: skip


class RunFolder:
    """A run being written: `with RunFolder(path, config) as folder: folder.add(record)`."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        """Raises SettingError if the folder holds a run already."""
        if (path / "config.json").exists():
            raise SettingError(f"out: {path} already holds a run; choose another folder")
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        _write(path / "config.json", config.dumps())
        _write(path / "versions.json", json.dumps(versions(), indent=2))
        self._file: IO[str] = (path / "metrics.csv").open("w", newline="", encoding="utf-8")
        self._columns: list[str] = []

    def add(self, record: StepRecord) -> None:
        """Append a step's metrics; on disk when this returns."""
        row = {"step": record.step, "seconds": record.seconds, "samples": record.samples} | dict(record.metrics)
        if not self._columns:
            self._columns = list(row)
            csv.writer(self._file).writerow(self._columns)
        csv.writer(self._file).writerow([_cell(row.get(name, math.nan)) for name in self._columns])
        self._file.flush()

    def save_state(self, state: TrainState) -> None:
        """Replace the saved state. Environments between two segments are not saved: a resumed segment starts afresh."""
        tensors = {"theta": state.theta, "theta_ref": state.theta_ref, "m": state.moments.m, "v": state.moments.v}
        about = {"step": state.step, "updates": state.moments.updates, "kl_beta": state.kl_beta, "kl_set": state.kl_set,
                 "names": list(state.layout.names), "shapes": [list(s) for s in state.layout.shapes]}  # fmt: skip
        temporary = self.path / "state.safetensors.part"
        safetensors.torch.save_file({n: t.contiguous().clone() for n, t in tensors.items()}, temporary)
        temporary.replace(self.path / "state.safetensors")
        _write(self.path / "state.json", json.dumps(about))

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._file.close()


def read_config(path: Path) -> RunConfig:
    """A run folder's config. Raises SettingError for a folder that is none."""
    file = path / "config.json"
    if not file.is_file():
        raise SettingError(f"{path}: holds no run (config.json is missing)")
    return loads(file.read_text(encoding="utf-8"))


def read_metrics(path: Path) -> dict[str, np.ndarray]:
    """Columns of metrics.csv, each [steps]; a last line that was cut short is dropped."""
    with (path / "metrics.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        return {}
    whole = [row for row in rows[1:] if len(row) == len(rows[0])]
    return {name: np.array([float(row[i] or "nan") for row in whole]) for i, name in enumerate(rows[0])}


def read_state(path: Path) -> TrainState:
    """The saved state. Raises SettingError where it does not fit the folder's own config or cannot be read."""
    config = read_config(path)
    fresh = init(config)
    try:
        tensors = safetensors.torch.load_file(path / "state.safetensors")
        about: Mapping[str, Any] = json.loads((path / "state.json").read_text(encoding="utf-8"))
        moments = Moments(tensors["m"], tensors["v"], int(about["updates"]))
        step, kl_beta, kl_set = int(about["step"]), float(about["kl_beta"]), float(about["kl_set"])
        theta, theta_ref = tensors["theta"], tensors["theta_ref"]
    except (OSError, KeyError, ValueError, safetensors.SafetensorError) as error:
        raise SettingError(f"{path}: the saved state cannot be read ({error})") from error
    if theta.shape != fresh.theta.shape or theta_ref.shape != theta.shape:
        raise SettingError(
            f"{path}: the saved state has {theta.numel()} parameters, its config needs {fresh.theta.numel()}"
        )
    return TrainState(step, theta, theta_ref, fresh.layout, moments, kl_beta, kl_set)


def _cell(value: float) -> str:
    return "" if isinstance(value, float) and math.isnan(value) else repr(value)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
