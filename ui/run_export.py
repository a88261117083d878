"""A live run taken away and brought back: every file of it from one menu, its curves as figures, and capsules read in."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import streamlit as st

from figures import paper, scene
from figures import run as figures
from figures.plate import Plate, csv_text
from figures.theme import CUSTOM, Look, look
from live.contract import Request
from live.run import LiveRun
from rlcore.knobs import SettingError
from ui import figure, lab_import

IN_CAPSULE = ("reward", "return", "kl", "entropy", "clip")
SIZE = {"width_cm": 14.0, "height_cm": 8.0}


def menu(run: LiveRun) -> None:
    """A popover with every file of the run as it stands when it is opened."""
    box = st.popover("Export run", icon=":material/download:", key="run_export", on_change="rerun")
    if box.open:
        with box:
            _files(run)


def _files(run: LiveRun) -> None:
    from rlcore.exports import Recorded, csv_text, recorded  # late: it needs the engine
    from rlcore.exports.capsule import about
    from rlcore.exports.scripts import notebook, script
    from rlcore.exports.tables import parquet

    try:
        found: Recorded = recorded(run.path())
    except SettingError as error:
        st.info(str(error))
        return
    st.markdown(f"**{found.title}**")
    st.caption(
        "The capsule holds everything below, figures and the engine's own source: `python` runs it, and it can be opened here "
        "again. Script and notebook need nothing else and print the same numbers, bit for bit."
    )
    name = found.name
    _download("Capsule", f"{name}.zip", "application/zip", partial(_capsule, found))
    with st.container(horizontal=True, gap="small"):
        _download("Script", f"{name}.py", "text/x-python", lambda: script(found, "packed").encode())
        _download("Notebook", f"{name}.ipynb", "application/x-ipynb+json", lambda: notebook(found, "packed").encode())
        _download("Config", f"{name}.json", "application/json", lambda: found.config.dumps().encode())
        _download("CSV", f"{name}.csv", "text/csv", lambda: csv_text(found.columns).encode())
        _download("Parquet", f"{name}.parquet", "application/vnd.apache.parquet", lambda: parquet(found.columns, about(found)))


def _download(label: str, name: str, mime: str, make: Callable[[], bytes]) -> None:
    """A button that makes its file when it is pressed and reruns nothing."""
    st.download_button(label, make, name, mime, key=f"run_export_{label}", on_click="ignore")


def _capsule(found: object) -> bytes:
    from rlcore.exports import Recorded, pack

    assert isinstance(found, Recorded)
    files = {}
    for plate in plates(found, IN_CAPSULE):
        files[f"{plate.name}.csv"] = csv_text(plate.table).encode()
        for kind in ("pdf", "svg", "png"):
            files[f"{plate.name}.{kind}"] = paper.render(plate.draw("light"), kind, title=plate.title, **SIZE)
    return pack(found, files)


# ---------------------------------------------------------------- figures


def plates(found: object, keys: tuple[str, ...]) -> list[Plate]:
    """The run's panels of these keys that have something to show."""
    from rlcore.exports import Recorded

    assert isinstance(found, Recorded)
    changes = [step + 1 for step, _ in found.path[1:]]
    of = found.title.split(", settings changed")[0]
    drawn = _look(found)
    there = (p for p in figures.panels(found.columns) if p.key in keys)
    return [figures.panel(p, found.columns, drawn, changes, of=of) for p in there]


def curves(run: LiveRun) -> None:
    """An expander: any curve of the run at rest, with every export a figure has."""
    box = st.expander("Figures to take away", icon=":material/show_chart:", key="run_curves", on_change="rerun")
    if not box.open:
        return
    with box:
        from rlcore.exports import recorded

        try:
            found = recorded(run.path())
        except SettingError as error:
            st.info(str(error))
            return
        keys = {p.key: p.title for p in figures.panels(found.columns)} | _of_the_step(run)
        chosen = st.selectbox("Figure", list(keys), format_func=keys.__getitem__, key="run_curve")
        st.button("As it stands now", icon=":material/refresh:", key="run_curve_again", help="The run goes on; this figure waits.")
        for plate in plates(found, (chosen,)) + _scene_plates(run, found, chosen):
            figure.show(plate, key=f"run_{chosen}")


def _of_the_step(run: LiveRun) -> dict[str, str]:
    """The pictures of the step that is shown, by key."""
    seen = json.loads(run.scene.text or "{}")
    listed = (seen.get("world") or {}).get("kind") in ("bandit", "contextual", "grid")
    return ({"world": "The world under the policy"} if listed else {}) | ({"samples": "This step's samples"} if seen.get("samples") else {})


def _scene_plates(run: LiveRun, found: object, key: str) -> list[Plate]:
    from rlcore.exports import Recorded

    assert isinstance(found, Recorded)
    seen, of = json.loads(run.scene.text or "{}"), found.title.split(", seed")[0]
    make = {"world": lambda: scene.world(seen, _look(found), of=of), "samples": lambda: scene.samples(seen, of=of)}.get(key)
    plate = make() if make and seen else None
    return [plate] if plate is not None else []


def _look(found: object) -> Look:
    from rlcore.algorithms import recognise
    from rlcore.exports import Recorded

    assert isinstance(found, Recorded)
    named = recognise(found.path[-1][1].algorithm)
    return look(named.recipe.key) if named.named else CUSTOM


# ---------------------------------------------------------------- back again


def bring_back(start: Callable[[Request], None]) -> None:
    """A popover that reads a capsule; `start` is called with the request of its run."""
    box = st.popover("Open a capsule", icon=":material/upload_file:", key="run_import", on_change="rerun")
    if not box.open:
        return
    with box:
        file = st.file_uploader(
            "A run that was exported here", type="zip", key="run_capsule", max_upload_size=64,
            help="A zip file. It is read, never run: this app's own engine plays its settings again.",
        )  # fmt: skip
        if file is None:
            return
        found = lab_import.read(file.getvalue())
        for problem in found.refused:
            st.error(problem)
        for note in found.notes:
            st.warning(note)
        if found.request is not None:
            st.markdown(f"**{found.title}**")
            st.button("Play it here", on_click=start, args=(found.request,), type="primary", key="run_capsule_play")
