"""Registered functions: a traced function and all that it calls (`closure`), breadth first."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import tensorflow as tf

from tensortap.tfproto.function_calls import Callee, Role, argument_inputs, callees

from . import internals
from .internals import FunctionDef, NodeDef


@dataclass(frozen=True, eq=False)
class TracedFunction:
    """One function of a closure: its definition, its first caller, and its role.

    `handles` has the dtype and shape of the variables behind resource arguments, `variables` their paths.
    `changed`: the definition differs from the registered one.
    """

    name: str
    definition: FunctionDef
    parent: str = ""
    caller: str = ""
    role: Role = "root"
    handles: Mapping[str, internals.HandleData] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    changed: bool = False

    def with_definition(self, definition: FunctionDef, moved: Mapping[str, str]) -> TracedFunction:
        """The function by a definition that has all its nodes, under their names, and maybe more.

        Args:
            moved: the definition's references to tensors, by those that it had before.
        """
        function = replace(self, definition=definition, changed=True)
        graph, flat_names = self._imported  # TensorFlow need not import the new definition: nodes keep slots
        names = {moved.get(nested, nested): flat for nested, flat in flat_names.items()}
        vars(function)["_imported"] = graph, names
        return function

    @property
    def graph(self) -> Any:
        """The definition as a FuncGraph with inferred shapes and devices."""
        return self._imported[0]

    @cached_property
    def _imported(self) -> tuple[Any, dict[str, str]]:
        return internals.function_graph(self.definition, self.handles)

    @cached_property
    def operations(self) -> dict[str, Any]:
        """The graph's ops by name, in its order; arguments are ops, too."""
        return {operation.name: operation for operation in self.graph.get_operations()}

    @cached_property
    def arguments(self) -> dict[str, None]:
        """Names of the arguments, in order."""
        return {argument.name: None for argument in self.definition.signature.input_arg}

    @cached_property
    def flat_names(self) -> dict[str, str]:
        """The definition's reference to a tensor (`node:argument:index`, or an argument) -> `node:slot`."""
        return {nested: flat for nested, flat in self._imported[1].items() if not nested.startswith("^")}

    @cached_property
    def references(self) -> dict[str, str]:
        """`flat_names` the other way round."""
        return {flat: nested for nested, flat in self.flat_names.items()}

    @property
    def outputs(self) -> list[str]:
        """The returned tensors, as `node:slot`."""
        definition = self.definition
        return [self.flat_names[definition.ret[output.name]] for output in definition.signature.output_arg]

    def variable_of(self, operation: Any) -> str:
        """The path of the variable that an op reads, or that an argument is the handle of, or empty."""
        if operation.type == "ReadVariableOp":
            operation = operation.inputs[0].op
        return self.variables.get(operation.name, "")

    @property
    def compiled(self) -> bool:
        """Whether XLA must compile it."""
        return must_compile(self.definition.attr)


def must_compile(attributes: Any) -> bool:
    """Whether a node's or function's attributes request XLA."""
    return internals.XLA_ATTRIBUTE in attributes and bool(attributes[internals.XLA_ATTRIBUTE].b)


def clusters_ops() -> bool:
    """Whether XLA compiles clusters of ops that it chooses itself (`tf.config.optimizer.set_jit`,
    `TF_XLA_FLAGS`)."""
    asked_for = re.search(r"--tf_xla_auto_jit=(?!0|-)", os.environ.get("TF_XLA_FLAGS", ""))
    return bool(asked_for or tf.config.optimizer.get_jit())


def compiled_functions(functions: Mapping[str, TracedFunction]) -> set[str]:
    """The functions of a closure that XLA compiles, alone or as a part of their caller."""
    begun = [name for name, function in functions.items() if function.compiled]
    begun += [
        callee.function
        for function in functions.values()
        for node in function.definition.node_def
        if must_compile(node.attr)
        for callee in callees(node)
    ]
    return reached(functions, begun)


def reached(functions: Mapping[str, TracedFunction], begun: Sequence[str]) -> set[str]:
    """These functions of a closure and all that they call."""
    found: set[str] = set()
    waiting = list(begun)
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found.add(name)
            nodes = functions[name].definition.node_def
            waiting += [callee.function for node in nodes for callee in callees(node)]
    return found


def called_nodes(node: NodeDef, functions: Mapping[str, TracedFunction]) -> Iterator[NodeDef]:
    """A node, and the nodes of all functions of a closure that it calls, of each once."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        yield (current := waiting.pop())
        for callee in callees(current):
            if callee.function in functions and callee.function not in found:
                found.add(callee.function)
                waiting += functions[callee.function].definition.node_def


def closure(
    root: str, inputs: Sequence[Any] = (), variable_of: Callable[[Any], str] = lambda tensor: ""
) -> dict[str, TracedFunction]:
    """The root function and all that it calls, by name, breadth first; each with its first caller.

    Args:
        inputs: the arguments of the root, which give the shapes of variables.
        variable_of: the path of the variable behind an eager resource tensor, or empty.

    Raises:
        tf.errors.NotFoundError: no function of that name is registered.
    """
    definition = function_def(root)
    found = {
        root: TracedFunction(
            root,
            definition,
            handles=_handles(definition, inputs),
            variables=_variables(definition, [variable_of(tensor) for tensor in inputs]),
        )
    }
    waiting = [root]
    while waiting:
        parent = found[waiting.pop(0)]
        for node in parent.definition.node_def:
            for callee in callees(node):
                if callee.function and callee.function not in found:
                    found[callee.function] = _called(parent, node, callee)
                    waiting.append(callee.function)
    return found


def _called(parent: TracedFunction, node: NodeDef, callee: Callee) -> TracedFunction:
    definition = function_def(callee.function)
    passed = argument_inputs(node.op, list(parent.operations[node.name].inputs))
    paths = [parent.variables.get(tensor.op.name, "") for tensor in passed]
    return TracedFunction(
        callee.function,
        definition,
        parent.name,
        node.name,
        callee.role,
        _handles(definition, passed),
        _variables(definition, paths),
    )


def _handles(definition: FunctionDef, passed: Sequence[Any]) -> dict[str, internals.HandleData]:
    handles: dict[str, internals.HandleData] = {}
    for argument, tensor in zip(definition.signature.input_arg, passed, strict=False):
        handle = internals.handle_data(tensor) if tensor.dtype == tf.resource else None
        if handle is not None:
            handles[argument.name] = handle
    return handles


def _variables(definition: FunctionDef, paths: Sequence[str]) -> dict[str, str]:
    return {
        argument.name: path
        for argument, path in zip(definition.signature.input_arg, paths, strict=False)
        if path
    }


def function_def(name: str) -> FunctionDef:
    """The definition of a registered function. Calls by name (nodes whose op type is a function's name,
    created by `Defun`, e.g. in ctc_loss) become PartitionedCall or StatefulPartitionedCall. Calls of
    functions with attributes, which each call instantiates for its dtypes, are unchanged.

    Raises:
        tf.errors.NotFoundError: no function of that name is registered.
    """
    definition = internals.function_def(name)
    called = {op: internals.function_def(op).signature for op in _names({n.op for n in definition.node_def})}
    called = {op: signature for op, signature in called.items() if not signature.attr}
    if not called:
        return definition
    copy = internals.copied(definition, name)
    renamed: dict[str, str] = {}
    for node in copy.node_def:
        if node.op in called:
            signature = called[node.op]
            for index, argument in enumerate(signature.output_arg):
                renamed[f"{node.name}:{argument.name}:0"] = f"{node.name}:output:{index}"
            _write_as_call(node, signature)
    for node in copy.node_def:
        node.input[:] = [renamed.get(source, source) for source in node.input]
    for output, source in dict(copy.ret).items():
        copy.ret[output] = renamed.get(source, source)
    return copy


def _names(op_types: set[str]) -> list[str]:
    return [op for op in op_types if not internals.is_known(op) and internals.has_function(op)]


def _write_as_call(node: NodeDef, signature: internals.FunctionDef) -> None:
    for attribute in [name for name in node.attr if not name.startswith("_")]:
        del node.attr[attribute]
    node.op = "StatefulPartitionedCall" if signature.is_stateful else "PartitionedCall"
    node.attr["f"].func.name = signature.name
    node.attr["Tin"].list.type.extend(argument.type for argument in signature.input_arg)
    node.attr["Tout"].list.type.extend(argument.type for argument in signature.output_arg)
