"""Bundles become runs with their recording and graph; nothing in them is run or trusted."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensortap
from tensortap.core.records import Graph, Node
from tensortap.dump.read.runs import RunReader
from tensortap.dump.recording.bundle import write_bundle
from tensortap.dump.recording.recording import Argument, Recording, array_hash
from tensortap.dump.recording.recording_files import find_recordings, read_recording, recording_note
from tensortap.importers.errors import RefusedError
from tensortap.importers.importing import import_source
from tensortap.importers.registry import detect
from tensortap.importers.tf_formats.protos import parse
from tensortap.storage.files import json_bytes, parse_json

LARGE = np.arange(50_000, dtype=np.float32)  # a file of its own
GRAPH = Graph("step", [Node("x", "_Arg"), Node("Log", "Log", ["x:0"], stack=0)], stacks=[[("a.py", 2, "f")]])


def library() -> bytes:
    """Of two functions, of which `step` calls the other."""
    made = parse("FunctionDefLibrary", b"", "")
    inner = made.function.add()
    inner.signature.name = "__inference_inner_3"
    inner.signature.input_arg.add(name="y", type=1)
    inner.node_def.add(name="Log", op="Log", input=["y"])
    inner.ret["out"] = "Log:y:0"
    step = made.function.add()
    step.signature.name = "__inference_step_7"
    step.signature.input_arg.add(name="x", type=1)
    call = step.node_def.add(name="call", op="PartitionedCall", input=["x"])
    call.attr["f"].func.name = "__inference_inner_3"
    step.ret["out"] = "call:output:0"
    return bytes(made.SerializeToString())


def recording() -> Recording:
    arguments = (
        Argument("tensor", "x", (np.array([1, np.nan], np.float32),)),
        Argument("variable", "dense/kernel", (LARGE,), "float32", (50_000,)),
        Argument("variable", "dense/twin", (LARGE,), "float32", (50_000,)),
    )
    return Recording("__inference_step_7", library(), arguments, step=12, call=1, reason="on NonFinite")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "step.tapbundle"
    write_bundle(path, recording(), GRAPH)
    return path


def edited(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The bundle with other members."""
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    path = bundle.with_name("edited.tapbundle")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def with_manifest(bundle: Path, **changed: Any) -> Path:
    def change(members: dict[str, bytes]) -> None:
        manifest = parse_json(members["recording.json"], "the manifest")
        members["recording.json"] = json_bytes(manifest | changed)

    return edited(bundle, change)


def test_a_bundle_is_a_run_with_its_graph_and_recording(bundle: Path, tmp_path: Path) -> None:
    """GIVEN a bundle WHEN it is imported THEN the run has the step's recording, bit by bit, and its graph."""
    found = import_source(bundle, tmp_path / "logs")
    assert (found.format, found.graphs, found.recordings, found.snapshots) == ("bundle", 1, 1, 0)
    assert "--allow-replay" in found.notes[0] and "step 12" in found.notes[0]
    run = tmp_path / "logs" / "step.tapbundle"
    (place,) = find_recordings(run)
    assert (place.step, place.call) == (12, 1)
    reader = RunReader(run)
    (graph_id,) = reader.graph_ids()
    note = recording_note(place.path)
    assert (note.function, note.graph, note.reason) == ("step", graph_id, "on NonFinite")
    assert [node.op_type for node in reader.graph(graph_id).nodes] == ["_Arg", "Log"]
    read = read_recording(place.path)
    assert [[array_hash(array) for array in each.arrays] for each in read.arguments] == [
        [array_hash(array) for array in each.arrays] for each in recording().arguments
    ]


def test_a_bundle_takes_the_place_of_a_log_directory(bundle: Path) -> None:
    (run,) = tensortap.open(bundle).runs.values()
    assert len(run.graphs) == 1 and run.steps.size == 0


def test_a_bundle_is_known_by_what_it_holds(bundle: Path, tmp_path: Path) -> None:
    renamed = shutil.copy(bundle, tmp_path / "friday.zip")
    np.savez(tmp_path / "other.zip.npz", a=LARGE)
    (tmp_path / "other.zip.npz").rename(tmp_path / "other.zip")
    (tmp_path / "empty.tapbundle").touch()
    kinds = [detect(path) for path in (bundle, Path(renamed), tmp_path / "empty.tapbundle")]
    assert [kind.name if kind else "" for kind in kinds] == ["bundle"] * 3
    assert detect(tmp_path / "other.zip") is None
    with pytest.raises(RefusedError, match=r"empty\.tapbundle is not a zip archive"):
        import_source(tmp_path / "empty.tapbundle", tmp_path / "logs")


def test_without_its_graph_a_bundle_shows_that_of_its_functions(tmp_path: Path) -> None:
    """GIVEN a bundle that was written without its graph WHEN it is imported THEN the recorded function is."""
    write_bundle(tmp_path / "bare.tapbundle", recording())
    assert import_source(tmp_path / "bare.tapbundle", tmp_path / "logs").graphs == 1
    reader = RunReader(tmp_path / "logs" / "bare.tapbundle")
    (graph_id,) = reader.graph_ids()
    assert [node.name for node in reader.graph(graph_id).nodes] == ["x", "call", "y", "Log"]
    (place,) = find_recordings(tmp_path / "logs" / "bare.tapbundle")
    assert recording_note(place.path).graph == graph_id


def remove_large(members: dict[str, bytes]) -> None:
    del members[next(name for name in members if name.endswith(".blob"))]


def change_large(members: dict[str, bytes]) -> None:
    members[next(name for name in members if name.endswith(".blob"))] = bytes(LARGE + 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [(remove_large, "cannot be read"), (change_large, "fails its checksum")],
)
def test_a_damaged_bundle_leaves_nothing(
    bundle: Path, tmp_path: Path, change: Callable[[dict[str, bytes]], None], why: str
) -> None:
    with pytest.raises(RefusedError, match=why):
        import_source(edited(bundle, change), tmp_path / "logs")
    assert not list(tmp_path.glob("logs/*"))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"step": -5}, "step -5"),
        ({"step": "../../x"}, "invalid step"),
        ({"call": 1e9}, "invalid step"),
        ({"step": True}, "invalid step"),
        ({"format": "else"}, "not a recording"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(
    bundle: Path, tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(RefusedError, match=why):
        import_source(with_manifest(bundle, **changed), tmp_path / "logs")
    assert not list(tmp_path.glob("logs/*"))


def test_only_what_the_manifest_names_is_unpacked(bundle: Path, tmp_path: Path) -> None:
    """GIVEN members that lead elsewhere or that nothing needs WHEN it is imported THEN they stay in it."""

    def add(members: dict[str, bytes]) -> None:
        members |= {"../../outside": b"x", f"blobs/{'0' * 64}.blob": b"x", "recordings/evil": b"x"}

    import_source(edited(bundle, add), tmp_path / "logs")
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert not names & {"outside", f"{'0' * 64}.blob", "evil"}
    assert sum(name.endswith(".blob") for name in names) == 1  # that of both variables
