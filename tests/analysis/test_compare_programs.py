"""Two programs that are not the same: where `diff` says that it begins, and which pairs it parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from two_dumps import Values, compared, node

from tensortap.analysis.compare.comparison_records import Comparison
from tensortap.analysis.compare.presentation import listed_tensors
from tensortap.core.records import Node

X = node("x", "Placeholder", shape=[2, 4], attributes={"tensortap.kind": "input"})
DATA = np.arange(8, dtype=np.float32).reshape(2, 4)


def verdicts(found: Comparison) -> dict[str, str]:
    return {entry.tensor.removesuffix(":0"): entry.verdict for entry in found.tensors}


def constant(name: str, text: str) -> Node:
    return node(name, "Const", dtype="int32", shape=[1], attributes={"value": f"int32(1) [{text}]"})


def normed(axis: int) -> tuple[list[Node], dict[str, object]]:
    """A program that divides by the root of a mean over an axis; if that is 0, it has both means."""
    shape, mean = ([2, 1], "Mean") if axis == 1 else ([1, 4], "Mean_1")
    nodes = [
        X,
        node("gradient_tape/Maximum", "Maximum", dtype="int32", shape=[2]),  # first in data flow order
        constant("axis", "1"),
        node("Mean", "Mean", "x", "axis", shape=[2, 1]),
        *([] if axis == 1 else [constant("axis_1", "0"), node(mean, "Mean", "x", "axis_1", shape=shape)]),
        node("Rsqrt", "Rsqrt", mean, shape=shape),
        node("mul", "Mul", "x", "Rsqrt", shape=[2, 4]),
    ]
    means = DATA.mean(axis, keepdims=True)
    values = {"x": DATA, "Mean": DATA.mean(1, keepdims=True), mean: means, "mul": DATA / np.sqrt(means)}
    return nodes, values | {"gradient_tape/Maximum": np.array(shape, np.int32)}


def test_it_begins_in_the_forward_pass_and_names_the_node_that_is_another(tmp_path: Path) -> None:
    found = compared(tmp_path, normed(1), normed(0))
    assert verdicts(found)["gradient_tape/Maximum"] == "diverges"
    assert found.first is not None
    assert found.first.difference.tensor == "mul:0"
    assert found.first.text == (
        "Its captured inputs agree. Its input Rsqrt (Rsqrt) is computed differently in B, "
        "starting at Mean_1 (Mean): model.py:15."
    )


def test_another_batch_is_reported_and_nodes_of_one_name_stay_pairs(tmp_path: Path) -> None:
    def of(batch: int) -> tuple[list[Node], dict[str, object]]:
        data = np.ones((batch, 4), np.float32)
        nodes = [
            node("size", "Prod", dtype="int32", shape=[]),
            node("IteratorGetNext", "IteratorGetNext", shape=[batch, 4]),
            node("double", "AddV2", "IteratorGetNext", "IteratorGetNext", shape=[batch, 4]),
        ]
        return nodes, {"size": np.int32(batch), "IteratorGetNext": data, "double": data + data}

    found = compared(tmp_path, of(32), of(16))
    assert (found.only_a, found.only_b) == ([], [])
    assert verdicts(found) == {"size": "diverges", "IteratorGetNext": "diverges", "double": "inherited"}
    assert found.first is not None
    assert found.first.difference.node == "IteratorGetNext"
    assert found.first.text == "The step was fed 32×4 in A and 16×4 in B: compare runs with the same batches."


def refactored(bug: float = 0.0) -> tuple[list[Node], dict[str, object]]:
    """(x * x) + x as x * (x + 1): `mul` and `add` are other numbers, what is made of them is not."""
    nodes = [
        X,
        node("add", "AddV2", "x", "one", shape=[2, 4]),
        node("one", "Const", shape=[], attributes={"value": "float32 1.0"}),
        node("mul", "Mul", "x", "add", shape=[2, 4]),
        node("out", "Neg", "mul", shape=[2, 4]),
    ]
    mul = DATA * (DATA + 1) + np.float32(bug)
    return nodes, {"x": DATA, "add": DATA + 1, "mul": mul, "out": -mul}


PLAIN = (
    [
        X,
        node("mul", "Mul", "x", "x", shape=[2, 4]),
        node("add", "AddV2", "mul", "x", shape=[2, 4]),
        node("out", "Neg", "add", shape=[2, 4]),
    ],
    {"x": DATA, "mul": DATA * DATA, "add": DATA * DATA + DATA, "out": -(DATA * DATA + DATA)},
)


def test_pairs_of_one_name_that_are_other_numbers_are_parted(tmp_path: Path) -> None:
    found = compared(tmp_path, PLAIN, refactored())
    assert (found.differ, verdicts(found)) == (False, {"x": "same", "out": "same"})
    assert (
        {each.node for each in found.only_a}
        == {"mul", "add"}
        == {each.node for each in found.only_b} - {"one"}
    )
    (note,) = found.notes
    assert note.startswith("2 matched pairs of nodes were not compared (")


def test_they_are_not_where_what_is_made_of_them_differs(tmp_path: Path) -> None:
    found = compared(tmp_path, PLAIN, refactored(bug=0.5))
    assert found.differ
    assert verdicts(found)["out"] == "inherited"
    assert found.notes == []
    manual_pairs = compared(tmp_path / "manual_pairs", PLAIN, refactored(), matches={"mul": "mul"})
    assert verdicts(manual_pairs)["mul"] == "diverges"


@pytest.mark.parametrize(("sums", "verdict"), [((2e-8, -1e-8), "noise"), ((2e-8, 0.5), "diverges")])
def test_a_sum_that_cancels_is_rounding_up_to_its_terms(
    tmp_path: Path, sums: tuple[float, float], verdict: str
) -> None:
    nodes = [
        X,
        node("wide", "MatMul", "x", "x", shape=[4]),
        node("sum", "Sum", "wide"),
        node("flat", "Reshape", "sum"),
    ]
    wide = np.array([1, -1, 2, -2], np.float32)

    def of(side: int) -> tuple[list[Node], dict[str, object]]:
        total = np.float32([sums[side]])
        return nodes, {"x": DATA, "wide": wide + np.float32(side * 2e-7), "sum": total, "flat": total}

    found = verdicts(compared(tmp_path, of(0), of(1)))
    assert (found["wide"], found["sum"]) == ("noise", verdict)
    assert found["flat"] == ("noise" if verdict == "noise" else "inherited")


@pytest.mark.parametrize("bug", [0.0, 0.01])
def test_what_an_optimizer_makes_of_a_sum_that_cancels_is_rounding(tmp_path: Path, bug: float) -> None:
    """A bias' gradient that is 0 by mathematics, beside one that is not: each stays its own."""
    several = Node(
        "both", "IdentityN", ["sum:0", "wide:0"], output_dtypes=["float32"] * 2, output_shapes=[[1], [4]]
    )
    nodes = [
        *(X, node("wide", "MatMul", "x", "x", shape=[4]), node("sum", "Sum", "wide")),
        *(several, node("moment", "Placeholder", attributes={"tensortap.kind": "input"})),
        *(node("change", "Sub", "both", "moment"), node("square", "Square", "change")),
        node("root", "Sqrt", "square"),
    ]
    wide = np.array([1, -1, 2, -2], np.float32)

    def of(side: int) -> tuple[list[Node], dict[str, object]]:
        total, other = np.float32([2e-8 - side * 3e-8]), wide + np.float32(side * 2e-7)
        change = total + np.float32(side * bug)
        values = {"x": DATA, "wide": other, "sum": total, "both": total, "both:1": other}
        return nodes, values | {
            "moment": total * 0,
            "change": change,
            "square": change**2,
            "root": abs(change),
        }

    found = verdicts(compared(tmp_path, of(0), of(1)))
    assert [found[name] for name in ("both", "both:1", "sum")] == ["noise"] * 3
    behind = [found[name] for name in ("change", "square", "root")]
    assert behind == (["diverges", "inherited", "inherited"] if bug else ["noise"] * 3)


def test_variables_that_both_have_are_not_paired_with_one_another_by_a_nodes_name(tmp_path: Path) -> None:
    """A cast more, and what a normalization reads is numbered otherwise."""

    def of(*paths: str) -> tuple[list[Node], dict[str, object]]:
        marks = [{"tensortap.kind": "weight", "tensortap.variable": path} for path in paths]
        nodes = [node(f"Cast_{at}/Read", "ReadVariableOp", attributes=mark) for at, mark in enumerate(marks)]
        return nodes, {each.name: np.float32([len(path)]) for each, path in zip(nodes, paths, strict=True)}

    found = compared(
        tmp_path, of("bn/gamma", "bn/moving_mean", "old"), of("bn/moving_mean", "bn/gamma", "new_one")
    )
    pairs = {entry.tensor: (entry.other, entry.verdict) for entry in found.tensors}
    assert pairs == {
        "Cast_0/Read:0": ("Cast_1/Read:0", "same"),
        "Cast_1/Read:0": ("Cast_0/Read:0", "same"),
        "Cast_2/Read:0": ("Cast_2/Read:0", "diverges"),  # renamed
    }
    assert found.graphs[0].matches == {"Cast_0/Read": "Cast_1/Read", "Cast_1/Read": "Cast_0/Read"}


def test_a_gradient_at_the_kink_of_a_relu_is_ill_conditioned(tmp_path: Path) -> None:
    nodes = [
        X,
        node("gradient", "Placeholder", attributes={"tensortap.kind": "input"}),
        node("wide", "MatMul", "x", "x"),
        node("Relu", "Relu", "wide"),
        node("ReluGrad", "ReluGrad", "gradient", "Relu"),
    ]

    def of(tiny: float) -> tuple[list[Node], dict[str, object]]:
        gradient, wide = np.array([3, 2], np.float32), np.array([1, tiny], np.float32)
        values = {"x": DATA, "gradient": gradient, "wide": wide, "Relu": np.maximum(wide, 0)}
        return nodes, values | {"ReluGrad": np.where(wide > 0, gradient, 0).astype(np.float32)}

    found = compared(tmp_path, of(1e-7), of(-1e-7))
    assert found.first is not None
    assert found.first.difference.node == "ReluGrad"
    assert found.first.text.startswith("Ill-conditioned here, but correct")


def test_an_op_that_takes_another_constant_is_not_ill_conditioned(tmp_path: Path) -> None:
    """Rounding moved its other input, and of what each side takes both outputs are right."""

    def of(epsilon: float, off: float) -> tuple[list[Node], dict[str, object]]:
        nodes = [
            X,
            node("wide", "MatMul", "x", "x"),
            constant("y", str(epsilon)),
            node("add", "AddV2", "wide", "y"),
        ]
        wide = np.float32([1, 0.5 + off])
        return nodes, {"x": DATA, "wide": wide, "add": wide + np.float32(epsilon)}

    found = compared(tmp_path, of(0.001, 0), of(0.25, 1e-7))
    assert (verdicts(found)["wide"], verdicts(found)["add"]) == ("noise", "diverges")
    assert found.first is not None
    assert found.first.text == "Its captured inputs agree. The constant y is [0.001] in A, [0.25] in B."


def test_it_begins_where_the_program_is_another_though_that_passes_for_rounding(tmp_path: Path) -> None:
    """What magnifies it is right, and not where it begins."""

    def of(*shift: Node, off: float) -> tuple[list[Node], dict[str, object]]:
        taken = shift[0].name if shift else "wide"
        nodes = [
            *(
                X,
                node("wide", "MatMul", "x", "x"),
                *shift,
                node("relu", "Relu", taken),
                constant("one", "1.0"),
            ),
            node("gap", "Sub", "relu", "one"),
        ]
        relu = np.float32([1 + off, 1.00001 + off])
        wide = np.float32([1, 1.00001]) + np.float32(off / 7)
        return nodes, {"x": DATA, "wide": wide, "relu": relu, "gap": relu - np.float32(1)}

    found = compared(tmp_path, of(off=0), of(node("shift", "AddV2", "wide", "wide"), off=7e-6))
    assert [verdicts(found)[name] for name in ("wide", "relu", "gap")] == ["noise", "noise", "amplified"]
    assert found.first is not None
    assert found.first.difference.node == "relu"
    assert found.first.difference in listed_tensors(found, "order", 5)[0]
    assert found.first.text.startswith("It differs by more than rounding")
    assert found.first.text.endswith("Its input shift (AddV2) exists only in B: model.py:12.")


def test_one_number_in_two_dtypes_is_no_other_constant(tmp_path: Path) -> None:
    def of(text: str, dtype: str) -> tuple[list[Node], dict[str, object]]:
        factor = node("y", "Const", dtype=dtype, shape=[], attributes={"value": f"{dtype}() {text}"})
        return [X, factor, node("add", "AddV2", "x", "y", shape=[2, 4])], {
            "x": DATA,
            "add": DATA + len(dtype),
        }

    found = compared(tmp_path, of("0.10000000149011612", "float32"), of("0.10009765625", "bfloat16"))
    assert found.first is not None
    assert "constant" not in found.first.text


@pytest.mark.parametrize(
    ("dtype", "a", "b", "reported"),
    [
        ("float32", "9.999999747378752e-06", "0.0010000000474974513", "is 1e-05 in A, 0.001 in B"),
        ("float16", "0.0999755859375", "-0.0999755859375", "is 0.1 in A, -0.1 in B"),
        ("float64", "0.1000000001", "0.1", "is 0.1000000001 in A, 0.1 in B"),
        ("float32", "0.10000000149011612", "0.10000000894069672", "is 0.1 in A, 0.10000001 in B"),
    ],
)
def test_constants_are_reported_as_a_program_writes_them(
    tmp_path: Path, dtype: str, a: str, b: str, reported: str
) -> None:
    def of(text: str, off: float) -> tuple[list[Node], dict[str, object]]:
        epsilon = node("y", "Const", dtype=dtype, shape=[], attributes={"value": f"{dtype}() {text}"})
        total = node("add", "AddV2", "x", "y", shape=[2, 4])
        return [X, epsilon, total], {"x": DATA, "add": DATA + off}

    found = compared(tmp_path, of(a, 0), of(b, 1))
    assert found.first is not None
    assert f"The constant y {reported}." in found.first.text


def test_a_bias_that_one_side_lacks_is_named_by_its_variable(tmp_path: Path) -> None:
    marks = {"tensortap.kind": "weight", "tensortap.variable": "net/bias"}
    bias = [
        node("net_biasadd_resource", "_Arg", dtype="resource", shape=[]),
        node("read", "ReadVariableOp", "net_biasadd_resource", shape=[4], attributes=marks),
        node("biased", "BiasAdd", "x", "read", shape=[2, 4]),
    ]
    a = [X, *bias, node("relu", "Relu", "biased", shape=[2, 4])]
    b = [X, node("relu", "Relu", "x", shape=[2, 4])]
    found = compared(tmp_path, (a, {"x": DATA, "relu": DATA + 1}), (b, {"x": DATA, "relu": DATA}))
    assert found.first is not None
    assert "exists only in A, starting at the variable net/bias" in found.first.text


def drawn(key: int, draws: np.ndarray, op: str = "StatelessRandomUniformV2") -> tuple[list[Node], Values]:
    """A program that draws random numbers from a key."""
    made = node("draw", op, "key", dtype=str(draws.dtype), shape=[2, 4])
    nodes = [X, node("key", "StatelessRandomGetKeyCounter", "x", dtype="uint64", shape=[1]), made]
    return nodes, {"x": DATA, "key": np.array([key], np.uint64), "draw": draws}


def test_random_numbers_of_another_dtype_are_no_other_seed(tmp_path: Path) -> None:
    draws = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)
    others, normal = draws[::-1], "StatelessRandomNormalV2"

    def reported(name: str, b: tuple[list[Node], Values], a: tuple[list[Node], Values]) -> tuple[str, str]:
        first = compared(tmp_path / name, a, b).first
        assert first is not None
        return first.difference.tensor, first.text

    tensor, text = reported("dtype", drawn(7, others.astype(np.float16)), drawn(7, draws))
    assert tensor == "draw:0"
    assert "float16 draws different numbers than float32 from the same seed (its inputs agree)." in text
    assert text.endswith("tensortap replay A --dtype float16.")
    computes = "All its inputs are equal, so the op itself computes something different."
    assert reported("kernel", drawn(7, others), drawn(7, draws)) == ("draw:0", computes)
    rounded = drawn(7, others.astype(np.float16), normal)
    assert reported("normal", rounded, drawn(7, draws, normal)) == ("draw:0", computes)
    assert reported("seed", drawn(8, others), drawn(7, draws))[0] == "key:0"


def test_the_token_of_a_python_function_is_no_reason(tmp_path: Path) -> None:
    def program(token: str, value: float) -> tuple[list[Node], Values]:
        attributes = {"token": token, "rate": str(value)}
        nodes = [X, node("call", "PyFunc", "x", shape=[2, 4], attributes=attributes)]
        return nodes, {"x": DATA, "call": DATA + value}

    first = compared(tmp_path, program("pyfunc_1", 0), program("pyfunc_3", 1)).first
    assert first is not None
    assert first.text.endswith("computes something different. Its attribute rate is 0 in A, 1 in B.")


def test_a_layer_that_is_numbered_anew_in_another_batch_breaks_no_chain(tmp_path: Path) -> None:
    def of(batch: int, number: str) -> tuple[list[Node], Values]:
        pool, shape = f"net/pool{number}", [batch]
        nodes = [
            node("IteratorGetNext", "IteratorGetNext", shape=[batch, 4]),
            constant(f"{pool}/Mean/axis", "1"),
            node(f"{pool}/Mean", "Mean", "IteratorGetNext", f"{pool}/Mean/axis", shape=shape),
            node("net/head/Tanh", "Tanh", f"{pool}/Mean", shape=shape),
            *(node(f"net/head/{name}", "Neg", "net/head/Tanh", shape=shape) for name in ("Neg", "Neg_1")),
        ]
        data = np.ones((batch, 4), np.float32)
        taken = dict.fromkeys([each.name for each in nodes[2:]], data[:, 0])
        return nodes, {"IteratorGetNext": data} | taken

    found = compared(tmp_path, of(32, ""), of(16, "_7"))
    assert (found.only_a, found.only_b) == ([], [])
    hows = {entry.tensor: entry.matched for entry in found.tensors}
    assert hows["net/pool/Mean:0"] == "structure"
    assert {hows[f"net/head/{name}:0"] for name in ("Tanh", "Neg", "Neg_1")} == {"name"}
    assert found.first is not None and found.first.difference.node == "IteratorGetNext"


def test_a_gradient_that_is_stopped_on_one_of_two_ways_is_the_cause(tmp_path: Path) -> None:
    def program(*, stopped: bool) -> tuple[list[Node], Values]:
        second = "StopGradient" if stopped else "mul"
        nodes = [
            X,
            node("first/Relu", "Relu", "x", shape=[2, 4], layer="first"),
            node("mul", "Mul", "first/Relu", "first/Relu", shape=[2, 4]),
            *([node("StopGradient", "StopGradient", "mul", shape=[2, 4])] if stopped else []),
            node("add", "AddV2", "first/Relu", second, shape=[2, 4]),
            node("gradient_tape/add", "Mul", "add", "add", shape=[2, 4]),
            node("gradient_tape/mul", "Mul", "gradient_tape/add", "first/Relu", shape=[2, 4]),
            node("AddN", "AddN", "gradient_tape/add", "gradient_tape/mul", shape=[2, 4]),
            node(
                "gradient_tape/first/ReluGrad",
                "ReluGrad",
                "gradient_tape/add" if stopped else "AddN",
                "first/Relu",
                shape=[2, 4],
                layer="first",
            ),
        ]
        if stopped:
            nodes = [each for each in nodes if each.name not in ("gradient_tape/mul", "AddN")]
        values = dict.fromkeys(("x", "first/Relu", "mul", "add", "gradient_tape/add"), DATA)
        return nodes, values | {"gradient_tape/first/ReluGrad": DATA + (0 if stopped else 1)}

    first = compared(tmp_path, program(stopped=False), program(stopped=True)).first
    assert first is not None
    assert first.extra == "StopGradient (StopGradient, model.py:13), which only B has"
    assert first.difference.tensor == "gradient_tape/first/ReluGrad:0"


def test_what_an_optimizer_computes_is_paired_by_the_variable_it_updates(tmp_path: Path) -> None:
    """B trains only v: its first `adam/Mul` is of v, which is the second in A."""

    def program(*trained: str) -> tuple[list[Node], Values]:
        nodes, values = [X], dict[str, object]({"x": DATA})
        for path in ("u", "v"):
            marks = {"tensortap.kind": "weight", "tensortap.variable": path}
            nodes += [
                node(f"{path}_resource", "_Arg", dtype="resource", shape=[]),
                node(f"{path}/Read", "ReadVariableOp", f"{path}_resource", shape=[2, 4], attributes=marks),
            ]
        for number, path in enumerate(trained):
            gradient, scaled = f"gradient_tape/{path}/MatMul", f"adam/Mul{f'_{number}' if number else ''}"
            marks = {"tensortap.kind": "gradient", "tensortap.variable": path}
            update = f"adam/AssignSub{f'_{number}' if number else ''}"
            nodes += [
                node(gradient, "MatMul", "x", f"{path}/Read", shape=[2, 4], attributes=marks),
                node(scaled, "Mul", gradient, gradient, shape=[2, 4]),
                node(update, "AssignSubVariableOp", f"{path}_resource", scaled, shape=[]),
            ]
            values |= {gradient: DATA + ord(path), scaled: (DATA + ord(path)) ** 2}
        return nodes, values

    found = compared(tmp_path, program("u", "v"), program("v"))
    assert not found.differ
    assert {(entry.tensor, entry.other) for entry in found.tensors} >= {("adam/Mul_1:0", "adam/Mul:0")}
    unmatched = {each.node: each for each in found.only_a}
    assert {"adam/Mul", "gradient_tape/u/MatMul"} <= unmatched.keys()
    line = unmatched["adam/Mul"].frame
    assert line is not None and (line.file, line.line) == ("model.py", 16)
