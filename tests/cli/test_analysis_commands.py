"""`tensortap nan` and `tensortap rules`, run on a small dump that ends in NaN."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import TRAINING, node, synthetic_run

from tensortap.analysis.rules.rule import rule
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter

Run = Callable[..., tuple[int, str, str]]
F = {"output_dtypes": ["float32"], "output_shapes": [[None]]}


@pytest.fixture(scope="module")
def ill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that takes the logarithm of 0 from step 3 on."""
    folder = tmp_path_factory.mktemp("ill")
    nodes = [
        Node("dense/Relu", "Relu", layer="model/dense", attributes={"tensortap.kind": "output"}, **F),
        Node("Log", "Log", ["dense/Relu:0"], stack=0, **F),
        Node("loss", "Sum", ["Log:0"], output_dtypes=["float32"], output_shapes=[[]]),
    ]
    with DumpWriter(folder, run="ill") as writer:
        graph = writer.graph(
            Graph(
                "step",
                nodes,
                functions={"": Function(outputs=["loss:0"])},
                stacks=[[("train.py", 2, "loss")]],
                sources={"train.py": "import tensorflow as tf\n    return tf.reduce_sum(tf.math.log(p))\n"},
            )
        )
        for step in range(5):
            p = np.array([0.5, 0.0 if step >= 3 else 0.1, 0.4], np.float32)
            with np.errstate(divide="ignore"):
                logs = np.log(p)
            for name, value in (("dense/Relu", p), ("Log", logs), ("loss", logs.sum())):
                writer.log(name, value, step=step, graph=graph, keep="value")
    return folder / "ill"


def test_nan_says_what_and_where_first(run: Run, ill: Path) -> None:
    status, out, _ = run("nan", ill)
    first, second, *rest = out.splitlines()
    assert status == 0
    assert first == "ill, step 3: infinity originates in Log (Log)"
    assert second == "log(0) = -inf: 1 element of dense/Relu:0 is exactly 0."
    assert "  source  train.py:2  return tf.reduce_sum(tf.math.log(p))" in rest
    assert any("[1] of dense/Relu:0 = 0 -> Log = -inf" in line for line in rest)
    assert "The previous captured step of Log:0 is 2." in rest[-1]


def test_nan_as_json(run: Run, ill: Path) -> None:
    status, out, _ = run("nan", ill, "--json")
    report = json.loads(out)
    assert status == 0
    assert report["origins"][0]["explanation"]["pattern"] == "log of 0"
    assert report["origins"][0]["elements"][0]["trail"][0]["value"] == "-Infinity"


def test_nan_where_all_is_finite(run: Run, ill: Path) -> None:
    status, out, _ = run("nan", ill, "--step", "1")
    assert (status, out) == (0, "ill: no NaN or infinity in any captured tensor at step 1.\n")
    assert run("nan", ill, "--step", "77")[0] == 1


def test_rules_show_evidence_and_can_fail_a_build(run: Run, ill: Path) -> None:
    status, out, _ = run("rules", ill, "--fail-on", "high")
    assert status == 1
    assert out.startswith("ill: ")
    assert "high ExplodingTensor" in out
    assert "step 3: infinite elements 1 (threshold 0)" in out
    assert "  fix  " in out


def test_rules_as_json(run: Run, ill: Path) -> None:
    found = json.loads(run("rules", ill, "--json")[1])
    assert {"rule", "severity", "evidence", "source", "next_look"} <= set(found["findings"][0])
    assert found["failed"] == {}


def test_the_table_of_rules_is_a_settings_file(run: Run, ill: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(run("rules", "--list", "--toml")[1].replace('# severity = "high"', 'severity = "low"'))
    assert "[VanishingGradient]" in file.read_text()
    assert run("rules", ill, "--rules", file, "--fail-on", "high")[0] == 0
    assert "mean_abs 1e-07" in run("rules", "--list")[1]


def test_a_muted_rule_is_not_shown(
    run: Run, ill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORTAP_CONFIG_DIR", str(tmp_path))
    status, out, _ = run("rules", ill, "--mute", "ExplodingTensor", "--fail-on", "high")
    assert status == 0
    assert "ExplodingTensor" not in out
    assert "muted" in out
    assert "ExplodingTensor (muted)" in run("rules", ill, "--muted")[1]
    assert "ExplodingTensor" in run("rules", ill, "--unmute", "ExplodingTensor")[1]


def test_a_rule_that_is_not_there_is_not_muted(
    run: Run, ill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORTAP_CONFIG_DIR", str(tmp_path / "config"))
    status, _, err = run("rules", ill, "--mute", "ExplodingTensr: dense")
    assert (status, "Did you mean 'ExplodingTensor'" in err) == (1, True)
    assert not (tmp_path / "config").exists()
    own = tmp_path / "mine.toml"
    own.write_text("[Mine]\nwhere = 'abs_max > 0'\n")
    assert run("rules", ill, "--rules", own, "--mute", "Mine")[0] == 0


@pytest.mark.parametrize("folder_is_there", [False, True])
def test_follow_waits_for_a_run_that_is_not_there(
    run: Run, ill: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_is_there: bool
) -> None:
    later = tmp_path / "later"
    if folder_is_there:
        later.mkdir()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            shutil.copytree(ill, later, dirs_exist_ok=True)

    monkeypatch.setattr("time.sleep", wait)
    status, out, err = run("rules", later, "--follow")
    assert (status, len(waits)) == (0, 2)
    assert "ExplodingTensor" in out
    assert err.count("waiting for a run in") == 1


def test_follow_ends_with_the_run(run: Run, ill: Path) -> None:
    assert "ExplodingTensor" in run("rules", ill, "--follow")[1]


def test_rules_without_a_run(run: Run) -> None:
    status, _, err = run("rules")
    assert status == 1
    assert "--list" in err


def test_follow_as_json(run: Run, ill: Path) -> None:
    found = json.loads(run("rules", ill, "--follow", "--json")[1])
    assert "ExplodingTensor" in {finding["rule"] for finding in found["findings"]}


def test_follow_waits_for_a_writer_and_says_when_the_run_is_gone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a run that nobody writes to yet, deleted while it is waited for."""
    folder = tmp_path / "logs" / "early"
    with DumpWriter(folder.parent, run="early"):
        pass
    for each in folder.iterdir():
        if each.name != "run.json":
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        shutil.rmtree(folder)

    monkeypatch.setattr("time.sleep", wait)
    status, _, err = run("rules", folder.parent, "--follow")
    assert (status, len(waits)) == (1, 1)
    assert "early was removed" in err


def test_a_rule_that_fails_fails_a_build(run: Run, ill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @rule("Careless", "divides by 0")
    def careless(view, limits):  # type: ignore[no-untyped-def]
        yield 1 // 0

    monkeypatch.setattr("tensortap.analysis.rules.runner.all_rules", lambda: [careless])
    status, out, _ = run("rules", ill, "--fail-on", "high")
    assert (status, "The rule Careless failed: ZeroDivisionError" in out) == (1, True)
    assert run("rules", ill)[0] == 0


def test_the_table_of_rules_changes_nothing(run: Run, ill: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(run("rules", "--list", "--toml")[1])
    assert run("rules", ill, "--rules", file, "--json") == run("rules", ill, "--json")


def test_the_ledger_of_a_run_without_gradients(run: Run, ill: Path) -> None:
    status, out, _ = run("ledger", ill)
    assert status == 0
    assert out.startswith("ill: no gradients were captured.")
    assert json.loads(run("ledger", ill, "--json")[1]) == {
        "run": "ill",
        "entries": [],
        "damage": [],
    }


def test_the_ledger_says_why_gradients_are_zero(run: Run, tmp_path: Path) -> None:
    nodes = (
        *TRAINING[:4],
        node("back", "Mul", "loss"),
        node("gradient_tape/r", "ReluGrad", "back", "product"),
    )
    last = node("gradient_tape/g", "MatMul", "x", "gradient_tape/r", kind="gradient", of="dense/kernel")
    zeros = [
        (name, np.zeros(3, np.float32), step) for step in (4, 5) for name in (last.name, "gradient_tape/r")
    ]
    synthetic_run(tmp_path, (*nodes, last), [*zeros, ("back", np.ones(3, np.float32), 4)])
    out = run("ledger", tmp_path)[1]
    assert out.startswith("made: 1 variable, 1 with zeros or lost updates")
    assert "dense/kernel" in out
    assert json.loads(run("ledger", tmp_path, "--json")[1])["entries"][0]["first_zero_step"] == 4


def test_nan_of_a_run_without_snapshots_does_not_say_that_all_is_finite(run: Run, tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="empty"):
        pass
    status, out, _ = run("nan", tmp_path / "empty")
    assert (status, out.splitlines()[0]) == (0, "empty: no tensors were captured.")
    assert "No step was captured yet." in out
    assert "no NaN" not in out
