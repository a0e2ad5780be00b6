"""Graph tables: written once, read back as they were, and not believed when damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensortap.core.errors import DamagedError, NotFoundError
from tensortap.core.records import Function, Graph, LayerCall, Node
from tensortap.dump.format import graphs
from tensortap.dump.read.runs import RunReader
from tensortap.dump.write.writer import DumpWriter

GRAPH = Graph(
    name="train step/π",
    nodes=(
        Node("x", "_Arg", output_dtypes=("float32",), output_shapes=((None, 3),)),
        Node(
            name="dense/MatMul",
            op_type="MatMul",
            inputs=("x:0", "w:0", "^init"),
            function="train",
            device="/gpu:0",
            attributes={"T": "float32", "transpose_a": "false"},
            layer="model/dense",
            stack=0,
            output_dtypes=("float32", "int32"),
            output_shapes=((None, 4), None),
        ),
    ),
    functions={
        "train": Function(outputs=("dense/MatMul:0",)),
        "body": Function(parent="train", caller="while", role="body"),
    },
    stacks=((("model.py", 12, "call"), ("layers.py", 3, "build")),),
    sources={"model.py": "def call():\n    pass\n"},
    graph_def=b"\x08\x01graph",
    way="shadow",
    layers=(
        LayerCall(
            "model", "Net", "train", inputs=("x:0",), outputs=("dense/MatMul:0",), source=("model.py", 1)
        ),
        LayerCall(
            path="model/dense",
            class_name="Dense",
            module="keras.src.layers",
            parent=0,
            config="units=4",
            parameters=12,
            variables=("model/dense/kernel",),
        ),
    ),
    variables={"model/dense/kernel": "weight"},
)


def test_a_graph_comes_back_as_it_was(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        graph_id = w.graph(GRAPH)
        w.log("dense/MatMul", 1.0, step=0, graph=graph_id)
    reader = RunReader(tmp_path / "run")
    assert reader.graph_ids() == [graph_id]
    assert reader.graph(graph_id) == GRAPH
    assert graph_id.startswith("train_step-")
    batch, about = reader.graph_table(graph_id)
    assert batch.column("name").to_pylist() == ["x", "dense/MatMul"]
    assert about["functions"]["body"]["role"] == "body"
    assert about["sources"] == GRAPH.sources


def test_layers_of_others_are_read_as_far_as_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = {"path": 3, "parent": "x", "parameters": -5, "inputs": "x:0", "variables": [1], "source": ["a"]}
    monkeypatch.setattr(graphs, "_layer_record", lambda call: odd)
    with DumpWriter(tmp_path) as w:
        graph_id = w.graph(GRAPH)
    calls = RunReader(tmp_path / "run").graph(graph_id).layers
    assert calls == (LayerCall("3", "", "", variables=("1",)),) * 2


def test_the_same_graph_is_written_once(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as one, DumpWriter(tmp_path) as two:
        first = one.graph(GRAPH)
        (file,) = tmp_path.rglob(f"{first}.arrows")
        before = file.stat().st_mtime_ns
        assert two.graph(GRAPH) == first
        assert file.stat().st_mtime_ns == before
        other = two.graph(Graph(GRAPH.name, GRAPH.nodes[:1]))
    assert other != first
    assert set(RunReader(tmp_path / "run").graph_ids()) == {first, other}
    assert not list(tmp_path.rglob("*.tmp"))


names = st.text(max_size=12)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=100),
    st.lists(
        st.builds(
            Node,
            name=names,
            op_type=names,
            inputs=st.lists(names, max_size=3).map(tuple),
            function=names,
            attributes=st.dictionaries(names, names, max_size=2),
            stack=st.integers(-1, 5),
            output_dtypes=st.lists(names, max_size=2).map(tuple),
            output_shapes=st.lists(
                st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3).map(tuple), max_size=2
            ).map(tuple),
        ),
        max_size=5,
    ).map(tuple),
)
def test_any_graph(tmp_path_factory: pytest.TempPathFactory, name: str, nodes: tuple[Node, ...]) -> None:
    logdir = tmp_path_factory.mktemp("dump")
    graph = Graph(name, nodes)
    with DumpWriter(logdir) as w:
        graph_id = w.graph(graph)
    assert RunReader(logdir / "run").graph(graph_id) == graph


def test_a_standard_arrow_reader_opens_it(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        graph_id = w.graph(GRAPH)
    with pa.ipc.open_stream(tmp_path / "run" / "graphs" / f"{graph_id}.arrows") as stream:
        table = stream.read_all()
    assert table.num_rows == 2
    assert table.schema.metadata[b"format"] == b"tensortap"


def test_damage_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        graph_id = w.graph(GRAPH)
    file = tmp_path / "run" / "graphs" / f"{graph_id}.arrows"
    whole = file.read_bytes()
    reader = RunReader(tmp_path / "run")
    rng = random.Random(0)
    for place in [*range(24), *(rng.randrange(len(whole) - 8) for _ in range(150))]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises(DamagedError):
            reader.graph(graph_id)
    for size in range(0, len(whole) - 8, 50):
        file.write_bytes(whole[:size])
        with pytest.raises(DamagedError):
            reader.graph_table(graph_id)


def test_unknown_graphs_and_links(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as w:
        graph_id = w.graph(GRAPH)
    reader = RunReader(tmp_path / "run")
    for name in ("nothing-0123456789ab", "../run", "", "a/b-0123456789ab"):
        with pytest.raises(NotFoundError):
            reader.graph(name)
    folder = tmp_path / "run" / "graphs"
    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(moved)
    assert reader.graph_ids() == []
    with pytest.raises(NotFoundError):
        reader.graph(graph_id)


def test_the_file_of_another_graph_is_refused(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        one, other = (writer.graph(Graph("g", [Node(name, "Const")])) for name in "ab")
    reader = RunReader(tmp_path / "r")
    graphs.table_path(reader.path, one).write_bytes(graphs.table_path(reader.path, other).read_bytes())
    for read in (reader.graph, reader.graph_table, reader.graph_size):
        with pytest.raises(DamagedError, match=f"holds another graph, '{other}'"):
            read(one)
    assert [node.name for node in reader.graph(other).nodes] == ["b"]
