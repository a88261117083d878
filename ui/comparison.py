"""PPO, GRPO and GSPO compared, axis by axis: words from `assets/comparison.yaml`, claims from `assets/evidence`.

A claim is shown with its verdict, its interval and its seeds, whatever they say. Nothing here judges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl

import streamlit as st
import yaml

from figures import evidence as figures
from figures.theme import look
from rlcore.evidence import Comparison, Evidence, Setup, judge, load, names
from ui import figure
from ui.pages import ROOT, TABLE

FILE = ROOT / "assets" / "comparison.yaml"
THREE = ("ppo", "grpo", "gspo")
BADGES = {"supported": ":green-badge[:material/check: supported]", "not shown": ":gray-badge[:material/question_mark: not shown]",
          "contradicted": ":orange-badge[:material/close: contradicted]"}  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """One comparison of one piece of evidence."""

    evidence: str
    which: int


@dataclass(frozen=True)
class Cell:
    """What one algorithm's cell says, what was measured about it, and where to see it."""

    says: str
    measured: tuple[Claim, ...]
    page: str
    settings: Mapping[str, str]
    see: str


@dataclass(frozen=True)
class Axis:
    """One row of the comparison."""

    key: str
    title: str
    cells: Mapping[str, Cell]


@lru_cache(maxsize=1)
def axes() -> tuple[Axis, ...]:
    """The comparison as it stands in the file. Raises KeyError where a row or cell lacks a part."""
    rows = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple(Axis(row["axis"], row["title"], {key: _cell(row[key]) for key in THREE}) for row in rows)


def _cell(parts: Mapping[str, object]) -> Cell:
    claims = tuple(Claim(text.split()[0], int(text.split()[1])) for text in parts.get("measured", ()))  # type: ignore[attr-defined]
    link, _, see = str(parts.get("open", "")).partition(" · ")
    page, _, query = link.partition("?")
    return Cell(str(parts["says"]), claims, page, dict(parse_qsl(query)), see)


@lru_cache(maxsize=64)
def stored(name: str) -> Evidence:
    """Evidence by name; files do not change while the app runs."""
    return load(name)


# ---------------------------------------------------------------- on the page


def table() -> None:
    """All axes, three cells each; below, every piece of evidence in full."""
    for axis in axes():
        st.subheader(axis.title, divider="gray", anchor=f"axis-{axis.key}")
        for column, key in zip(st.columns(3), THREE, strict=True):
            with column:
                _show(axis.cells[key], key)
    st.header("The evidence", anchor="evidence")
    st.markdown(
        "Each claim was measured on this engine with the seeds shown. A verdict follows from a rule: *supported* where the "
        "95 % t-interval of the paired difference lies on the claimed side of 0, *contradicted* on the other side, else *not "
        "shown*. A verdict is about the sign, not the size: a difference that is sure but smaller than 1 % of the larger mean is called "
        "practically nothing. Of many 95 % intervals about one in twenty misses its true value by chance. And what holds in these "
        "small worlds, at these settings, need not hold in a large model."
    )
    used = dict.fromkeys(c.evidence for axis in axes() for cell in axis.cells.values() for c in cell.measured)
    for name in used:
        in_full(name)


def _show(cell: Cell, key: str) -> None:
    st.markdown(f"**{look(key).label}.** {cell.says}")
    for claim in cell.measured:
        st.markdown(said(claim))
    if cell.page:
        entry = next(each for each in TABLE if each.url == cell.page)
        if entry.exists:
            st.page_link(entry.file, label=cell.see, query_params=dict(cell.settings), icon=":material/open_in_new:")


def said(claim: Claim) -> str:
    """A claim in one line: verdict, difference with its interval, seeds, and a link to the runs."""
    if claim.evidence not in names():
        return f":gray-badge[not measured] `python -m benchmarks.evidence {claim.evidence}`"
    evidence = stored(claim.evidence)
    return f"{_line(evidence, evidence.comparisons[claim.which])} [runs](#evidence-{claim.evidence.replace('_', '-')})"


def _line(evidence: Evidence, comparison: Comparison) -> str:
    found = evidence.difference(comparison)
    about = comparison.says or evidence.claim.rstrip(".")
    unit = f" {evidence.unit}" if evidence.unit else ""
    claimed = {"above": "> 0", "below": "< 0", "within": f"within ±{comparison.margin:g}"}[comparison.direction]
    told = (
        f"{BADGES[judge(comparison, found)]} {_capital(about)}: {_named(comparison.arm)} − {_named(comparison.minus)} = {signed(found.mean)} "
        f"[{signed(found.low)}, {signed(found.high)}]{unit}, {found.n} seeds; claimed {claimed}."
    )
    if comparison.direction != "within" and evidence.practically_nothing(comparison):
        told += " **Practically nothing:** less than 1 % of the larger of the two."
    return told


def signed(value: float) -> str:
    """A difference as it is shown: three digits, with a true minus sign."""
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def _named(arm: str) -> str:
    return f"“{arm}”" if " " in arm else arm


def _capital(text: str) -> str:
    """A sentence's first letter made large, unless the sentence begins with a symbol."""
    return text[:1].upper() + text[1:] if text[:1].isascii() and not re.match(r"[a-z]+\d", text) else text


def in_full(name: str) -> None:
    """One piece of evidence: claim, every comparison with its verdict, and folded: seeds, what it cannot show, its command."""
    if name not in names():
        return
    evidence = stored(name)
    st.subheader(evidence.claim, anchor=f"evidence-{name.replace('_', '-')}")
    for comparison in evidence.comparisons:
        st.markdown(f"- {_line(evidence, comparison)}")
    shown = st.expander("Runs, seeds and intervals", icon=":material/science:", key=f"evidence_{name}", on_change="rerun")
    if shown.open:
        with shown:
            figure.show(figures.seeds(evidence), key=f"seeds_{name}")
            if evidence.caveat:
                st.markdown(f"**What these runs cannot show.** {evidence.caveat}")
            st.code(evidence.command, language="bash")
            st.caption(f"Measured with {', '.join(f'{k} {v}' for k, v in evidence.versions.items())}.")
            for arm, setup in evidence.settings.items():
                _lab(arm, setup)


def _lab(arm: str, setup: Setup) -> None:
    """An arm as a run in the lab, its first seed."""
    changed = ", ".join(f"{name} {value}" for name, value in setup.overrides.items())
    label = f"{arm}: {setup.recipe} on {setup.env}{', ' + changed if changed else ''}, {setup.steps} steps"
    if any(not isinstance(value, int | float) for value in setup.overrides.values()):
        st.markdown(label)  # an address can set numbers, not whole slots
        return
    settings = {"recipe": setup.recipe, "env": setup.env, "seed": "0"}
    settings |= {name: str(value) for name, value in setup.overrides.items()}
    st.page_link("pages/lab.py", label=label, query_params=settings, icon=":material/play_circle:")
