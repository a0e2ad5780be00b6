"""Row groups of a Parquet file that are read alone, and verified."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tensortap.compact.manifest import FOLDER, CompactFile
from tensortap.compact.partial_reading import read_group, read_layout, write_groups
from tensortap.core.errors import DamagedError
from tensortap.storage.files import crc32c_of_file

ROWS, COLUMNS = 4, ["bucket_id", "bucket_count"]
TABLE = pa.table(
    {
        "node": pa.array(list("aaabbbbccc")).dictionary_encode(),
        "bucket_id": pa.array([[row, row + 3] for row in range(10)], pa.list_(pa.uint16())),
        "bucket_count": pa.array([[row * 7, 1] for row in range(10)], pa.list_(pa.int64())),
    }
)


def written(run_dir: Path) -> CompactFile:
    path = run_dir / FOLDER / "histograms.parquet"
    path.parent.mkdir()
    footer = write_groups(path, TABLE, ROWS)
    size = path.stat().st_size
    return CompactFile(path.name, size, crc32c_of_file(path, size), *footer)


def read(run_dir: Path, file: CompactFile, group: int) -> pa.Table:
    return read_group(run_dir, file, read_layout(run_dir, file), group, COLUMNS)


def test_each_group_alone(tmp_path: Path) -> None:
    file = written(tmp_path)
    for group, at in enumerate(range(0, 10, ROWS)):
        assert read(tmp_path, file, group).to_pydict() == TABLE.slice(at, ROWS).select(COLUMNS).to_pydict()
    assert pq.read_table(file.path(tmp_path)).select(COLUMNS).to_pydict() == TABLE.select(COLUMNS).to_pydict()


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    write_groups(path, TABLE.slice(0, 0), ROWS)
    assert pq.read_table(path).num_rows == 0


def test_each_changed_byte_is_found_by_the_group_that_it_is_in(tmp_path: Path) -> None:
    file = written(tmp_path)
    path = file.path(tmp_path)
    bounds = read_layout(tmp_path, file).bounds
    truth = [read(tmp_path, file, group).to_pydict() for group in range(3)]
    sound = path.read_bytes()
    for at in range(len(sound)):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        for group in range(3):
            if at >= bounds[-1] or bounds[group] <= at < bounds[group + 1]:
                with pytest.raises(DamagedError, match="--rebuild"):
                    read(tmp_path, file, group)
            else:
                assert read(tmp_path, file, group).to_pydict() == truth[group]


@pytest.mark.parametrize("change", ["shorter", "longer", "missing"])
def test_another_size(tmp_path: Path, change: str) -> None:
    file = written(tmp_path)
    path = file.path(tmp_path)
    data = path.read_bytes()
    path.unlink()
    if change != "missing":
        path.write_bytes(data[:-1] if change == "shorter" else data + b"x")
    with pytest.raises(DamagedError, match="damaged or missing"):
        read(tmp_path, file, 0)


def test_a_footer_without_checksums_of_groups(tmp_path: Path) -> None:
    file = written(tmp_path)
    path = file.path(tmp_path)
    pq.write_table(TABLE, path)
    size = path.stat().st_size
    with pytest.raises(DamagedError, match="checksums of its row groups"):
        read_layout(
            tmp_path, replace(file, size=size, footer_size=size, footer_crc32c=crc32c_of_file(path, size))
        )
