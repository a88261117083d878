"""The WebSocket route `/api/live/{rid}`: frames and status to the page, small validated commands back.

It refuses other sites' pages (Origin must equal Host), unknown runs, long, malformed or too many messages and too many
viewers. It trains nothing: a slow or hidden viewer costs the others nothing, since each asks by its own cursor.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from urllib.parse import urlsplit

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from live import server
from live.commands import Command, CommandError, Look, Set, obey, parse
from live.run import LiveRun
from live.view import View, as_text
from rlcore.knobs import SettingError

PATH = "/api/live/{rid}"
EVERY = 0.02  # seconds between sends at most; the first of a burst goes at once
MAX_VIEWERS = 8
MAX_PER_SECOND = 200
GONE, BUSY, REFUSED = 4404, 4429, 4400  # close codes: no such run, too much, not understood

mounted = False


def routes() -> list[WebSocketRoute]:
    """The routes to mount; from here on pages know that sockets are to be had."""
    global mounted
    mounted = True
    return [WebSocketRoute(PATH, live)]


def same_origin(websocket: WebSocket) -> bool:
    """True where the page that asks came from this very host and port."""
    origin, host = websocket.headers.get("origin"), websocket.headers.get("host")
    return bool(origin and host) and urlsplit(origin or "").netloc == host


async def live(websocket: WebSocket) -> None:
    """Serve one viewer until either side leaves."""
    if not same_origin(websocket):
        await websocket.close(1008)
        return
    await websocket.accept()
    # Looked up at every connection: after a development reload the pages' runs live in a new module.
    run = server.shared().get(websocket.path_params["rid"])
    if run is None:
        await websocket.close(GONE, "this run is not here any more")
    elif run.viewers >= MAX_VIEWERS:
        await websocket.close(BUSY, f"a run has at most {MAX_VIEWERS} viewers")
    else:
        with contextlib.suppress(WebSocketDisconnect):
            await _serve(websocket, run)


async def _serve(websocket: WebSocket, run: LiveRun) -> None:
    news, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop may have closed under the worker's feet
            loop.call_soon_threadsafe(news.set)

    view = View(run, time.monotonic, wake)
    if not await _listen_once(websocket, view):
        return
    run.watch(view)
    sender = asyncio.create_task(_send(websocket, view, news))
    try:
        await _listen(websocket, view, news)
    finally:
        run.unwatch(view)
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
            await sender


async def _send(websocket: WebSocket, view: View, news: asyncio.Event) -> None:
    news.set()
    while True:
        wait = view.scene_waits()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), wait)
        news.clear()
        for message in view.news():
            await (websocket.send_bytes(message) if isinstance(message, bytes) else websocket.send_text(message))
        if view.run.closed:
            await websocket.close(GONE, "this run was closed")
            return
        await asyncio.sleep(EVERY)


async def _listen_once(websocket: WebSocket, view: View) -> bool:
    """The first message says what the page shows already; anything else is refused."""
    try:
        first = parse(await websocket.receive_text())
        if not isinstance(first, Look):
            raise CommandError("the first message must be 'look'")
    except (CommandError, KeyError) as error:
        await websocket.close(REFUSED, _reason(error))
        return False
    view.look(first)
    return True


async def _listen(websocket: WebSocket, view: View, news: asyncio.Event) -> None:
    window, count = time.monotonic(), 0
    while True:
        try:
            text = await websocket.receive_text()
        except KeyError:
            await websocket.close(REFUSED, "text messages only")
            return
        now = time.monotonic()
        window, count = (window, count + 1) if now - window < 1 else (now, 1)
        if count > MAX_PER_SECOND:
            await websocket.close(BUSY, f"at most {MAX_PER_SECOND} messages a second")
            return
        try:
            command = parse(text)
        except CommandError as error:
            await websocket.close(REFUSED, _reason(error))
            return
        await _obey(websocket, view, command)
        news.set()


async def _obey(websocket: WebSocket, view: View, command: Command) -> None:
    if isinstance(command, Look):
        view.look(command)
        view.run.watch(view)  # a page that is shown again wants a fresh picture
        return
    try:
        obey(view.run, command)
    except SettingError as error:
        ref = command.ref if isinstance(command, Set) else 0
        settings = view.run.settings()
        await websocket.send_text(as_text({"t": "refused", "ref": ref, "message": str(error), "settings": settings}))


def _reason(error: Exception) -> str:
    """A close reason holds at most 123 bytes."""
    return str(error).splitlines()[0].encode()[:120].decode(errors="ignore")
