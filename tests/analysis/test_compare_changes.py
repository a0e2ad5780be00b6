"""`diff` of a real program and the same with one change: it begins at the cause, in the program's names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.comparison_records import FirstDivergence
from tensortap.analysis.compare.side import Side
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

FILE = Path(__file__).resolve().parents[1] / "support/compare_changes.py"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunIndex]:
    folder = tmp_path_factory.mktemp("changes")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(FILE), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    log = LogIndex(folder)
    log.refresh()
    return {run.name: run for run in log.runs}


def first(runs: dict[str, RunIndex], a: str, b: str) -> FirstDivergence:
    found = compare(Side(runs[a]), Side(runs[b])).first
    assert found is not None
    return found


def line(comment: str) -> int:
    texts = FILE.read_text().splitlines()
    return next(number for number, text in enumerate(texts, 1) if text.endswith(f"  # {comment}"))


def test_a_changed_argument_of_a_layer_is_named_with_the_layers_line(runs: dict[str, RunIndex]) -> None:
    found = first(runs, "base", "epsilon")
    assert "is 0.001 in A, 1e-05 in B" in found.text
    assert found.frame is not None and found.frame.line == line("epsilon")


def test_a_stopped_gradient_comes_before_the_weights_that_it_leaves(runs: dict[str, RunIndex]) -> None:
    found = first(runs, "base", "stopped")
    assert "StopGradient" in found.extra and found.extra.endswith("which only B has")
    assert f"compare_changes.py:{line('stopped')}" in found.extra
    assert found.variable == "first/kernel"
    assert "B computes no gradient of first/bias, first/kernel and 4 more." in found.text


def test_a_learning_rate_is_named_with_both_numbers(runs: dict[str, RunIndex]) -> None:
    found = first(runs, "base", "rate")
    assert found.variable == "adam/learning_rate"
    assert found.text == "The variable adam/learning_rate is 0.01 in A and 0.001 in B."
    assert found.frame is not None and found.frame.line == line("optimizer")


def test_of_weights_alone_the_constant_of_the_optimizer_is_named(runs: dict[str, RunIndex]) -> None:
    found = first(runs, "weights", "weights_momentum")
    # Keras numbers the optimizers of a program: adam_5.
    assert re.match(r"the constant adam(_\d+)?/", found.extra) and "is 0.9 in A, 0.8 in B" in found.extra


def test_runs_that_agree_have_no_lower_bounds(runs: dict[str, RunIndex]) -> None:
    found = compare(Side(runs["summaries"]), Side(runs["base"]))
    assert not found.differ
    assert not any("lower bound" in note for note in found.notes)
    assert any("may still differ" in note for note in found.notes)
