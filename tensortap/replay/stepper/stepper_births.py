"""Which nodes of a computed call make NaN or infinities, beside those that only pass them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..protocol import TensorFacts
from .stepper_nodes import StepperNode

_CALLS = ("While", "If", "Case", "PartitionedCall")  # what they give is made in their functions


def stepper_births(nodes: Sequence[StepperNode], facts: Mapping[str, TensorFacts]) -> list[str]:
    """Names of the nodes that give NaN though no input is NaN, or infinities of finite inputs.

    A constant is meant as it is: an infinity that a mask holds is passed on until it becomes NaN. What the
    call was given not finite counts if nothing is born before it.

    Args:
        nodes: in topological order.
    """
    found: list[str] = []
    for node in nodes:
        bad = [each for each in (facts.get(name) for name in node.outputs) if each and each.nan + each.inf]
        if not bad or _passes_on(node):
            continue
        inputs = [facts.get(name) for name in node.inputs]
        known = [each for each in inputs if each is not None]
        if inputs and len(known) == len(inputs):
            born = any(_is_born(each, known) for each in bad)
        else:  # an argument, a variable, a list of tensors: they hold what was put into them
            born = not found
        if born:
            found.append(node.name)
    return found


def _passes_on(node: StepperNode) -> bool:
    """Constants, calls, and the arguments of functions that are called, which have an input here."""
    argument = node.op_type == "_Arg" and bool(node.inputs)
    return argument or node.op_type == "Const" or node.op_type.endswith(_CALLS)


def _is_born(output: TensorFacts, inputs: Sequence[TensorFacts]) -> bool:
    """In a loop what comes at a later visit is no cause of what went bad at an earlier one."""
    before = [each for each in inputs if 0 <= each.bad_visit <= output.bad_visit]
    if output.nan:
        return not any(each.nan for each in before)
    return not before
