"""A run passed on: its link, its settings as text, and a teacher's link that hides or locks named controls.

    ?lock=lr,epochs&hide=kl_beta        lock=* : nothing can be changed

Names are checked against the run's own settings and told where they are wrong. A locked setting is refused by the server
for this run, whatever the page sends; what is hidden is only out of sight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

import streamlit as st

from live.contract import Request
from live.run import LiveRun
from rlcore.knobs import SettingError
from ui import state

KEYS = ("hide", "lock")
ALL = "*"
PAGE = ("recipe", "env", "seed")
MOST = 40


@dataclass(frozen=True)
class Taught:
    """What a link hides and locks, and what was refused of it, in words."""

    hide: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def locks(self, name: str) -> bool:
        return name in self.lock or ALL in self.lock

    def parameters(self) -> dict[str, str]:
        """As they stand in an address."""
        return {key: ",".join(names) for key, names in (("hide", self.hide), ("lock", self.lock)) if names}


def taught(request: Request) -> Taught:
    """What this session's link says; read once, since the lab writes its own address afterwards."""
    texts = {key: st.query_params[key] for key in KEYS if key in st.query_params}
    held: tuple[dict[str, str], Taught] | None = st.session_state.get("lab_taught")
    if held is not None and (not texts or held[0] == texts):
        return held[1]
    found = read(texts, request) if texts else Taught()
    st.session_state["lab_taught"] = (found.parameters(), found)
    return found


def apply(run: LiveRun) -> Taught:
    """The link's locks come into force for this session's run; what it hides and locks is told to the panel."""
    link = taught(run.request)
    run.lock(link.lock)
    st.session_state["live_taught"] = {"hide": list(link.hide), "lock": list(link.lock)} if link.parameters() else None
    return link


def kept() -> dict[str, str]:
    """What the lab must leave in its address."""
    held: tuple[dict[str, str], Taught] | None = st.session_state.get("lab_taught")
    return {} if held is None else held[1].parameters()


def forget() -> None:
    """Another run was opened: the link that brought this session here no longer counts."""
    st.session_state.pop("lab_taught", None)


def read(texts: Mapping[str, str], request: Request) -> Taught:
    """Names from an address, those that exist; the others are told."""
    known = (*PAGE, *names(request))
    refused: list[str] = []

    def of(key: str) -> tuple[str, ...]:
        asked = [name.strip() for name in texts.get(key, "").split(",") if name.strip()]
        good = [name for name in dict.fromkeys(asked) if name in known or (name == ALL and key == "lock")]
        refused.extend(f"{key}: there is no control {name[:40]!r}" for name in asked[:MOST] if name not in good)
        return tuple(good[:MOST])

    return Taught(of("hide"), of("lock"), tuple(refused))


def names(request: Request) -> tuple[str, ...]:
    """Settings and slots of a run, by the names that its controls have."""
    from live import engine, menu  # late: it needs the engine

    try:
        config = engine.configured(request)
    except SettingError:
        return ()
    return tuple(menu.menu_of(config).settings(config))


# ---------------------------------------------------------------- the menu


def menu(run: LiveRun, link: Taught) -> None:
    """A popover: link, settings, and the way to a teacher's link."""
    box = st.popover("Share", icon=":material/share:", key="share", on_change="rerun")
    if not box.open:
        return
    with box:
        st.markdown("**Link** to this very run: recipe, world, seed, every setting and change, and the step looked at.")
        st.code(_address(run, link), language=None, wrap_lines=True)
        st.caption("Whoever opens it trains the same run again, from nothing; nothing is stored here.")
        with st.expander("Settings as JSON"):
            st.code(_config(run), language="json", height=260)
        if st.button("Teacher link …", icon=":material/school:", key="share_teach"):
            teacher(run, link)


@st.dialog("Teacher link")
def teacher(run: LiveRun, link: Taught) -> None:
    """Choose what to hide and lock; the link follows."""
    st.markdown(
        "Whoever opens this link sees the run with some controls **hidden** or **locked**. A locked one is shown disabled, and "
        "the server refuses to change it. It keeps a class on one question; it is no examination: an address can be edited."
    )
    known = [*PAGE, *names(run.request)]
    everything = st.toggle("Lock everything", ALL in link.lock, key="teach_all")
    lock = [ALL] if everything else st.multiselect("Lock", known, [n for n in link.lock if n in known], key="teach_lock")
    hide = st.multiselect("Hide", known, list(link.hide), key="teach_hide")
    st.code(_address(run, Taught(tuple(hide), tuple(lock))), language=None, wrap_lines=True)


def _address(run: LiveRun, link: Taught) -> str:
    """The lab's address with everything in it but the run's own id, which only this session may take up."""
    here = urlsplit(st.context.url or "http://localhost:8501/lab")
    parameters = {name: text for name, text in state.write(run).items() if name != "run"} | link.parameters()
    if "step" not in parameters and run.tree.total:
        parameters["step"] = str(run.tree.total)
    query = urlencode(parameters, safe=",~")
    return f"{here.scheme}://{here.netloc}{here.path}?{query}"


def _config(run: LiveRun) -> str:
    from rlcore.exports import recorded

    try:
        text: str = recorded(run.path()).path[-1][1].dumps()
    except SettingError as error:
        return str(error)
    return text


def compare_link(run: LiveRun) -> None:
    """To the Compare page with this run's world, seed and settings."""
    others = [name for name in state.FIRST if name != run.request.recipe][:1]
    turned = sorted(state.turned(run).items(), key=lambda pair: not isinstance(pair[1], str))  # slots before their numbers
    also = ", ".join(f"{name}={value}" for name, value in turned if not _is_text(value))
    query = {"arms": ",".join([run.request.recipe, *others]), "env": run.request.env, "seed": str(run.request.seed)}
    st.page_link(
        "pages/compare.py", label="Compare this run with …", icon=":material/ssid_chart:",
        query_params=query | ({"also": also} if also else {}), width="content",
    )  # fmt: skip


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) > 24


def refuse(run: LiveRun, asked: Iterable[str]) -> None:
    """Raises SettingError where the link locks one of these."""
    for name in asked:
        if taught(run.request).locks(name):
            raise SettingError(f"{name}: is locked by the link that opened this page")
