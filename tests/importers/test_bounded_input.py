"""What an import takes is bounded by the source's bytes: packed arrays, shared bytes, legal empty arrays."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tf_messages import tensor_event, write_events

from tensortap.api.logdir import open_logdir
from tensortap.importers.errors import RefusedError
from tensortap.importers.importing import import_source

MB = 1 << 20


def npy_header(shape: tuple[int, ...], dtype: str) -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    return header.getvalue()


def packed_zeros(head: bytes, count: int) -> bytes:
    """`head` and `count` MB of zeros, deflated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    out = [packer.compress(head), packer.flush(zlib.Z_FULL_FLUSH)]
    out += [(packer.compress(bytes(MB)) + packer.flush(zlib.Z_FULL_FLUSH))] * count
    return b"".join([*out, packer.flush()])


def write_zip(path: Path, members: list[tuple[str, bytes, int]], *, at_first: bool = False) -> Path:
    """An archive of deflated members (name, packed bytes, size). `at_first`: all are where the first one is.

    Checksums are not right: nothing may be unpacked so far.
    """
    data, listed = bytearray(), bytearray()
    for name, packed, size in members:
        at = 0 if at_first else len(data)
        lengths = struct.pack("<IIIH", 0, len(packed), size, len(name))
        data += b"PK\3\4" + struct.pack("<HHHI", 20, 0, 8, 0) + lengths + bytes(2) + name.encode() + packed
        listed += b"PK\1\2" + struct.pack("<HHHHI", 20, 20, 0, 8, 0) + lengths
        listed += bytes(12) + struct.pack("<I", at) + name.encode()
    count = len(members)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(listed), len(data), 0)
    path.write_bytes(data + listed + end)
    return path


def write_safetensors(path: Path, header: dict[str, Any], size: int) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(size)))
    return path


def entry(shape: list[int], begin: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


LIMITED = """
import sys
from pathlib import Path
import numpy as np
from tensortap.importers.errors import RefusedError
from tensortap.importers.importing import import_source
from tensortap.system.sandbox import limit_memory

source, logdir = map(Path, sys.argv[1:])
np.save(source.with_name("first.npy"), np.ones(3))
import_source(source.with_name("first.npy"), logdir)  # what is loaded once does not count
limit_memory(64 << 20)
try:
    import_source(source, logdir)
except RefusedError as error:
    print(error)
"""


def refused_in_64_mb(source: Path) -> str:
    """Why an import is refused, in a process that may take 64 MB more than it has."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(source), str(source.parent / "logs")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_packed_gigabyte_takes_no_memory(tmp_path: Path) -> None:
    header = npy_header((1000 * MB,), "|u1")
    packed = packed_zeros(header, 1000)
    source = write_zip(tmp_path / "bomb.npz", [("a.npy", packed, len(header) + 1000 * MB)])
    assert source.stat().st_size < 2 * MB

    reported = refused_in_64_mb(source)

    assert "a: It would expand from 1.0 MB to 1.0 GB" in reported
    assert "tensortap import --max-unpacked 2G" in reported


def test_arrays_of_a_file_share_the_limit(tmp_path: Path) -> None:
    arrays = {name: np.zeros(MB, np.uint8) for name in "abcd"}
    arrays["dense"] = np.random.default_rng(0).integers(0, 256, MB, np.uint8)
    np.savez_compressed(tmp_path / "some.npz", **arrays)

    few = import_source(tmp_path / "some.npz", tmp_path / "few", unpacked=2 * MB)
    all_of_them = import_source(tmp_path / "some.npz", tmp_path / "all", unpacked=4 * MB)

    assert few.snapshots == 2 + 1  # two of zeros, and the one that hardly shrinks
    assert all_of_them.snapshots == 5


def test_texts_count_with_what_they_take_in_memory(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "texts.npz", texts=np.full(100_000, "a"))

    with pytest.raises(RefusedError, match="unpack"):
        import_source(tmp_path / "texts.npz", tmp_path / "logs", unpacked=MB)
    assert import_source(tmp_path / "texts.npz", tmp_path / "logs", unpacked=16 * MB).snapshots == 1


@pytest.mark.parametrize("dtype", ["|S0", "<U0"])
def test_texts_without_bytes_are_bounded(tmp_path: Path, dtype: str) -> None:
    (tmp_path / "many.npy").write_bytes(npy_header((1 << 31,), dtype))
    (tmp_path / "few.npy").write_bytes(npy_header((2, 3), dtype))

    with pytest.raises(RefusedError, match="more than 1,000,000 texts"):
        import_source(tmp_path / "many.npy", tmp_path / "logs")
    assert import_source(tmp_path / "few.npy", tmp_path / "logs").snapshots == 1


def test_hdf5_chunks_that_hold_nothing_or_zeros(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.create_dataset("zeros", data=np.zeros(2 * MB, np.uint8), compression="gzip", chunks=(MB,))
        file.create_dataset("unwritten", (2 * MB,), "u1", chunks=(MB,))
        file["sound"] = np.arange(3.0)

    found = import_source(tmp_path / "w.h5", tmp_path / "logs", unpacked=MB)

    assert found.snapshots == 1
    assert "zeros: It would expand from" in (notes := " ".join(found.notes))
    assert "unwritten: It would expand from 0 B to 2.1 MB" in notes


def test_members_that_share_bytes_are_refused(tmp_path: Path) -> None:
    header = npy_header((4,), "|u1")
    packed = zlib.compress(header + bytes(4), 9)[2:-4]
    members = [(f"{name}.npy", packed, len(header) + 4) for name in "ab"]

    with pytest.raises(RefusedError, match=r"members 'a\.npy' and 'b\.npy' overlap"):
        import_source(write_zip(tmp_path / "same.npz", members, at_first=True), tmp_path / "logs")


def test_a_member_that_reaches_into_the_next_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nested.npz"
    np.savez(path, a=np.arange(4.0), b=np.arange(4.0))
    with zipfile.ZipFile(path) as archive:
        second = archive.getinfo("b.npy").header_offset
    data = bytearray(path.read_bytes())
    data[28:30] = struct.pack("<H", second)  # the length of the first one's extra field
    path.write_bytes(data)

    with pytest.raises(RefusedError, match="overlap"):
        import_source(path, tmp_path / "logs")


def _npy(path: Path) -> Path:
    np.save(path / "w.npy", np.zeros((0, 3), np.float32))
    return path / "w.npy"


def _npz(path: Path) -> Path:
    np.savez_compressed(path / "w.npz", w=np.zeros((0, 3), np.float32))
    return path / "w.npz"


def _safetensors(path: Path) -> Path:
    return write_safetensors(path / "w.safetensors", {"w": entry([0, 3], 0, 0)}, 0)


def _hdf5(path: Path) -> Path:
    with h5py.File(path / "w.h5", "w") as file:
        file.create_dataset("w", (0, 3), "f4", maxshape=(None, 3), chunks=(4, 3), compression="gzip")
    return path / "w.h5"


def _events(path: Path) -> Path:
    event = tensor_event((0, 3))
    event.summary.value[0].tag = "w"
    return write_events(path / "tb", event)


def _folder(path: Path) -> Path:
    (path / "arrays").mkdir()
    np.save(path / "arrays" / "w.npy", np.zeros((0, 3), np.float32))
    return path / "arrays"


@pytest.mark.parametrize("make", [_npy, _npz, _safetensors, _hdf5, _events, _folder])
def test_an_array_without_elements_is_imported(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    import_source(make(tmp_path), tmp_path / "logs", "run")

    (tensor,) = open_logdir(tmp_path / "logs").runs["run"].find("w")
    assert tensor.shape == (0, 3) and tensor.dtype == "float32"
    assert np.asarray(tensor).shape == (0, 3)


def test_hdf5_without_a_shape_is_an_empty_array(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["numbers"], file["texts"] = h5py.Empty("f4"), h5py.Empty(h5py.string_dtype())

    import_source(tmp_path / "w.h5", tmp_path / "logs", "run")

    found = open_logdir(tmp_path / "logs").runs["run"].find("")
    assert {tensor.name: (tensor.shape, tensor.dtype) for tensor in found} == {
        "numbers:0": ((0,), np.float32),
        "texts:0": ((0,), np.object_),
    }


def test_extents_beside_an_extent_of_0_may_be_large(tmp_path: Path) -> None:
    (tmp_path / "wide.npy").write_bytes(npy_header((0, 1 << 40), "<f4"))
    (tmp_path / "beyond.npy").write_bytes(npy_header((0, 1 << 62, 4), "<f4"))

    assert import_source(tmp_path / "wide.npy", tmp_path / "logs").snapshots == 1
    with pytest.raises(RefusedError, match="exceeds the limit of NumPy"):
        import_source(tmp_path / "beyond.npy", tmp_path / "logs")


@pytest.mark.parametrize(
    ("header", "size", "note"),
    [
        ({"a": entry([2], 8, 16)}, 16, "has bytes outside all tensors: 8 B between tensors."),
        ({"a": entry([2], 0, 8)}, 20, "outside all tensors: 12 B after the last one."),
        (
            {"a": entry([1], 4, 8), "b": entry([1], 12, 16), "e": entry([0], 20, 20)},
            24,
            "outside all tensors: 8 B between tensors and 8 B after the last one.",
        ),
        ({"a": entry([2], 0, 8), "b": entry([2], 4, 12)}, 12, "b: Its bytes overlap"),
    ],
)
def test_the_layout_of_safetensors_is_checked(
    tmp_path: Path, header: dict[str, Any], size: int, note: str
) -> None:
    found = import_source(write_safetensors(tmp_path / "w.safetensors", header, size), tmp_path / "logs")

    assert note in " ".join(found.notes)


def test_sound_safetensors_have_no_note(tmp_path: Path) -> None:
    header = {
        "b": entry([1], 4, 8),
        "a": entry([1], 0, 4),
        "e": entry([0], 8, 8),
        "__pad__8": entry([8], 8, 16, "U8"),
    }
    plain = write_safetensors(tmp_path / "w.safetensors", {"__metadata__": {"format": "tf"}, **header}, 16)

    found = import_source(plain, tmp_path / "logs")
    assert found.snapshots and found.notes == []


def _notes(source: Path, logs: Path) -> str:
    return " ".join(import_source(source, logs).notes)


def test_bytes_that_no_array_has_are_reported(tmp_path: Path) -> None:
    """GIVEN an array with too many bytes for its shape WHEN it is imported THEN that is said, also in a
    folder and an archive; NumPy ignores them."""
    whole = npy_header((6,), "<f8") + np.arange(6.0).tobytes()
    short = npy_header((5,), "<f8") + np.arange(6.0).tobytes()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.npy").write_bytes(whole)
    assert _notes(folder / "a.npy", tmp_path / "sound") == ""
    (folder / "a.npy").write_bytes(short)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", short)
    for number, source in enumerate((folder / "a.npy", folder, tmp_path / "a.npz")):
        assert _notes(source, tmp_path / f"logs-{number}") == "a.npy has 8 B after its array."


def test_arrays_of_an_npz_with_one_name_are_reported(tmp_path: Path) -> None:
    array = npy_header((2,), "<f8") + np.arange(2.0).tobytes()
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", array)
        archive.writestr("a", array)
    assert _notes(tmp_path / "a.npz", tmp_path / "logs") == "a.npz has 2 arrays named 'a'."


def test_an_array_that_the_list_of_an_npz_has_lost_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.ones(2), b=np.ones(3))
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\5\6")
    data[end + 10 : end + 12] = struct.pack("<H", 3)
    path.write_bytes(data)
    with pytest.raises(RefusedError, match="lists 2 members, and claims 3"):
        import_source(path, tmp_path / "logs")


def test_a_tensor_named_like_a_gap_is_imported(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    header = json.dumps({"__pad__scale": entry}).encode()
    source = tmp_path / "a.safetensors"
    source.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    assert import_source(source, tmp_path / "logs").snapshots == 1
