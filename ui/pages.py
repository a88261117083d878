"""The page table: what exists, where it lives, what it is called. A page that has no file yet is not listed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Entry:
    """One page: its file under the root, title, and the path in the URL ("" for the front page)."""

    file: str
    title: str
    url: str

    @property
    def exists(self) -> bool:
        return (ROOT / self.file).is_file()


TABLE = (
    Entry("pages/home.py", "Home", ""),
    Entry("pages/surrogate.py", "Surrogate", "surrogate"),
    Entry("pages/advantages.py", "Advantages", "advantages"),
    Entry("pages/ratios.py", "Ratios", "ratios"),
    Entry("pages/step.py", "Step through", "step"),
    Entry("pages/lab.py", "Lab", "lab"),
    Entry("pages/compare.py", "Compare", "compare"),
    Entry("pages/duel.py", "Duel", "duel"),
    Entry("pages/evidence.py", "Evidence", "evidence"),
    Entry("pages/interview.py", "Interview", "interview"),
    Entry("pages/misconceptions.py", "Misconceptions", "misconceptions"),
    Entry("pages/glossary.py", "Glossary", "glossary"),
)


def existing() -> tuple[Entry, ...]:
    """The pages whose file is there, in order."""
    return tuple(entry for entry in TABLE if entry.exists)
