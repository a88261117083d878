"""Runs on disk: what is written comes back, whatever happened to the writer, and damage is refused in words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from rlcore.engine import init, step
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.store import RunFolder, read_config, read_metrics, read_state
from rlcore.timeline import Timeline
from tests.runs import SMALL, metrics, same_state


def written(path: Path, steps: int = 5) -> Timeline:
    """A finished run folder and the timeline it was written from."""
    run = Timeline(SMALL["bandit"])
    with RunFolder(path, run.config) as folder:
        for _ in range(steps):
            folder.add(run.advance())
        folder.save_state(run.state())
    return run


def test_everything_comes_back(tmp_path: Path) -> None:
    run = written(tmp_path / "run")
    assert read_config(tmp_path / "run") == run.config
    table = read_metrics(tmp_path / "run")
    assert table["step"].tolist() == [0, 1, 2, 3, 4]
    for node in run.nodes[1:]:
        assert node.record is not None
        for name, value in node.record.metrics.items():
            np.testing.assert_array_equal(table[name][node.step - 1], value, err_msg=name)
    state = read_state(tmp_path / "run")
    assert same_state(state, run.state())
    assert metrics(step(state, run.config)[1]) == metrics(run.advance())


@pytest.mark.parametrize("name", ["windy grid", "CartPole groups"])
def test_a_resumed_run_of_whole_episodes_goes_on_exactly(name: str, tmp_path: Path) -> None:
    run = Timeline(SMALL[name])
    run.advance()
    with RunFolder(tmp_path / "run", run.config) as folder:
        folder.save_state(run.state())
    assert metrics(step(read_state(tmp_path / "run"), run.config)[1]) == metrics(run.advance())


def test_the_folder_is_readable_at_every_moment(tmp_path: Path) -> None:
    run = Timeline(SMALL["bandit"])
    folder = RunFolder(tmp_path, run.config)
    assert read_config(tmp_path) == run.config and read_metrics(tmp_path) == {}
    for n in range(1, 4):
        folder.add(run.advance())
        assert len(read_metrics(tmp_path)["loss"]) == n
        folder.save_state(run.state())
        assert read_state(tmp_path).step == n
    folder.__exit__(None, None, None)


def test_every_cut_of_the_metrics_file_reads_as_its_whole_lines(tmp_path: Path) -> None:
    """A killed writer can leave any prefix; a number must never be read shorter than it was."""
    written(tmp_path, 3)
    file, whole = tmp_path / "metrics.csv", read_metrics(tmp_path)
    text = file.read_bytes()
    for cut in range(0, len(text), 7):
        file.write_bytes(text[:cut])
        for name, column in read_metrics(tmp_path).items():
            np.testing.assert_array_equal(column, whole[name][: len(column)], err_msg=f"{name} after {cut} bytes")
    file.write_bytes(text[:-3])
    assert len(read_metrics(tmp_path)["loss"]) == 2


def test_metrics_that_appear_later_get_a_column(tmp_path: Path) -> None:
    """A switch from GRPO to PPO in mid-run measures what GRPO has not: the file gains columns, no line is lost."""
    grpo, ppo = preset("grpo", "gridworld"), preset("ppo", "gridworld")
    run = Timeline(grpo)
    with RunFolder(tmp_path, grpo) as folder:
        folder.add(run.advance()), folder.add(run.advance())
        folder.add(run.advance(ppo)), folder.add(run.advance(grpo))
    table = read_metrics(tmp_path)
    assert table["step"].tolist() == [0, 1, 2, 3]
    assert np.isnan(table["explained_variance"]).tolist() == [True, True, False, True]
    assert np.isfinite(table["loss"]).all() and not list(tmp_path.glob("*.part"))


def test_undefined_metrics_are_empty_cells(tmp_path: Path) -> None:
    run = Timeline(SMALL["CartPole segments"].with_settings({"segment": 2}))
    with RunFolder(tmp_path, run.config) as folder:
        record = run.advance()
        folder.add(record)
    assert math.isnan(record.metrics["episode_return"])
    assert "nan" not in (tmp_path / "metrics.csv").read_text()
    assert np.isnan(read_metrics(tmp_path)["episode_return"]).all()


# ---------------------------------------------------------------- refusals


def test_a_folder_that_holds_a_run_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path)
    before = {f.name: f.read_bytes() for f in tmp_path.iterdir()}
    with pytest.raises(SettingError, match="already holds a run"):
        RunFolder(tmp_path, SMALL["bandit"])
    assert {f.name: f.read_bytes() for f in tmp_path.iterdir()} == before


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingError, match="cannot write"):
        RunFolder(tmp_path / "file" / "run", SMALL["bandit"])


def damage(path: Path, name: str, content: bytes | None) -> None:
    (path / name).unlink() if content is None else (path / name).write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", None, "holds no run"), ("config.json", b"{", "not JSON"), ("config.json", b"\xff\xfe", "cannot be read"),
        ("config.json", b"[1]", "dictionary"), ("config.json", b'{"kind": "run"}', "required"),
        ("versions.json", None, "cannot be read"), ("versions.json", b"{}", "which format"), ("versions.json", b"[]", "which format"),
        ("versions.json", b'{"format": "7"}', "format must be 1, got '7'"),
    ],
)  # fmt: skip
def test_damaged_configs_are_refused(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    written(tmp_path)
    damage(tmp_path, name, content)
    for read in (read_config, read_state):
        with pytest.raises(SettingError, match=said):
            read(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), (b"a,b\n1,x\n", "damaged"), (b"a,b\n1\n", "damaged"), (b"\xff\n", "cannot be read")]
)
def test_damaged_metrics_are_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    written(tmp_path)
    damage(tmp_path, "metrics.csv", content)
    with pytest.raises(SettingError, match=said):
        read_metrics(tmp_path)


def rewritten(path: Path, *, about: dict[str, object] | str = "", **tensors: torch.Tensor) -> None:
    """The saved state again, with some of it replaced."""
    file = path / "state.safetensors"
    with safetensors.safe_open(file, framework="pt") as opened:
        header = opened.metadata()["about"]
    kept = safetensors.torch.load_file(file)
    text = about if isinstance(about, str) and about else json.dumps(json.loads(header) | (about if isinstance(about, dict) else {}))
    safetensors.torch.save_file(kept | tensors, file, metadata={"about": text})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"theta": torch.zeros(3)}, r"theta must be \[10\] float32, got \[3\]"), ({"m": torch.zeros(10, dtype=torch.float64)}, "m must be"),
        ({"v": torch.full((10,), torch.nan)}, "v must be finite"), ({"theta_ref": torch.full((10,), torch.inf)}, "theta_ref must be finite"),
        ({"about": "[]"}, "cannot be read"), ({"about": "{"}, "cannot be read"), ({"about": {"step": "x"}}, "cannot be read"),
        ({"about": {"step": -1}}, "at least 0"), ({"about": {"kl_beta": math.inf}}, "finite"), ({"about": {"step": None}}, "cannot be read"),
        ({"about": {"parts": [["actor.logits", [2, 5]]]}}, "parameters"),
    ],
)  # fmt: skip
def test_states_that_do_not_fit_are_refused(change: dict[str, torch.Tensor], said: str, tmp_path: Path) -> None:
    written(tmp_path)
    rewritten(tmp_path, **change)
    with pytest.raises(SettingError, match=said):
        read_state(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"junk" * 10, b"\x80\x04\x95pickle"])
def test_files_that_are_no_states_are_refused(content: bytes | None, tmp_path: Path) -> None:
    written(tmp_path)
    damage(tmp_path, "state.safetensors", content)
    with pytest.raises(SettingError, match="cannot be read"):
        read_state(tmp_path)


def test_a_state_of_another_config_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "config.json").write_text(SMALL["windy grid"].dumps())
    with pytest.raises(SettingError, match="parameters"):
        read_state(tmp_path)


def test_reading_does_not_change_the_start(tmp_path: Path) -> None:
    written(tmp_path)
    assert torch.equal(init(read_config(tmp_path)).theta, init(SMALL["bandit"]).theta)
