"""The stepper's pure parts: the order of nodes, the cursor, what-ifs and their file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tensortap.core.errors import DamagedError, NotFoundError, SelectionError, TensortapError
from tensortap.core.records import Function, Graph, Node
from tensortap.replay.protocol import StepperAnswer, TensorFacts
from tensortap.replay.stepper.cursor import Stepper
from tensortap.replay.stepper.stepper_nodes import nonfinite_origins, stepper_nodes
from tensortap.replay.stepper.what_ifs import TensorChange, WhatIfs, read_what_ifs, write_what_ifs

FLOAT = ("float32",)
GRAPH = Graph(
    "step",
    [
        Node("loop", "While", ["x:0"], output_dtypes=FLOAT),
        Node("loss/sum", "Sum", ["loop:0", "^x"], output_dtypes=FLOAT),
        Node("x", "_Arg", output_dtypes=FLOAT),
        Node("loop/body/log", "Log", ["x:0"], function="body", output_dtypes=FLOAT),
        Node("loop/body/next", "NextIteration", ["loop/body/log:0"], function="body", output_dtypes=FLOAT),
        Node("loss/done", "NoOp", ["^loss/sum", "missing:0"]),
    ],
    {"body": Function("root", "loop", "body", ["loop/body/log:0"])},
)


def facts(digest: str = "a", nan: int = 0) -> TensorFacts:
    return TensorFacts("float32", (2,), nan, 0, -1, 1, digest, True)


def test_nodes_stand_behind_what_they_read_and_callers_behind_what_is_returned() -> None:
    names = [node.name for node in stepper_nodes(GRAPH)]
    assert names == ["x", "loop/body/log", "loop", "loss/sum", "loop/body/next", "loss/done"]
    cyclic = Graph("c", [Node("a", "Merge", ["b:0"]), Node("b", "Add", ["a:0"]), Node("n", "Neg", ["b"])])
    assert [node.name for node in stepper_nodes(cyclic)] == ["a", "b", "n"]
    assert stepper_nodes(cyclic)[2].inputs == ("b:0",)


def test_the_cursor_moves() -> None:
    stepper = Stepper(stepper_nodes(GRAPH))
    assert stepper.move(-3).name == "x"
    assert stepper.move(1).name == "loop/body/log"
    assert stepper.out().name == "loop"
    assert stepper.out().name == "loss/done"
    assert stepper.move(9).name == "loss/done"
    assert stepper.to("loop/body/log:0").name == "loop/body/log"
    assert stepper.to("sum").name == "loss/sum"
    assert stepper.to("dy/nex").name == "loop/body/next"
    assert [node.name for node in stepper.find("Log")] == ["loop/body/log"]
    with pytest.raises(SelectionError) as several:
        stepper.to("loss")
    assert "loss/sum" in several.value.hint
    with pytest.raises(NotFoundError) as near:
        stepper.to("loss/some")
    assert "loss/sum" in near.value.hint
    with pytest.raises(SelectionError):
        Stepper([])


def test_the_next_nan_and_the_next_change() -> None:
    stepper = Stepper(stepper_nodes(GRAPH))
    known = {"loop:0": facts(), "loop/body/log:0": facts(nan=2), "loss/sum:0": facts(nan=1)}
    assert stepper.next_nonfinite(known).name == "loop/body/log"
    assert stepper.next_nonfinite(known).name == "loss/sum"
    with pytest.raises(NotFoundError, match="after"):
        stepper.next_nonfinite(known)
    assert stepper.next_nonfinite(known, back=True).name == "loop/body/log"
    assert stepper.next_of(["loop:0"]).name == "loop"
    with pytest.raises(NotFoundError):
        stepper.next_of(["loop:0"])


def test_an_infinity_that_a_mask_holds_is_no_origin() -> None:
    nodes = [
        Node("mask", "Const", output_dtypes=FLOAT),
        Node("scores", "AddV2", ["x:0", "mask:0"], output_dtypes=FLOAT),
        Node("x", "_Arg", output_dtypes=FLOAT),
        Node("softmax", "Softmax", ["scores:0"], output_dtypes=FLOAT),
        Node("square", "Square", ["x:0"], output_dtypes=FLOAT),
        Node("loss", "Mul", ["softmax:0", "square:0"], output_dtypes=FLOAT),
        Node("read", "ReadVariableOp", ["w:0"], output_dtypes=FLOAT),
    ]
    infinite = replace(facts(), inf=3, bad_visit=0)
    nan = replace(facts(nan=1), bad_visit=0)
    known = {"mask:0": infinite, "scores:0": infinite, "x:0": facts(), "softmax:0": nan, "square:0": infinite}
    known |= {"loss:0": nan, "read:0": nan}
    stepper = Stepper(stepper_nodes(Graph("step", nodes)))
    assert nonfinite_origins(stepper.nodes, known) == ["softmax", "square"]
    assert stepper.next_origin(known).name == "softmax"
    stepper.to("mask")
    assert stepper.next_nonfinite(known).name == "scores"
    stepper.to("loss")
    with pytest.raises(NotFoundError, match="creates"):
        stepper.next_origin(known)
    body = [
        Node("state", "_Arg", ["x:0"], function="body", output_dtypes=FLOAT),
        Node("root", "Sqrt", ["state:0"], function="body", output_dtypes=FLOAT),
    ]
    later = {"state:0": replace(nan, bad_visit=1), "root:0": nan}  # in a loop, made at the visit before
    assert nonfinite_origins(stepper_nodes(Graph("loop", body)), later) == ["root"]
    given = {"x:0": nan, "scores:0": nan}  # the call was given it
    assert nonfinite_origins(stepper.nodes, given) == ["x"]


def answered(identical: bool | None, tensors: dict[str, TensorFacts]) -> StepperAnswer:
    return StepperAnswer(step=1, identical=identical, outputs=0, variables=0, tensors=tensors)


def test_what_changed_is_reported_by_digests() -> None:
    before = answered(True, {"a:0": facts(), "b:0": facts("b"), "c:0": facts()})
    after = answered(None, {"a:0": facts(), "b:0": facts("x"), "d:0": facts()})
    assert after.changed_since(before) == ["b:0", "c:0", "d:0"]


def test_what_ifs_are_begun_undone_and_made_again() -> None:
    what_ifs = WhatIfs()
    what_ifs.change("a:0", " x * 2 ")
    assert (what_ifs.current, what_ifs.changes()) == ("what-if 1", (TensorChange("a:0", "x * 2"),))
    what_ifs.begin("other")
    what_ifs.change("b:0", "0")
    assert [change.tensor for change in what_ifs.changes()] == ["a:0", "b:0"]
    assert what_ifs.undo() == TensorChange("b:0", "0")
    assert what_ifs.redo() == TensorChange("b:0", "0")
    what_ifs.undo()
    what_ifs.change("c:0", "1")  # from here on there is nothing to make again
    with pytest.raises(SelectionError, match="redo"):
        what_ifs.redo()
    what_ifs.choose("what-if 1")
    assert len(what_ifs.changes()) == 1
    what_ifs.drop("what-if 1")
    assert (what_ifs.current, what_ifs.changes(), what_ifs.names) == ("", (), ["other"])


@pytest.mark.parametrize("name", ["taken", "x" * 61, "line\nbreak"])
def test_names_that_are_not_possible(name: str) -> None:
    what_ifs = WhatIfs()
    what_ifs.begin("taken")
    with pytest.raises(SelectionError):
        what_ifs.begin(name)
    with pytest.raises(NotFoundError) as missing:
        what_ifs.choose("nobody")
    assert "taken" in missing.value.hint


def test_limits_of_what_ifs() -> None:
    what_ifs = WhatIfs()
    with pytest.raises(SelectionError):
        what_ifs.change("a:0", " ")
    for _ in range(500):
        what_ifs.change("a:0", "x")
    with pytest.raises(SelectionError, match="500"):
        what_ifs.change("a:0", "x")
    for number in range(49):
        what_ifs.begin(f"n{number}")
    with pytest.raises(SelectionError, match="50"):
        what_ifs.begin("one more")


def recording_of(run: Path) -> Path:
    folder = run / "recordings" / "3-0-01234567"
    folder.mkdir(parents=True)
    return folder


def test_what_ifs_are_saved_beside_the_run(tmp_path: Path) -> None:
    first = recording_of(tmp_path / "run")
    what_ifs = WhatIfs()
    what_ifs.change("a:0", "nan_to_num(x)")
    assert write_what_ifs(first, what_ifs) == tmp_path / "run" / "what-ifs.json"
    second = first.with_name("4-0-01234567")
    write_what_ifs(second, WhatIfs())
    assert read_what_ifs(first).as_record() == {"what-if 1": [["a:0", "nan_to_num(x)"]]}
    assert read_what_ifs(second).names == []
    bundle = tmp_path / "step.tapbundle"
    bundle.write_bytes(b"")
    assert write_what_ifs(bundle, what_ifs).name == "step.tapbundle.what-ifs.json"
    assert read_what_ifs(bundle).names == ["what-if 1"]


def test_where_the_run_cannot_be_written_to_the_users_folder_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = recording_of(tmp_path / "run")
    (tmp_path / "run" / "what-ifs.json").mkdir()  # in the way, for root too
    what_ifs = WhatIfs()
    what_ifs.change("a:0", "x")
    assert write_what_ifs(folder, what_ifs).is_relative_to(tmp_path / "data")
    assert read_what_ifs(folder).names == ["what-if 1"]


@pytest.mark.parametrize(
    "text",
    [
        "junk",
        "[]",
        json.dumps({"format": "tensortap what-ifs", "recordings": {"3-0-01234567": []}}),
        json.dumps({"format": "tensortap what-ifs", "recordings": {"3-0-01234567": {"a": ["b"]}}}),
        json.dumps({"format": "tensortap what-ifs", "recordings": {"3-0-01234567": {"a\u0000": []}}}),
        json.dumps({"format": "tensortap what-ifs", "recordings": {"3-0-01234567": {"a": "b"}}}),
        "[" * 100_000,
    ],
)
def test_a_file_that_makes_no_sense_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    folder = recording_of(tmp_path / "run")
    (tmp_path / "run" / "what-ifs.json").write_text(text)
    with pytest.raises(TensortapError):
        read_what_ifs(folder)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    folder = recording_of(tmp_path / "run")
    (tmp_path / "run" / "what-ifs.json").write_bytes(b" " * ((4 << 20) + 1))
    with pytest.raises(DamagedError, match="larger"):
        read_what_ifs(folder)
