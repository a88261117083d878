"""Every number of every reference vector, value, gradient and metric, at the file's own tolerance.

SURROGATE_VECTORS names another folder to read instead.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rlcore.conformance import check_file

HERE = Path(__file__).parent
FOLDERS = [Path(p)] if (p := os.environ.get("SURROGATE_VECTORS")) else [HERE / "vectors", HERE / "vectors_extra"]
FILES = [file for folder in FOLDERS for file in sorted(folder.glob("*.json"))]


def test_there_are_vectors() -> None:
    assert FILES, f"no *.json in {', '.join(map(str, FOLDERS))}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_vector(file: Path) -> None:
    found = check_file(file)
    assert found, "a vector without outputs checks nothing"
    wrong = [str(c) for c in found if not c.ok]
    assert not wrong, "\n".join(wrong)
