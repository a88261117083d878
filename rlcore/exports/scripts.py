"""A run as a program of its own: a script and a notebook that make the same numbers again, without this app.

Both import the engine's own source: from the folder beside them (in a capsule), or packed into the file itself.
"""

from __future__ import annotations

import base64
import io
import json
import textwrap
import zipfile
from collections.abc import Mapping
from typing import Literal

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from rlcore.exports.changes import written
from rlcore.exports.recorded import CLOCK, Recorded, digest
from rlcore.exports.source import files_for, packages, pip_line

Engine = Literal["beside", "packed"]
SAME_DATE = (1980, 1, 1, 0, 0, 0)  # the same run gives the same bytes

_BESIDE = """\
import json
import sys
from pathlib import Path

HERE = Path(globals().get("__file__", "replay")).resolve().parent
sys.path.insert(0, str(HERE))  # the engine, rlcore, lies beside this file
"""

_PACKED = '''\
import base64
import io
import json
import sys
import tempfile
import zipfile

ENGINE = """
__ENGINE__
"""
folder = tempfile.TemporaryDirectory()  # the engine, rlcore, is packed into this file
zipfile.ZipFile(io.BytesIO(base64.b85decode("".join(ENGINE.split())))).extractall(folder.name)
sys.path.insert(0, folder.name)
'''

_IMPORTS = """\
import hashlib
import math
from importlib.metadata import version

import torch

from rlcore.config import parse
from rlcore.engine import init, step

torch.set_num_threads(1)
"""

_RUN = '''\
STEPS = __STEPS__
COLUMNS = __COLUMNS__
DIGEST = "__DIGEST__"  # of the recorded numbers
MADE_WITH = __MADE_WITH__

CONFIG = json.loads(r"""
__CONFIG__
""")
CHANGES = json.loads(r"""
__CHANGES__
""")  # settings that were changed while the run went on
'''

_FUNCTIONS = '''\
def configs():
    """The settings of each step, in order."""
    changes = {change["from_step"]: change["set"] for change in CHANGES}
    tree, config = CONFIG, parse(CONFIG)
    for number in range(STEPS):
        for name, value in changes.get(number, {}).items():
            *way, last = name.split(".")
            part = tree
            for each in way:
                part = part[each]
            part[last] = value
        if number in changes:
            config = parse(tree)
        yield config


def cell(name, value):
    if math.isnan(value):
        return ""
    return str(int(value)) if name in ("step", "samples") else repr(float(value))


def lines():
    """The run, step by step, as lines of CSV."""
    yield ",".join(COLUMNS)
    state = None
    for config in configs():
        state = init(config) if state is None else state
        state, record = step(state, config)
        row = {"step": record.step, "samples": record.samples} | dict(record.metrics)
        yield ",".join(cell(name, row.get(name, math.nan)) for name in COLUMNS)


def verdict(text):
    """Whether these are the recorded numbers, bit for bit; and if not, what is different here."""
    if hashlib.sha256(text.encode()).hexdigest() == DIGEST:
        return "The same numbers as recorded, bit for bit."
    here = {name: version(name) for name in MADE_WITH}
    other = [f"{name} {was} there, {here[name]} here" for name, was in MADE_WITH.items() if here[name].split("+")[0] != was]
    return "NOT the recorded numbers. " + ("; ".join(other) or "Same versions: another processor, or an edited file.")
'''

_MAIN = """\
if __name__ == "__main__":
    text = ""
    for line in lines():
        print(line)
        text += line + "\\n"
    print(verdict(text), file=sys.stderr)
"""


def script(run: Recorded, engine: Engine) -> str:
    """A Python file that prints the run's metrics as CSV, and on stderr whether they are the recorded ones."""
    head = (
        f'"""{run.title}: the same run again, from nothing.\n\n'
        f"    {pip_line()}\n    python replay.py > metrics.csv\n\n"
        f'{_engine_words(engine)} Wall time is the only recorded column that is not repeated.\n"""\n\n'
    )
    return "".join([head, _preamble(run, engine), "\n", _IMPORTS, "\n", _run(run), "\n\n", _FUNCTIONS, "\n\n", _MAIN])


def notebook(run: Recorded, engine: Engine) -> str:
    """The same as a Jupyter notebook (nbformat 4)."""
    intro = (
        f"# {run.title}\n\nThe same run again, from nothing. {_engine_words(engine)}\n\n"
        f"```\n{pip_line()} pandas matplotlib jupyter\n```"
    )
    show = (
        "text = ''.join(line + '\\n' for line in lines())\nprint(text, end='')\nprint(verdict(text), file=sys.stderr)"
    )
    draw = (
        "try:\n    import io\n\n    import pandas as pd\n\n    table = pd.read_csv(io.StringIO(text), index_col='step')\n"
        "    table[['reward_mean', 'entropy']].plot(subplots=True, grid=True, figsize=(8, 5))\n"
        "except ImportError as missing:\n    print(f'The curves need pandas and matplotlib ({missing}).')"
    )
    first = new_code_cell(_preamble(run, engine) + "\n" + _IMPORTS)
    if engine == "packed":
        first.metadata["jupyter"] = {"source_hidden": True}
    cells = [
        new_markdown_cell(intro), first,
        new_markdown_cell("## Settings\nFrom the first step on, and what was changed while the run went on."),
        new_code_cell(_run(run)), new_markdown_cell("## The run"), new_code_cell(_FUNCTIONS), new_code_cell(show),
        new_markdown_cell("## Its curves"), new_code_cell(draw),
    ]  # fmt: skip
    for number, each in enumerate(cells):
        each["id"] = f"cell-{number}"
    book = new_notebook(cells=cells)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.validate(book)
    return str(nbformat.writes(book))


def requirements() -> str:
    """The engine's packages, one a line."""
    return "".join(f"{package}\n" for package in packages())


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Files as a zip; the same files give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, SAME_DATE), content, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def _engine_words(engine: Engine) -> str:
    where = {"beside": "lies in the folder beside this file", "packed": "is packed into this file"}[engine]
    return f"The engine that made it, rlcore, {where}; nothing else of the app is needed."


def _preamble(run: Recorded, engine: Engine) -> str:
    if engine == "beside":
        return _BESIDE
    files: dict[str, bytes] = {}
    for _, config in run.path:
        files |= files_for(config)
    packed = base64.b85encode(zipped(files)).decode()
    return _PACKED.replace("__ENGINE__", "\n".join(textwrap.wrap(packed, 120)))


def _run(run: Recorded) -> str:
    tree = written(run.path)
    names = [name for name in run.columns if name != CLOCK]
    made_with = {package.split("==")[0]: package.split("==")[1] for package in packages()}
    filled = {
        "__STEPS__": str(run.steps), "__COLUMNS__": json.dumps(names), "__DIGEST__": digest(run.columns),
        "__MADE_WITH__": json.dumps(made_with), "__CONFIG__": json.dumps(tree["config"], indent=1),
        "__CHANGES__": json.dumps(tree["changes"]),
    }  # fmt: skip
    text = _RUN
    for name, value in filled.items():
        text = text.replace(name, value)
    return text
