"""Listings beside each other: the source that ran and the paper's loop, this phase's lines marked and in view."""

from __future__ import annotations

import html

import streamlit as st

from rlcore.config import RunConfig
from rlcore.microscope import Listing, loop_of, source_of

AROUND = 1
_STYLE = """<style>
.listing { overflow-x: auto; font: 0.8rem/1.5 "Source Code Pro", "Source Code VF", ui-monospace, monospace; border: 1px solid rgba(128, 128, 128, 0.35);
  border-radius: 0.4rem; padding: 0.4rem 0; max-height: 26rem; overflow-y: auto; }
.listing ol { list-style: none; margin: 0; padding: 0; min-width: max-content; }
.listing li { white-space: pre; padding: 0 0.8rem; margin: 0; font: inherit; }
.listing li::before { content: attr(data-n); display: inline-block; width: 2.4em; margin-right: 0.9em; text-align: right; opacity: 0.55; }
.listing li.marked { background: rgba(64, 140, 220, 0.16); box-shadow: inset 3px 0 #3F86CE; }
.listing li.gap { opacity: 0.55; }
</style>"""


def show(config: RunConfig, key: str) -> None:
    """Both listings of a phase."""
    whole = st.toggle("Whole listings", key="step_whole", help="or only the marked lines with a few around them")
    left, right = st.columns(2)
    for column, listing in ((left, source_of(config, key)), (right, loop_of(config.algorithm, key))):
        with column:
            st.markdown(f"**{listing.title}**")
            st.html(_STYLE + as_html(listing, whole=whole))
    st.caption(
        "Left: generated from the functions that ran, with this run's numbers put in; executing it gives the same bits. Right: the "
        "objective as the paper's sum, a plain double loop; the tests hold both to the same value and gradient. Marked: this phase."
    )


def as_html(listing: Listing, *, whole: bool) -> str:
    """A listing as an ordered list; unmarked parts far from a mark become a gap, unless `whole`."""
    lines = listing.text.split("\n")
    near = {n + d for n in listing.marked for d in range(-AROUND, AROUND + 1)}
    kept = [n for n in range(1, len(lines) + 1) if whole or not listing.marked or n in listing.marked or (n in near and lines[n - 1])]
    out, last = [], 0
    for n in kept:
        if n != last + 1:
            out.append('<li class="gap" data-n="">⋯</li>')
        marked = ' class="marked"' if n in listing.marked else ""
        out.append(f'<li{marked} data-n="{n}">{html.escape(lines[n - 1]) or " "}</li>')
        last = n
    if last < len(lines):
        out.append('<li class="gap" data-n="">⋯</li>')
    label = html.escape(f"{listing.title}; {len(listing.marked)} lines of this phase are marked")
    return f'<div class="listing" role="region" tabindex="0" aria-label="{label}"><ol>{"".join(out)}</ol></div>'
