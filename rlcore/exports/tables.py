"""A run's numbers as files: CSV that any tool reads back to the same bits, and Parquet with its types and origin."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rlcore.knobs import SettingError

WHOLE = ("step", "samples")
Columns = Mapping[str, np.ndarray]


def cell(name: str, value: float) -> str:
    """The shortest text that reads back to the same float; empty for NaN."""
    if math.isnan(value):
        return ""
    return str(int(value)) if name in WHOLE else repr(float(value))


def lines(columns: Columns, names: Sequence[str]) -> Iterable[str]:
    """CSV lines without line ends, the header first."""
    yield ",".join(names)
    for row in zip(*(columns[name].tolist() for name in names), strict=True):
        yield ",".join(cell(name, value) for name, value in zip(names, row, strict=True))


def csv_text(columns: Columns) -> str:
    """All columns, one line a step."""
    return "".join(line + "\n" for line in lines(columns, list(columns)))


def read_csv(text: str, *, most_rows: int, most_columns: int) -> dict[str, np.ndarray]:
    """Columns of float64 from CSV text; empty cells are NaN. Raises SettingError with the line that is wrong."""
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        names = next(rows, [])
        if not names or len(names) > most_columns or len(set(names)) < len(names):
            raise SettingError(f"metrics.csv: needs 1 to {most_columns} columns, each once, got {len(names)}")
        table: list[list[float]] = []
        for row in rows:
            if len(row) != len(names) or len(table) >= most_rows:
                raise SettingError(
                    f"metrics.csv: line {rows.line_num} must have {len(names)} cells, in at most {most_rows} lines"
                )
            table.append([float(each) if each else math.nan for each in row])
    except (ValueError, csv.Error) as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(f"metrics.csv: line {rows.line_num} is damaged ({error})") from error
    values = np.array(table, dtype=np.float64).reshape(len(table), len(names))
    return {name: values[:, i].copy() for i, name in enumerate(names)}


def parquet(columns: Columns, about: Mapping[str, str]) -> bytes:
    """The same as a Parquet file: whole numbers as int64, the rest float64 with NaN; `about` is its metadata."""
    arrays = {n: pa.array(x.astype(np.int64) if n in WHOLE else x) for n, x in columns.items()}
    table = pa.table(arrays).replace_schema_metadata(dict(about))
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()
