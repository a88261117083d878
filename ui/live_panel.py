"""The live panel on a page: a component that draws runs on canvas, fed by the socket route or, without it, by polling.

With the socket, Streamlit only mounts the component. Without it (the app is not served through `st.App`, or something
between browser and server blocks WebSockets) a fragment sends whole snapshots a few times a second instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from figures import theme
from live import commands, frames, lease, route
from live.contract import Setting
from live.run import LiveRun
from live.server import shared
from live.view import snapshot
from rlcore.knobs import SettingError
from ui.pages import TABLE

STATIC = Path(__file__).resolve().parent.parent / "static"
POLL_EVERY = 0.2  # seconds
MAX_TEXT = 8000  # characters of a painted map
MAX_COMMANDS = 20  # of one polled message
Layout = Literal["lab", "home"]


def _files() -> list[str]:
    """Browser files in the order they are wanted, relative to static/."""
    found = [*STATIC.glob("vendor/*.css"), *STATIC.glob("live/*.css"), *STATIC.glob("vendor/*.js")]
    return [str(p.relative_to(STATIC)) for p in [*found, *sorted(STATIC.glob("live/*.js")), STATIC / "live.js"]]


def _version() -> str:
    """Changes with any browser file, so that a cached older one is never mixed with a newer one."""
    return hashlib.sha256(b"".join((STATIC / name).read_bytes() for name in _files())).hexdigest()[:12]


_LOADER = """
const FILES = __FILES__, VERSION = "__VERSION__";
async function load() {
  const base = new URL("app/static/", document.baseURI);
  const known = (() => { try { return localStorage.getItem("live-version"); } catch { return null; } })();
  if (known !== VERSION) {
    await Promise.all(FILES.map((name) => fetch(new URL(name, base), { cache: "reload" })));
    try { localStorage.setItem("live-version", VERSION); } catch { /* private windows */ }
  }
  for (const name of FILES.filter((name) => name.endsWith(".css"))) {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL(name, base) });
    document.head.append(link);
  }
  return import(new URL("live.js", base));
}
export default (component) => {
  let leave = null, left = false;
  (window.__liveModule ??= load()).then((module) => { if (!left) leave = module.mount(component); });
  return () => { left = true; leave?.(); };
};
"""

_component = st.components.v2.component(
    "surrogate_live",
    js=_LOADER.replace("__FILES__", json.dumps(_files())).replace("__VERSION__", _version()),
    isolate_styles=False,
)


@cache
def _theme() -> dict[str, object]:
    return theme.as_json()


def live_panel(
    runs: Sequence[LiveRun], *, key: str, layout: Layout = "lab", on_settled: Callable[[], None] = lambda: None,
    on_fresh: Callable[[Mapping[str, Setting]], None] = lambda values: None, story: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Show runs, hold them for this session, and let people act on them.

    `on_settled` is called after a slider was released or another step was shown, `on_fresh` with settings that need a
    new run; it may raise SettingError. A run that was closed meanwhile reruns the page.
    """
    for run in runs:
        lease.hold(run)
    polled = st.session_state.get("live_polled", not route.mounted)
    draw = st.fragment(run_every=POLL_EVERY if polled else None)(_draw)
    draw(tuple(runs), key, layout, polled, on_settled, on_fresh, story)


def _draw(
    runs: tuple[LiveRun, ...], key: str, layout: Layout, polled: bool, on_settled: Callable[[], None],
    on_fresh: Callable[[Mapping[str, Setting]], None], story: Mapping[str, Any] | None,
) -> None:  # fmt: skip
    if (elsewhere := st.session_state.pop("live_visit", None)) is not None:
        st.switch_page(elsewhere[0], query_params=elsewhere[1])
    if st.session_state.pop("live_renewed", False):
        st.rerun(scope="app")
    if any(run.closed for run in runs) or polled != st.session_state.get("live_polled", not route.mounted):
        st.rerun(scope="app")
    options = {
        "key": key, "layout": layout, "socket": not polled, "theme": _theme(),
        "refused": st.session_state.get("live_refused"), "pages": _pages(), "story": story,
        "taught": st.session_state.get("live_taught") if layout == "lab" else None,
        "runs": [{"rid": run.rid, "recipe": run.request.recipe} for run in runs],
    }  # fmt: skip
    _component(
        key=key,
        data=_packed(options, runs) if polled else options,
        on_settled_change=on_settled,
        on_gone_change=lambda: None,
        on_visit_change=lambda: _visit(st.session_state[key].get("visit"), runs),
        on_fresh_change=lambda: _renew(st.session_state[key].get("fresh"), on_fresh),
        on_command_change=lambda: _obey(st.session_state[key].get("command")),
        on_transport_change=lambda: st.session_state.update(live_polled=True),
    )


def _pages() -> dict[str, bool]:
    """Which pages a step can be taken to."""
    there = {entry.file for entry in TABLE if entry.exists}
    return {name: f"pages/{name}.py" in there for name in ("step", "duel")}


def _visit(text: str | None, runs: Sequence[LiveRun]) -> None:
    """A step of one of this page's runs is to be opened on another page; `_draw` goes there."""
    try:
        asked = json.loads(text or "")
        page, rid, node = asked["page"], asked["rid"], int(asked["node"])
        if _pages().get(page) and any(run.rid == rid for run in runs) and 0 <= node < 2**24:
            st.session_state["live_visit"] = (f"pages/{page}.py", {"run": rid, "node": str(node)})
    except (ValueError, KeyError, TypeError):
        _refuse("a message from the page was not understood")


def _is_setting(value: object) -> bool:
    """A number, or a painted map: what it means is the engine's to check."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return isinstance(value, int | float) and not isinstance(value, bool)


def _renew(text: str | None, on_fresh: Callable[[Mapping[str, Setting]], None]) -> None:
    """Settings that need a new run; `_draw` shows it."""
    try:
        asked = json.loads(text or "")
        values = {str(name)[:64]: value for name, value in list(asked.items())[:MAX_COMMANDS]}
        if not all(_is_setting(value) for value in values.values()):
            raise TypeError
        on_fresh(values)
        st.session_state["live_renewed"] = True
    except SettingError as error:
        _refuse(str(error))
    except (ValueError, AttributeError, TypeError):
        _refuse("a message from the page was not understood")


def _packed(options: dict[str, Any], runs: Sequence[LiveRun]) -> bytes:
    """Options and a snapshot of every run in one piece of bytes, which Streamlit may skip or repeat unharmed."""
    parts = []
    for run in runs:
        run.glance()
        parts.append(snapshot(run))
    return frames.pack({"options": options, "sizes": [len(part) for part in parts]}, b"".join(parts))


def _obey(text: str | None) -> None:
    """Commands that came through the component instead of the socket, read just as strictly."""
    try:
        for outer in json.loads(text or "")[:MAX_COMMANDS]:
            run = shared().get(str(outer["rid"]))
            command = commands.parse(json.dumps(outer["message"]))
            if run is not None and not isinstance(command, commands.Look):
                commands.obey(run, command)
    except (commands.CommandError, SettingError) as error:
        _refuse(str(error))
    except (ValueError, KeyError, TypeError):
        _refuse("a message from the page was not understood")


def _refuse(message: str) -> None:
    """Told with every snapshot from now on, numbered: one snapshot may be skipped, and none may speak twice."""
    count, _ = st.session_state.get("live_refused", (0, ""))
    st.session_state["live_refused"] = (count + 1, message)
