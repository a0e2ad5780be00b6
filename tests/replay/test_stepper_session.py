"""A stepper on a recorded training with a loop, from the command line and as a session."""

from __future__ import annotations

import io
import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tensortap.__main__ import main
from tensortap.api.logdir import open_logdir
from tensortap.capture.tap import Tap
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.cli.stepper_shell import StepperShell
from tensortap.core.errors import TensortapError
from tensortap.core.progress import Advance, ignore_advance
from tensortap.dump.recording.bundle import write_bundle
from tensortap.dump.recording.recording_files import find_recordings
from tensortap.replay.client import Limits, ReplayError, ReplayProcess
from tensortap.replay.locate import locate, open_recording
from tensortap.replay.protocol import Request, StepperAnswer, StepperRequest
from tensortap.replay.replayer import replay
from tensortap.replay.stepper.computed_run import compute_run
from tensortap.replay.stepper.session import StepperSession
from tensortap.system.subprocess_worker import Cancellation


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step with a loop that takes square roots of the input, and of which the second call is NaN."""
    path = tmp_path_factory.mktemp("stepper")
    for name in ("loop", "other"):
        with Tap(path / name, Watch(steps=[9]), record=every(1)) as tap:
            weight = tf.Variable([1.0, 2.0], name="weight")

            @tap.function
            def step(x: tf.Tensor, weight: tf.Variable = weight) -> tf.Tensor:
                for _ in tf.range(3):
                    x = tf.sqrt(x)
                weight.assign_add(tf.cast(tf.cast(x, tf.float16), tf.float32))
                return tf.reduce_sum(x * weight)

            step(tf.constant([256.0, 65536.0]))
            step(tf.constant([256.0, -1.0]))
    return path


class InThisProcess(ReplayProcess):
    """So that TensorFlow is not started anew."""

    asked = 0

    def compute(
        self,
        request: StepperRequest,
        cancellation: Cancellation | None = None,
        advance: Advance = ignore_advance,
    ) -> StepperAnswer:
        self.asked += 1
        sent = json.loads(json.dumps(asdict(request)))
        return StepperAnswer.of(json.loads(json.dumps(compute_run(StepperRequest.of(sent)))))


@pytest.fixture
def session(logdir: Path, tmp_path: Path) -> StepperSession:
    return StepperSession(locate(logdir / "loop", 1, None), InThisProcess(), tmp_path)


def tensor(session: StepperSession, op_type: str) -> str:
    (node,) = session.stepper.find(op_type)
    return node.outputs[0]


def test_a_nan_is_walked_to_in_a_loop_and_repaired(session: StepperSession) -> None:
    assert session.answer().identical is True
    facts = session.answer().tensors
    argument = session.stepper.next_nonfinite(facts).outputs[0]  # of the loop's body, at its second visit
    sqrt = tensor(session, "Sqrt")
    assert (facts[argument].bad_visit, facts[sqrt].bad_visit, facts[sqrt].visits) == (1, 0, 3)
    changed = session.change(sqrt, "where(isnan(x), 1, x)")
    assert sqrt in changed
    assert not any(each.nan for each in session.answer().tensors.values())
    values = open_logdir(session.run().parent).runs[session.run().name]
    np.testing.assert_allclose(values.tensor(sqrt, step=1, visit=2), [2.0, 1.0])
    assert len(values.tensor(tensor(session, "Sum"), step=1).shape) == 0


def test_changes_add_up_are_undone_and_compared(session: StepperSession) -> None:
    total, cast = tensor(session, "Sum"), session.stepper.find("Cast")[-1].outputs[0]
    session.change(total, "step(0)")
    recorded = open_logdir(session.run().parent).runs[session.run().name].tensor(total, step=1)
    assert float(recorded[...]) == pytest.approx(2.0 * (1 + 2) + 4.0 * (2 + 4))
    session.what_ifs.begin("more")
    session.change(total, "x * 2")
    session.change(total, "step(0, 'other') + x")
    more = open_logdir(session.run().parent).runs[session.run().name].tensor(total, step=1)
    assert float(more[...]) == pytest.approx(30 + 2 * 30)
    session.change(cast, "put(x, 1, 7)")
    assert set(session.changed("what-if 1")) < set(session.changed("more"))
    session.what_ifs.undo()
    assert session.changed("what-if 1") == session.changed("more")


def test_another_step_has_one_value_or_is_refused(
    session: StepperSession, logdir: Path, tmp_path: Path
) -> None:
    """Overrides of `tensortap replay` take other steps as the stepper does; a loop's visits are several."""
    total, sqrt = tensor(session, "Sum"), tensor(session, "Sqrt")
    source = str(locate(logdir / "loop", 1, None))
    product = next(node.inputs[0] for node in session.stepper.nodes if total in node.outputs)
    out = str(tmp_path / "again")
    replay(Request(source, tensors=[total], changes={product: "step(0, 'other')"}, logdir=out))
    (run,) = open_logdir(out).runs.values()
    assert float(run.tensor(total, step=1)[...]) == pytest.approx(2.0 * (1 + 2) + 4.0 * (2 + 4))
    with pytest.raises(TensortapError, match="3 values at step 0"):
        replay(Request(source, changes={sqrt: "step(0)"}))
    with pytest.raises(TensortapError, match="3 values at step 0"):
        session.change(sqrt, "step(0)")


def test_a_change_that_cannot_be_made_is_no_change(session: StepperSession) -> None:
    total = tensor(session, "Sum")
    for expression in (
        "exec(x)",
        "step(77)",
        "step(0, '../loop')",
        "step()",
        "cast(x, 'no such')",
        "x;" * 9 + "(",
    ):
        with pytest.raises(TensortapError):
            session.change(total, expression)
        assert (session.what_ifs.names, session.what_ifs.current) == ([], "")
    with pytest.raises(TensortapError, match="no tensor"):
        session.change("nothing:0", "x")


def test_a_bundle_has_its_graph_and_no_other_steps(logdir: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "step.tapbundle"
    write_bundle(bundle, open_recording(locate(logdir / "loop", 1, None)))
    session = StepperSession(bundle, InThisProcess(), tmp_path / "values")
    total = tensor(session, "Sum")
    with pytest.raises(TensortapError, match="only one step"):
        session.change(total, "step(0)")
    assert session.change(total, "5")[0] == total


def test_some_tensors_within_a_budget(logdir: Path, tmp_path: Path, session: StepperSession) -> None:
    total, cast = tensor(session, "Sum"), session.stepper.find("Cast")[-1].outputs[0]
    source = str(locate(logdir / "loop", 1, None))
    request = StepperRequest(source, str(tmp_path), "few", [(total, "1")], [cast, total], value_bytes=8)
    facts = InThisProcess().compute(request).tensors
    assert {name: each.kept for name, each in facts.items()} == {cast: True, total: False}
    with pytest.raises(TensortapError, match="no tensor 'nothing:0'"):
        InThisProcess().compute(StepperRequest(source, str(tmp_path), "none", (), ["nothing:0"]))


def test_the_prompt_runs_commands(
    logdir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One real process; the lines come from standard input, as from a file."""
    commands = """# a comment
    nan
    to Sqrt
    fix 1
    changed all
    whatif scaled
    to Sum
    scale 2
    compare
    value
    list Sqrt
    save
    undo
    redo
    recorded
    out
    back 2
    to Sqrt
    put 0 3
    quit
    to never reached"""
    monkeypatch.setattr("sys.stdin", io.StringIO(commands))
    assert main(["step", str(logdir / "loop"), "--step", "1"]) == 0
    out = capsys.readouterr().out
    assert "bit-identical to the recorded step" in out
    assert "= where(isfinite(x), x, 1)" in out
    assert "0 tensors with NaN or infinity, from 0 origins (recorded: " in out
    assert re.search(r"^recorded +float32 scalar .*\n.*\nscaled +float32 scalar", out, re.MULTILINE)
    assert "were not saved" in out
    assert "never reached" not in out
    saved = json.loads((logdir / "loop" / "what-ifs.json").read_text())["recordings"]
    assert list(next(iter(saved.values()))) == ["what-if 1", "scaled"]
    (logdir / "loop" / "what-ifs.json").unlink()


def test_nothing_further_changed_and_commands_that_fail(
    session: StepperSession, logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = StepperShell(session, locate(logdir / "loop", 1, None))
    total = tensor(session, "Sum")
    assert shell.run_all(["nan", f"to {total}", "set = 7", "changed", "changed"]) == 0
    out = capsys.readouterr().out
    assert "from 1 origin" in out and "no more changes after this node" in out
    with pytest.raises(TensortapError, match=r"'to nobody' failed: No node"):
        shell.run_all(["to nobody"])


def test_a_process_that_takes_too_long_is_ended(logdir: Path, tmp_path: Path) -> None:
    source = str(find_recordings(logdir / "loop")[0].path)
    with (
        ReplayProcess(Limits(seconds=0.01)) as process,
        pytest.raises(ReplayError, match=r"more than 0.01 s"),
    ):
        process.compute(StepperRequest(source, str(tmp_path), "never"))
