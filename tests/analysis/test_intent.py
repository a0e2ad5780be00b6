"""Programs with one common mistake each: a rule finds it, and finds nothing of high severity without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap.analysis.rules.runner import check_rules
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

FILE = Path(__file__).resolve().parents[1] / "support/intent_programs.py"
FOUND_BY = {  # program -> (rule, part of the text)
    "probabilities_as_logits": ("LossInputMismatch", "Softmax is a softmax"),
    "logits_as_probabilities": ("LossInputMismatch", "expects probabilities"),
    "sigmoid_as_logits": ("LossInputMismatch", "Sigmoid is a sigmoid"),
    "frozen_norm": ("UnchangedTensor", "norm/moving_mean"),
    "forgotten_encoder": ("UnchangedTensor", "encoder/inner/kernel"),
    "labels_as_feature": ("LabelInInput", "Column 5"),
    "keep_probability": ("HighDropout", "mlp/drop drops 0.95"),
    "large_rate": ("LearningRate", "The learning rate is 50."),
    "wrong_sign": ("NegatedLoss", "negative of a cross-entropy"),
    "relu_head": ("TargetOutOfRange", "can only be 0 or more"),
    "pixels": ("InputNotNormalized", "reaches 255"),
    "all_zero_kernel": ("DeadGradient", "mlp/empty/kernel"),
    "layer_never_called": ("UnusedLayer", "No step calls second: "),
    "exploding_rate": ("LearningRate", "The learning rate is 0.8."),
    "stopped_gradient": ("DeadGradient", "low/kernel gets no gradient"),
    "autoencoder": ("TargetOutOfRange", "can only be 0 … 1"),
    "relu_logits": ("LossInputMismatch", "expects logits"),
    "shuffled_labels": ("LossNotDecreasing", "Guessing among 3 classes gives 1.1"),
    "tanh_logits": ("LossInputMismatch", "Tanh is a tanh"),
    "blank_inputs": ("AllZero", "The input IteratorGetNext:0 is all zeros"),
    "pixels_divided_twice": ("InputNotNormalized", "reaches only 0.00392"),
    "labels_from_one": ("TargetOutOfRange", "range from 1 to 3"),
    "untracked_layer": ("UnchangedTensor", "first/kernel"),
    "softmax_of_one": ("SoftmaxAxis", "over one element"),
    "softmax_over_batch": ("SoftmaxAxis", "over the batch: its input was 32×8"),
    "broadcast_targets": ("BroadcastLoss", "targets of shape 32 with outputs of shape 32×1"),
    "softmax_over_queries": ("SoftmaxAxis", "sum to 1 over axis 1, but model_1/MatMul_1 sums over axis 2"),
    "positive_mask": ("MaskSign", "reaches 1e+09"),
    "weights_as_column": ("BroadcastLoss", "combines weights, of shape 32×1, with Sparse"),
    "constant_pixels": ("InputNotNormalized", "IteratorGetNext:0 is 1 everywhere"),
    "falling_loss": ("NegatedLoss", "falls without bound"),
    "softmax_over_rows": ("SoftmaxAxis", "sum to 1 over axis 1 of 32×8×8×2, but"),
    "warm_up_of_zero": ("LearningRate", "The learning rate is 0."),
}
LINES = {  # where the comment is
    "layer_never_called": "never called",
    "stopped_gradient": "stopped",
    "broadcast_targets": "# broadcast",
    "softmax_over_queries": "# over an axis",
    "positive_mask": "# masked",
    "weights_as_column": "# weighted",
    "softmax_over_rows": "# over an axis of pixels",
}
MEDIUM = {"shuffled_labels"}  # a small learning rate might look the same
ALONE = {  # those whose rule is the first to be named
    *("probabilities_as_logits", "logits_as_probabilities", "sigmoid_as_logits", "frozen_norm"),
    *("layer_never_called", "exploding_rate", "stopped_gradient", "autoencoder", "large_rate"),
    *("relu_logits", "softmax_of_one", "softmax_over_batch", "broadcast_targets"),
    *("forgotten_encoder", "labels_as_feature", "keep_probability", "wrong_sign", "relu_head", "pixels"),
    *("softmax_over_queries", "positive_mask", "weights_as_column", "constant_pixels", "falling_loss"),
    *("softmax_over_rows", "warm_up_of_zero"),
    *("tanh_logits", "blank_inputs", "pixels_divided_twice", "labels_from_one", "untracked_layer"),
}


HEALTHY_DAILY = (
    *("probabilities_as_logits", "frozen_norm", "labels_as_feature"),
    *("layer_never_called", "autoencoder", "broadcast_targets", "softmax_over_batch", "positive_mask"),
)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunIndex]:
    healthy = FOUND_BY if request.config.getoption("nightly") else HEALTHY_DAILY
    folder = tmp_path_factory.mktemp("intent")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [
            *(sys.executable, str(FILE), str(folder)),
            *(f"{name}-broken" for name in FOUND_BY),
            *(f"{name}-healthy" for name in healthy),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    log = LogIndex(folder)
    log.refresh()
    return {run.name: run for run in log.runs}


@pytest.mark.slow
@pytest.mark.parametrize("program", FOUND_BY)
def test_the_mistake_is_found(runs: dict[str, RunIndex], program: str) -> None:
    rule, text = FOUND_BY[program]
    severity = "medium" if program in MEDIUM else "high"
    high = [each for each in check_rules(runs[f"{program}-broken"]).findings if each.severity == severity]
    assert [each for each in high if each.rule == rule and text in each.text], high
    assert program not in ALONE or high[0].rule == rule
    if program in LINES:
        lines = [
            n for n, text in enumerate(FILE.read_text().splitlines(), 1) if text.endswith(LINES[program])
        ]
        assert high[0].frame is not None and [high[0].frame.line] == lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=[] if name in HEALTHY_DAILY else [pytest.mark.nightly]) for name in FOUND_BY],
)
def test_the_same_program_without_the_mistake_is_left_in_peace(
    runs: dict[str, RunIndex], program: str
) -> None:
    found = check_rules(runs[f"{program}-healthy"])
    assert not found.failed
    assert [each for each in found.findings if each.severity == "high"] == []
