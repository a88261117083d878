"""Runs on disk: one folder a run, readable at every moment, also after the process was killed.

    config.json         the RunConfig
    versions.json       what produced it, and the format's version
    metrics.csv         one line a step, flushed as it is written; columns are glossary names, empty where undefined
    state.safetensors   the last state that was saved: weights, moments, and the rest in its header

Nothing is unpickled. A folder of another format or with damaged files is refused with the reason.
"""

from __future__ import annotations

import csv
import io
import json
import math
import platform
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import gymnasium
import numpy as np
import safetensors
import safetensors.torch
import torch

from rlcore.config import RunConfig, loads
from rlcore.engine import init
from rlcore.knobs import SettingError
from rlcore.optim import Moments
from rlcore.policies import Layout
from rlcore.records import StepRecord
from rlcore.state import TrainState

FORMAT = 1
TENSORS = ("theta", "theta_ref", "m", "v")


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "format": str(FORMAT), "python": platform.python_version(), "torch": torch.__version__,
        "numpy": np.__version__, "gymnasium": gymnasium.__version__, "platform": platform.machine(),
    }  # fmt: skip


class RunFolder:
    """A run being written: `with RunFolder(path, config) as folder: folder.add(record)`."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        """Raises SettingError if the folder holds a run already or cannot be written."""
        if (path / "config.json").exists():
            raise SettingError(f"out: {path} already holds a run; choose another folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
            _write(path / "versions.json", json.dumps(versions(), indent=2))
            _write(path / "config.json", config.dumps())
            self._file = (path / "metrics.csv").open("w", newline="", encoding="utf-8")
        except OSError as error:
            raise SettingError(f"out: cannot write to {path} ({error})") from error
        self.path = path
        self._columns: list[str] = []

    def add(self, record: StepRecord) -> None:
        """Append a step's metrics; on disk when this returns."""
        row = {"step": record.step, "seconds": record.seconds, "samples": record.samples} | dict(record.metrics)
        new = [name for name in row if name not in self._columns]
        if new:
            self._widen(new)
        csv.writer(self._file).writerow([_cell(row.get(name, math.nan)) for name in self._columns])
        self._file.flush()

    def _widen(self, names: list[str]) -> None:
        """Begin the file again with more columns, as a recipe needs that was switched to; earlier lines stay empty there."""
        earlier = _lines(self.path)[1:]
        self._columns += names
        self._file.close()
        text = io.StringIO(newline="")
        csv.writer(text).writerows([self._columns, *(line + [""] * len(names) for line in earlier)])
        _write(self.path / "metrics.csv", text.getvalue())
        self._file = (self.path / "metrics.csv").open("a", newline="", encoding="utf-8")

    def save_state(self, state: TrainState) -> None:
        """Replace the saved state. What a step carries over is not saved (environments between two segments, the old
        weights of a stale sampler): a resumed run begins these afresh.
        """
        tensors = dict(zip(TENSORS, (state.theta, state.theta_ref, state.moments.m, state.moments.v), strict=True))
        about = {"step": state.step, "updates": state.moments.updates, "kl_beta": state.kl_beta, "kl_set": state.kl_set,
                 "parts": _parts(state.layout)}  # fmt: skip
        temporary = self.path / "state.safetensors.part"
        whole = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
        safetensors.torch.save_file(whole, temporary, metadata={"about": json.dumps(about)})
        temporary.replace(self.path / "state.safetensors")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._file.close()


def read_config(path: Path) -> RunConfig:
    """A run folder's config. Raises SettingError for a folder that is none, of another format, or damaged."""
    if not (path / "config.json").is_file():
        raise SettingError(f"{path}: holds no run (config.json is missing)")
    _check_format(path)
    return loads(_read(path / "config.json"))


def _check_format(path: Path) -> None:
    try:
        found = json.loads(_read(path / "versions.json"))["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise SettingError(f"{path}: versions.json does not say which format this is ({error!r})") from error
    if found != str(FORMAT):
        raise SettingError(f"{path}: format must be {FORMAT}, got {str(found)[:20]!r}")


def read_versions(path: Path) -> dict[str, str]:
    """What a run folder was made with. Raises SettingError as `read_config`."""
    _check_format(path)
    return {str(name)[:80]: str(value)[:80] for name, value in json.loads(_read(path / "versions.json")).items()}


def read_metrics(path: Path) -> dict[str, np.ndarray]:
    """Columns of metrics.csv, each [steps]; a last line that was cut short is dropped. Raises SettingError if damaged."""
    lines = _lines(path)
    if not lines:
        return {}
    names, rows = lines[0], lines[1:]
    try:
        table = [[float(cell or "nan") for cell in row] for row in rows]
        return {name: np.array([row[i] for row in table]) for i, name in enumerate(names)}
    except (ValueError, IndexError) as error:
        raise SettingError(f"{path / 'metrics.csv'}: is damaged ({error})") from error


def _lines(path: Path) -> list[list[str]]:
    """The whole lines of metrics.csv, cell by cell."""
    text = _read(path / "metrics.csv")
    whole = text[: text.rfind("\n") + 1]
    try:
        return [row for row in csv.reader(io.StringIO(whole, newline="")) if row]
    except csv.Error as error:
        raise SettingError(f"{path / 'metrics.csv'}: is damaged ({error})") from error


def read_state(path: Path) -> TrainState:
    """The saved state. Raises SettingError where it does not fit the folder's own config or cannot be read."""
    fresh = init(read_config(path))
    try:
        with safetensors.safe_open(path / "state.safetensors", framework="pt") as file:
            found = {name: file.get_tensor(name) for name in TENSORS}
            about: dict[str, Any] = json.loads(file.metadata()["about"])
        step, updates = int(about["step"]), int(about["updates"])
        kl_beta, kl_set = float(about["kl_beta"]), float(about["kl_set"])
    except (OSError, KeyError, ValueError, TypeError, safetensors.SafetensorError) as error:
        raise SettingError(f"{path}: the saved state cannot be read ({error})") from error
    if about.get("parts") != _parts(fresh.layout):
        raise SettingError(f"{path}: the saved parameters are not those that its config needs")
    for name, tensor in found.items():
        if tensor.shape != fresh.theta.shape or tensor.dtype != fresh.theta.dtype:
            raise SettingError(f"{path}: {name} must be {_described(fresh.theta)}, got {_described(tensor)}")
        if not torch.isfinite(tensor).all():
            raise SettingError(f"{path}: {name} must be finite")
    if step < 0 or updates < 0 or not math.isfinite(kl_beta + kl_set):
        raise SettingError(f"{path}: step, updates and kl_beta must be finite and at least 0")
    moments = Moments(found["m"], found["v"], updates)
    return TrainState(step, found["theta"], found["theta_ref"], fresh.layout, moments, kl_beta, kl_set)


def _parts(layout: Layout) -> list[list[Any]]:
    """Names and shapes as JSON knows them."""
    return [[name, list(shape)] for name, shape in zip(layout.names, layout.shapes, strict=True)]


def _described(tensor: torch.Tensor) -> str:
    return f"{list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def _cell(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{file}: cannot be read ({error})") from error


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(text.encode("utf-8"))
    temporary.replace(path)
