"""Damaged and hostile files: a sentence or what is whole, never a crash, a hang or a huge allocation."""

from __future__ import annotations

import io
import json
import shutil
import struct
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensortap.core.errors import TensortapError
from tensortap.importers.errors import RefusedError
from tensortap.importers.importing import import_source
from tensortap.importers.run_builder import Imported

MEMORY = 128 << 20  # bytes that an import of a few KB may take at most

# What is imported -> the file of it that is damaged.
SOURCES = {
    "arrays/one.npy": "arrays/one.npy",
    "arrays/many.npz": "arrays/many.npz",
    "arrays/all.safetensors": "arrays/all.safetensors",
    "arrays/shards": "arrays/shards/model.safetensors.index.json",
    "graphs/frozen.pb": "graphs/frozen.pb",
    "graphs/saved": "graphs/saved/saved_model.pb",
    "checkpoints/tf2": "checkpoints/tf2/ckpt-10.index",
    "checkpoints/tf1": "checkpoints/tf1/model.ckpt-100.data-00000-of-00001",
    "events/v1": "events/v1/*",
    "events/v2": "events/v2/train/*",
    "tfdbg1/values/run_*": "tfdbg1/values/run_*/_tfdbg_device*/layer/product_0_*",
    "tfdbg1/numeric/run_*": "tfdbg1/numeric/run_*/_tfdbg_device*/_tfdbg_graph*",
    "tfdbg2/full_tensor": "tfdbg2/full_tensor/*.graphs",
    "tfdbg2/full_health": "tfdbg2/full_health/*.graph_execution_traces",
    "tfdbg2/eager": "tfdbg2/eager/*.execution",
}
FRAMED = (".execution", ".graphs", ".graph_execution_traces", "tfevents")


@pytest.fixture(scope="module")
def warm(artefacts: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Everything that is loaded or compiled once, before memory is measured."""
    import_source(artefacts / "arrays" / "one.npy", tmp_path_factory.mktemp("warm"))


def imported_or_refused(source: Path, logdir: Path) -> Imported | None:
    """Imports; a refusal leaves nothing behind."""
    try:
        found = import_source(source, logdir, "run")
    except TensortapError as error:
        assert str(error)
        assert not logdir.exists() or not list(logdir.iterdir())
        return None
    assert found.snapshots or found.graphs
    return found


def changes(length: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Positions and what to change the byte there by."""
    change = st.tuples(st.integers(0, max(length - 1, 0)), st.integers(1, 255))
    return st.lists(change, min_size=1, max_size=6)


def damaged(data: bytes, draw: Any) -> bytes:
    """Flipped bytes, then perhaps a cut."""
    out = bytearray(data)
    for at, by in draw(changes(len(data))):
        out[at] ^= by
    return bytes(out[: draw(st.sampled_from([len(out), len(out), draw(st.integers(0, len(out)))]))])


def damaged_record(data: bytes, draw: Any) -> bytes:
    """A TFRecord file with bytes flipped inside of a record, and checksums that are right again."""
    from tensortap.tfproto.tfrecord import masked_crc32c

    at, out = 0, bytearray()
    target = draw(st.integers(0, 10))
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        record = data[at + 12 : at + 12 + length]
        if target == 0 and record:
            record = damaged(record, draw)
        target -= 1
        head = struct.pack("<Q", len(record))
        out += head + struct.pack("<I", masked_crc32c(head))
        out += record + struct.pack("<I", masked_crc32c(record))
        at += 16 + length
    return bytes(out)


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_a_sentence_or_what_is_whole(warm: None, artefacts: Path, source: str, data: Any) -> None:
    original = sorted(artefacts.glob(source))[0]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / original.relative_to(artefacts)
        if original.is_dir():
            shutil.copytree(original, copy)
        else:
            copy.parent.mkdir(parents=True)
            shutil.copy(original, copy)
        file = sorted(Path(folder).glob(SOURCES[source]))[0]
        whole = file.read_bytes()
        framed = any(mark in file.name for mark in FRAMED) and data.draw(st.booleans())
        file.write_bytes((damaged_record if framed else damaged)(whole, data.draw))
        tracemalloc.start()
        try:
            imported_or_refused(copy, Path(folder, "logs"))
            assert tracemalloc.get_traced_memory()[1] < MEMORY
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("source", ["keras/model.weights.h5", "keras/model.keras"])
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_hdf5_does_not_take_the_process_along(artefacts: Path, source: str, data: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, Path(source).name)
        copy.write_bytes(damaged((artefacts / source).read_bytes(), data.draw))
        imported_or_refused(copy, Path(folder, "logs"))


def test_an_array_that_is_promised_but_not_there(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 28,)}
    )
    (tmp_path / "big.npy").write_bytes(header.getvalue())
    with pytest.raises(RefusedError, match="truncated"):
        import_source(tmp_path / "big.npy", tmp_path / "logs")


def test_structs_without_bytes_are_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|V0", "fortran_order": False, "shape": (1 << 60,)}
    )
    (tmp_path / "big.npy").write_bytes(header.getvalue())
    with pytest.raises(RefusedError, match="structs"):
        import_source(tmp_path / "big.npy", tmp_path / "logs")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"x" * 1000)
    data = bytearray((tmp_path / "bomb.npz").read_bytes())
    at = data.index(b"PK\x01\x02") + 24  # the size that the directory promises
    data[at : at + 4] = struct.pack("<I", (1 << 32) - 2)
    (tmp_path / "bomb.npz").write_bytes(data)
    with pytest.raises(RefusedError, match="not valid"):
        import_source(tmp_path / "bomb.npz", tmp_path / "logs")


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "sub/a.safetensors", "a.pkl"])
def test_an_index_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": name}}))
    with pytest.raises(RefusedError, match="not a shard in the same folder"):
        import_source(index, tmp_path / "logs")


def test_a_tensor_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    """Python's JSON would only see the last of them."""
    entry = '"w":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}'
    header = ("{" + ",".join((entry % (0, 4), entry % (4, 8))) + "}").encode()
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    with pytest.raises(RefusedError, match=r"model\.safetensors is damaged: it has 'w' twice\."):
        import_source(path, tmp_path / "logs")


def test_hdf5_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.ones(3)
    np.arange(8.0).tofile(tmp_path / "raw.bin")
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["own"] = np.ones(2)
        file["link"] = h5py.ExternalLink("other.h5", "/secret")
        file.create_dataset("raw", (8,), "<f8", external=[(str(tmp_path / "raw.bin"), 0, 64)])

    found = import_source(tmp_path / "links.h5", tmp_path / "logs")

    assert found.snapshots == 1
    assert "raw: Its data are in external files" in " ".join(found.notes)


def test_a_short_message_that_fills_a_gigabyte_is_refused(tmp_path: Path) -> None:
    from tensortap.core.errors import InvalidValueError
    from tensortap.importers.tf_formats.protos import parse
    from tensortap.tfproto.tensor_proto import tensor_array

    proto = parse("TensorProto", b"", "A tensor")
    proto.dtype = 1
    proto.float_val.append(1)
    for _ in range(4):
        proto.tensor_shape.dim.add().size = 1 << 20
    with pytest.raises(InvalidValueError, match="4 GiB"):
        tensor_array(proto)
