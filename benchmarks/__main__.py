"""`python -m benchmarks [speed|learning|solve|shares|words|seeds|all]`: measure, print, and write RESULTS.md beside this file."""

from __future__ import annotations

import importlib
import platform
import sys
from datetime import date
from pathlib import Path

import torch

PARTS = ("speed", "learning", "solve", "shares", "words", "seeds")
RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    """Run the parts asked for (default: all) and keep their tables."""
    torch.set_num_threads(1)
    asked = [name for name in sys.argv[1:] if name != "all"] or list(PARTS)
    unknown = sorted(set(asked) - set(PARTS))
    if unknown:
        raise SystemExit(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    sections = _kept() | {name: _report(name) for name in asked}
    for name in asked:
        print(sections[name], flush=True)
    head = f"# Measured {date.today()} · torch {torch.__version__} · Python {platform.python_version()} · one thread\n"
    RESULTS.write_text(head + "".join(f"\n<!-- {n} -->\n{sections[n]}\n" for n in PARTS if n in sections))


def _report(part: str) -> str:
    """The tables of one part; its peers are imported only when it is asked for."""
    found: str = importlib.import_module(f"benchmarks.{part}").report()
    return found


def _kept() -> dict[str, str]:
    """Sections of an earlier RESULTS.md, by part."""
    if not RESULTS.exists():
        return {}
    pieces = RESULTS.read_text().split("\n<!-- ")[1:]
    return {name: text.strip() for name, _, text in (piece.partition(" -->\n") for piece in pieces)}


if __name__ == "__main__":
    main()
