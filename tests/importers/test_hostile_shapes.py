"""Shapes, counts and calls as nobody would write them: a sentence or what fits, and never much of it."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tf_messages import (
    event,
    leveldb_table,
    message,
    scalar,
    tensor_proto,
    write_events,
    write_tfdbg1,
)

from tensortap.core.errors import TensortapError
from tensortap.importers.importing import import_source

MEMORY = 64 << 20  # bytes that an import of a few hundred bytes may take at most
DISK = 4 << 20  # and leave, most of it the space that a run's files begin with

extents = st.sampled_from([0, 1, 2, 3, -1, 64, 1000, 2**16, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1])
shapes = st.one_of(st.lists(extents, max_size=5), st.lists(st.sampled_from([0, 1, 2]), max_size=70))
numbers = st.lists(st.sampled_from([0.0, 1.5, float("nan"), float("inf"), -1e308]), max_size=7)


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is loaded or compiled once, before memory is measured."""
    folder = tmp_path_factory.mktemp("warm")
    import_source(write_events(folder / "tb", scalar()), folder / "logs")


def check(make: Callable[[Path], Path]) -> None:
    """Imports what `make` puts into a folder: it is refused in a sentence, or little comes of it."""
    with tempfile.TemporaryDirectory() as folder:
        source = make(Path(folder, "source"))
        logs = Path(folder, "logs")
        tracemalloc.start()
        try:
            import_source(source, logs, "run")
        except TensortapError as error:
            assert str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < MEMORY
        assert sum(file.stat().st_size for file in logs.rglob("*") if file.is_file()) < DISK


@st.composite
def protos(draw: Any) -> Any:
    """A TensorProto with any shape, dtype and content."""
    dtype = draw(st.integers(0, 40))
    fields = {
        "double_val": draw(numbers),
        "float_val": draw(numbers),
        "int_val": draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5)),
        "half_val": draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5)),
        "string_val": draw(st.lists(st.binary(max_size=5), max_size=5)),
        "tensor_content": draw(st.binary(max_size=40)) if draw(st.booleans()) else b"",
    }
    return tensor_proto(draw(shapes), dtype, **fields)


@settings(max_examples=25, deadline=None)
@given(proto=protos(), plugin=st.sampled_from(["", "histograms", "graph_run_metadata"]))
def test_tensors_of_event_files(proto: Any, plugin: str) -> None:
    made = event()
    value = made.summary.value.add(tag="odd")
    value.metadata.plugin_data.plugin_name = plugin
    value.tensor.CopyFrom(proto)
    check(lambda folder: write_events(folder, made, made, made))


@settings(max_examples=10, deadline=None)
@given(buckets=numbers, limits=numbers, facts=st.lists(st.floats(), min_size=5, max_size=5))
def test_old_histograms(buckets: list[float], limits: list[float], facts: list[float]) -> None:
    made = event()
    histo = made.summary.value.add(tag="odd").histo
    histo.bucket.extend(buckets)
    histo.bucket_limit.extend(limits)
    histo.min, histo.max, histo.num, histo.sum, histo.sum_squares = facts
    check(lambda folder: write_events(folder, scalar(), made))


@settings(max_examples=10, deadline=None)
@given(proto=protos(), op=st.sampled_from(["DebugIdentity", "DebugNumericSummary", "DebugNanCount"]))
def test_tensors_of_tfdbg1(proto: Any, op: str) -> None:
    check(lambda folder: write_tfdbg1(folder, {"odd": proto, "more": proto}, op=op))


@settings(max_examples=15, deadline=None)
@given(shape=shapes, dtype=st.sampled_from(["F32", "U8", "C64", "BF16", "X"]), end=extents)
def test_entries_of_safetensors(shape: list[int], dtype: str, end: int) -> None:
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}
    header = json.dumps(dict.fromkeys(("a", "b", "c"), entry)).encode()

    def make(folder: Path) -> Path:
        folder.mkdir()
        (folder / "m.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
        return folder / "m.safetensors"

    check(make)


@settings(max_examples=15, deadline=None)
@given(shape=shapes, kind=st.sampled_from(["<f4", "|V0", "|S0", "<U1", "|O", "|u1"]))
def test_headers_of_npy(shape: list[int], kind: str) -> None:
    data = io.BytesIO()
    facts = {"descr": kind, "fortran_order": True, "shape": tuple(shape)}
    np.lib.format.write_array_header_2_0(data, facts)

    def make(folder: Path) -> Path:
        folder.mkdir()
        (folder / "a.npy").write_bytes(data.getvalue() + bytes(64))
        return folder

    check(make)


@settings(max_examples=15, deadline=None)
@given(shape=shapes, dtype=st.integers(0, 40), size=extents, offset=extents)
def test_entries_of_checkpoints(shape: list[int], dtype: int, size: int, offset: int) -> None:
    header, entry = message("BundleHeaderProto"), message("BundleEntryProto")
    header.num_shards = 1
    entry.dtype, entry.size, entry.offset = dtype, size, offset
    for extent in shape:
        entry.shape.dim.add(size=extent)
    rows = [(b"", header.SerializeToString())]
    rows += [(name, entry.SerializeToString()) for name in (b"a", b"b", b"c")]

    def make(folder: Path) -> Path:
        folder.mkdir()
        (folder / "w.index").write_bytes(leveldb_table(rows))
        (folder / "w.data-00000-of-00001").write_bytes(bytes(64))
        return folder

    check(make)


@st.composite
def graph_defs(draw: Any) -> Any:
    """A GraphDef whose nodes promise outputs and call functions, in circles too."""
    made = message("GraphDef")
    names = [f"f{number}" for number in range(draw(st.integers(0, 8)))]
    bodies = [made.library.function.add().node_def for _ in names]
    for function, name in zip(made.library.function, names, strict=True):
        function.signature.name = name
        function.ret["r"] = draw(st.sampled_from(["n0:output:99999", "n1", "", "n0:x:y:z", "^n0"]))
    for nodes in [*bodies, *([made.node] if draw(st.booleans()) else [])]:
        for number in range(draw(st.integers(0, 4))):
            op = draw(st.sampled_from(["Split", "Unpack", "PartitionedCall", "While", "Const", "Own"]))
            node = nodes.add(name=draw(st.sampled_from([f"n{number}", "n0", "", "a/" * 500])), op=op)
            node.attr["num_split"].i = node.attr["num"].i = draw(extents)
            for attribute in ("f", "body", "cond"):
                node.attr[attribute].func.name = draw(st.sampled_from([*names, "nowhere"]))
            node.input.extend(["n0:output:7", "n1:3", "^n0", ":::"])
            tensor_proto(draw(shapes), 1, into=node.attr["value"].tensor, float_val=[1.0])
    return made


@settings(max_examples=8, deadline=None)  # a second each
@given(graph_def=graph_defs())
def test_graphs(graph_def: Any) -> None:
    def make(folder: Path) -> Path:
        folder.mkdir()
        (folder / "g.pb").write_bytes(graph_def.SerializeToString())
        return folder / "g.pb"

    check(make)
