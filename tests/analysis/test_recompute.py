"""Ops computed again from their inputs: right kernels are never accused, wrong results are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensortap.analysis.compare.compare import compare
from tensortap.analysis.compare.propagation.recompute import Recomputed, recomputed
from tensortap.analysis.compare.propagation.reference_reductions import SUMS
from tensortap.analysis.compare.side import Side
from tensortap.analysis.run_view.step_tensors import StepTensors
from tensortap.core.dtypes import Array
from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(8, 64)).astype(np.float32), RNG.normal(size=(64, 5)).astype(np.float32)
IMAGES, KERNEL = (RNG.normal(size=s).astype(np.float32) for s in ((2, 9, 8, 3), (3, 2, 3, 4)))


def write(folder: Path, run: str, op: str, inputs: list[Array], output: Array, **attributes: str) -> RunIndex:
    """One op and what it took and gave, kept."""
    names = [f"in{number}" for number in range(len(inputs))]
    nodes = [
        Node(name, "Placeholder", output_dtypes=[value.dtype.name])
        for name, value in zip(names, inputs, strict=True)
    ]
    takes = [f"{name}:0" for name in names]
    nodes.append(Node("y", op, takes, attributes=attributes, output_dtypes=[output.dtype.name]))
    with DumpWriter(folder / run, run=run) as writer:
        graph = writer.graph(Graph("g", nodes, functions={"": Function(outputs=["y:0"])}))
        for name, value in zip([*names, "y"], [*inputs, output], strict=True):
            writer.log(name, value, step=0, graph=graph, keep="value", device=CPU)
    log = LogIndex(folder / run)
    log.refresh()
    return log.runs[0]


def again(folder: Path, op: str, inputs: list[Array], output: Array, **attributes: str) -> Recomputed | None:
    run = write(folder, "run", op, inputs, output, **attributes)
    graph = run.graph(run.graphs[0].id)
    return recomputed(StepTensors(run, graph, 0, None), (graph.rows["y"], 0), 0)


def loop_conv(images: Array, kernel: Array, stride: int, before: int, shape: tuple[int, int]) -> Array:
    """A convolution by its definition, in float32."""
    padded = np.pad(images, [(0, 0), (before, 3), (before, 3), (0, 0)])
    out = np.zeros((len(images), *shape, kernel.shape[3]), np.float32)
    for i, j in np.ndindex(*shape):
        window = padded[:, i * stride : i * stride + 3, j * stride : j * stride + 2]
        out[:, i, j] = np.einsum("nhwc,hwco->no", window, kernel)
    return out


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


CASES: list[tuple[str, list[Array], Array, dict[str, str]]] = [
    ("MatMul", [X, W], X @ W, {}),
    ("MatMul", [X, W.T.copy()], X @ W, {"transpose_b": "true"}),
    ("BatchMatMulV2", [X[None].repeat(2, 0), W], (X @ W)[None].repeat(2, 0), {}),
    ("Einsum", [X, W], X @ W, {"equation": "ab,bc->ac"}),
    ("Conv2D", [IMAGES, KERNEL], loop_conv(IMAGES, KERNEL, 1, 0, (7, 7)), {"padding": "VALID"}),
    (
        "Conv2D",
        [IMAGES[:, :, :, :], np.concatenate([KERNEL, KERNEL[:, :1]], 1)[:, :2]],
        loop_conv(IMAGES, KERNEL, 2, 0, (4, 4)),
        {"padding": "VALID", "strides": "[1, 2, 2, 1]"},
    ),
    ("BiasAdd", [X, X[0]], X + X[0], {}),
    ("BiasAddGrad", [X], X.sum(0), {}),
    ("Sum", [X, np.int32([0])], X.sum(0), {}),
    ("Mean", [X, np.int32([-1])], X.mean(1, keepdims=True), {"keep_dims": "true"}),
    ("Max", [X, np.int32(1)], X.max(1), {}),
    ("Softmax", [X * 5], softmax(X * 5), {}),
    ("LogSoftmax", [X], np.log(softmax(X)), {}),
]


@pytest.mark.parametrize(("op", "inputs", "output", "attributes"), CASES)
def test_a_right_result_is_right_and_a_wrong_one_wrong(
    tmp_path: Path, op: str, inputs: list[Array], output: Array, attributes: dict[str, str]
) -> None:
    found = again(tmp_path / "right", op, inputs, output, **attributes)
    assert found is not None
    assert (found.right, found.wrong) == (True, False)
    spoilt = output.copy()
    spoilt.flat[np.abs(output).argmax()] *= 1.003
    found = again(tmp_path / "wrong", op, inputs, spoilt, **attributes)
    assert found is not None
    assert (found.right, found.wrong) == (False, True)


def test_same_padding_is_that_of_tensorflow(tmp_path: Path) -> None:
    kernel = np.concatenate([KERNEL, KERNEL[:, :1]], 1)
    padded = np.pad(IMAGES, [(0, 0), (1, 1), (0, 1), (0, 0)])
    out = np.zeros((2, 5, 4, 4), np.float32)
    for i, j in np.ndindex(5, 4):
        out[:, i, j] = np.einsum("nhwc,hwco->no", padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3], kernel)
    attributes = {"padding": "SAME", "strides": "[1, 2, 2, 1]"}
    found = again(tmp_path, "Conv2D", [IMAGES, kernel], out, **attributes)
    assert found is not None
    assert (found.right, found.wrong) == (True, False)


def in_dtype(dtype: Any) -> Callable[[Array, Array], Array]:
    """A product that rounds every single sum to a dtype: the worst of correct kernels."""

    def product(a: Array, b: Array) -> Array:
        total = np.zeros((a.shape[0], b.shape[1]), dtype)
        for k in range(a.shape[1]):
            total = (total + (a[:, k : k + 1] * b[k : k + 1]).astype(dtype)).astype(dtype)
        return total

    return product


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_the_crudest_of_correct_kernels_is_not_accused(tmp_path: Path, dtype: Any) -> None:
    a, b = X.astype(dtype), W.astype(dtype)
    crude = again(tmp_path / "crude", "MatMul", [a, b], in_dtype(dtype)(a, b))
    assert crude is not None
    assert not crude.wrong
    fine = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
    found = again(tmp_path / "fine", "MatMul", [a, b], fine)
    assert found is not None
    assert (found.right, found.wrong) == (True, False)


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {  # of y and dy, as TensorFlow's kernels write them
    "SqrtGrad": lambda y, dy: y.dtype.type(0.5) * dy / y,
    "RsqrtGrad": lambda y, dy: y.dtype.type(-0.5) * (dy * y) * (y * y),
    "ReciprocalGrad": lambda y, dy: -(y * y) * dy,
    "TanhGrad": lambda y, dy: dy * (y.dtype.type(1) - y * y),
    "SigmoidGrad": lambda y, dy: dy * (y.dtype.type(1) - y) * y,
}


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("op", GRADIENTS)
def test_gradients_that_round_every_intermediate_result_are_right(
    tmp_path: Path, op: str, dtype: Any
) -> None:
    """GIVEN y up to 1 - 1e-6, where 1 - y² is made of few digits, and dy of both signs."""
    y = np.concatenate([np.linspace(0.05, 0.99, 60), 1 - np.logspace(-6, -2, 4)]).astype(dtype)
    dy = RNG.normal(size=64).astype(dtype)
    output = GRADIENTS[op](y, dy)
    found = again(tmp_path / "right", op, [y, dy], output)
    assert found is not None
    assert (found.right, found.wrong) == (True, False)
    spoilt = output.copy()
    spoilt[np.abs(output).argmax()] *= dtype(1.3)
    found = again(tmp_path / "wrong", op, [y, dy], spoilt)
    assert found is not None
    assert (found.right, found.wrong) == (False, True)


def test_correctly_rounded_subnormal_numbers_are_right(tmp_path: Path) -> None:
    x = np.float16([-12.5, -13, -11.3, -14])
    found = again(tmp_path, "Exp", [x], np.exp(x.astype(np.float64)).astype(np.float16))
    assert found is not None
    assert (found.right, found.wrong) == (True, False)


@pytest.mark.parametrize("op", ["Sqrt", "Rsqrt", "Log", "Sign", "Neg"])
def test_kernels_may_take_subnormal_inputs_for_zero(tmp_path: Path, op: str) -> None:
    kernels: dict[str, Callable[[Array], Array]] = {
        "Sqrt": np.sqrt,
        "Rsqrt": lambda x: 1 / np.sqrt(x),
        "Log": np.log,
        "Sign": np.sign,
        "Neg": np.negative,
    }
    x = np.float32([1e-40, 1e-38, 2.0])
    with np.errstate(divide="ignore"):
        flushed = kernels[op](np.float32([0, 0, 2]))
    found = again(tmp_path, op, [x], flushed)
    assert found is not None
    assert not found.wrong
    flushed[2] += 1
    found = again(tmp_path / "wrong", op, [x], flushed)
    assert found is not None
    assert found.wrong


def test_the_sum_behind_a_mean_may_overflow(tmp_path: Path) -> None:
    x = np.full((2, 1000), 1000, np.float16)
    found = again(tmp_path, "Mean", [x, np.int32([1])], np.float16([np.inf, np.inf]))
    assert found is not None
    assert not found.wrong


def test_nan_in_place_of_a_number_is_wrong_and_overflow_is_not(tmp_path: Path) -> None:
    x = np.float32([1, 100])
    with np.errstate(over="ignore"):
        right = np.exp(x)
    found = [
        again(tmp_path / str(n), "Exp", [x], out) for n, out in enumerate((right, np.float32([np.nan, 1])))
    ]
    assert [(each.right, each.wrong) for each in found if each] == [(True, False), (False, True)]
    assert math.isinf(right[1])


def test_shapes_and_attributes_that_do_not_fit_tell_nothing(tmp_path: Path) -> None:
    for op in SUMS:
        assert again(tmp_path / op, op, [np.ones(3, np.float32)] * 2, np.ones((2, 2), np.float32)) is None


def test_the_side_whose_product_is_wrong_is_named(tmp_path: Path) -> None:
    wrong = X @ W
    wrong[3, 2] += 0.05
    a, b = (write(tmp_path, run, "MatMul", [X, W], out) for run, out in (("a", X @ W), ("b", wrong)))
    first = compare(Side(a), Side(b)).first
    assert first is not None
    assert first.text == (
        "All its inputs are equal, so the op itself computes something different. Recomputing "
        "MatMul from the stored inputs does not reproduce B; A is reproduced."
    )
