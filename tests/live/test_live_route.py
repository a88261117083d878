"""The socket route on a real server and a real socket: who is let in, what is refused, and that nothing is lost."""

import json
import threading
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from live import commands, frames, route, server
from tests.live.fake import ANY, starter

HELLO = json.dumps({"op": "look", "cursor": 0, "epoch": 0, "visible": True})


@pytest.fixture
def place(monkeypatch):
    """A server of fakes behind the real route, with its real worker thread."""
    made = server.Server(starter())
    monkeypatch.setattr(server, "_shared", made)
    monkeypatch.setattr(route, "mounted", route.mounted)
    yield made
    for run in made.runs():
        made.close(run.rid)


@pytest.fixture
def port(place):
    """The route served by uvicorn, as Streamlit serves it."""
    served = uvicorn.Server(
        uvicorn.Config(Starlette(routes=route.routes()), port=0, log_level="critical", lifespan="off")
    )
    thread = threading.Thread(target=served.run, daemon=True)
    thread.start()
    _wait(lambda: served.started)
    yield served.servers[0].sockets[0].getsockname()[1]
    served.should_exit = True
    thread.join(10)


@pytest.fixture
def run(place):
    made = place.create(ANY, rate=200.0)
    made.hold()
    return made


@pytest.fixture
def client(port):
    """Opens a socket to a run, from a page of this very host unless told otherwise."""

    def open_(run, origin=f"http://127.0.0.1:{port}"):
        rid = run if isinstance(run, str) else run.rid
        return connect(f"ws://127.0.0.1:{port}/api/live/{rid}", origin=origin, open_timeout=10, close_timeout=10)

    return open_


def _wait(found, seconds=10.0):
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "not seen in time"
        time.sleep(0.005)


class Page:
    """What a page would keep of the messages it gets."""

    def __init__(self, socket):
        self.socket, self.steps, self.cursor, self.epoch, self.last = socket, [], 0, 0, {}

    def until(self, found, seconds=10.0):
        end = time.monotonic() + seconds
        while not found():
            assert time.monotonic() < end, f"not seen in time; last: {self.last}"
            message = self.socket.recv(timeout=seconds)
            if isinstance(message, bytes):
                self.take(frames.decode(message))
            else:
                told = json.loads(message)
                self.last[told["t"]] = told

    def take(self, frame):
        steps = frame.rows[:, 0].tolist()
        assert frame.full or frame.total - len(steps) == self.cursor, "a delta must follow what is shown"
        self.steps = steps if frame.full else self.steps + steps
        self.cursor, self.epoch = frame.total, frame.epoch


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:81", "https://127.0.0.1", "null", None])
def test_a_page_of_another_origin_is_refused(client, run, origin):
    with pytest.raises(InvalidStatus) as refused:
        client(run, origin=origin)
    assert refused.value.response.status_code == 403 and run.viewers == 0


def test_an_unknown_run_is_gone_not_blocked(client):
    with client("nobody") as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=10)
    assert closed.value.rcvd.code == route.GONE


def test_a_viewer_gets_columns_then_status_then_rows_in_order(client, run):
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 20 and "scene" in page.last)
    assert page.last["hello"]["columns"] == ["step", "reward_mean", "eps"]
    assert page.last["status"]["settings"] == {"eps_high": 0.2, "lr": 0.01}
    assert page.steps == list(range(1, page.cursor + 1))


def test_a_change_is_applied_acknowledged_and_seen(client, run):
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 3)
        socket.send(json.dumps({"op": "set", "values": {"eps_high": 0.5}, "ref": 11}))
        page.until(lambda: page.last["status"]["applied"][0] == 11)
        at = page.last["status"]["applied"][1]
        page.until(lambda: page.cursor >= at)
    assert page.last["status"]["marks"] == [{"step": at, "changes": {"eps_high": [0.2, 0.5]}}]


def test_a_refused_setting_is_told_to_the_one_who_asked_and_the_socket_stays(client, run):
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 1)
        socket.send(json.dumps({"op": "set", "values": {"eps_high": 7}, "ref": 5}))
        page.until(lambda: "refused" in page.last)
        before = page.cursor
        page.until(lambda: page.cursor > before)
    assert page.last["refused"]["ref"] == 5 and "between 0 and 1" in page.last["refused"]["message"]
    assert page.last["refused"]["settings"]["eps_high"] == 0.2


def test_transport_over_the_socket(client, run):
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 2)
        socket.send('{"op":"act","action":"pause"}')
        page.until(lambda: page.last["status"]["state"] == "paused" and page.cursor == run.history.total)
        at = page.cursor
        socket.send('{"op":"act","action":"step"}')
        page.until(lambda: page.cursor == at + 1)
        socket.send('{"op":"act","action":"reset"}')
        page.until(lambda: page.epoch == 1)
        assert page.steps == []


@pytest.mark.parametrize(
    "text",
    [
        "not json", "[]", "{}", '{"op":"look","cursor":-1}', '{"op":"look","cursor":1e9}', '{"op":"act","action":"rm"}',
        '{"op":"set","values":{}}', '{"op":"set","values":{"eps_high":NaN}}', '{"op":"set","values":{"__class__":1}}',
        '{"op":"pace","rate":0}', '{"op":"pace","rate":1e9}',
        '{"op":"open","step":-1}', '{"op":"open","step":1.5}', '{"op":"switch","branch":"x"}', '{"op":"until","event":"lunch"}',
        '{"op":"until","event":"kl","value":NaN}', '{"op":"set","values":{"ratio":"Seq; drop"}}', '{"op":"act","action":"fork","ref":-1}',
        '{"op":"act","action":"play","extra":1}', "[" * 3000, json.dumps({"op": "set", "values": {"a": 1}, "x": "y" * 5000}),
        json.dumps({"op": "set", "values": {f"a{i}": 1 for i in range(17)}}),
    ],
)  # fmt: skip
def test_garbage_is_refused_with_a_reason_and_harms_nothing(client, run, text):
    with pytest.raises(commands.CommandError):
        commands.parse(text)
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 1)
        socket.send(text)
        with pytest.raises(ConnectionClosed) as closed:
            page.until(lambda: False)
    assert closed.value.rcvd.code == route.REFUSED and closed.value.rcvd.reason
    assert run.state == "playing" and run.settings() == {"eps_high": 0.2, "lr": 0.01}


def test_bytes_and_a_wrong_first_message_are_refused(client, run):
    with client(run) as socket:
        socket.send('{"op":"act","action":"pause"}')
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=10)
    assert run.state != "paused", "nothing is obeyed before the page has said where it stands"
    with client(run) as socket:
        socket.send(HELLO)
        socket.send(b"\x00\x01")
        with pytest.raises(ConnectionClosed) as closed:
            Page(socket).until(lambda: False)
    assert closed.value.rcvd.code == route.REFUSED


def test_a_flood_is_cut_off(client, run):
    with client(run) as socket:
        socket.send(HELLO)
        for _ in range(route.MAX_PER_SECOND + 50):
            socket.send('{"op":"pace","rate":20}')
        with pytest.raises(ConnectionClosed) as closed:
            Page(socket).until(lambda: False)
    assert closed.value.rcvd.code == route.BUSY


def test_viewers_of_a_run_are_bounded(client, run, monkeypatch):
    monkeypatch.setattr(route, "MAX_VIEWERS", 1)
    with client(run) as first:
        first.send(HELLO)
        page = Page(first)
        page.until(lambda: page.cursor >= 1)
        with client(run) as second, pytest.raises(ConnectionClosed) as closed:
            second.recv(timeout=10)
    assert closed.value.rcvd.code == route.BUSY


def test_reconnecting_with_a_cursor_loses_and_repeats_nothing(client, run):
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 10)
    seen = page.cursor
    _wait(lambda: run.history.total >= seen + 5)
    with client(run) as socket:
        socket.send(json.dumps({"op": "look", "cursor": page.cursor, "epoch": page.epoch}))
        page.socket = socket
        page.until(lambda: page.cursor >= seen + 10)
    assert page.steps == list(range(1, page.cursor + 1))


def test_a_hidden_page_gets_nothing_until_it_is_shown_again(client, run):
    with client(run) as socket:
        socket.send(json.dumps({"op": "look", "visible": False}))
        _wait(lambda: run.history.total >= 20)
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 20)
    assert page.steps[0] == 1, "the first frame it gets is everything it missed"


def test_closing_a_run_tells_its_viewers(client, run, place):
    with client(run) as socket:
        socket.send(HELLO)
        page = Page(socket)
        page.until(lambda: page.cursor >= 1)
        place.close(run.rid)
        with pytest.raises(ConnectionClosed) as closed:
            page.until(lambda: False)
    assert closed.value.rcvd.code == route.GONE
