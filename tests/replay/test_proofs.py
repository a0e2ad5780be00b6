"""Tensors that are computed again are proven by the hashes of those that were captured in the same call."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.capture.recording.record_options import Record
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.cli.console import console
from tensortap.cli.views.replay import print_observer_effect
from tensortap.dump.recording.bundle import write_bundle
from tensortap.dump.recording.recording_files import find_recordings, read_recording
from tensortap.replay.protocol import Request, StepperRequest
from tensortap.replay.replayer import replay
from tensortap.replay.stepper.computed_run import compute_run
from tensortap.storage.files import json_bytes


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A function that runs twice in a step, with a loop and a branch that is not taken in each iteration."""
    path = tmp_path_factory.mktemp("proofs")
    weights = tf.Variable([1.0, 2.0], name="weights")

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        for number in tf.range(4):
            x = tf.multiply(x, weights, name="grown")
            if number % 2 == 1:
                x = tf.add(x, 1.0, name="few")
        weights.assign_add(x)
        return tf.reduce_sum(x, name="total")

    names = Watch(nodes="(^|/)(grown|few|total)$", steps=1, keep="value")
    with Tap(path / "r", names, record=Record(every(1))) as tap:
        for number in range(2):
            with tap.step(number):
                step(tf.constant([0.5, 0.25]))
                tap.flush()
                step(tf.constant([1.5, 0.75]))
            tap.flush()
    return path / "r"


def test_hashes_of_what_was_captured_are_recorded_by_visit(run_dir: Path) -> None:
    hashes = [read_recording(place.path).tensor_hashes for place in find_recordings(run_dir)[:2]]
    for each in hashes:
        visits = {name.rpartition("/")[2]: list(map(bool, found)) for name, found in each.items()}
        assert visits == {"total:0": [True], "grown:0": [True] * 4, "few:0": [False, True, False, True]}
    first, second = ({digest for found in each.values() for digest in found if digest} for each in hashes)
    assert len(first) == len(second) == 7 and not first & second


def test_tensors_are_proven_call_by_call(run_dir: Path, tmp_path: Path) -> None:
    for place in find_recordings(run_dir)[2:]:
        recording = read_recording(place.path)
        found = replay(Request(str(place.path), nodes=".", observer_effect=True))
        assert found["proofs"] == dict.fromkeys(recording.tensor_hashes, True)
    facts = compute_run(StepperRequest(str(place.path), str(tmp_path), "again"))["tensors"]
    assert {name for name, each in facts.items() if each["proven"]} == set(recording.tensor_hashes)
    assert all(each["proven"] is None for name, each in facts.items() if name not in recording.tensor_hashes)
    (total,) = (name for name in recording.tensor_hashes if "total" in name)
    changed = StepperRequest(str(place.path), str(tmp_path), "changed", [(total, "x + 1")])
    assert all(each["proven"] is None for each in compute_run(changed)["tensors"].values())

    wrong = replace(recording, tensor_hashes=dict(recording.tensor_hashes) | {total: ["0" * 64]})
    write_bundle(tmp_path / "wrong.tapbundle", wrong)
    found = replay(Request(str(tmp_path / "wrong.tapbundle"), nodes="."))
    assert [name for name, proven in found["proofs"].items() if not proven] == [total]
    assert found["identical"]


def test_the_command_says_what_is_proven(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = read_recording(find_recordings(run_dir)[-1].path)
    (total,) = (name for name in recording.tensor_hashes if "total" in name)
    assert main(["replay", str(run_dir), "--observer-effect", "--tensor", total]) == 0  # of step 1
    out = capsys.readouterr().out
    assert "verified: bit-identical to the tensor captured" in out
    assert "all 3 tensors captured in this call are bit-identical to the replay\n" in out
    manifest = find_recordings(run_dir)[-1].path / "recording.json"
    text = manifest.read_text()
    try:
        changed = json.loads(text)
        changed["tensor_hashes"][total] = ["0" * 64]
        manifest.write_bytes(json_bytes(changed))
        assert main(["replay", str(run_dir), "--observer-effect", "--tensor", total]) == 1
        out = capsys.readouterr().out
        assert "1 of 3 tensors captured in this call are not bit-identical to the replay\n" in out
        assert "not bit-identical to the tensor captured in the recorded step" in out
        changed["tensor_hashes"] = {}  # an older recording
        manifest.write_bytes(json_bytes(changed))
        observer_effect = replay(Request(str(manifest.parent), nodes=".", observer_effect=True))[
            "observer_effect"
        ]
        assert observer_effect["kept"] == 0
        print_observer_effect(observer_effect, console())
        assert "no captured tensors of this call" in capsys.readouterr().out
    finally:
        manifest.write_text(text)


def test_a_certificate_alone_writes_no_tensors(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: None
) -> None:
    written: list[str] = []
    monkeypatch.setattr(
        "tensortap.replay.replayer._write", lambda request, *_: written.append(request.logdir)
    )
    assert main(["replay", str(run_dir), "--observer-effect"]) == 0 and not written
    assert main(["replay", str(run_dir), "--observer-effect", "--out", str(tmp_path)]) == 0
    assert written == [str(tmp_path)]


def test_tensors_that_xla_computes_are_not_tapped_in_graph(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=1), record=1) as tap:
        inner = tf.function(lambda x: tf.exp(x, name="inside"), jit_compile=True)
        tap.function(lambda x: tf.negative(inner(x), name="outside"))(tf.constant(1.0))
    (place,) = find_recordings(tmp_path / "r")
    effect = replay(Request(str(place.path), nodes="side:0$", observer_effect=True))["observer_effect"]
    assert (effect["tensors"], effect["changed"]) == (1, ())
