"""Loops of which a step captures some iterations only; the others run the loop's own body.

    n = 0
    while condition: tapped body; n += 1
        while condition and iteration n is not captured: body; n += 1

These two replace the `While` node. In a copy that runs at every step (`TapSwitch`), the loop itself follows
them, and makes all iterations while the taps are off.

A loop that draws from streams of its nodes cannot be divided, as a copy would have other streams: there the
taps of a `TapSwitch` choose (`LoopStride.add_choice`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tf.random_ops import has_own_stream
from tensortap.tfproto.function_calls import LOOPS, Role, callees

from .added_nodes import MARK, add_node, keep_alive
from .loop_iterations import LoopStride

_ADDED = ("iteration", "interval", "last")  # loop variables


def divide(
    stride: LoopStride,
    definition: internals.FunctionDef,
    node: internals.NodeDef,
    loop: internals.NodeDef,
    tapped: Mapping[Role, internals.FunctionDef],
    plain: Mapping[Role, internals.FunctionDef],
    *,
    switched: bool,
) -> list[internals.FunctionDef]:
    """Divides a loop.

    Args:
        node: the loop that calls the tapped functions, in the definition.
        loop: the same node as it was.
        tapped, plain: the functions "cond" and "body" with taps, and without. No other node may call the
            tapped ones.
        switched: run the plain loop while the taps are off.

    Returns:
        The functions that must be registered.
    """
    prefix = f"{MARK}/{node.name}"
    add_node(definition, f"{prefix}/plan", "VarHandleOp", dtype=tf.int64, shape=(2,), shared_name=stride.name)
    add_node(definition, f"{prefix}/read", "ReadVariableOp", f"{prefix}/plan:resource:0", dtype=tf.int64)
    add_node(definition, f"{prefix}/parts", "Unpack", f"{prefix}/read:value:0", T=tf.int64, num=2, axis=0)
    add_node(definition, f"{prefix}/zero", "Const", dtype=tf.int64, value=0)
    added = [f"{prefix}/zero:output:0", f"{prefix}/parts:output:0", f"{prefix}/parts:output:1"]

    count = len(node.attr["T"].list.type)
    inner = {role: internals.copied(plain[role], f"{tapped[role].signature.name}_plain") for role in plain}
    _skip_captured(inner["cond"])
    _count_iteration(inner["body"])
    _stop_if_off(tapped["cond"])
    fixed = _fixed(plain["body"])
    _count_iteration(tapped["body"], after=sorted(set(tapped["body"].control_ret.values())))
    _add_inner_loop(tapped["body"], loop, inner, fixed)
    outer = definition.node_def.add() if switched else node
    if switched:
        outer.CopyFrom(node)
        outer.name = f"{prefix}/captured"
        node.CopyFrom(loop)
        node.attr["cond"].func.name = plain["cond"].signature.name
        node.attr["body"].func.name = plain["body"].signature.name
        outputs = list(captured_outputs(node).values())
        for index in set(range(count)) - fixed:
            node.input[index] = outputs[index]
        node.input.append(f"^{prefix}/count")
    _add_inputs(outer, added)
    if loop.op == "While":
        keep_alive(definition, outer.name)
    add_node(
        definition,
        f"{prefix}/length",
        "VarHandleOp",
        dtype=tf.int64,
        shape=(),
        shared_name=stride.counter.name,
    )
    assign = add_node(
        definition,
        f"{prefix}/count",
        "AssignVariableOp",
        f"{prefix}/length:resource:0",
        f"{outer.name}:output:{count}",
        dtype=tf.int64,
    )
    keep_alive(definition, assign.name)
    return list(inner.values())


def captured_outputs(node: internals.NodeDef) -> dict[str, str]:
    """By output of a loop that is divided and switched: that of the tapped loop.

    Both are equal while the taps are on. What runs for taps only must read the second, so that the plain loop
    does not compute what the program does not need.
    """
    outputs = range(len(node.attr["T"].list.type))
    return {f"{node.name}:output:{index}": f"{MARK}/{node.name}/captured:output:{index}" for index in outputs}


def _skip_captured(condition: internals.FunctionDef) -> None:
    """Makes the condition of a plain loop end it before an iteration that is captured."""
    n, interval, last = _add_arguments(condition)
    prefix = f"{MARK}/stride"
    add_node(condition, f"{prefix}/zero", "Const", dtype=tf.int64, value=0)
    add_node(condition, f"{prefix}/phase", "FloorMod", n, interval, T=tf.int64)
    add_node(
        condition,
        f"{prefix}/between",
        "NotEqual",
        f"{prefix}/phase:z:0",
        f"{prefix}/zero:output:0",
        T=tf.int64,
    )
    add_node(condition, f"{prefix}/not_last", "NotEqual", n, last, T=tf.int64)
    add_node(condition, f"{prefix}/skipped", "LogicalAnd", f"{prefix}/between:z:0", f"{prefix}/not_last:z:0")
    _and_result(condition, f"{prefix}/skipped:z:0")


def _stop_if_off(condition: internals.FunctionDef) -> None:
    _, interval, _ = _add_arguments(condition)
    prefix = f"{MARK}/stride"
    add_node(condition, f"{prefix}/zero", "Const", dtype=tf.int64, value=0)
    add_node(condition, f"{prefix}/on", "Greater", interval, f"{prefix}/zero:output:0", T=tf.int64)
    _and_result(condition, f"{prefix}/on:z:0")


def _and_result(condition: internals.FunctionDef, other: str) -> None:
    result = condition.signature.output_arg[0].name
    add_node(condition, f"{MARK}/stride/goes_on", "LogicalAnd", condition.ret[result], other)
    condition.ret[result] = f"{MARK}/stride/goes_on:z:0"


def _count_iteration(body: internals.FunctionDef, after: Sequence[str] = ()) -> None:
    """Makes a body count. The number of iterations is what keeps a loop alive, and `after` in it: were the
    loop itself, its variables that nothing needs would be computed."""
    n, *fixed = _add_arguments(body)
    controls = [f"^{node}" for node in after]
    add_node(body, f"{MARK}/stride/one", "Const", dtype=tf.int64, value=1)
    add_node(body, f"{MARK}/stride/next", "AddV2", n, f"{MARK}/stride/one:output:0", *controls, T=tf.int64)
    for argument, source in zip(_ADDED, [f"{MARK}/stride/next:z:0", *fixed], strict=True):
        name = f"{MARK}_{argument}_out"
        body.signature.output_arg.add(name=name, type=tf.int64.as_datatype_enum)
        body.ret[name] = source


def _add_inner_loop(
    body: internals.FunctionDef,
    loop: internals.NodeDef,
    inner: Mapping[Role, internals.FunctionDef],
    fixed: set[int],
) -> None:
    """Makes a tapped body run the plain iterations that follow it. `fixed` are variables that stay."""
    node = body.node_def.add()
    node.CopyFrom(loop)
    node.name = f"{MARK}/stride/rest"
    del node.input[:]
    names = [argument.name for argument in body.signature.output_arg]
    first = len(names) - len(_ADDED)
    node.input.extend(body.ret[name] for name in names[:first])
    _add_inputs(node, [body.ret[name] for name in names[first:]])
    node.input.extend(f"^{before}" for before in sorted(set(body.control_ret.values())))
    for role, function in inner.items():
        node.attr[role].func.name = function.signature.name
    for index in set(range(first + 1)) - fixed:
        body.ret[names[index]] = f"{node.name}:output:{index}"
    if node.op == "While":
        keep_alive(body, node.name)


def _fixed(body: internals.FunctionDef) -> set[int]:
    """Positions of loop variables that no iteration changes."""
    pairs = zip(body.signature.input_arg, body.signature.output_arg, strict=True)
    return {index for index, (given, returned) in enumerate(pairs) if body.ret[returned.name] == given.name}


def _add_arguments(function: internals.FunctionDef) -> list[str]:
    names = [f"{MARK}_{name}" for name in _ADDED]
    for name in names:
        function.signature.input_arg.add(name=name, type=tf.int64.as_datatype_enum)
    return names


def _add_inputs(loop: internals.NodeDef, sources: Sequence[str]) -> None:
    """Adds loop variables to a node."""
    data = [source for source in loop.input if not source.startswith("^")]
    control = [source for source in loop.input if source.startswith("^")]
    del loop.input[:]
    loop.input.extend([*data, *sources, *control])
    loop.attr["T"].list.type.extend(tf.int64.as_datatype_enum for _ in sources)
    if loop.attr["output_shapes"].list.shape:
        for _ in sources:
            loop.attr["output_shapes"].list.shape.add()


def can_number(
    node: internals.NodeDef, functions: Mapping[str, TracedFunction], calls: Mapping[str, int]
) -> bool:
    """Whether visits of a loop can be numbered if some are not captured.

    Args:
        functions: all, by name.
        calls: how many nodes call each.
    """
    for function in _reached_by(node, functions):
        if function is None or calls[function.name] != 1:
            return False
        if any(each.op in LOOPS for each in function.definition.node_def):
            return False
    return True


def can_divide(node: internals.NodeDef, functions: Mapping[str, TracedFunction]) -> bool:
    """Whether some iterations of a loop can run in a copy of it: neither may have own state, and the
    condition runs more often."""
    if any(
        has_own_stream(each) or "shared_name" in each.attr
        for function in _reached_by(node, functions)
        for each in (function.definition.node_def if function else ())
    ):
        return False
    return not any(
        internals.is_stateful(each.op) and each.op != "ReadVariableOp"
        for callee in callees(node)
        if callee.role == "cond"
        for function in _reached(callee.function, functions)
        for each in (function.definition.node_def if function else ())
    )


def _reached_by(
    node: internals.NodeDef, functions: Mapping[str, TracedFunction]
) -> list[TracedFunction | None]:
    return [each for callee in callees(node) for each in _reached(callee.function, functions)]


def _reached(name: str, functions: Mapping[str, TracedFunction]) -> list[TracedFunction | None]:
    """A function and all that it calls; None for an unknown one."""
    names = [name]
    for each in names:
        if each in functions:
            called = [callee for node in functions[each].definition.node_def for callee in callees(node)]
            names += {callee.function for callee in called} - {*names, ""}
    return [functions.get(each) for each in names]
