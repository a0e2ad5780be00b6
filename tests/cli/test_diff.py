"""`tensortap diff` on a run that drifts from another."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter

Run = Callable[..., tuple[int, str, str]]
F = {"output_dtypes": ["float32"], "output_shapes": [[3]]}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `a` and `b`: equal at step 0, `b`'s Exp is wrong at step 1."""
    folder = tmp_path_factory.mktemp("two")
    nodes = [
        Node("x", "Placeholder", **F),
        Node("Exp", "Exp", ["x:0"], **F),
        Node("out", "Neg", ["Exp:0"], **F),
    ]
    x = np.array([0.0, 1.0, 2.0], np.float32)
    for run in "ab":
        with DumpWriter(folder, run=run) as writer:
            graph = writer.graph(Graph("step", nodes, functions={"": Function()}))
            for step in range(2):
                exp = np.exp(x) + (0.25 if run == "b" and step else 0)
                for name, value in (("x", x), ("Exp", exp), ("out", -exp)):
                    writer.log(name, value, step=step, graph=graph, keep="value")
    return folder


def test_the_first_lines_say_what_and_where(run: Run, two: Path) -> None:
    status, out, _ = run("diff", two / "a", two / "b")
    lines = out.splitlines()
    assert status == 1
    assert lines[0] == "A = a, step 1; B = b, step 1"
    assert (
        lines[1] == "A and B differ: 2 of 3 tensors (1 equal, 0 within rounding). The previous step agrees."
    )
    assert lines[2] == "First divergence: Exp:0 (Exp)."
    computed = "Recomputing Exp from the stored inputs does not reproduce B; A is reproduced."
    assert lines[3] == (
        f"All its inputs are equal, so the op itself computes something different. {computed}"
    )
    assert any(line.startswith("Exp:0") and line.endswith("diverges <- first") for line in lines)


def test_equal_runs_end_with_0(run: Run, two: Path) -> None:
    status, out, _ = run("diff", two / "a", two / "b", "--step", "0")
    assert (status, out.splitlines()[1]) == (0, "A and B agree: 3 equal, 0 within rounding, of 3 tensors.")


def test_files_and_json(run: Run, two: Path, tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("r.html", "all.csv", "m.json")]
    arguments = ["--html", names[0], "--csv", names[1], "--save-matches", names[2], "--json"]
    status, out, _ = run("diff", two / "a", two / "b", "--match", "Exp=Exp", *arguments)
    reported = json.loads(out)
    assert (status, reported["first"]["difference"]["node"]) == (1, "Exp")
    assert reported["tensors"][1]["metrics"]["max_abs"] == pytest.approx(0.25)
    assert "First divergence" in names[0].read_text(encoding="utf-8")
    assert len(names[1].read_text(encoding="utf-8").splitlines()) == 4
    assert json.loads(names[2].read_text(encoding="utf-8"))["nodes"] == {"Exp": "Exp"}
    assert run("diff", two / "a", two / "b", "--matches", names[2])[0] == 1


def test_what_rounding_explains_is_not_listed_and_the_first_divergence_always(
    run: Run, tmp_path: Path
) -> None:
    names = ["x", "rounded", "wrong", "also"]
    nodes = [Node(name, "Exp", [f"{before}:0"], **F) for before, name in pairwise(names)]
    for side in "ab":
        with DumpWriter(tmp_path, run=side) as writer:
            graph = writer.graph(
                Graph("step", [Node("x", "Placeholder", **F), *nodes], functions={"": Function()})
            )
            off = np.array([0, 1e-7, 0.5, 0.25], np.float32) * (side == "b")
            for step, (name, by) in product(range(3), zip(names, off, strict=True)):
                writer.log(name, np.ones(3, np.float32) + by, step=step, graph=graph, keep="value")
    _, out, _ = run("diff", tmp_path / "a", tmp_path / "b", "--limit", "1", "--sort", "tensor")
    rows = [line.split()[0] for line in out.splitlines() if line.endswith(("noise", "first", "inherited"))]
    assert rows == ["wrong:0"], "though `also` comes before it"
    assert "… 1 more" in out
    assert "Not listed: 1 tensor within rounding (--all)" in out
    assert "Note: 2 later steps were not compared." in out
    assert "rounded:0" in run("diff", tmp_path / "a", tmp_path / "b", "--all")[1]


def test_two_steps_of_one_run(run: Run, two: Path) -> None:
    assert run("diff", two / "a", "--step", "0", "--step-b", "1")[0] == 0
    assert run("diff", two / "b", "--step", "0", "--step-b", "1")[0] == 1


def test_two_workers_by_rank(run: Run, tmp_path: Path) -> None:
    for rank in range(3):
        with DumpWriter(tmp_path, run="r", rank=rank) as writer:
            writer.log("w:0", np.ones(3, np.float32) * (rank == 2), step=0, keep="value")
    assert run("diff", tmp_path / "r", "--worker", "0", "--worker-b", "1")[0] == 0
    assert run("diff", tmp_path / "r", "--worker", "0", "--worker-b", "2")[0] == 1
    assert "has no worker '3'" in run("diff", tmp_path / "r", "--worker", "0", "--worker-b", "3")[2]
    assert "1.0" in run("show", tmp_path / "r", "w:0", "--worker", "2")[1]


def test_what_makes_no_sense(run: Run, two: Path) -> None:
    assert "has no worker 'nope'" in run("diff", two / "a", "--worker", "nope")[2]
    assert "no snapshot at step 7" in run("diff", two / "a", two / "b", "--step", "7")[2]


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ((), "A and B are the same: pass a second run"),
        (("b", "--sort", "beauty"), "is not a metric; use one of order, "),
        (("b", "--where", "op =="), "--where"),
        (("b", "--match", "Exp"), "NODE_IN_A=NODE_IN_B"),
        (("b", "--match", "nope=Exp"), "--match: No captured graph of A has a node 'nope'"),
        (("b", "--match", "Exp=nope"), "--match: No captured graph of B has a node 'nope'"),
    ],
)
def test_wrong_usage_is_status_2(run: Run, two: Path, arguments: tuple[str, ...], reported: str) -> None:
    places = [two / "b" if argument == "b" else argument for argument in arguments]
    status, out, err = run("diff", two / "a", *places)
    assert (status, out, reported in err) == (2, "", True)


def test_a_condition_that_nothing_that_differs_fits(run: Run, two: Path) -> None:
    status, out, _ = run("diff", two / "a", two / "b", "--where", "op == 'Relu'")
    assert (status, out.splitlines()[1]) == (1, "There was nothing to compare.")
    assert "Note: No tensor captured in both runs at this step matches the condition." in out
    assert "Note: Tensors that differ but are excluded by the condition: 2 tensors." in out
    assert "First divergence" not in out
    status, out, _ = run("diff", two / "a", two / "b", "--where", "op == 'Placeholder'")
    assert (status, "First divergence" in out, "excluded by the condition: 2 tensors." in out) == (
        0,
        False,
        True,
    )


def test_nothing_compared_is_no_agreement(run: Run, two: Path, tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="other") as writer:
        writer.log("elsewhere", np.ones(3, np.float32), step=0)
    status, out, _ = run("diff", two / "a", tmp_path / "other", "--step", "0")
    assert (status, out.splitlines()[1]) == (1, "There was nothing to compare.")
    assert run("diff", two / "a", two / "b", "--step", "0", "--where", "op == 'MatMul'")[0] == 1


def test_arrays_without_a_graph_have_no_op_type(run: Run, tmp_path: Path) -> None:
    for side, value in (("a", np.nan), ("b", 2.0)):
        with DumpWriter(tmp_path, run=side) as writer:
            writer.log("weights", np.array([1.0, value]), step=0)
    out = run("diff", tmp_path / "a", tmp_path / "b")[1]
    assert "First divergence: weights:0.\n" in out
    assert "Nodes without a graph: 1 matched by name" in out
    out = run("nan", tmp_path / "a")[1]
    assert "First NaN: weights; some of its inputs were not captured" in out
    assert "1 non-finite tensor at step 0: 1 origin." in out


def test_a_list_of_runs_says_that_it_is_cut(run: Run, tmp_path: Path) -> None:
    for number in range(11):
        with DumpWriter(tmp_path, run=f"run{number:02}") as writer:
            writer.log("x", np.ones(1, np.float32), step=0)
    _, _, err = run("diff", tmp_path, tmp_path)
    assert "There are 11 runs" in err
    assert "run09, …" in " ".join(err.split())
    assert "run10" not in err


def test_what_nan_tells_apart_has_no_distance_and_comes_first(run: Run, tmp_path: Path) -> None:
    for side in "ab":
        with DumpWriter(tmp_path, run=side) as writer:
            graph = writer.graph(
                Graph("step", [Node(name, "Placeholder", **F) for name in "xyz"], functions={"": Function()})
            )
            for name, first in (("x", 1), ("y", 2), ("z", np.nan)):
                value = np.array([first if side == "a" else 1, 1, 1], np.float32)
                writer.log(name, value, step=0, graph=graph, keep="value")
    _, out, _ = run("diff", tmp_path / "a", tmp_path / "b", "--sort", "max_abs", "--limit", "9")
    rows = [line.split() for line in out.splitlines() if line.startswith(("y:0", "z:0"))]
    assert [" ".join(row[:4]) for row in rows] == ["z:0 Placeholder 1 NaN/Inf", "y:0 Placeholder 1 2"]
