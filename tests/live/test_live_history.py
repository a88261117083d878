import base64

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from live import history
from live.history import History, thin
from live.tree import FAINT_ROWS, Tree, curves


def _filled(count: int) -> History:
    kept = History()
    for step in range(1, count + 1):
        kept.append(step, {"a": float(step), "b": float(-step)})
    return kept


def test_since_returns_exactly_the_rows_after_the_cursor():
    kept = _filled(300)
    assert kept.total == 300
    assert kept.since(300).shape == (0, 3)
    assert kept.since(297)[:, 0].tolist() == [298, 299, 300]
    assert kept.since(0)[:, 0].tolist() == list(range(1, 301))
    assert kept.since(301) is None


def test_a_metric_seen_late_becomes_a_column_and_is_nan_before():
    kept = _filled(3)
    assert not kept.append(4, {"a": 1.0, "b": 2.0})
    assert kept.append(5, {"a": 1.0, "late": 7.0})
    assert kept.columns == ("step", "a", "b", "late")
    rows = kept.since(0)
    assert np.isnan(rows[:4, 3]).all() and rows[4, 3] == 7 and np.isnan(rows[4, 2])


def test_memory_is_bounded_and_a_peak_in_old_rows_survives(monkeypatch):
    monkeypatch.setattr(history, "RECENT", 512)
    monkeypatch.setattr(history, "OLDER", 256)
    kept = History()
    for step in range(1, 20_001):
        kept.append(step, {"a": 1000.0 if step == 777 else float(np.sin(step))})
    rows = kept.window(10_000, ["a"])
    assert len(rows) <= 512 + 256
    assert kept.total == 20_000
    assert rows[0, 0] == 1 and rows[-1, 0] == 20_000
    assert 777 in rows[:, 0]
    assert (np.diff(rows[:, 0]) > 0).all()
    assert kept.since(20_000 - 200)[:, 0].tolist() == list(range(19_801, 20_001))
    assert kept.since(5) is None, "rows that were thinned cannot be sent as a delta"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=400),
    st.integers(4, 80),
)
def test_thin_keeps_real_rows_in_order_with_ends_and_extremes(values, limit):
    rows = np.stack([np.arange(len(values)), np.array(values)], axis=1).astype(np.float32)
    kept = thin(rows, limit, [1])
    assert len(kept) <= max(limit + 2, min(len(rows), limit + 2))
    assert kept[0, 0] == 0 and kept[-1, 0] == len(values) - 1
    assert (np.diff(kept[:, 0]) > 0).all()
    assert kept[:, 1].max() == rows[:, 1].max() and kept[:, 1].min() == rows[:, 1].min()
    assert all((rows[int(i)] == row).all() for i, row in zip(kept[:, 0], kept, strict=True))


def _tree(count, tree=None):
    tree = tree or Tree()
    for step in range(tree.total + 1, count + 1):
        tree.append(step, step, {"a": float(step)})
    return tree


def test_a_path_is_its_ancestors_up_to_the_forks_and_its_own_rows():
    tree = _tree(10)
    tree.fork(4, {})
    for step in (5, 6, 7):
        tree.append(step, 100 + step, {"a": -step, "late": 1.0})
    assert tree.total == 7 and tree.rows()[:, 1].tolist() == [1, 2, 3, 4, -5, -6, -7]
    assert [tree.node_at(step) for step in (0, 4, 5, 7)] == [0, 4, 105, 107]
    assert tree.since(6).shape[0] == 1 and tree.since(3) is None, "rows of the parent are sent whole"
    tree.fork(2, {})
    assert tree.total == 2 and tree.current.parent.id == 0 and {b.id for b in tree.faint()} == {0, 1}
    tree.go(tree.find(1))
    assert tree.total == 7 and tree.columns == ("step", "a", "late") and len(tree.branches) == 2


def test_marks_and_the_log_follow_the_path():
    tree = _tree(6)
    tree.mark(3, {"x": (1, 2)}, 0.0)
    tree.mark(5, {"x": (2, 3)}, 9.0)
    tree.fork(4, {})
    tree.append(5, 50, {"a": 0.0})
    tree.mark(5, {"y": (1, 7)}, 20.0)
    assert [(m.step, m.change) for m in tree.marks()] == [(3, {"x": (1, 2)}), (5, {"y": (1, 7)})]
    assert tree.log() == [(3, {"x": 2}), (5, {"y": 7})]


def test_a_faint_branch_is_sent_in_few_rows_that_it_really_has():
    tree = _tree(5000)
    sent = curves(tree.current)
    rows = np.frombuffer(base64.b64decode(sent["rows"]), "<f4").reshape(-1, len(sent["columns"]))
    assert len(rows) <= 2 * FAINT_ROWS and rows[0, 0] == 1 and rows[-1, 0] == 5000 == sent["tip"]
