"""Reading a capsule that somebody hands in: bounded, validated, and never executed or unpacked onto a disk.

Only `capsule.json` and `metrics.csv` are looked into. What cannot be read is refused with the reason; what was left out
or may come out otherwise is told in `notes`.
"""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from pathlib import PurePosixPath
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from rlcore.config import RunConfig
from rlcore.exports.capsule import FORMAT
from rlcore.exports.changes import Path, read
from rlcore.exports.recorded import Recorded, digest
from rlcore.exports.tables import WHOLE, read_csv
from rlcore.knobs import SettingError, Value, explain
from rlcore.store import versions

MOST_BYTES = 64 * 2**20
MOST_FILES = 1000
MOST_UNPACKED = 512 * 2**20
MOST_OF = {"capsule.json": 4 * 2**20, "metrics.csv": 64 * 2**20}
MOST_STEPS = 200_000
MOST_COLUMNS = 128
MOST_CHANGES = 20_000

Text = Annotated[str, Field(max_length=200)]


class Change(Value):
    """Settings by dotted name, in force from a step on."""

    from_step: int = Field(ge=1, le=MOST_STEPS)
    set: dict[Text, Any] = Field(min_length=1, max_length=100)


class Manifest(Value):
    """What `capsule.json` says."""

    format: int
    title: Text = ""
    steps: int = Field(ge=1, le=MOST_STEPS)
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    versions: dict[Text, Text] = Field(max_length=40)
    config: dict[str, Any]
    changes: tuple[Change, ...] = Field((), max_length=MOST_CHANGES)


@dataclass(frozen=True)
class Opened:
    """A capsule's run, and in `notes` what was ignored, left out or may come out otherwise."""

    run: Recorded
    notes: tuple[str, ...]


def unpack(content: bytes) -> Opened:
    """The run in a capsule. Raises SettingError: too large, unsafe, damaged, or of another format."""
    if len(content) > MOST_BYTES:
        raise SettingError(f"capsule: must be at most {MOST_BYTES >> 20} MB, got {len(content) >> 20} MB")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _refuse_unsafe(archive)
            texts = {name: _text(archive, name, most) for name, most in MOST_OF.items()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(f"capsule: is not a readable zip file ({error})") from error
    notes: list[str] = []
    manifest = _manifest(texts["capsule.json"], notes)
    path = _path(manifest, notes)
    columns = _columns(texts["metrics.csv"], manifest, notes)
    _compare_versions(manifest.versions, notes)
    return Opened(Recorded(path, columns, dict(manifest.versions)), tuple(notes))


def unpack_file(path: File) -> Opened:
    """The same from a file on disk."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SettingError(f"capsule: must be at most {MOST_BYTES >> 20} MB, got {path.stat().st_size >> 20} MB")
        return unpack(path.read_bytes())
    except OSError as error:
        raise SettingError(f"capsule: cannot read {path} ({error})") from error


# ---------------------------------------------------------------- the zip


def _refuse_unsafe(archive: zipfile.ZipFile) -> None:
    """Names that would leave their folder, links, secrets and bombs: nothing here is unpacked, but whoever made such a
    file meant no good.
    """
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise SettingError(f"capsule: must hold at most {MOST_FILES} files, got {len(members)}")
    size = sum(member.file_size for member in members)
    if size > MOST_UNPACKED:
        raise SettingError(f"capsule: must unpack to at most {MOST_UNPACKED >> 20} MB, got {size >> 20} MB")
    seen = set()
    for member in members:
        name, parts = member.filename, PurePosixPath(member.filename).parts
        unsafe = name.startswith("/") or ".." in parts or re.search(r"[\\:\x00-\x1f]", name) or not parts
        if unsafe or stat.S_ISLNK(member.external_attr >> 16):
            raise SettingError(f"capsule: {name[:80]!r} would lie outside of its folder")
        if member.flag_bits & 1:
            raise SettingError(f"capsule: {name[:80]!r} is encrypted")
        if name in seen:
            raise SettingError(f"capsule: holds {name[:80]!r} twice")
        seen.add(name)


def _text(archive: zipfile.ZipFile, name: str, most: int) -> str:
    if name not in archive.namelist():
        raise SettingError(f"capsule: is none ({name} is missing)")
    with archive.open(name) as file:
        content = file.read(most + 1)  # what the header says about sizes may be a lie
    if len(content) > most:
        raise SettingError(f"{name}: must be at most {most >> 20} MB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingError(f"{name}: is not UTF-8 text ({error})") from error


# ---------------------------------------------------------------- what it says


def _manifest(text: str, notes: list[str]) -> Manifest:
    try:
        tree = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise SettingError(f"capsule.json: this is not JSON ({error or 'nested too deeply'})") from error
    if not isinstance(tree, dict):
        raise SettingError("capsule.json: must be an object")
    if tree.get("format") != FORMAT:
        raise SettingError(f"capsule.json: format must be {FORMAT}, got {str(tree.get('format'))[:20]}")
    for name in [name for name in tree if name not in Manifest.model_fields]:
        del tree[name]
        notes.append(f"capsule.json: {name[:60]} is not known here and was ignored")
    try:
        return Manifest.model_validate(tree)
    except ValidationError as error:
        raise explain(error, tree) from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number here")


def _path(manifest: Manifest, notes: list[str]) -> Path:
    """The settings; fields that this version does not know are left out and told."""
    config = _known(manifest.config, notes)
    tree = {"config": config, "changes": [{"from_step": c.from_step, "set": c.set} for c in manifest.changes]}
    if manifest.changes and manifest.changes[-1].from_step >= manifest.steps:
        raise SettingError(f"changes: from_step must be less than steps ({manifest.steps})")
    return read(tree)


def _known(tree: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    pruned: dict[str, Any] = json.loads(json.dumps(tree))
    try:
        RunConfig.model_validate(pruned)
    except ValidationError as error:
        for finding in error.errors(include_url=False):
            if finding["type"] == "extra_forbidden":
                name = _drop(pruned, finding["loc"])
                notes.append(f"config.{name[:80]}: is not known here and was left out; the run may come out otherwise")
    return pruned


def _drop(tree: dict[str, Any], where: tuple[int | str, ...]) -> str:
    """Remove the field at pydantic's location, which also names the kinds on the way."""
    part: Any = tree
    way = []
    for name in where[:-1]:
        if isinstance(part, dict) and name not in part:
            continue
        part = part[name]
        way.append(str(name))
    del part[where[-1]]
    return ".".join([*way, str(where[-1])])


def _columns(text: str, manifest: Manifest, notes: list[str]) -> dict[str, np.ndarray]:
    columns = read_csv(text, most_rows=MOST_STEPS, most_columns=MOST_COLUMNS)
    for name in [name for name in columns if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name)]:
        del columns[name]
        notes.append(f"metrics.csv: the column {name[:60]!r} has no name a metric could have and was left out")
    for name in (*WHOLE, "seconds"):
        if name not in columns:
            raise SettingError(f"metrics.csv: the column {name} is missing")
    if not np.array_equal(columns["step"], np.arange(manifest.steps)):
        raise SettingError(f"metrics.csv: the column step must run from 0 to {manifest.steps - 1}")
    if not np.isfinite(columns["samples"]).all():
        raise SettingError("metrics.csv: the column samples must hold whole numbers")
    if digest(columns) != manifest.digest:
        notes.append("metrics.csv: was changed since it was recorded (its digest differs)")
    return columns


def _compare_versions(made_with: Mapping[str, str], notes: list[str]) -> None:
    here = versions()
    differ = [f"{name} {was[:30]} there, {here[name]} here" for name, was in made_with.items() if here.get(name, was) != was]
    if differ:
        notes.append(f"versions: {'; '.join(differ)}; the last digits of a replay may differ")
