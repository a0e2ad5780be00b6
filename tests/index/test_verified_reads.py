"""Parts of damaged values: each answer is that of the sound value, an error, or marked as not verified."""

from __future__ import annotations

import random
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from format_1_0 import downgrade

import tensortap
from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError, SelectionError, TensortapError, UnverifiedWarning
from tensortap.core.sampling import Sample
from tensortap.dump.format.block_checksums import BLOCK, value_checksums
from tensortap.dump.format.layout import HEADER
from tensortap.dump.read import values_reader
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.run_index import RunIndex
from tensortap.index.values import extreme_element, nonfinite_elements, read_slice, select_slice
from tensortap.storage.files import crc32c

RNG = np.random.default_rng(0)
SPARSE = np.where(RNG.random((600, 500)) < 0.1, RNG.standard_normal((600, 500)), 0)
ARRAYS: dict[str, Array] = {
    "float32": RNG.standard_normal((300, 200)).astype(np.float32),
    "float8": RNG.standard_normal((300, 400)).astype(ml_dtypes.float8_e4m3fn),
    "complex": (RNG.standard_normal((100, 90)) + 1j).astype(np.complex128),
    "int4": RNG.integers(-8, 7, (300, 200)).astype(ml_dtypes.int4),
    "packed": SPARSE,
    "zeros": np.where(RNG.random((900, 500)) < 0.005, 1.0, 0.0),
    "text": np.array([b"x" * int(n) for n in RNG.integers(0, 40, 3000)], object).reshape(30, 100),
    "small": RNG.standard_normal(300),
    "row": RNG.standard_normal(20),
}
SELECTIONS = ("", "5", "-1", "3:9", "::7", "2:20:3")


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    with DumpWriter(tmp_path, "r") as writer:
        for name, array in ARRAYS.items():
            writer.log(name, array, step=0)
        writer.log("sample", ARRAYS["float32"], step=0, sample=Sample(20_000))
        for part, array in zip(("values", "row_splits_0"), (np.arange(9000.0), np.arange(9000)), strict=True):
            writer.log(f"ragged/{part}", array, step=0)
    return tmp_path


def open_run(logdir: Path) -> RunIndex:
    log = LogIndex(logdir, use_cache=False)
    log.refresh()
    return log.runs[0]


def answers(run: RunIndex) -> dict[tuple[str, str], object]:
    """Every answer about values, an error by its type."""
    found: dict[tuple[str, str], object] = {}
    for name in (*ARRAYS, "sample", "ragged/values", "ragged/row_splits_0"):
        for selection in SELECTIONS:
            try:
                value = np.asarray(read_slice(run, find_snapshot(run, name, step=0), selection))
                found[name, selection] = value.tolist() if value.dtype == object else value.tobytes()
            except TensortapError as error:
                found[name, selection] = error
    return found


@pytest.mark.parametrize("old", [False, True])
def test_a_changed_byte_is_never_read(logdir: Path, old: bool) -> None:
    if old:
        downgrade(logdir / "r")
    truth = answers(open_run(logdir))
    assert not [answer for answer in truth.values() if isinstance(answer, Exception)]
    (file,) = logdir.rglob("values-*")
    whole = file.read_bytes()
    draw = random.Random(1)
    noticed = 0
    for _ in range(40):
        at = draw.randrange(HEADER, len(whole))
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
        for key, answer in answers(open_run(logdir)).items():
            assert answer == truth[key] or isinstance(answer, DamagedError), (key, at)
            noticed += isinstance(answer, DamagedError)
    assert noticed >= 40


def test_blocks_elsewhere_are_not_read(logdir: Path) -> None:
    run = open_run(logdir)
    part = select_slice(run, find_snapshot(run, "float32", step=0), "0")
    (file,) = logdir.rglob("values-*")
    data = bytearray(file.read_bytes())
    data[part.ref.offset + BLOCK] ^= 1
    file.write_bytes(data)
    np.testing.assert_array_equal(part.read(), ARRAYS["float32"][0])
    with pytest.raises(DamagedError, match="bytes 32,768 to 65,536"):
        read_slice(run, find_snapshot(run, "float32", step=0), "41")


def test_long_values_of_an_old_dump_are_marked(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where reading a value whole takes too long; an analysis reads it whole all the same."""
    monkeypatch.setattr(values_reader, "READ_WHOLE", 100_000)
    run = open_run(logdir)
    assert select_slice(run, find_snapshot(run, "float32", step=0), "5").unverified == ""
    downgrade(logdir / "r")
    run = open_run(logdir)
    snapshot = find_snapshot(run, "float32", step=0)
    part = select_slice(run, snapshot, "5")
    (file,) = logdir.rglob("values-*")
    data = bytearray(file.read_bytes())
    data[part.ref.offset + 5 * 200 * 4] ^= 1
    file.write_bytes(data)
    assert "format 1.0" in part.unverified
    assert not np.array_equal(part.read(), ARRAYS["float32"][5])
    assert "format 1.0" in nonfinite_elements(run, snapshot).unverified
    with pytest.raises(DamagedError):
        read_slice(run, snapshot, "5")
    whole = select_slice(run, snapshot)
    assert whole.unverified == ""
    with pytest.raises(DamagedError):
        whole.read()
    assert select_slice(run, find_snapshot(run, "small", step=0), "5").unverified == ""
    with pytest.warns(UnverifiedWarning, match="Not verified"):
        tensortap.open(logdir).runs["r"].tensor("float32", step=0)[5]


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 5 * BLOCK + 17])
def test_the_checksum_of_the_whole_is_put_together_from_those_of_blocks(size: int) -> None:
    data = RNG.bytes(size)
    whole, blocks = value_checksums(data)
    assert whole == crc32c(data)
    parts = [data[at : at + BLOCK] for at in range(0, size, BLOCK)]
    assert list(blocks) == ([crc32c(part) for part in parts] if len(parts) > 1 else [])


def test_a_damaged_value_is_part_of_the_damage_until_it_is_pruned(logdir: Path) -> None:
    run = open_run(logdir)
    snapshot = find_snapshot(run, "float32", step=0)
    part = select_slice(run, snapshot)
    (file,) = logdir.rglob("values-*")
    data = bytearray(file.read_bytes())
    data[part.ref.offset + 5] ^= 1
    file.write_bytes(data)
    assert run.damage == []
    for _ in range(2):
        with pytest.raises(DamagedError):
            read_slice(run, snapshot)
    (sentence,) = run.damage
    assert sentence.startswith("the value of float32:0 at step 0 cannot be read: ")
    file.with_suffix(".pruned").touch()
    file.unlink()
    while run.poll():
        pass
    assert run.damage == []


def test_text_has_no_largest_element(logdir: Path) -> None:
    run = open_run(logdir)
    with pytest.raises(SelectionError, match="Text has no"):
        extreme_element(run, find_snapshot(run, "text", step=0), largest=True)
