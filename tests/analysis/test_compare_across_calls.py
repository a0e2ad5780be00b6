"""Comparing runs of several functions a step: what one call hands to the next is not data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensortap
from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.side import Side
from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.analysis.rules.runner import check_rules
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

pytestmark = pytest.mark.slow

ALL = tensortap.Watch(keep="value", steps=1)


def run_of(run_dir: Path, program: Callable[[tensortap.Tap], None]) -> RunIndex:
    with tensortap.Tap(run_dir, ALL) as tap:
        program(tap)
    log = LogIndex(run_dir.parent)
    log.refresh()
    return next(run for run in log.runs if run.name == run_dir.name)


def two_functions(epsilon: float, deviation: float = 1.0) -> Callable[[tensortap.Tap], None]:
    """Model and loss are functions, the tape is eager."""
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    x[:, 1] *= deviation

    def program(tap: tensortap.Tap) -> None:
        kernel = tf.Variable(np.ones((3, 2), np.float32))

        @tf.function
        def model(x: Any) -> Any:
            return (x / (tf.math.reduce_std(x, 0) + epsilon)) @ kernel

        @tf.function
        def loss_of(logits: Any) -> Any:
            return tf.reduce_mean(tf.square(logits))

        with tap.step(), tf.GradientTape() as tape:
            loss = loss_of(model(tf.constant(x)))
        tape.gradient(loss, kernel)

    return program


def test_a_difference_begins_in_the_call_that_made_it(tmp_path: Path) -> None:
    a, b = (run_of(tmp_path / str(at), two_functions(at)) for at in (0.5, 0.25))
    found = compare(Side(a), Side(b)).first
    assert found is not None
    assert "other data" not in found.text
    assert "The constant add/y is 0.5 in A, 0.25 in B." in found.text
    lines, first = inspect.getsourcelines(two_functions)
    assert found.frame is not None
    assert "reduce_std" in lines[found.frame.line - first]


def test_an_op_that_a_gradient_needs_too_has_its_line(tmp_path: Path) -> None:
    """TensorFlow renames it in the function that returns it for the gradient."""
    (origin, *_) = nan_report(run_of(tmp_path / "r", two_functions(0.0, 0.0))).origins
    assert origin.op_type == "RealDiv"
    assert origin.frame is not None
    assert "reduce_std" in (origin.frame.text or "")


def test_rules_name_the_line_of_the_nan_report(tmp_path: Path) -> None:
    """GIVEN the gradient of a logarithm that overflows float16 THEN it is the line of the logarithm."""

    def program(tap: tensortap.Tap) -> None:
        x = tf.constant([9.0, -4.0, 1.0], tf.float16)

        @tap.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(tf.math.log(tf.nn.softmax(x)))
            return tape.gradient(loss, x)

        step(x)

    run = run_of(tmp_path / "r", program)
    (origin, *_) = nan_report(run).origins
    assert origin.explanation is not None
    assert origin.explanation.text.startswith("The gradient of log is 1/x. 1/x overflows float16: ")
    assert "log_softmax" in origin.explanation.help
    found = check_rules(run).findings[0]
    assert found.rule == "ExplodingTensor"
    assert found.frame == origin.frame
    assert found.frame is not None
    assert "tf.math.log" in (found.frame.text or "")


def siamese(epsilon: float) -> Callable[[tensortap.Tap], None]:
    """The distance and the loss are functions; of one pair, both sides are equal."""
    a = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)

    def program(tap: tensortap.Tap) -> None:
        kernel = tf.Variable(np.eye(4, dtype=np.float32))

        @tf.function
        def distance(a: Any, b: Any) -> Any:
            apart = (a - b) @ kernel
            return tf.sqrt(tf.reduce_sum(apart * apart, 1) + epsilon)

        @tf.function
        def contrastive(distance: Any) -> Any:
            return tf.reduce_mean(tf.maximum(1.0 - distance, 0.0) ** 2)

        with tap.step(), tf.GradientTape() as tape:
            loss = contrastive(distance(tf.constant(a), tf.constant(a[::-1].copy())))
        tape.gradient(loss, kernel)

    return program


def test_a_difference_seen_in_a_later_call_begins_at_the_constant_of_the_first(tmp_path: Path) -> None:
    """GIVEN an epsilon that rounding would explain where it is added, but not below a root at 0."""
    a, b = (run_of(tmp_path / str(at), siamese(at)) for at in (1e-6, 0.0))
    compared = compare(Side(a), Side(b))
    diverging = [entry.op_type for entry in compared.tensors if entry.verdict == "diverges"]
    assert diverging
    assert set(diverging) == {"_Arg"}
    assert compared.first is not None
    assert compared.first.difference.tensor == "add:0"
    assert compared.first.text == "Its captured inputs agree. The constant add/y is 1e-06 in A, 0.0 in B."
