"""A run taken away: configuration, numbers, a script and a notebook that make them again, and all of it as one capsule.

What is written can be read back; what is read is validated, never executed, and whatever was refused or changed is told.
Figures are handed in as bytes: nothing here draws.
"""

from __future__ import annotations

from rlcore.exports.capsule import pack
from rlcore.exports.changes import Path
from rlcore.exports.opened import Opened, unpack, unpack_file
from rlcore.exports.recorded import Recorded, digest, from_folder, recorded, replayed
from rlcore.exports.tables import csv_text, parquet

__all__ = [
    "Opened", "Path", "Recorded", "csv_text", "digest", "from_folder", "pack", "parquet", "recorded", "replayed", "unpack",
    "unpack_file",
]  # fmt: skip
