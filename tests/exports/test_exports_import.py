"""Capsules that somebody hands in: what is taken, what is refused, and what is told."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from rlcore.exports import Recorded, pack, recorded, unpack
from rlcore.exports import opened as reading
from rlcore.knobs import SettingError
from rlcore.presets import preset
from rlcore.timeline import Timeline

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def run() -> Recorded:
    live = Timeline(preset("grpo", "bandit", seed=5))
    for _ in range(3):
        live.advance()
    live.advance(live.config.with_settings({"eps_high": 0.4}))
    return recorded(live.path())


@pytest.fixture(scope="module")
def files(run: Recorded) -> Files:
    with zipfile.ZipFile(io.BytesIO(pack(run))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def edited(files: Files, change: Callable[[dict[str, object]], object]) -> bytes:
    tree = json.loads(files["capsule.json"])
    change(tree)
    return zipped(files | {"capsule.json": json.dumps(tree).encode()})


def test_a_capsule_comes_back_whole_and_without_a_word(run: Recorded) -> None:
    found = unpack(pack(run))
    assert found.notes == () and found.run.path == run.path
    assert all(np.array_equal(found.run.columns[name], x, equal_nan=True) for name, x in run.columns.items())


@pytest.mark.parametrize("name", ["../evil.py", "/etc/evil", "a/../../evil", "C:evil", "a\\..\\evil", "rlcore/\x01"])
def test_names_that_leave_the_folder_are_refused(files: Files, name: str) -> None:
    with pytest.raises(SettingError, match="outside of its folder"):
        unpack(zipped(files | {name: b""}))


def test_a_link_is_refused(files: Files) -> None:
    out = io.BytesIO(zipped(files))
    with zipfile.ZipFile(out, "a") as archive:
        link = zipfile.ZipInfo("figures/x")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(SettingError, match="outside of its folder"):
        unpack(out.getvalue())


def test_a_name_that_stands_twice_is_refused(files: Files) -> None:
    out = io.BytesIO(zipped(files))
    with zipfile.ZipFile(out, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("capsule.json", b"{}")
    with pytest.raises(SettingError, match="twice"):
        unpack(out.getvalue())


def test_bombs_are_refused_before_they_unpack(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(files | {"metrics.csv": b"0" * (65 * 2**20)})
    assert len(bomb) < 2**20
    with pytest.raises(SettingError, match=r"metrics.csv: must be at most 64 MB"):
        unpack(bomb)
    monkeypatch.setattr(reading, "MOST_UNPACKED", 2**20)
    with pytest.raises(SettingError, match="must unpack to at most 1 MB"):
        unpack(bomb)
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    with pytest.raises(SettingError, match="capsule: must be at most"):
        unpack(zipped(files))


def test_too_many_files_are_refused(files: Files) -> None:
    with pytest.raises(SettingError, match="at most 1000 files"):
        unpack(zipped(files | {f"figures/{i}": b"" for i in range(1000)}))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\0" * 40])
def test_what_is_no_zip_is_refused(content: bytes) -> None:
    with pytest.raises(SettingError, match="not a readable zip"):
        unpack(content)


def test_a_zip_that_is_no_capsule_is_refused(files: Files) -> None:
    with pytest.raises(SettingError, match=r"capsule.json is missing"):
        unpack(zipped({"readme.txt": b"hello"}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"format": 1, "steps": NaN}', "not a number"),
        (b'{"format": 1, "steps": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b"[]", "must be an object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"format": 2}', "format must be 1, got 2"),
        (b'{"format": 1}', "steps: is required"),
    ],
)
def test_a_damaged_manifest_is_refused_by_name(files: Files, text: bytes, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        unpack(zipped(files | {"capsule.json": text}))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t["config"]["optim"].update(lr=-1), "optim.lr"),
        (lambda t: t["config"]["env"].update(kind="chess"), "no kind 'chess'"),
        (lambda t: t["changes"][0].update(from_step=99), "less than steps"),
        (lambda t: t.update(steps=10**9), "steps: "),
        (lambda t: t.update(digest="abc"), "digest"),
    ],
)
def test_settings_that_are_out_of_range_are_refused_by_name(
    files: Files, change: Callable[[dict[str, object]], object], says: str
) -> None:
    with pytest.raises(SettingError, match=says):
        unpack(edited(files, change))


def test_unknown_fields_are_left_out_and_told(files: Files) -> None:
    def newer(tree: dict[str, object]) -> None:
        tree["mood"] = "sunny"
        tree["config"]["algorithm"]["surrogate"]["eps_sideways"] = 1  # type: ignore[index]
        tree["config"]["gpu"] = True  # type: ignore[index]

    found = unpack(edited(files, newer))
    told = "\n".join(found.notes)
    assert "mood" in told and "algorithm.surrogate.eps_sideways" in told and "config.gpu" in told
    assert found.run.config == preset("grpo", "bandit", seed=5)


def test_other_versions_and_touched_numbers_are_told(files: Files) -> None:
    found = unpack(edited(files, lambda t: t["versions"].update(torch="1.0")))  # type: ignore[attr-defined]
    assert "torch 1.0 there" in found.notes[0]
    metrics = files["metrics.csv"].replace(b"\n1,", b"\n1,9", 1)
    assert unpack(zipped(files | {"metrics.csv": metrics})).notes == ()  # wall time is nobody's number
    rows = files["metrics.csv"].decode().splitlines()
    rows[2] = ",".join([*rows[2].split(",")[:3], "123.5", *rows[2].split(",")[4:]])
    assert "changed since" in unpack(zipped(files | {"metrics.csv": "\n".join(rows).encode()})).notes[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs 1 to"),
        ("step,step\n0,0\n", "each once"),
        ("step,seconds,samples\n0,1,x\n", "line 2 is damaged"),
        ("step,seconds,samples\n0,1\n", "line 2 must have 3 cells"),
        ("step,seconds,samples\n0,1,2\n", "must run from 0 to 3"),
        ("step,seconds\n0,1\n", "samples is missing"),
    ],
)
def test_damaged_metrics_are_refused_by_line(files: Files, text: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        unpack(zipped(files | {"metrics.csv": text.encode()}))


def test_a_column_with_an_odd_name_is_left_out_and_told(files: Files) -> None:
    rows = files["metrics.csv"].decode().splitlines()
    wide = "\n".join([rows[0] + ",<script>", *(row + ",1" for row in rows[1:])]) + "\n"
    found = unpack(zipped(files | {"metrics.csv": wide.encode()}))
    assert "<script>" in found.notes[0] and "<script>" not in found.run.columns
