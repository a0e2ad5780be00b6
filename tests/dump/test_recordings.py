"""Recordings and bundles: written, read, shared between recordings, proven by hashes."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.errors import DamagedError, FormatVersionError, NotFoundError, TensortapError
from tensortap.core.records import Graph, Node
from tensortap.dump.recording.bundle import read_bundle, read_bundle_graph, write_bundle
from tensortap.dump.recording.recording import (
    Argument,
    Part,
    Recording,
    array_hash,
)
from tensortap.dump.recording.recording_files import (
    find_recordings,
    read_recording,
    recording_note,
    write_recording,
)
from tensortap.storage.files import publish_json, read_json

LARGE = np.arange(50_000, dtype=np.float32)  # 200 kB


def recording(step: int = 7, **changed: object) -> Recording:
    arguments = (
        Argument("tensor", "x", (np.array([[1, np.nan], [-0.0, 3]], np.float32),)),
        Argument("variable", "dense/kernel", (LARGE,), "float32", (50_000,), device="/device:CPU:0"),
        Argument("variable", "unset", (), "float32", (None, 3)),
        Argument(
            "iterator",
            "iterator",
            (np.zeros((0, 3), ml_dtypes.bfloat16), np.array([b"a", b"", b"\xff"], object)),
            parts=(Part("bfloat16", (None, 3)), Part("string", None)),
        ),
        Argument("tensor", "flag", (np.array(True),)),
    )
    fields = {
        "function": "__inference_step_1",
        "library": b"\x00library" * 10,
        "arguments": arguments,
        "step": step,
        "time": 1.5,
        "reason": "every 100",
        "output_hashes": (array_hash(LARGE),),
        "variable_hashes": {1: array_hash(LARGE + 1)},
        "tensor_hashes": {"a:0": (array_hash(LARGE), array_hash(LARGE * 2))},
        "versions": {"tensorflow": "2.21.0"},
    }
    return Recording(**(fields | changed))


def assert_same(found: Recording, wanted: Recording) -> None:
    for name in Recording.__slots__:
        if name != "arguments":
            assert getattr(found, name) == getattr(wanted, name), name
    for got, want in zip(found.arguments, wanted.arguments, strict=True):
        for name in Argument.__slots__:
            if name != "arrays":
                assert getattr(got, name) == getattr(want, name)
        assert list(map(array_hash, got.arrays)) == list(map(array_hash, want.arrays))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    folder = write_recording(tmp_path, recording())
    assert [place.path for place in find_recordings(tmp_path)] == [folder]
    assert_same(read_recording(folder), recording())
    write_bundle(tmp_path / "step.tapbundle", recording())
    assert_same(read_bundle(tmp_path / "step.tapbundle"), recording())
    with pytest.raises(FileExistsError):
        write_bundle(tmp_path / "step.tapbundle", recording())


def test_a_bundle_holds_the_graph_without_the_rest_of_the_program(tmp_path: Path) -> None:
    text = "import secrets\nx = f()\nkey = 'private'\n"
    graph = Graph(
        "step",
        [Node("x", "Relu", stack=0)],
        stacks=[[("train.py", 2, "main")]],
        sources={"train.py": text, "keys.py": "TOKEN = 1\n"},
    )
    path = tmp_path / "step.tapbundle"
    write_bundle(path, recording(), graph)
    held = read_bundle(path)
    found = read_bundle_graph(path, held.graph)
    assert found is not None
    assert [node.name for node in found.nodes] == ["x"] and found.stacks == ((("train.py", 2, "main"),),)
    assert found.sources == {"train.py": "\nx = f()\n", "keys.py": ""}
    assert read_bundle_graph(path, "step-0123456789ab") is None
    assert read_bundle_graph(path, "../../x") is None
    write_bundle(tmp_path / "without", recording())
    assert read_bundle_graph(tmp_path / "without", read_bundle(tmp_path / "without").graph) is None

    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(tmp_path / "torn", "w") as torn:
        for name in archive.namelist():
            data = archive.read(name)
            torn.writestr(name, data[: len(data) // 2] if name.startswith("graphs/") else data)
    with pytest.raises(DamagedError):
        read_bundle_graph(tmp_path / "torn", held.graph)


def test_what_did_not_change_is_kept_once(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        write_recording(tmp_path, recording(step))
    assert [place.step for place in find_recordings(tmp_path)] == [1, 2, 3]
    assert len(list((tmp_path / "recordings" / "blobs").iterdir())) == 1


def test_recordings_of_one_number_are_in_order_of_time(tmp_path: Path) -> None:
    for number in (3, 1, 2, 0):
        write_recording(tmp_path, recording(7, time=float(number)))
    places = find_recordings(tmp_path)
    assert [recording_note(place.path).time for place in places] == [0.0, 1.0, 2.0, 3.0]


def test_hashes_tell_every_bit_apart() -> None:
    zero, nan = np.zeros(2, np.float32), np.array([np.nan, 0], np.float32)
    tiny = np.array([1, 0], np.uint32).view(np.float32)
    arrays = [zero, -zero, nan, nan[::-1], tiny, zero.reshape(2, 1), zero.astype(np.int32), zero[:1]]
    assert len({array_hash(array) for array in arrays}) == len(arrays)
    assert array_hash(LARGE[::2]) == array_hash(LARGE[::2].copy())


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (np.float16, [0x7E00, 0xFE00, 0x7E01]),
        (ml_dtypes.bfloat16, [0x7FC0, 0xFFC0, 0x7F81]),
        (ml_dtypes.float8_e5m2, [0x7E, 0xFE, 0x7D]),
        (np.float32, [0x7FC00000, 0xFFC00000, 0x7F800001]),
        (np.float64, [0x7FF8 << 48, 0xFFF8 << 48, (0x7FF << 52) + 1]),
        (np.complex64, [0x7FC00000, 0xFFC00000, 0x7FC00000 + (3 << 32)]),
    ],
)
def test_signs_and_payloads_of_nan_are_not_distinguished(dtype: type, bits: list[int]) -> None:
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    plain, negative, other = (np.array([each, 0], unsigned).view(dtype) for each in bits)
    assert array_hash(plain) == array_hash(negative)
    assert (array_hash(plain) == array_hash(other)) is (dtype is not np.complex64)  # another imaginary part


def test_recordings_whose_hashes_are_of_the_bytes(tmp_path: Path) -> None:
    """Older ones do not say that all NaN count as one, and theirs are what x86 makes of inf - inf."""
    made = np.array([0xFFC00000], np.uint32).view(np.float32)
    old = hashlib.sha256(b"float32[1]" + made.tobytes()).hexdigest()
    assert old != array_hash(made)
    folder = write_recording(tmp_path, recording(output_hashes=(old,)))
    manifest = read_json(folder / "recording.json")
    assert manifest.pop("nan_as_one") is True
    assert not read_recording(folder).has_hash(made, old)
    publish_json(folder / "recording.json", manifest)
    found = read_recording(folder)
    assert not found.nan_as_one
    assert found.has_hash(made, old) and found.has_hash(-made, array_hash(made))
    assert not found.has_hash(-made, old) and not found.has_hash(np.ones(1, np.float32), old)


def test_there_is_none(tmp_path: Path) -> None:
    assert find_recordings(tmp_path) == []
    with pytest.raises(NotFoundError):
        read_recording(tmp_path / "recordings" / "7-0-00000000")


def test_one_without_its_manifest_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "recordings" / "7-0-00000000"
    folder.mkdir(parents=True)
    assert [place.path for place in find_recordings(tmp_path)] == [folder]
    with pytest.raises(DamagedError, match=r"recording\.json is missing"):
        read_recording(folder)


@pytest.mark.parametrize("file", ["small.bin", "../blobs/*.blob", "recording.json"])
def test_damage_is_reported(tmp_path: Path, file: str) -> None:
    folder = write_recording(tmp_path, recording())
    (path,) = folder.parent.glob(f"blobs/{Path(file).name}") if "blobs" in file else [folder / file]
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError):
        read_recording(folder)
    path.unlink()
    with pytest.raises(TensortapError):
        read_recording(folder)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    folder = write_recording(tmp_path, recording())
    manifest = read_json(folder / "recording.json")
    publish_json(folder / "recording.json", manifest | {"version": 2})
    with pytest.raises(FormatVersionError):
        read_recording(folder)


def test_hashes_of_variables_that_are_no_arguments_are_refused(tmp_path: Path) -> None:
    """They would be compared with nothing, and count as proven."""
    folder = write_recording(tmp_path, recording())
    manifest = read_json(folder / "recording.json")
    for number in ("99", "-1"):
        hashes = {"variable_hashes": {number: "0" * 64}}
        publish_json(folder / "recording.json", manifest | hashes)
        with pytest.raises(DamagedError, match="is invalid"):
            read_recording(folder)


def test_a_bundle_cannot_claim_more_than_it_holds(tmp_path: Path) -> None:
    write_bundle(tmp_path / "good", recording())
    with zipfile.ZipFile(tmp_path / "good") as good, zipfile.ZipFile(tmp_path / "bad", "w") as bad:
        for name in good.namelist():
            data = good.read(name)
            if name == "recording.json":
                data = data.replace(b'"length": 200000', b'"length": 8000000000')
            bad.writestr(name, data)
    with pytest.raises(DamagedError):
        read_bundle(tmp_path / "bad")


@given(st.data())
def test_flipped_bytes_of_a_manifest_never_crash(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = write_recording(tmp_path_factory.mktemp("run"), recording())
    path = folder / "recording.json"
    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(text)
    try:
        found = read_recording(folder)
    except TensortapError:
        return
    assert isinstance(found, Recording)


@given(st.binary(max_size=2000))
def test_any_bytes_are_no_bundle(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bundle") / "x"
    path.write_bytes(data)
    with pytest.raises(DamagedError):
        read_bundle(path)


@pytest.mark.parametrize(("at", "byte"), [(6, 0xFF), (46, 0xFF)], ids=["version", "name"])
def test_a_directory_that_zipfile_does_not_read_is_reported(tmp_path: Path, at: int, byte: int) -> None:
    """Of a zip's newer version, and of a name that says it is UTF-8 and is not."""
    path = tmp_path / "odd.tapbundle"
    write_bundle(path, recording())
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 9] |= 8  # names are UTF-8
    data[entry + at] = byte
    path.write_bytes(data)
    for read in (lambda: read_bundle(path), lambda: read_bundle_graph(path, "step-000000000000")):
        with pytest.raises(DamagedError, match=r"odd\.tapbundle is not a bundle"):
            read()
