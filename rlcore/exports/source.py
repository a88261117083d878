"""The engine's own source, as much of it as a run needs: what a stand-alone script takes along.

Found by following imports from `engine` and `config`; nothing is rewritten, so the numbers are those of this checkout.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from rlcore.config import RunConfig
from rlcore.policies.transformer import Transformer

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = ("rlcore.engine", "rlcore.config")


@cache
def engine_files() -> tuple[str, ...]:
    """Paths below the root of every module that a training step may import, sorted."""
    found: dict[str, Path] = {}
    waiting = list(ENTRIES)
    while waiting:
        module = waiting.pop()
        path = _path(module)
        if path is None or module in found:
            continue
        found[module] = path
        waiting += [module.rpartition(".")[0], *_imports(path, module)]
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in found.values()))


@cache
def packages() -> tuple[str, ...]:
    """What the engine needs installed, pinned to what is installed here: "torch==2.13.0", … ."""
    tops = {name for path in engine_files() for name in _tops(ROOT / path)}
    foreign = sorted(tops - set(sys.stdlib_module_names) - {"rlcore"})
    known = packages_distributions()
    return tuple(f"{name}=={version(name).partition('+')[0]}" for name in sorted({known[top][0] for top in foreign}))


def pip_line() -> str:
    """The command that makes an empty environment ready."""
    return f"python -m pip install {' '.join(packages())}"


def files_for(config: RunConfig) -> dict[str, bytes]:
    """Everything a run of this config reads: the engine's source, and the weights a word model starts from."""
    found = {name: (ROOT / name).read_bytes() for name in engine_files()}
    if isinstance(config.policy, Transformer) and config.policy.start is not None:
        weights = f"assets/models/{config.policy.start}.safetensors"
        found[weights] = (ROOT / weights).read_bytes()
    return found


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


def _imports(path: Path, module: str) -> list[str]:
    """Modules of the engine that a file imports; names of a package's modules count."""
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in found if name.split(".")[0] == "rlcore"]


def _tops(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
