"""A page's words, read from `assets/lessons/NAME.md`: title, what to try and notice, sections, interview questions.

    # Title
    Try first: one sentence.
    Notice: one sentence.
    Terms: ratio, clip_fraction

    ## key · Label of the section
    Text above the figures.

    ### A question as an interviewer asks it
    The answer, shown when it is opened.

This module holds no words of its own and refuses a file that is not of this form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

LESSONS = Path(__file__).resolve().parent.parent / "assets" / "lessons"


@dataclass(frozen=True)
class Section:
    """A part of a page: `key` stands in the URL, `text` above its figures, `questions` below them."""

    key: str
    label: str
    text: str
    questions: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lesson:
    """The words of one page."""

    title: str
    try_first: str
    notice: str
    terms: tuple[str, ...]
    sections: tuple[Section, ...]

    def section(self, key: str) -> Section:
        """The section called `key`. Raises KeyError."""
        return next(s for s in self.sections if s.key == key)


@lru_cache(maxsize=64)
def lesson(name: str) -> Lesson:
    """The lesson of a page. Raises FileNotFoundError and ValueError."""
    return parse((LESSONS / f"{name}.md").read_text(encoding="utf-8"))


def parse(text: str) -> Lesson:
    """A lesson from its Markdown. Raises ValueError naming what is missing."""
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    title = re.search(r"^# (.+)$", head, flags=re.MULTILINE)
    if title is None:
        raise ValueError("lesson: needs a title line '# …'")
    terms = tuple(term.strip() for term in _line(head, "Terms", "").split(",") if term.strip())
    return Lesson(title[1], _line(head, "Try first"), _line(head, "Notice"), terms, tuple(map(_section, parts)))


def _line(head: str, name: str, default: str | None = None) -> str:
    found = re.search(rf"^{name}: (.+)$", head, flags=re.MULTILINE)
    if found is None and default is None:
        raise ValueError(f"lesson: needs a line '{name}: …'")
    return found[1] if found else default or ""


def _section(part: str) -> Section:
    heading, _, body = part.partition("\n")
    key, separator, label = heading.partition(" · ")
    if not separator:
        raise ValueError(f"lesson: a section is '## key · Label', got {heading!r}")
    text, *asked = re.split(r"^### ", body, flags=re.MULTILINE)
    questions = tuple((q.partition("\n")[0].strip(), q.partition("\n")[2].strip()) for q in asked)
    return Section(key.strip(), label.strip(), text.strip(), questions)
