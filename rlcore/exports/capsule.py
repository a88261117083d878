"""A run as one zip file: `python capsule.zip` prints its metrics again, the app and the shell read it back.

    README.md  capsule.json  config.json  versions.json  requirements.txt     what it is
    metrics.csv  metrics.parquet  figures/*                                    what came out
    replay.py  replay.ipynb  loss.py  __main__.py                              the run and its loss as programs
    rlcore/  assets/                                                           the engine's source, weights if it needs any
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from rlcore.exports.changes import written
from rlcore.exports.recorded import Recorded, digest
from rlcore.exports.scripts import notebook, requirements, script, zipped
from rlcore.exports.source import files_for, pip_line
from rlcore.exports.tables import csv_text, parquet
from rlcore.unfold import unfold

FORMAT = 1

_MAIN = '''\
"""`python capsule.zip`: unpack into a temporary folder and run replay.py there."""

import runpy
import sys
import tempfile
import zipfile
from pathlib import Path

if Path(sys.path[0]).is_file():
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(sys.path[0]).extractall(folder)
        runpy.run_path(str(Path(folder) / "replay.py"), run_name="__main__")
else:
    runpy.run_path(str(Path(__file__).with_name("replay.py")), run_name="__main__")
'''


def pack(run: Recorded, figures: Mapping[str, bytes] | None = None) -> bytes:
    """The capsule of a run. `figures` are files by name, e.g. {"reward.svg": b"..."}; drawn by whoever calls."""
    files = {
        "README.md": _readme(run, bool(figures)), "capsule.json": manifest(run), "config.json": run.config.dumps(),
        "versions.json": json.dumps(dict(run.versions), indent=2), "requirements.txt": requirements(),
        "metrics.csv": csv_text(run.columns), "replay.py": script(run, "beside"),
        "replay.ipynb": notebook(run, "beside"), "loss.py": unfold(run.path[-1][1].algorithm), "__main__.py": _MAIN,
    }  # fmt: skip
    found = {name: text.encode() for name, text in files.items()}
    found["metrics.parquet"] = parquet(run.columns, about(run))
    found |= {f"figures/{name}": content for name, content in (figures or {}).items()}
    for _, config in run.path:
        found |= files_for(config)
    return zipped(found)


def manifest(run: Recorded) -> str:
    """What reading back needs: format, steps, digest, versions, first settings and changes; as JSON."""
    head = {"format": FORMAT, "title": run.title, "steps": run.steps, "digest": digest(run.columns)}
    return json.dumps(head | {"versions": dict(run.versions)} | written(run.path), indent=1)


def about(run: Recorded) -> dict[str, str]:
    """Where numbers come from, for formats that can say it."""
    tree = written(run.path)
    return {
        "title": run.title, "versions": json.dumps(dict(run.versions)), "config": json.dumps(tree["config"]),
        "changes": json.dumps(tree["changes"]),
    }  # fmt: skip


def _readme(run: Recorded, figures: bool) -> str:
    drawn = "* `figures/`: curves as PDF, SVG and PNG, and their numbers.\n" if figures else ""
    return (
        f"# {run.title}\n\n```\n{pip_line()}\npython {run.name}.zip      # or, unpacked: python replay.py\n```\n\n"
        "Either prints the metrics of every step again, as CSV, and says whether they are these, bit for bit. In a checkout "
        f"of Surrogate: `python -m rlcore replay {run.name}.zip`; the app imports the file too.\n\n"
        "* `metrics.csv`, `metrics.parquet`: every number of every step; `seconds` is wall time and differs each time.\n"
        "* `config.json`: the settings it began with; `capsule.json`: these and every later change of them.\n"
        "* `replay.py`, `replay.ipynb`: the run as a script and as a notebook. `loss.py`: its loss on one page.\n"
        f"{drawn}"
        "* `rlcore/`: the engine's own source, as it ran. `versions.json`, `requirements.txt`: what it ran with.\n"
    )
