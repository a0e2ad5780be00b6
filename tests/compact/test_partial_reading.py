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


def written(run_dir: Path, table: pa.Table = TABLE) -> CompactFile:
    path = run_dir / FOLDER / "histograms.parquet"
    path.parent.mkdir()
    footer = write_groups(path, table, ROWS)
    size = path.stat().st_size
    return CompactFile(path.name, size, crc32c_of_file(path, size), *footer)


def read(run_dir: Path, file: CompactFile, group: int) -> pa.Table:
    return read_group(run_dir, file, read_layout(run_dir, file), group, COLUMNS)


def test_each_group_alone(tmp_path: Path) -> None:
    file = written(tmp_path)
    for group, at in enumerate(range(0, 10, ROWS)):
        assert read(tmp_path, file, group).to_pydict() == TABLE.slice(at, ROWS).select(COLUMNS).to_pydict()
    assert pq.read_table(file.path(tmp_path)).select(COLUMNS).to_pydict() == TABLE.select(COLUMNS).to_pydict()


@pytest.mark.parametrize("groups", [1, 14, 15, 200])
def test_a_footer_is_parsed_group_by_group(tmp_path: Path, groups: int) -> None:
    table = pa.concat_tables([TABLE] * groups).slice(0, groups * ROWS - 1)
    file = written(tmp_path, table)
    layout = read_layout(tmp_path, file)
    assert layout.metadata is None
    assert layout.stops.tolist() == [*range(ROWS, groups * ROWS, ROWS), groups * ROWS - 1]
    for group in {0, groups // 2, groups - 1}:
        expected = table.slice(group * ROWS, ROWS).select(COLUMNS)
        assert read_group(tmp_path, file, layout, group, COLUMNS).to_pydict() == expected.to_pydict()


def test_a_footer_that_looks_otherwise_is_parsed_as_a_whole(tmp_path: Path) -> None:
    """GIVEN a name with the bytes that begin a row group, which its statistics repeat."""
    names = pa.array(["a\x19\x3c\x26"] * 10).dictionary_encode()
    table = TABLE.set_column(0, "node", names)
    file = written(tmp_path, table)
    layout = read_layout(tmp_path, file)
    assert layout.metadata is not None
    assert layout.nbytes > file.footer_size
    for group, at in enumerate(range(0, 10, ROWS)):
        assert read(tmp_path, file, group).to_pydict() == table.slice(at, ROWS).select(COLUMNS).to_pydict()


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
