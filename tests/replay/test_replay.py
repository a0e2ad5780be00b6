"""`tensortap replay` and `bundle` on a recorded training, in the process they run in."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.api.logdir import open_logdir
from tensortap.capture.tap import Tap
from tensortap.capture.tracing.candidate import Candidate
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.cli.views.replay import comparison_line
from tensortap.core.errors import DamagedError, InvalidValueError, NotFoundError, TensortapError
from tensortap.dump.recording.bundle import write_bundle
from tensortap.dump.recording.recording import Argument, Recording
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.analyses.observer_effect import measure_observer_effect
from tensortap.replay.execution.comparison import compare_results
from tensortap.replay.execution.loaded_call import CallResult, LoadedCall
from tensortap.replay.execution.override import override
from tensortap.replay.execution.tensor_expression import parse_change
from tensortap.replay.locate import locate
from tensortap.replay.protocol import Request
from tensortap.replay.replayer import replay

Run = Callable[..., tuple[int, str, str]]
RELU = "net_1/hidden_1/Relu:0"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay")
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.layers.Dense(8, "relu", name="hidden"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(3, name="out"),
        ],
        name="net",
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = np.random.rand(32, 5).astype("float32"), np.random.randint(0, 3, 32)
    with Tap(path / "first", Watch(steps=[2], keep="value"), record=every(2)) as tap:
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[tap.callback()])
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:
            status = int(error.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_a_step_is_proven_and_a_tensor_computed(run: Run, logdir: Path) -> None:
    status, out, err = run("replay", logdir / "first", "--step", "2", "--tensor", RELU, "--json")
    assert status == 0, err
    shown = json.loads(out)
    kept = open_logdir(logdir).runs["first"].tensor(RELU, step=2)
    assert shown["answer"]["identical"] is True
    np.testing.assert_array_equal(np.array(shown["tensors"][0]["values"]["data"], np.float32), kept[:, :])


def test_the_calls_of_a_step_are_those_of_the_program(logdir: Path) -> None:
    """Adam's variables are made by a function of TensorFlow's own, before the first step."""
    found = find_recordings(logdir / "first")
    assert [(place.step, place.call) for place in found] == [(0, 0), (2, 0)]


def test_all_tensors_of_a_changed_step_from_a_bundle(run: Run, logdir: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "step.tapbundle"
    assert run("bundle", logdir / "first", "--step", "2", "--out", bundle)[0] == 0
    arguments = ["--override", f"{RELU}=x * 0 + 2", "--nodes", "net_1", "--out", tmp_path / "again"]
    status, out, err = run("replay", bundle, *arguments)
    assert status == 0, err
    assert "differ from the recording" in out
    again = open_logdir(tmp_path / "again").runs["replay"]
    recorded = open_logdir(logdir).runs["first"]
    assert (np.asarray(again.tensor("net_1/out_1/MatMul:0", step=2))[0] != 0).any()
    np.testing.assert_array_equal(again.tensor(RELU, step=2), recorded.tensor(RELU, step=2))
    assert not np.array_equal(
        again.tensor("net_1/out_1/MatMul:0", step=2), recorded.tensor("net_1/out_1/MatMul:0", step=2)
    )


def test_an_observer_is_certified(run: Run, logdir: Path) -> None:
    status, out, err = run("replay", logdir / "first", "--step", "2", "--observer-effect", "--json")
    observer_effect = json.loads(out)["answer"]["observer_effect"]
    assert observer_effect["tensors"] > 100
    assert observer_effect["kept"] > 100
    assert status == (1 if observer_effect["changed"] or observer_effect["unlike_kept"] else 0), err
    assert bool(observer_effect["changed"]) == bool(observer_effect["first"])
    assert observer_effect["unlike_kept"] == []


def test_what_capturing_changes_is_found() -> None:
    """A call that notices its taps: from the third tensor on, its result is another."""
    candidates = [Candidate(f"n{number}", 0, "Relu", "float32") for number in range(20)]
    argument = Argument("variable", "w", (np.zeros(2, np.float32),), "float32", (2,))
    recording = Recording("f", b"", (argument,), 0)

    class Call:
        def run(self, wanted: Any = lambda candidate: False) -> CallResult:
            seen = candidates[13] in filter(wanted, candidates)
            return CallResult((), {0: np.full(2, 1.0 + seen, np.float32)}, [])

    found = measure_observer_effect(recording, Call(), candidates)
    assert (found.changed, found.first) == (["w"], "n13:0")
    assert measure_observer_effect(recording, Call(), candidates[:13]).changed == ()


def test_what_differs_each_time_is_not_blamed_on_capturing() -> None:
    """A call with one result that is another each time, and one that taps change."""
    candidates = [Candidate(f"n{number}", 0, "Relu", "float32") for number in range(9)]
    arguments = tuple(Argument("variable", name, (np.zeros(2, np.float32),)) for name in "vw")
    count = itertools.count()

    class Call:
        def run(self, wanted: Any = lambda candidate: False) -> CallResult:
            seen = candidates[4] in filter(wanted, candidates)
            return CallResult((), {0: np.float32([next(count)]), 1: np.float32([seen])}, [])

    recording = Recording("f", b"", arguments, 0)
    found = measure_observer_effect(recording, Call(), candidates)
    assert (found.unstable, found.changed, found.first) == (["v"], ["w"], "n4:0")
    found = measure_observer_effect(recording, Call(), candidates[:4])
    assert (found.unstable, found.changed, found.first) == (["v"], (), "")


def test_an_older_recording_of_nan_is_proven_by_its_bytes() -> None:
    made = np.array([0xFFC00000], np.uint32).view(np.float32)  # what x86 makes of inf - inf
    reported = hashlib.sha256(b"float32[1]" + made.tobytes()).hexdigest()
    given = Argument("variable", "v", (np.zeros(1, np.float32),))
    old = Recording(
        "f", b"", (given,), 0, output_hashes=(reported,), variable_hashes={0: reported}, nan_as_one=False
    )
    again = CallResult((made,), {0: made}, [])
    assert compare_results(old, again, changed=False).identical
    assert compare_results(replace(old, nan_as_one=True), again, changed=False).differing == ["output 0", "v"]
    assert compare_results(old, CallResult((made,), {}, []), changed=False).differing == ["v"]


def test_recordings_are_listed(run: Run, logdir: Path) -> None:
    status, out, _ = run("replay", logdir / "first", "--list", "--json")
    assert status == 0
    assert {row["step"] for row in json.loads(out)} == {0, 2}
    assert "multi_step" in run("replay", logdir, "--list")[1]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"tensors": ["nothing:0"]}, "no tensor 'nothing:0'"),
        ({"tensors": [RELU.replace("Relu:0", "ReLU:0")]}, f"Similar names: {RELU}"),
        ({"changes": {"nothing:0": "x"}}, "no tensor 'nothing:0'"),
        ({"changes": {RELU: "exec(x)"}}, "is not allowed"),
        ({"changes": {RELU: "sum(x)"}}, "shape"),
        ({"nodes": "("}, "is not a regular expression"),
    ],
)
def test_what_cannot_be_done_is_said(logdir: Path, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(TensortapError, match=re.escape(says)):
        replay(Request(str(locate(logdir / "first", 2, None)), **fields))


def test_limits_and_steps_that_are_not_there(run: Run, logdir: Path) -> None:
    status, _, err = run("replay", logdir / "first", "--step", "1")
    assert (status, "Recorded steps: 0, 2" in err) == (1, True)
    status, _, err = run("replay", logdir / "first", "--seconds", "0.01")
    assert (status, "more than 0.01 s" in err) == (1, True)
    assert run("replay", logdir / "first", "--override", "x")[0] == 2


def test_no_earlier_step_is_replayed_in_the_place_of_a_damaged_one(
    run: Run, logdir: Path, tmp_path: Path
) -> None:
    shutil.copytree(logdir / "first", tmp_path / "first")
    last = find_recordings(tmp_path / "first")[-1].path
    (last / "recording.json").unlink()
    status, _, err = run("replay", tmp_path / "first")
    assert (status, f"{last.name}: recording.json is missing" in err) == (1, True)


def test_a_run_without_recordings(run: Run, tmp_path: Path) -> None:
    assert run("replay", tmp_path)[0] == 1
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(DamagedError, match="not a bundle"):
        replay(Request(str(tmp_path / "junk")))


@pytest.mark.parametrize(
    "op_type", ["ReadFile", "PyFunc", "EagerPyFunc", "WriteFile", "RestoreV2", "NoSuchOp"]
)
def test_ops_that_reach_out_are_refused(logdir: Path, tmp_path: Path, op_type: str) -> None:
    from tensorflow.core.framework.function_pb2 import FunctionDefLibrary

    recording = read_recording(find_recordings(logdir / "first")[-1].path)
    library = FunctionDefLibrary.FromString(recording.library)
    library.function[0].node_def.add(name="evil", op=op_type)
    with pytest.raises(InvalidValueError, match=re.escape(op_type)):
        LoadedCall(replace(recording, library=library.SerializeToString()))


def test_a_function_that_calls_itself_is_refused(logdir: Path) -> None:
    from tensorflow.core.framework.function_pb2 import FunctionDefLibrary

    recording = read_recording(find_recordings(logdir / "first")[-1].path)
    library = FunctionDefLibrary.FromString(recording.library)
    name = library.function[0].signature.name
    call = library.function[0].node_def.add(name="again", op="PartitionedCall")
    call.attr["f"].func.name = name
    with pytest.raises(DamagedError, match=re.escape(f"The function {name!r} of the recording is recursive")):
        LoadedCall(replace(recording, library=library.SerializeToString()))


@pytest.mark.parametrize(
    "edited",
    [{"input": ["nobody:z:0"]}, {"input": ["evil:y:0"]}, {"input": []}, {"name": "a\nb"}],
    ids=["missing input", "cycle", "no input", "odd name"],
)
def test_a_graph_that_was_edited_is_called_damaged(logdir: Path, edited: dict[str, Any]) -> None:
    from tensorflow.core.framework.function_pb2 import FunctionDefLibrary

    recording = read_recording(find_recordings(logdir / "first")[-1].path)
    library = FunctionDefLibrary.FromString(recording.library)
    (root,) = [each for each in library.function if each.signature.name == recording.function]
    evil = root.node_def.add(name="evil", op="Neg", input=["evil:y:0"])
    evil.attr["T"].type = 1
    for field, value in edited.items():
        evil.ClearField(field)
        evil.MergeFrom(type(evil)(**{field: value}))
    changed = replace(recording, library=library.SerializeToString())
    with pytest.raises(DamagedError, match="The recording is damaged"), LoadedCall(changed) as call:
        assert call.candidates


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"failed": "InvalidArgumentError: x"}, "not bit-identical: the step raises"),
        (
            {"recorded_failure": "ValueError: y"},
            ("not bit-identical: the recorded step raised ValueError: y"),
        ),
        ({"differing": ["w"]}, "not bit-identical: 1 of the step's results (2 variables) differ"),
    ],
)
def test_what_is_not_as_recorded_is_said(fields: dict[str, Any], says: str) -> None:
    known = {"identical": False, "outputs": 0, "variables": 2, "differing": []}
    answer = SimpleNamespace(**{**known, "failed": "", "recorded_failure": "", **fields})
    assert str(comparison_line(answer)) == says


def test_a_change_in_a_loop_is_made_at_each_visit(tmp_path: Path) -> None:
    with Tap(tmp_path / "loop", Watch(steps=[9]), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            for _ in tf.range(3):
                x = tf.sqrt(x)
            return x

        assert float(step(tf.constant(256.0))) == 2.0
    recording = read_recording(find_recordings(tmp_path / "loop")[0].path)
    with LoadedCall(recording) as call:
        (name,) = [candidate.name for candidate in call.candidates if candidate.op_type == "Sqrt"]
    with LoadedCall(override(recording, {name: parse_change("x + 1")})) as call:
        again = call.run(lambda candidate: candidate.name == name)
    expected, x = [], 256.0
    for _ in range(3):
        expected.append(np.sqrt(x))
        x = np.sqrt(x) + 1
    assert again.outputs[0] == pytest.approx(x)
    np.testing.assert_allclose([value for _, _, value in again.tensors], expected, rtol=1e-6)
    with pytest.raises(NotFoundError):
        override(recording, {"nothing:0": parse_change("x")})
    with pytest.raises(InvalidValueError):
        override(recording, {name: lambda x: tf.cast(x, tf.float64)})
    write_bundle(tmp_path / "changed", override(recording, {name: parse_change("x + 1")}))


def test_an_exported_run_is_replayed_in_place(run: Run, logdir: Path, tmp_path: Path) -> None:
    out = tmp_path / "first.tap.zip"
    assert run("export", logdir / "first", "--out", out)[0] == 0
    assert "multi_step" in run("replay", out, "--list")[1]
    status, text, _ = run("bundle", out, "--step", "2", "--out", tmp_path / "step.tapbundle", "--json")
    assert (status, json.loads(text)["step"]) == (0, 2)
    assert replay(Request(str(locate(out, 2, None))))["identical"] is True
