"""Results that are not as recorded where tensors are tapped: by how much, and whether they are without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.cli.stepper_shell import proof
from tensortap.dump.recording.bundle import read_bundle, write_bundle
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.execution.comparison import UntappedRun, compare_results, ulp_of_largest
from tensortap.replay.execution.loaded_call import CallResult, LoadedCall
from tensortap.replay.locate import locate, open_recording
from tensortap.replay.proof import proofs_json, results_proof
from tensortap.replay.protocol import Request, StepperAnswer, StepperRequest
from tensortap.replay.replayer import replay
from tensortap.replay.stepper.computed_run import compute_run

Run = Callable[..., CallResult]


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taps cost the variable of the custom loop 2 ULP of its largest value; how often without is counted."""
    plain: Run = LoadedCall.run

    def run(self: LoadedCall, wanted: Any = None, *args: Any, **options: Any) -> CallResult:
        again = plain(self, wanted, *args, **options)
        return replace(again, variables=dict(map(moved, again.variables.items()))) if again.tensors else again

    monkeypatch.setattr(LoadedCall, "run", run)


def moved(variable: tuple[int, np.ndarray[Any, Any]]) -> tuple[int, np.ndarray[Any, Any]]:
    number, array = variable
    largest = np.unravel_index(np.abs(array).argmax(), array.shape)
    array = array.copy()
    for _ in range(2):
        array[largest] = np.nextafter(array[largest], np.float32(0))
    return number, array


def test_the_command_tells_how_far_and_why(
    recordings: Path, tmp_path: Path, off: None, in_process: None, capsys: pytest.CaptureFixture[str]
) -> None:
    every = ["replay", str(recordings / "loop"), "--nodes", ".", "--out", str(tmp_path / "all")]
    assert main(every) == 1
    out = capsys.readouterr().out
    assert "1 of the step's results (1 output and 1 variable) differ" in out
    assert "  w, by up to 2 ULP of its largest value\n" in out
    assert "without them, all results are bit-identical. TensorFlow fuses nodes" in out
    assert main(every[:2]) == 0
    assert "bit-identical to the recorded step (1 output and 1 variable)" in capsys.readouterr().out


def test_what_differs_without_taps_too_has_no_known_distance(
    recordings: Path, tmp_path: Path, off: None, in_process: None, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere(recordings, tmp_path / "there.tapbundle")
    out_of = ["--nodes", ".", "--out", str(tmp_path / "all")]
    assert main(["replay", str(tmp_path / "there.tapbundle"), *out_of]) == 1
    out = capsys.readouterr().out
    assert "2 of the step's results" in out and "  output 0\n" in out
    assert "  w, by up to 2 ULP" in out and "Results also differ without taps" in out


def elsewhere(recordings: Path, path: Path) -> None:
    """A bundle of a step that returned something else where it was recorded."""
    recording: Recording = open_recording(locate(recordings / "loop", 1, None))
    write_bundle(path, replace(recording, output_hashes=("0" * 64,)))
    assert read_bundle(path).output_hashes == ("0" * 64,)


def test_the_stepper_tells_it(recordings: Path, tmp_path: Path, off: None) -> None:
    source = str(locate(recordings / "loop", 1, None))
    progress: list[tuple[int, int, str]] = []
    request = StepperRequest(source, str(tmp_path), "all")
    answer = StepperAnswer.of(compute_run(request, lambda *state: progress.append(state)))
    assert progress[0] == (0, 0, "loading the recording")
    assert progress[-1][0] == len(answer.tensors)
    assert (answer.identical, answer.untapped, dict(answer.ulp)) == (False, True, {"w": 2})
    assert "1 differ: w, by up to 2 ULP of their largest values" in str(proof(answer))
    (loss,) = (each for each in answer.tensors if each.startswith("Neg"))
    changed = StepperRequest(source, str(tmp_path), "changed", [(loss, "x + 1")])
    answer = StepperAnswer.of(compute_run(changed))
    assert (answer.identical, answer.untapped, dict(answer.ulp)) == (None, None, {})


def test_of_two_variables_of_one_name_the_farther_one_is_reported(tmp_path: Path) -> None:
    layers = [keras.layers.Dense(1, use_bias=False, name="same") for _ in range(2)]
    with Tap(tmp_path / "run", Watch(steps=[10**6]), record=every(1)) as tap:

        @tap.function
        def step(x: tf.Tensor) -> tf.Tensor:
            outputs = [layer(x) for layer in layers]
            for layer in layers:
                layer.kernel.assign(tf.ones_like(layer.kernel))
            return tf.add_n(outputs)

        step(tf.ones((1, 2)))
    recording = read_recording(find_recordings(tmp_path / "run")[0].path)
    with LoadedCall(recording) as call:
        again = call.run(lambda candidate: True)
        first, second = sorted(again.variables)
        for number, other in ((first, second), (second, first)):
            left = {
                number: np.nextafter(again.variables[number], np.float32(2)),
                other: again.variables[other],
            }
            off = replace(again, variables=left)
            answer = compare_results(recording, off, changed=False)
            assert answer.differing == ["same/kernel"]
            explained = UntappedRun(recording, call).explain(answer, off)
            assert (explained.untapped, explained.ulp) == (True, {"same/kernel": 1})


def test_of_what_is_as_recorded_nothing_more_is_run(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[object] = []
    plain: Run = LoadedCall.run
    monkeypatch.setattr(LoadedCall, "run", lambda *args, **kind: (runs.append(0), plain(*args, **kind))[1])
    found = replay(Request(str(locate(recordings / "loop", 1, None)), nodes="product"))
    assert (found["identical"], found["untapped"], found["ulp"], len(runs)) == (True, None, {}, 1)


def answered(**fields: Any) -> StepperAnswer:
    return StepperAnswer(**{"step": 1, "identical": True, "outputs": 0, "variables": 0, **fields})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (answered(), "has no outputs or variables to compare"),
        (answered(outputs=1), "verified: 1 output is bit-identical"),
        (answered(variables=2), "verified: 2 variables are bit-identical"),
        (answered(outputs=1, variables=2), "verified: 1 output and 2 variables are bit-identical"),
        (
            answered(identical=False, failed="E: x"),
            ("the step raises E: x, but the recorded step raised nothing"),
        ),
        (answered(identical=False, variables=1, differing=["w"]), "of 1 variable, 1 differ: w"),
    ],
)
def test_the_line_of_a_stepper(answer: StepperAnswer, says: str) -> None:
    assert says in str(proof(answer))


def test_a_page_is_reported_what_a_terminal_is() -> None:
    answer = answered(identical=False, outputs=2, differing=["w", "v"], ulp={"w": 1, "v": 3}, untapped=True)
    proofs = proofs_json(answer)
    assert proofs is not None and proofs["step"] == results_proof(answer).to_json()
    text = results_proof(answer).text
    assert text.startswith(
        "of 2 outputs, 2 differ: w, v, by up to 3 ULP of their largest values. The taps cause"
    )
    assert not text.endswith(".") and text in str(proof(answer))
    assert [proofs["tensor"][each]["proven"] for each in ("true", "false", "null")] == [True, False, False]
    assert answer.to_json()["ulp"] == 3 and proofs_json(answered(identical=None)) is None


def test_the_distance_of_results() -> None:
    one = np.array([1.0, -3.0, np.inf, np.nan], np.float32)
    near = np.array([1.0, -3.0 - 2**-21, np.inf, np.nan], np.float32)
    assert (ulp_of_largest(one, one), ulp_of_largest(near, one)) == (0, 2)
    assert ulp_of_largest(np.float32([0.0]), np.float32([-0.0])) == 0
    assert ulp_of_largest(np.float32([1e-45]), np.float32([0.0])) == 1
    tiny = np.array([1.0, 2.0**-30], np.float32)
    assert ulp_of_largest(tiny, np.array([1.0, 0.0], np.float32)) == 1
    for far, nothing in ((1e-10, 0.0), (1.7e308, -1.7e308), (1e300, 1e-300)):
        assert 2**52 <= ulp_of_largest(np.array([far]), np.array([nothing])) <= 2**54
    assert ulp_of_largest(np.array([1e300, 1e-300]), np.array([1e300, 0.0])) == 1
    for other in (-one, one[:2], one.astype(np.float64), np.array([1.0, np.nan, np.inf, np.nan], "f")):
        assert ulp_of_largest(other, one) is None
    assert ulp_of_largest(np.array([1]), np.array([2])) is None
