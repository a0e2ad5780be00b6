"""The `tensortap replay`, `step` and `bundle` lines of the documents, run on a recorded step."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from documents import DOCUMENTS, blocks

import tensortap
from tensortap.__main__ import main

STEP = 100
COMMAND = re.compile(r"^tensortap (?:replay|step|bundle) .*$", re.MULTILINE)
# These name another run or step of the story that they tell.
ELSEWHERE = ("logs/night",)


def documented() -> list[str]:
    texts = [block.text for name in DOCUMENTS for block in blocks(name)]
    lines = dict.fromkeys(re.sub(r"  .*", "", line) for text in texts for line in COMMAND.findall(text))
    return [line for line in lines if not any(name in line for name in ELSEWHERE)]


def train(run: Path, *, broken: bool = False) -> None:
    """A run with one recorded step, with NaN if `broken`; its nodes have the names that the documents use."""
    w = tf.Variable([[0.5, 0.1], [0.2, -0.3]], name="w")
    with tensortap.Tap(run, tensortap.Watch(steps=[STEP]), record=[STEP]) as tap:

        @tap.function(autograph=False)
        def train_step(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                h = tf.matmul(x, w, name="attention")
                for scope in ("net_1/hidden_1", "conv"):
                    with tf.name_scope(scope):
                        h = tf.nn.relu(h, name="Relu")
                loss = tf.reduce_mean(tf.math.log(h) if broken else tf.square(h), name="loss")
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        with tap.step(STEP):
            train_step(tf.constant([[1.0, 2.0], [3.0, 4.0], [-5.0, 6.0], [7.0, 8.0]]))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    for run in ("digits", "before", "after", "first"):
        train(folder / "fine/logs" / run)
        train(folder / "broken/logs" / run, broken=True)
    for logs in (folder / "fine", folder / "broken"):
        assert main(["bundle", str(logs / "logs/digits"), "--out", str(logs / "step.tapbundle")]) == 0
    return folder


@pytest.mark.parametrize("line", documented())
def test_a_line_runs(
    line: str,
    logs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    in_process: None,
) -> None:
    shutil.copytree(logs / ("broken" if "'nan;" in line else "fine"), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))  # of `step` without --commands
    if "--out step.tapbundle" in line:
        Path("step.tapbundle").unlink()
    arguments = shlex.split(line, comments=True)[1:]
    arguments = [str(STEP) if argument == "3" else argument for argument in arguments]  # README's step
    assert main(arguments) == 0, capsys.readouterr().err
