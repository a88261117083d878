"""The house rules of ARCHITECTURE.md, read off the source with `ast`: which way imports point, and what is kept out.

Each rule is a function from a checkout's root to a list of violations, `file:line: what, and what would be right`. The
first half applies them to this checkout; the second to small trees that break each rule, so none can pass by being blind.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# rlcore, bottom to top. A module imports only from rows above its own in this table; modules of one row do not know
# each other. A name stands for a file or for a whole subpackage, whose files may import one another.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("masked", "rng", "knobs", "rollout"),
    ("groups", "ratios", "aggregation", "gates", "critic", "evidence"),
    ("advantages", "surrogates", "kl", "correction", "shaping"),
    ("algorithm",),
    ("slopes",),
    ("algorithms", "oracles", "policies", "optim", "metrics", "glossary"),
    ("envs",),
    ("words",),
    ("config",),
    ("presets", "records", "state"),
    ("updates",),
    ("engine",),
    ("timeline",),
    ("faults", "unfold", "explore", "seeds", "store", "conformance", "diagnosis", "stories"),
    ("exports", "microscope"),
    ("cli",),
    ("__main__", "__init__"),
)

# What a room may never import, at module level or inside a function.
FORBIDDEN: dict[str, set[str]] = {
    "rlcore": {"streamlit", "plotly", "figures", "interview", "live", "ui", "pages", "app"},
    "figures": {"streamlit", "torch", "interview", "live", "ui", "pages", "app"},
    "interview": {"streamlit", "plotly", "live", "ui", "pages", "app"},
    "live": {"streamlit", "plotly", "interview", "ui", "pages", "app"},
    "ui": {"pages", "app"},
    "pages": {"torch", "plotly", "numpy", "matplotlib", "app"},
}
# The lease is how live hears from Streamlit that a tab was closed; the worker and all the rest never touch it.
EXCEPTIONS = {("live/lease.py", "streamlit")}

SOURCE_ROOMS = ("app.py", *FORBIDDEN)
EVERY_ROOM = (*SOURCE_ROOMS, "tests", "benchmarks")
EMPTY_NAMES = re.compile(r"(utils?|helpers?|misc|common|managers?|cfg|.*_v?\d+|.*_(old|new|copy))")
PAGE_BUDGET, PAGE_LIMIT = 80, 100


@dataclass(frozen=True)
class Import:
    """One imported module: `module` is dotted and absolute, `where` is `file:line`."""

    where: str
    module: str


def sources(root: Path, room: str) -> list[Path]:
    """The Python files of a room, which is a folder or a single file; none where it does not exist."""
    path = root / room
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


@cache
def imports(root: Path, file: Path) -> tuple[Import, ...]:
    """All imports of a file. `from package import name` counts as package.name where that is a module."""
    found: list[Import] = []
    parts = file.relative_to(root).with_suffix("").parts
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        where = f"{file.relative_to(root)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            found.extend(Import(where, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parts[: -node.level] if node.level else ()
            package = ".".join([*above, *filter(None, [node.module])])
            found.extend(Import(where, _module(root, package, alias.name)) for alias in node.names)
    return tuple(dict.fromkeys(found))


def _module(root: Path, package: str, name: str) -> str:
    path = root.joinpath(*package.split("."), name)
    return f"{package}.{name}" if path.is_dir() or path.with_suffix(".py").is_file() else package


def upward_imports(root: Path) -> list[str]:
    """Inside rlcore: imports that do not point down, and modules that stand in no row."""
    row = {name: number for number, names in enumerate(LAYERS) for name in names}
    found = []
    for file in sources(root, "rlcore"):
        name = file.relative_to(root / "rlcore").with_suffix("").parts[0]
        if name not in row:
            found.append(
                f"{file.relative_to(root)}:1: rlcore.{name} stands in no row: add it to LAYERS in tests/test_house.py, "
                "below everything it imports"
            )
            continue
        for each in imports(root, file):
            room, _, rest = each.module.partition(".")
            other = rest.split(".")[0] or "__init__"
            if room == "rlcore" and other in row and other != name and row[other] >= row[name]:
                found.append(f"{each.where}: rlcore.{name} (row {row[name]}) imports rlcore.{other} (row {row[other]})")
    return found


def trespasses(root: Path) -> list[str]:
    """Imports of what a room may not know."""
    return [
        f"{each.where}: {room} may not import {each.module.split('.')[0]}"
        for room, banned in FORBIDDEN.items()
        for file in sources(root, room)
        for each in imports(root, file)
        if each.module.split(".")[0] in banned
        and (file.relative_to(root).as_posix(), each.module.split(".")[0]) not in EXCEPTIONS
    ]


def empty_names(root: Path) -> list[str]:
    """Files and folders whose name says nothing, or only that it is another one."""
    return [
        f"{file.relative_to(root)}:1: a name that says nothing: name it after what is in it"
        for room in EVERY_ROOM
        for file in sources(root, room)
        if any(EMPTY_NAMES.fullmatch(part) for part in file.relative_to(root).with_suffix("").parts)
    ]


def page_lengths(root: Path) -> dict[str, int]:
    """Lines of each page."""
    files = sources(root, "pages")
    return {file.relative_to(root).as_posix(): len(file.read_text(encoding="utf-8").splitlines()) for file in files}


def unlisted(root: Path, rooms: tuple[str, ...], *requirements: str) -> list[str]:
    """Imports of packages that the requirements files do not name."""
    text = "\n".join((root / each).read_text(encoding="utf-8") for each in requirements)
    listed = {_plain(name) for name in re.findall(r"^[A-Za-z0-9._-]+", text, flags=re.MULTILINE)}
    known = _distributions()
    own = {path.stem for path in root.iterdir()} | {path.stem for path in (root / "tests").rglob("*.py")}
    return [
        f"{each.where}: {top} is not in {' or '.join(requirements)}"
        for room in rooms
        for file in sources(root, room)
        for each in imports(root, file)
        if (top := each.module.split(".")[0]) not in sys.stdlib_module_names | own
        and not listed & {_plain(name) for name in known.get(top, [top])}
    ]


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Which installed packages bring an importable name; slow, so asked once."""
    return packages_distributions()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_imports_inside_rlcore_point_down() -> None:
    assert not (found := upward_imports(ROOT)), "\n".join(found)


def test_rooms_keep_out_what_they_may_not_know() -> None:
    assert not (found := trespasses(ROOT)), "\n".join(found)


def test_names_say_something() -> None:
    assert not (found := empty_names(ROOT)), "\n".join(found)


def test_pages_are_thin() -> None:
    lengths = page_lengths(ROOT)
    for page, lines in lengths.items():
        if PAGE_BUDGET < lines <= PAGE_LIMIT:
            warnings.warn(f"over budget: {page} has {lines} lines ({PAGE_BUDGET})", stacklevel=1)
    assert not [f"{page}: {lines} lines" for page, lines in lengths.items() if lines > PAGE_LIMIT]


def test_what_is_imported_is_in_the_requirements() -> None:
    found = unlisted(ROOT, SOURCE_ROOMS, "requirements.txt")
    found += unlisted(ROOT, ("tests",), "requirements.txt", "requirements-dev.txt")
    found += unlisted(ROOT, ("benchmarks",), "requirements.txt", "benchmarks/requirements.txt")
    assert not found, "\n".join(found)


def test_rlcore_runs_where_streamlit_and_plotly_are_not_installed() -> None:
    files = [file.relative_to(ROOT).with_suffix("") for file in sources(ROOT, "rlcore") if file.stem != "__main__"]
    modules = [".".join(file.parts).removesuffix(".__init__") for file in files]
    program = (
        "import importlib, sys\n"
        "sys.modules.update(streamlit=None, plotly=None)\n"
        f"for name in {modules!r}: importlib.import_module(name)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# Trees that break the rules.


def tree(root: Path, **files: str) -> Path:
    """A checkout with the given files; `__` in a name is a slash."""
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "line",
    [
        "import rlcore.engine",
        "from rlcore.engine import step",
        "from rlcore import engine",
        "from . import engine",
        "from .engine import step",
        "def later():\n    from rlcore.engine import step",
    ],
)
def test_an_upward_import_is_reported_where_it_stands(tmp_path: Path, line: str) -> None:
    tree(tmp_path, rlcore__kl="import torch\n" + line, rlcore__engine="from rlcore import kl")
    at = 3 if line.startswith("def") else 2
    assert upward_imports(tmp_path) == [f"rlcore/kl.py:{at}: rlcore.kl (row 2) imports rlcore.engine (row 11)"]


def test_neighbors_of_a_row_and_the_package_itself_are_not_imported(tmp_path: Path) -> None:
    tree(tmp_path, rlcore__kl="from rlcore.surrogates import x", rlcore__surrogates="from rlcore import GRPO")
    assert [line.split(": ")[0] for line in upward_imports(tmp_path)] == ["rlcore/kl.py:1", "rlcore/surrogates.py:1"]


def test_a_subpackage_imports_itself_and_down(tmp_path: Path) -> None:
    tree(
        tmp_path,
        rlcore__algorithms__grpo="from ..kl import K3\nfrom .recipe import Recipe\nfrom rlcore.algorithms import ppo",
        rlcore__kl="",
    )
    assert upward_imports(tmp_path) == []


def test_a_new_module_is_told_where_it_belongs(tmp_path: Path) -> None:
    (found,) = upward_imports(tree(tmp_path, rlcore__brand_new=""))
    assert found.startswith("rlcore/brand_new.py:1: ") and "LAYERS in tests/test_house.py" in found


@pytest.mark.parametrize(
    ("file", "line", "banned"),
    [
        ("rlcore__cli", "import plotly.graph_objects as go", "plotly"),
        ("rlcore__envs__bandit", "from ui import page", "ui"),
        ("figures__kl", "from torch import Tensor", "torch"),
        ("pages__lab", "import numpy as np", "numpy"),
        ("live__worker", "import streamlit as st", "streamlit"),
        ("interview__bank", "import streamlit", "streamlit"),
    ],
)
def test_a_trespass_is_reported_where_it_stands(tmp_path: Path, file: str, line: str, banned: str) -> None:
    tree(tmp_path, **{file: f"import math\n{line}"}, live__lease="import streamlit")
    room, path = file.split("__")[0], file.replace("__", "/")
    assert trespasses(tmp_path) == [f"{path}.py:2: {room} may not import {banned}"]


@pytest.mark.parametrize("name", ["rlcore__utils", "ui__helpers__sliders", "figures__kl_2", "pages__lab_old"])
def test_an_empty_name_is_reported(tmp_path: Path, name: str) -> None:
    assert len(empty_names(tree(tmp_path, **{name: "", "rlcore__kl": "", "tests__test_kl": ""}))) == 1


def test_a_package_nobody_listed_is_reported(tmp_path: Path) -> None:
    tree(tmp_path, figures__kl="import plotly\nimport numpy as np\nimport math", tests__opened="")
    (tmp_path / "requirements.txt").write_text("# numpy==1\nplotly==7.1.0   # figures\n", encoding="utf-8")
    assert unlisted(tmp_path, ("figures",), "requirements.txt") == ["figures/kl.py:2: numpy is not in requirements.txt"]
