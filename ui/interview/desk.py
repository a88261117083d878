"""What every part of the interview room needs: the bank, whose progress it is, the time, and files that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from interview.bank import Bank, load_bank
from interview.drill import Item, items
from interview.store import Store
from interview.storefile import StoreError, default_path
from ui.interview import browser
from ui.refusals import REFUSED

GROUP_NAMES = {
    "foundations": "Foundations", "ppo": "PPO", "grpo": "GRPO and relatives", "gspo": "GSPO", "kl": "KL",
    "reward_hacking": "Rewards and hacking", "distributed": "Distributed RLHF", "judgement": "Judgement",
}  # fmt: skip
KIND_NAMES = {
    "question": "questions", "find_the_error": "find what is wrong", "read_curves": "read the curves", "case": "the five",
}  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Whose progress is read and written, and where it is kept."""

    identity: str
    store: Store


@lru_cache(maxsize=1)
def bank() -> Bank:
    """The cards, read once for the whole server."""
    return load_bank()


@lru_cache(maxsize=1)
def everything() -> Mapping[str, Item]:
    """Everything that can be asked, by id."""
    return items(bank())


@lru_cache(maxsize=8)
def _store(path: Path) -> Store:
    return Store(path)


def person() -> Person:
    """Who sits here. Ends the run while the browser is being asked, and where the progress file is not usable."""
    secret = browser.identity()
    if secret is None:
        st.caption("Asking this browser for its progress …")
        st.stop()
    try:
        return Person(secret, _store(default_path()))
    except StoreError as error:
        st.error(f"Progress cannot be kept: {error}", icon=REFUSED)
        st.stop()


def now() -> datetime:
    """The present moment; one place, so that a test can set it."""
    return datetime.now(UTC)


def zone() -> ZoneInfo | None:
    """The browser's time zone, where it told one."""
    try:
        return ZoneInfo(st.context.timezone) if st.context.timezone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def address() -> str:
    """Where this app is served, as the browser sees it: what proof links in exported files begin with."""
    parts = urlsplit(st.context.url or "http://localhost:8501")
    path = parts.path.rstrip("/").removesuffix("/interview")
    return f"{parts.scheme}://{parts.netloc}{path}"


def when(moment: datetime) -> str:
    """How long until a moment, in words a person plans with."""
    seconds = (moment - now()).total_seconds()
    for size, one, many in (
        (86_400, "tomorrow", "days"),
        (3_600, "in an hour", "hours"),
        (60, "in a minute", "minutes"),
    ):
        count = round(seconds / size)
        if count >= 1:
            return one if count == 1 else f"in {count} {many}"
    return "now"
