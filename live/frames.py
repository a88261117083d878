"""How numbers cross to the browser: one little-endian Float32 array a frame.

    [ epoch, full, total, width,  row 0 (width numbers), row 1, ... ]

`epoch` grows when a run starts over; `full` is 1 where the rows replace everything shown and 0 where they follow the
first `total - rows` ones; `width` is the number of columns. Float32 counts exactly to 2**24, and more is refused.
A pack is a frame with a JSON header before it, for the polled transport, which sends bytes only.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER = 4
EXACT = 2**24


class FrameError(ValueError):
    """A frame could not be written or read; the message says which rule was broken."""


@dataclass(frozen=True, eq=False)
class Frame:
    """rows [n, width] float32; the other fields as in the module's head."""

    epoch: int
    full: bool
    total: int
    rows: np.ndarray


def encode(frame: Frame) -> bytes:
    """The frame as bytes. Raises FrameError where a count is no longer exact in float32."""
    if not 0 <= frame.epoch < EXACT or not 0 <= frame.total < EXACT:
        raise FrameError(f"epoch and total must be in [0, 2**24), got {frame.epoch} and {frame.total}")
    if not frame.full and len(frame.rows) > frame.total:
        raise FrameError(f"a frame cannot carry more rows than exist: {len(frame.rows)} > {frame.total}")
    header = np.array([frame.epoch, frame.full, frame.total, frame.rows.shape[1]], dtype="<f4")
    return header.tobytes() + np.ascontiguousarray(frame.rows, dtype="<f4").tobytes()


def decode(data: bytes) -> Frame:
    """The frame in `data`. Raises FrameError on anything `encode` would not have written."""
    if len(data) % 4 or len(data) < 4 * HEADER:
        raise FrameError(f"a frame is at least {HEADER} float32 values, got {len(data)} bytes")
    numbers = np.frombuffer(data, dtype="<f4")
    epoch, full, total, width = (float(x) for x in numbers[:HEADER])
    body = numbers[HEADER:]
    whole = all(x == int(x) and 0 <= x < EXACT for x in (epoch, total, width) if np.isfinite(x))
    if not np.isfinite([epoch, total, width]).all() or not whole or full not in (0.0, 1.0) or width < 1:
        raise FrameError("the header must be [epoch, 0 or 1, total, width], whole and not negative")
    if len(body) % int(width):
        raise FrameError(f"{len(body)} numbers do not fill rows of {int(width)}")
    return Frame(int(epoch), bool(full), int(total), body.reshape(-1, int(width)))


def pack(header: dict[str, Any], frame: bytes) -> bytes:
    """uint32 length of the JSON text, the text padded to four bytes, the frame."""
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<I", len(text)) + text + frame


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """What `pack` put together."""
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length]), data[4 + length :]
