"""The generated script of a recorded step: readable, and it computes what the step computed."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.core.errors import NotFoundError
from tensortap.dump.recording.bundle import write_bundle
from tensortap.replay import report_differences
from tensortap.replay.analyses.script import Identifiers, attribute, comment, constant
from tensortap.replay.execution.loaded_call import LoadedCall, RecordedInputs, variables_of
from tensortap.replay.locate import locate, open_recording


@pytest.mark.parametrize("name", ["loop", "rnn", "cnn", "transformer"])
def test_a_script_runs_the_step_eagerly(
    ask: Callable[..., Any], recordings: Path, tmp_path: Path, name: str
) -> None:
    recording = open_recording(locate(recordings / name, 1, None))
    bundle, path = tmp_path / "step.tapbundle", tmp_path / "step.py"
    write_bundle(bundle, recording)
    text = ask(name, "script", bundle=str(bundle), script=path.name)["text"]
    path.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", [str(path)])
        script = runpy.run_path(str(path))
    (root,) = [line.split("=")[1].split("(")[0].strip() for line in text.splitlines() if "(*inputs)" in line]
    with RecordedInputs(recording.arguments) as inputs:
        outputs = script[root](*inputs)
        left = variables_of(recording.arguments, inputs)
    with LoadedCall(recording) as call:
        again = call.run()
    for number, value in again.variables.items():
        if re.search("(key|conv)[/_]bias", recording.arguments[number].name):
            continue  # their gradients are zero in mathematics, and Adam makes steps of rounding errors
        np.testing.assert_allclose(left[number], value, rtol=2e-4, atol=1e-6)
    assert len(outputs) >= len(again.outputs)
    assert "# ---- layer" in text or name == "loop"
    arguments = re.split(r"[(), :\n]+", text[text.index(f"def {root}(") :].partition("):")[0])
    variables = [argument.name for argument in recording.arguments if argument.kind == "variable"]
    assert {path.replace("/", "_") for path in variables if len(path) < 60} <= set(arguments)
    if name == "transformer":
        reported = report_differences(recording, outputs, inputs)
        assert any(
            "bias_velocity: by up to" in line and "ULP of its largest value" in line for line in reported
        ), reported
        assert "bit-identical" in reported[0] and "fuses and reorders nodes" in reported[-1]
    assert "recorded_programs.py:" in text
    assert max(map(len, re.findall(r"(?m)^def .*|^ {8}\w+, .*", text))) <= 100


def test_the_command_writes_it(
    ask: Callable[..., Any], recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "step.tapbundle"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(
            tmp_path
        )  # files are named from another folder than the one that the script is started in
        (tmp_path / "away").mkdir()
        arguments = ["--out", "step.tapbundle", "--script", "away/step.py"]
        assert main(["bundle", str(recordings / "loop"), *arguments]) == 0
        assert "python -m pdb away/step.py" in capsys.readouterr().out
        patch.chdir(tmp_path / "away")
        patch.setattr("sys.argv", ["step.py"])
        runpy.run_path("step.py", run_name="__main__")
        assert "outputs and variables are bit-identical" in capsys.readouterr().out
        patch.setattr("sys.argv", ["step.py", "gone.tapbundle"])
        with pytest.raises(SystemExit, match=r"Bundle gone\.tapbundle not found"):
            runpy.run_path("step.py", run_name="__main__")

    # The bundle holds the graph, which says what the loss is, and the lines; unless it shall not.
    assert ask(bundle, "test", test="gradient")["passed"]
    rows = ask(bundle, "test", test="batch")["rows"]
    assert not rows or "recorded_programs.py" in rows[0]["line"]
    bare = tmp_path / "bare.tapbundle"
    assert main(["bundle", str(recordings / "loop"), "--out", str(bare), "--no-graph"]) == 0
    with pytest.raises(NotFoundError, match="does not mark a loss"):
        ask(bare, "test", test="gradient")


def test_a_script_that_is_there_already_keeps_the_bundle_from_being_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, path = tmp_path / "step.tapbundle", tmp_path / "step.py"
    path.write_text("mine")
    arguments = ["bundle", str(tmp_path), "--out", str(bundle), "--script"]
    assert main([*arguments, str(path)]) == 1
    assert f"{path} already exists." in capsys.readouterr().err
    assert path.read_text() == "mine" and not bundle.exists()
    assert main([*arguments, str(bundle)]) == 1
    assert "the same file" in capsys.readouterr().err and not bundle.exists()


def test_names_and_comments_cannot_become_code() -> None:
    names = Identifiers()
    assert names.take("net/a-b;import os") == "a_b_import_os"
    assert [names.take(text) for text in ("class", "x/1", "y", "y", "tf")] == [
        "x_class",
        "x_1",
        "y",
        "y_2",
        "tf_2",
    ]
    reserved = (
        "float",
        "net/int",
        "outputs",
        "inputs",
        "line",
        "RecordedInputs",
        "range",
        "print",
    )
    assert not {names.take(text) for text in reserved} & {text.rpartition("/")[2] for text in reserved}
    assert "\n" not in comment("a\nimport os") and "\u2028" not in comment("a\u2028b")


@pytest.mark.parametrize(
    "name", ["float32", "bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "uint4", "bool"]
)
def test_constants_and_dtypes_are_python(name: str) -> None:
    dtype = getattr(ml_dtypes, name, None) or np.dtype(name)
    array = np.array([[1, 0]], dtype)
    text = constant(tf.make_tensor_proto(array))
    assert text is not None
    found = eval(text, {"tf": tf})  # what this module has just written
    assert found.dtype == tf.as_dtype(name) and found.numpy().tobytes() == array.tobytes()
    value = tf.compat.v1.AttrValue(type=tf.as_dtype(name).as_datatype_enum)
    assert eval(str(attribute(value)), {"tf": tf}) == tf.as_dtype(name)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_constants_that_python_cannot_spell_are_read_from_the_recording(name: str) -> None:
    dtype = getattr(ml_dtypes, name, None) or np.dtype(name)
    assert constant(tf.make_tensor_proto(np.array([np.nan, 1], dtype))) is None
    assert name == "float8_e4m3fn" or constant(tf.make_tensor_proto(np.array(-np.inf, dtype))) is None
