"""The shell: the same numbers as a notebook, one clear line and status 2 for what is refused, folders that survive a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rlcore.algorithms import CATALOG
from rlcore.cli import main
from rlcore.config import loads
from rlcore.presets import preset
from rlcore.store import read_config, read_metrics, read_state
from rlcore.timeline import Timeline
from tests.runs import metrics, same_state

ROOT = Path(__file__).parents[1]
EXAMPLE = "train --recipe gspo --env gridworld --seed 0 --steps 20 --set eps_high=4e-4 --out"


class Shell:
    """`python -m rlcore ...`, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """(status, what was printed, what was complained)."""
        self._monkeypatch.setattr(sys, "argv", ["rlcore", *words])
        self._capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        said = self._capsys.readouterr()
        return status, said.out, said.err


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


# ---------------------------------------------------------------- training


def test_the_shell_and_a_notebook_give_the_same_numbers(shell: Shell, tmp_path: Path) -> None:
    status, out, err = shell(*EXAMPLE.split(), str(tmp_path / "run"))
    assert status == 0 and "reward_mean" in out and "error" not in err
    run = Timeline(preset("gspo", "gridworld", seed=0).with_settings({"eps_high": 4e-4}))
    table = read_metrics(tmp_path / "run")
    assert len(table["loss"]) == 20 and read_config(tmp_path / "run") == run.config
    for n in range(20):
        record = run.advance()
        for name, value in record.metrics.items():
            np.testing.assert_array_equal(table[name][n], value, err_msg=f"{name} at step {n}")
    assert same_state(read_state(tmp_path / "run"), run.state())


def test_a_run_can_start_from_anothers_config(shell: Shell, tmp_path: Path) -> None:
    shell("train", "--env", "bandit", "--steps", "2", "--seed", "3", "--out", str(tmp_path / "a"))
    config = tmp_path / "a" / "config.json"
    status, *_ = shell("train", "--config", str(config), "--steps", "2", "--out", str(tmp_path / "b"))
    assert status == 0
    a, b = (read_metrics(tmp_path / name) for name in "ab")
    assert all(np.array_equal(a[name], b[name], equal_nan=True) for name in a if name != "seconds")
    status, *_ = shell("train", "--config", str(config), "--seed", "4", "--steps", "1", "--out", str(tmp_path / "c"))
    assert status == 0 and read_config(tmp_path / "c") == loads(config.read_text()).with_settings({"seed": 4})


def test_settings_may_be_values_of_a_whole_slot(shell: Shell, tmp_path: Path) -> None:
    words = ["--set", 'algorithm.kl={"kind": "kl_in_loss", "kl_beta": 0.2}', "--set", "wind=0.1", "--set", "segment=null"]
    status, *_ = shell("train", "--recipe", "dapo", "--steps", "1", *words, "--out", str(tmp_path / "run"))
    config = read_config(tmp_path / "run")
    assert status == 0 and config.algorithm.kl.kl_beta == 0.2 and config.env.wind == 0.1  # type: ignore[union-attr]


def test_off_paper_settings_run_with_a_caution(shell: Shell) -> None:
    status, _, err = shell("train", "--recipe", "gspo", "--steps", "1", "--set", "kl_beta=0.1")
    assert status == 0 and "caution" in err


# ---------------------------------------------------------------- the other commands


def test_recipes_are_listed(shell: Shell) -> None:
    status, out, _ = shell("recipes")
    assert status == 0
    for recipe in CATALOG:
        assert recipe.key in out


@pytest.mark.parametrize("recipe", [r.key for r in CATALOG])
def test_every_recipe_is_shown(shell: Shell, recipe: str) -> None:
    status, out, _ = shell("show", recipe)
    assert status == 0 and "surrogate" in out and "def " in out


def test_differences_are_told(shell: Shell) -> None:
    status, out, _ = shell("diff", "grpo", "gspo")
    assert status == 0 and "TokenRatio() -> SequenceRatio()" in out
    assert shell("diff", "grpo", "grpo") == (0, "", "")


def test_vectors_are_checked(shell: Shell, tmp_path: Path) -> None:
    folder = ROOT / "tests" / "parity" / "vectors"
    file = next(iter(sorted(folder.glob("*gae*.json"))), None)
    if file is None:
        pytest.skip("the reference vectors are not here")
    (tmp_path / file.name).write_text(file.read_text())
    status, out, _ = shell("vectors", str(tmp_path))
    assert status == 0 and "0 failed" in out


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train --recipe grop", "grpo"), ("train --env gridwrld", "gridworld"), ("train --env cartpole", "CartPole-v1"),
        ("train --env CartPol-v1", "CartPole"), ("train --env os:system", "there is no environment 'os:system'"),
        ("train --env os:system-v0", "is no Gymnasium id"),
        ("train --set eps_hihg=0.2", "eps_high"), ("train --set eps=1", "longer name"), ("train --set lr", "NAME=VALUE"),
        ("train --set =3", "NAME=VALUE"), ("train --set lr=-1", "optim.lr: must be greater than or equal to 0, got -1"),
        ("train --set lr=NaN", "optim.lr: must be a finite number"), ("train --set lr=1e400", "finite"), ("train --set lr=[/x]", "[/x]"),
        ("train --set lr=true", "must be a number, not true or false"), ("train --set group_size=2.5", "batch.group_size"),
        ("train --set lr=" + "9" * 5000, "optim.lr"), ("train --seed -1", "seed: must be greater than or equal to 0, got -1"),
        ("train --seed 4294967296", "seed: must be less than"), ("train --set minibatches=999", "batch.minibatches: must be at most"),
        ("train --set prompts=4096 --set group_size=1024", "samples a step"), ("train --config nowhere.json", "nowhere.json"),
        ("train --config README --recipe ppo", "--recipe: must be left out"), ("show grop", "grpo"), ("diff grpo gpso", "gspo"),
        ("vectors nowhere", "nowhere"), ("train --set env={\"kind\":\"gridwrld\"}", "did you mean gridworld?"),
        ("train --set segment=8", "batch.segment: must be none"),
    ],
)  # fmt: skip
def test_refusals_are_one_clear_line_and_status_2(shell: Shell, words: str, said: str) -> None:
    status, out, err = shell(*words.split(" "))
    assert status == 2 and out == ""
    assert err.startswith("error ") and err.count("\n") == 1 and said in err and "Traceback" not in err
    assert len(err) < 600


@pytest.mark.parametrize("words", ["train --steps 0", "train --steps x", "nonsense", "train --nonsense", "show"])
def test_usage_errors_have_status_2_too(shell: Shell, words: str) -> None:
    status, _, err = shell(*words.split())
    assert status == 2 and "Traceback" not in err


def test_a_folder_that_holds_a_run_is_refused_before_training(shell: Shell, tmp_path: Path) -> None:
    assert shell("train", "--env", "bandit", "--steps", "2", "--out", str(tmp_path))[0] == 0
    status, _, err = shell("train", "--env", "bandit", "--steps", "2", "--out", str(tmp_path))
    assert status == 2 and "already holds a run" in err
    assert len(read_metrics(tmp_path)["loss"]) == 2


# ---------------------------------------------------------------- processes


def started(*words: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "rlcore", *words], cwd=ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def training(folder: Path) -> subprocess.Popen[str]:
    """An endless run in a process of its own that has written some steps."""
    process = started("train", "--env", "bandit", "--steps", "1000000", "--seed", "5", "--out", str(folder))
    file, deadline = folder / "metrics.csv", time.monotonic() + 60
    while not file.exists() or file.stat().st_size < 20_000:
        assert process.poll() is None and time.monotonic() < deadline, "the run did not get going"
        time.sleep(0.02)
    return process


def test_a_killed_run_leaves_a_readable_folder_with_true_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = training(folder)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    config, table = read_config(folder), read_metrics(folder)
    assert config == preset("grpo", "bandit", seed=5) and len(table["loss"]) > 10
    run = Timeline(config)
    for n in range(len(table["loss"])):
        record = run.advance()
        assert table["step"][n] == n and table["loss"][n] == record.metrics["loss"]


def test_an_interrupted_run_saves_its_state(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = training(folder)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode not in (0, None) and "Traceback" not in err
    state, table = read_state(folder), read_metrics(folder)
    assert state.step == len(table["loss"])
    run = Timeline(read_config(folder))
    for _ in range(state.step):
        run.advance()
    assert same_state(run.state(), state) and metrics(run.advance())


# ---------------------------------------------------------------- capsules


def test_a_folder_becomes_a_capsule_that_the_shell_replays_to_the_same_bits(shell: Shell, tmp_path: Path) -> None:
    shell(*"train --recipe rloo --env bandit --steps 4 --out".split(), str(tmp_path / "run"))
    status, out, _ = shell("capsule", str(tmp_path / "run"), str(tmp_path / "run.zip"))
    assert status == 0 and "run.zip" in out
    status, out, _ = shell("replay", str(tmp_path / "run.zip"), "--out", str(tmp_path / "again"))
    assert status == 0 and "same, bit for bit" in out
    first, again = read_metrics(tmp_path / "run"), read_metrics(tmp_path / "again")
    assert all(np.array_equal(first[n], again[n], equal_nan=True) for n in first if n != "seconds")


def test_a_capsule_whose_numbers_were_touched_ends_with_status_1_and_names_them(shell: Shell, tmp_path: Path) -> None:
    shell(*"train --env bandit --steps 3 --out".split(), str(tmp_path / "run"))
    metrics = tmp_path / "run" / "metrics.csv"
    rows = metrics.read_text().splitlines()
    at = rows[0].split(",").index("reward_mean")
    cells = rows[2].split(",")
    rows[2] = ",".join([*cells[:at], "9.5", *cells[at + 1 :]])
    metrics.write_text("\n".join(rows) + "\n")
    shell("capsule", str(tmp_path / "run"), str(tmp_path / "run.zip"))
    status, out, _ = shell("replay", str(tmp_path / "run.zip"))
    assert status == 1 and "reward_mean: 1 of 3 steps differ, from step 1 on" in out


def test_what_is_no_capsule_is_refused_with_status_2(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"hello")
    status, _, err = shell("replay", str(tmp_path / "x.zip"))
    assert status == 2 and "not a readable zip" in err
    assert shell("replay", str(tmp_path / "none.zip"))[0] == 2
