"""Small files that promise much: what an import may make of them is bounded by their bytes."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tf_messages import leveldb_table, message, scalar, tensor_event, tfrecord, write_events

from tensortap.core.errors import InvalidValueError
from tensortap.dump.read.runs import RunReader
from tensortap.importers.arrays import hdf5
from tensortap.importers.errors import RefusedError
from tensortap.importers.importing import import_source
from tensortap.tfproto.function_calls import recursion
from tensortap.tfproto.tensor_proto import tensor_array


def disk_usage(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def written(tmp_path: Path, graph_def: Any) -> Path:
    file = tmp_path / "g.pb"
    file.write_bytes(graph_def.SerializeToString())
    return file


def split(nodes: Any, number: int, outputs: int) -> None:
    node = nodes.add(name=f"n{number}", op="Split")
    node.attr["num_split"].i = outputs
    node.attr["T"].type = 1


def graphs_in(run: Path) -> list[Any]:
    reader = RunReader(run)
    return [reader.graph(graph_id) for graph_id in reader.graph_ids()]


def test_nodes_with_endless_outputs_are_refused(tmp_path: Path) -> None:
    graph_def = message("GraphDef")
    for number in range(50):
        split(graph_def.node, number, 10_000)

    with pytest.raises(RefusedError, match="more outputs"):
        import_source(written(tmp_path, graph_def), tmp_path / "logs")


def test_a_node_may_have_many_outputs(tmp_path: Path) -> None:
    graph_def = message("GraphDef")
    split(graph_def.node, 0, 5_000)
    graph_def.node.add(name="last", op="Identity", input=["n0:4999"])

    import_source(written(tmp_path, graph_def), tmp_path / "logs")

    (graph,) = graphs_in(tmp_path / "logs" / "g.pb")
    assert len(graph.nodes[0].output_dtypes) == 5_000


def test_tfdbg2_nodes_with_endless_outputs_are_refused(tmp_path: Path) -> None:
    first = message("DebugEvent")
    first.debug_metadata.file_version = "debug.Event:1"
    events = []
    for number in range(50):
        events.append(message("DebugEvent"))
        op = events[-1].graph_op_creation
        op.op_type, op.op_name, op.graph_id, op.num_outputs = "Split", f"n{number}", "g", 10_000
    folder = tmp_path / "tfdbg"
    folder.mkdir()
    (folder / "tfdbg_events.1.host.metadata").write_bytes(tfrecord(first.SerializeToString()))
    records = b"".join(tfrecord(event.SerializeToString()) for event in events)
    (folder / "tfdbg_events.1.host.graphs").write_bytes(records)

    with pytest.raises(RefusedError, match="more outputs"):
        import_source(folder, tmp_path / "logs")


def library_of(bodies: dict[str, list[str]], padding: str = "") -> Any:
    """A GraphDef without nodes: function -> the functions that it calls."""
    graph_def = message("GraphDef")
    for name, called in bodies.items():
        function = graph_def.library.function.add()
        function.signature.name = name
        function.node_def.add(name=f"a{padding}", op="NoOp")
        for number, callee in enumerate(called):
            node = function.node_def.add(name=f"c{number}", op="PartitionedCall")
            node.attr["f"].func.name = callee
    return graph_def


def test_only_the_first_graph_of_a_library_carries_it(tmp_path: Path) -> None:
    file = written(tmp_path, library_of({f"f{number}": [] for number in range(100)}, "x" * 1000))

    found = import_source(file, tmp_path / "logs")

    assert found.graphs == 100
    assert disk_usage(tmp_path / "logs") < 20 * file.stat().st_size
    assert sum(graph.graph_def is not None for graph in graphs_in(tmp_path / "logs" / "g.pb")) == 1


@pytest.mark.parametrize(
    ("bodies", "circle"),
    [
        ({"f": ["f"]}, "f -> f"),
        ({"root": ["f"], "f": ["g"], "g": ["h"], "h": ["f"]}, "f -> g -> h -> f"),
        ({"a": [], "f": ["a", "g"], "g": ["f"]}, "f -> g -> f"),
    ],
)
def test_recursive_functions_are_refused(tmp_path: Path, bodies: dict[str, list[str]], circle: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(circle)) as refused:
        import_source(written(tmp_path, library_of(bodies)), tmp_path / "logs")

    assert "recursive functions" in refused.value.hint


@pytest.mark.parametrize("way", ["an op of its name", "an attribute of another op", "a list"])
def test_a_function_may_call_itself_in_no_way(tmp_path: Path, way: str) -> None:
    graph_def = library_of({"f": []})
    body = graph_def.library.function[0].node_def
    if way == "an op of its name":
        body.add(name="call", op="f")
    elif way == "an attribute of another op":
        body.add(name="call", op="MapDataset").attr["f"].func.name = "f"
    else:
        body.add(name="call", op="Case").attr["branches"].list.func.add().name = "f"

    with pytest.raises(RefusedError, match="f -> f"):
        import_source(written(tmp_path, graph_def), tmp_path / "logs")


def test_a_long_chain_of_calls_is_no_recursion(tmp_path: Path) -> None:
    calls = {f"f{number:05}": [f"f{number + 1:05}"] for number in range(3_000)} | {"f03000": []}

    assert recursion(library_of(calls).library.function) == []
    assert len(recursion(library_of(calls | {"f03000": ["f00000"]}).library.function)) == 3_002


def test_functions_that_all_call_the_same_ones_are_shown_up_to_a_limit(tmp_path: Path) -> None:
    shared = {f"g{number}": [f"g{number + 1}"] for number in range(500)}
    callers = {f"a{number}": ["g0"] for number in range(500)}
    file = written(tmp_path, library_of(callers | shared))

    found = import_source(file, tmp_path / "logs")

    assert 1 < found.graphs < 500
    assert "Skipped" in " ".join(found.notes) and "functions of the library" in " ".join(found.notes)


def test_calls_with_long_names_are_refused(tmp_path: Path) -> None:
    graph_def = library_of({"f": []})
    call = graph_def.node.add(name="c" * 50_000, op="PartitionedCall")
    call.attr["f"].func.name = "f"
    for number in range(200):
        graph_def.node.add(name=f"n{number}", op="NoOp")
        graph_def.library.function[0].node_def.add(name=f"n{number}", op="NoOp")

    with pytest.raises(RefusedError, match="too long"):
        import_source(written(tmp_path, graph_def), tmp_path / "logs")


def test_one_number_does_not_fill_the_disk(tmp_path: Path) -> None:
    events = [tensor_event((16 << 20,), float_val=[1.5]) for _ in range(4)]
    source = write_events(tmp_path / "tb", scalar(), *events)

    found = import_source(source, tmp_path / "logs")

    assert found.snapshots == 1 and "repeats a number" in " ".join(found.notes)
    small = tensor_event((128, 128), float_val=[1.5]).summary.value[0].tensor
    np.testing.assert_array_equal(tensor_array(small), np.full((128, 128), 1.5, np.float32))


def test_text_is_not_repeated_for_ever() -> None:
    proto = tensor_event((1 << 20,), dtype=7, string_val=[b"word"]).summary.value[0].tensor
    with pytest.raises(InvalidValueError, match="repeats"):
        tensor_array(proto)


@pytest.mark.parametrize(("rows", "given"), [(5_000, [1.0]), (6_000, [1.0] * 18_000)])
def test_histograms_have_no_endless_buckets(tmp_path: Path, rows: int, given: list[float]) -> None:
    source = write_events(tmp_path / "tb", scalar(), tensor_event((rows, 3), "histograms", float_val=given))

    found = import_source(source, tmp_path / "logs")

    assert found.snapshots == 1 and "buckets" in " ".join(found.notes)


def test_tensors_of_a_safetensors_file_do_not_share_bytes(tmp_path: Path) -> None:
    entry = {"dtype": "U8", "shape": [1000], "data_offsets": [0, 1000]}
    header = json.dumps({f"w{number}": entry for number in range(100)}).encode()
    file = tmp_path / "shared.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(1000))

    found = import_source(file, tmp_path / "logs")

    assert found.snapshots == 1
    assert "w1: Its bytes overlap" in " ".join(found.notes)


def test_tensors_of_a_checkpoint_do_not_share_bytes(tmp_path: Path) -> None:
    header, entry = message("BundleHeaderProto"), message("BundleEntryProto")
    header.num_shards = 1
    entry.dtype, entry.size = 4, 1000  # uint8
    entry.shape.dim.add(size=1000)
    keys = [(b"w%03d" % number, entry.SerializeToString()) for number in range(100)]
    (tmp_path / "w.index").write_bytes(leveldb_table([(b"", header.SerializeToString()), *keys]))
    (tmp_path / "w.data-00000-of-00001").write_bytes(bytes(2500))

    found = import_source(tmp_path, tmp_path / "logs", "run")

    assert found.snapshots == 2
    assert "more bytes than the file" in " ".join(found.notes)


def test_members_of_a_zip_do_not_share_bytes(tmp_path: Path) -> None:
    file = tmp_path / "shared.npz"
    with zipfile.ZipFile(file, "w") as archive, archive.open("a.npy", "w") as member:
        np.lib.format.write_array(member, np.zeros(1000))
    with zipfile.ZipFile(file, "a") as archive:
        archive.filelist.extend(archive.filelist * 9)
        archive._didModify = True  # what is told at the end is written anew

    with pytest.raises(RefusedError, match="overlap"):
        import_source(file, tmp_path / "logs")


@pytest.mark.parametrize(
    ("first", "length", "free", "why"),
    [
        (b"PK", 1 << 20, 1 << 40, "not an HDF5"),
        (hdf5.SIGNATURE, 320 << 20, 1 << 40, "above the limit"),
        (hdf5.SIGNATURE, 1 << 20, 1 << 20, "more than half"),
    ],
)
def test_weights_of_an_archive_do_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes, length: int, free: int, why: str
) -> None:
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(hdf5.WEIGHTS, first + bytes(length))
    copies: list[Any] = []
    monkeypatch.setattr(hdf5.shutil, "copyfileobj", lambda *arguments: copies.append(arguments))
    monkeypatch.setattr(hdf5.shutil, "disk_usage", lambda place: SimpleNamespace(free=free))
    with pytest.raises(RefusedError, match=why):
        list(hdf5.stored_arrays(path))
    assert not copies


def test_weights_that_a_killed_import_left_are_removed(
    tmp_path: Path, artefacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killing = (
        "import os, signal, sys; from pathlib import Path; from tensortap.importers.arrays import hdf5\n"
        "with hdf5._unpacked(Path(sys.argv[1])):\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    source = artefacts / "keras" / "model.keras"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", killing, str(source)], env=environment, timeout=60)
    (left,) = tmp_path.iterdir()
    assert left.stat().st_mode & 0o077 == 0
    assert list(hdf5.stored_arrays(source))
    assert not list(tmp_path.iterdir())


def test_the_reader_of_hdf5_has_the_modules_of_this_process(
    tmp_path: Path, artefacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "h5py.py").write_text("raise ImportError('the one of this folder')")
    source = artefacts / "keras" / "model.weights.h5"
    monkeypatch.chdir(tmp_path)
    assert list(hdf5.stored_arrays(source))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RefusedError, match="the one of this folder"):
        list(hdf5.stored_arrays(source))
