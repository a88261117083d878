import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from live.frames import EXACT, Frame, FrameError, decode, encode, pack, unpack


@st.composite
def _frames(draw):
    rows = draw(hnp.arrays(np.float32, st.tuples(st.integers(0, 20), st.integers(1, 8)), elements=st.floats(width=32)))
    total = draw(st.integers(len(rows), EXACT - 1))
    return Frame(draw(st.integers(0, EXACT - 1)), draw(st.booleans()), total, rows)


@given(_frames())
def test_round_trip_is_bit_equal(frame):
    back = decode(encode(frame))
    assert (back.epoch, back.full, back.total) == (frame.epoch, frame.full, frame.total)
    assert back.rows.tobytes() == frame.rows.tobytes() and back.rows.shape == frame.rows.shape


@given(st.binary(max_size=200))
def test_junk_is_refused_or_reads_as_what_encode_writes(data):
    try:
        frame = decode(data)
    except FrameError:
        return
    assert decode(encode(Frame(frame.epoch, True, frame.total, frame.rows))).rows.shape == frame.rows.shape


def test_counts_that_float32_would_round_are_refused():
    rows = np.zeros((1, 2), dtype=np.float32)
    with pytest.raises(FrameError, match="2\\*\\*24"):
        encode(Frame(0, False, EXACT, rows))
    with pytest.raises(FrameError, match="more rows than exist"):
        encode(Frame(0, False, 0, rows))


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9)), st.binary(max_size=40))
def test_a_pack_is_aligned_and_gives_back_both_parts(header, frame):
    packed = pack(header, frame)
    assert unpack(packed) == (header, frame)
    assert (len(packed) - len(frame)) % 4 == 0
