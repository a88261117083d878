"""A run taken away and brought back: the same numbers from every form of it, in a process that knows nothing of this app."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import nbformat
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from rlcore.config import RunConfig
from rlcore.exports import Recorded, csv_text, digest, from_folder, pack, recorded, replayed, unpack
from rlcore.exports.changes import config_at, differences, path_of, read, written
from rlcore.exports.recorded import compared
from rlcore.exports.scripts import notebook, script
from rlcore.exports.source import engine_files, packages, pip_line
from rlcore.exports.tables import lines, parquet, read_csv
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.store import RunFolder
from rlcore.timeline import Timeline


def changed_run() -> Timeline:
    """A number turned, a slot swapped, a critic added, one branch left behind."""
    run = Timeline(preset("grpo", "bandit", seed=3))
    for _ in range(3):
        run.advance()
    run.advance(run.config.with_settings({"lr": 0.2, "eps_high": 0.3}))
    run.advance()
    run.fork(2, preset("gspo", "bandit", seed=3))
    run.advance()
    run.advance(preset("ppo", "bandit", seed=3))
    run.advance()
    return run


@pytest.fixture(scope="module")
def run() -> Recorded:
    return recorded(changed_run().path())


@pytest.fixture(scope="module")
def capsule(run: Recorded) -> bytes:
    return pack(run, {"reward.svg": b"<svg/>"})


def alone(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python that sees its installed packages and what it is given, and nothing of this checkout."""
    return subprocess.run([sys.executable, "-I", *command], cwd=folder, capture_output=True, text=True, timeout=120)


def printed(run: Recorded) -> str:
    """What every form of the run should print: all columns but wall time."""
    return "".join(f"{line}\n" for line in lines(run.columns, [n for n in run.columns if n != "seconds"]))


# ---------------------------------------------------------------- settings from step to step


def test_a_path_holds_one_config_from_each_change_on(run: Recorded) -> None:
    assert [step for step, _ in run.path] == [0, 2, 3]
    assert [config_at(run.path, n).algorithm.needs_critic for n in range(5)] == [False, False, False, True, True]


def test_a_path_survives_json_and_a_turned_knob_costs_one_number(run: Recorded) -> None:
    assert read(json.loads(json.dumps(written(run.path)))) == run.path
    start = preset("grpo", "gridworld")
    drag = path_of([start, *(start.with_settings({"lr": lr}) for lr in (0.1, 0.2, 0.3))])
    assert written(drag)["changes"] == [{"from_step": n + 1, "set": {"optim.lr": lr}} for n, lr in enumerate((0.1, 0.2, 0.3))]


def test_a_slot_of_another_kind_is_written_whole() -> None:
    old, new = (preset(key, "bandit").model_dump(mode="json") for key in ("grpo", "gspo"))
    found = dict(differences(old, new))
    assert found["algorithm.ratio"] == {"kind": "sequence"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([{"from_step": 3, "set": {"optim.lr": 0.1}}, {"from_step": 3, "set": {"optim.lr": 0.2}}], "must be more than 3"),
        ([{"from_step": 3, "set": {"optim.speed": 1}}], "no setting 'optim.speed'"),
        ([{"from_step": 3, "set": {"optim.lr.x": 1}}], "no setting 'optim.lr.x'"),
        ([{"from_step": 3, "set": {"optim.lr": -1}}], "optim.lr"),
    ],
)
def test_changes_that_make_no_sense_are_refused(changes: list[object], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        read({"config": preset().model_dump(mode="json"), "changes": changes})


# ---------------------------------------------------------------- the same numbers


def test_a_replay_with_its_changes_is_bit_equal(run: Recorded) -> None:
    again = replayed(run.path, run.steps)
    assert compared(run.columns, again.columns) == () and digest(run.columns) == digest(again.columns)


def test_a_critic_switched_on_before_the_first_step_replays_too() -> None:
    run = Timeline(preset("grpo", "bandit"))
    run.advance(preset("ppo", "bandit"))
    run.advance()
    found = recorded(run.path())
    assert compared(found.columns, replayed(found.path, found.steps).columns) == ()


def test_what_differs_is_named(run: Recorded) -> None:
    other = dict(run.columns) | {"entropy": run.columns["entropy"] + np.eye(5)[2] * 0.5}
    (found,) = compared(run.columns, other)
    assert (found.column, found.steps, found.first, found.largest) == ("entropy", 1, 2, 0.5)
    assert digest(other) != digest(run.columns)
    assert digest(run.columns | {"seconds": run.columns["seconds"] + 1}) == digest(run.columns)


def test_the_capsule_runs_by_itself_and_prints_the_same_metrics(run: Recorded, capsule: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.zip").write_bytes(capsule)
    done = alone("run.zip", folder=tmp_path)
    assert done.stdout == printed(run), done.stderr
    assert "bit for bit" in done.stderr


def test_a_single_file_script_prints_the_same_metrics(run: Recorded, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(script(run, "packed"), encoding="utf-8")
    done = alone("one.py", folder=tmp_path)
    assert done.stdout == printed(run), done.stderr
    assert pip_line() in script(run, "packed")


def test_a_notebook_is_valid_and_its_cells_print_the_same_metrics(run: Recorded, tmp_path: Path) -> None:
    book = nbformat.reads(notebook(run, "packed"), as_version=4)
    nbformat.validate(book)
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    (tmp_path / "cells.py").write_text(code, encoding="utf-8")
    done = alone("cells.py", folder=tmp_path)
    assert done.stdout.startswith(printed(run)), done.stderr
    assert "bit for bit" in done.stderr


def test_a_script_whose_numbers_were_touched_says_so(run: Recorded, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(script(run, "packed").replace('"lr": 0.1', '"lr": 0.11'), encoding="utf-8")
    assert "NOT the recorded numbers" in alone("one.py", folder=tmp_path).stderr


def test_a_word_model_takes_its_weights_along(tmp_path: Path) -> None:
    config = preset("grpo", "brackets").with_settings({"batch.prompts": 2, "batch.group_size": 2})
    run = Timeline(config)
    run.advance()
    found = recorded(run.path())
    (tmp_path / "run.zip").write_bytes(pack(found))
    done = alone("run.zip", folder=tmp_path)
    assert done.stdout == printed(found), done.stderr


def test_the_engine_that_goes_along_is_a_part_of_the_whole_and_needs_no_app() -> None:
    files = engine_files()
    assert "rlcore/engine.py" in files and "rlcore/envs/gym.py" in files and "rlcore/__init__.py" in files
    assert not any(name.startswith(("rlcore/exports", "rlcore/cli", "rlcore/timeline")) for name in files)
    names = {package.split("==")[0] for package in packages()}
    assert {"torch", "numpy", "pydantic"} <= names <= {"torch", "numpy", "pydantic", "gymnasium", "safetensors"}


def test_a_fresh_environment_with_the_printed_packages_is_enough(run: Recorded, capsule: bytes, tmp_path: Path) -> None:
    """A new virtual environment that holds the packages of the pip line, what they require, and nothing else."""
    venv.create(tmp_path / "fresh", with_pip=False)
    (site,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    for name in required({package.split("==")[0] for package in packages()}):
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top != ".." and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    assert not (site / "plotly").exists() and not (site / "streamlit").exists()
    (tmp_path / "run.zip").write_bytes(capsule)
    python = tmp_path / "fresh" / "bin" / "python"
    done = subprocess.run([python, "-I", "run.zip"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == printed(run), done.stderr


def required(names: set[str]) -> set[str]:
    """The packages and all that they require here, extras left out."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(PackageNotFoundError):
            needs = [text for text in distribution(name).requires or () if "extra ==" not in text]
            waiting += [] if name in found else [re.split(r"[^A-Za-z0-9._-]", text)[0] for text in needs]
            found.add(name)
    return found


# ---------------------------------------------------------------- tables


def test_csv_reads_back_to_the_same_bits(run: Recorded) -> None:
    back = read_csv(csv_text(run.columns), most_rows=100, most_columns=100)
    assert list(back) == list(run.columns)
    assert all(np.array_equal(back[name], x, equal_nan=True) for name, x in run.columns.items())


def test_parquet_reads_back_to_the_same_bits_and_says_where_it_is_from(run: Recorded) -> None:
    table = pq.read_table(io.BytesIO(parquet(run.columns, {"title": run.title})))
    assert table.schema.metadata[b"title"].decode() == run.title
    assert str(table.schema.field("step").type) == "int64"
    for name, x in run.columns.items():
        assert np.array_equal(table.column(name).to_numpy().astype(float), x, equal_nan=True)


def test_a_folder_that_the_shell_wrote_becomes_a_capsule(tmp_path: Path) -> None:
    config: RunConfig = preset("rloo", "bandit")
    run = Timeline(config)
    with RunFolder(tmp_path / "run", config) as folder:
        for _ in range(3):
            folder.add(run.advance())
    about = tmp_path / "run" / "versions.json"
    about.write_text(about.read_text().replace(torch.__version__, "1.0"))
    opened = unpack(pack(from_folder(tmp_path / "run")))
    assert "torch 1.0 there" in opened.notes[0], "versions are the folder's, not today's"
    found = opened.run
    assert compared(found.columns, replayed(found.path, 3).columns) == ()


def test_nothing_to_export_is_said() -> None:
    with pytest.raises(SettingError, match="no step yet"):
        recorded(Timeline(preset()).path())
