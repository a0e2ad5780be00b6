"""Where along the backward pass, and downstream of it, the zeros of a gradient begin."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container
from typing import NamedTuple

import numpy as np

from tensortap.core.dtypes import is_floating
from tensortap.core.text import counted

from ..model_graph.call_dataflow import dataflow_of
from ..model_graph.gradient_cuts import source_of
from ..model_graph.op_types import SELECTS, constant_text, nested_list, ops
from ..model_graph.roles import Roles, Slot, TensorRole
from ..run_view.run_view import RunView

_MAX_WALK = 400  # nodes that are walked back from one gradient
_COPYING = ("_Arg", "Identity", "IdentityN", "Reshape")
# Lists of gradients, too, and of what the forward pass keeps for the backward pass.
_LISTING = ("TensorListFromTensor", "TensorListSetItem", "TensorListPushBack", "AddN", *_COPYING)
_POPPING = "TensorListPopBack"
_LIST = "variant"
_FILLING = ops("Const Fill ZerosLike")  # replacements that a select uses for a gradient
_SUMS = ops("Add AddV2 AddN Sub Sum Mean BiasAddGrad")
_PRODUCTS = ops("Mul MulNoNan")
_UNDERFLOWING = "float16"  # small gradients vanish in it; bfloat16 has the range of float32

_WHY = (
    (
        ops("ReluGrad Relu6Grad LeakyReluGrad EluGrad SeluGrad"),
        "dead activation",
        "the ReLU is inactive",
    ),
    (ops("TanhGrad SigmoidGrad SoftplusGrad"), "saturated activation", "the activation is saturated"),
    (ops("Cast"), "cast", "the values underflow in the target dtype"),
    (
        ops("Select SelectV2 Mul MulNoNan Pad PadV2"),
        "mask",
        "a mask or a zero factor removes the gradient",
    ),
    (
        ops(
            "MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv2DBackpropFilter Conv2DBackpropInput "
            "Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter"
        ),
        "dead input",
        "the other factor, the input of the layer, is zero",
    ),
)
_OTHER = "not explained", ""
_RELU_GRADIENTS = ("ReluGrad", "Relu6Grad", "LeakyReluGrad")
_ZEROS = re.compile(r"(?:^|/)zeros(?:_like)?(?:_\d+)?$")  # large constants are stored without their elements
_TWICE = re.compile(r"(?:^|/)gradient_tape/gradient_tape/|_grad/(?:.*/)?[^/]*_grad/")


class ZeroOrigin(NamedTuple):
    """Reason, sentence and tensor, as in `LedgerEntry`."""

    reason: str
    why: str
    begins: str


class _Seen(NamedTuple):
    """Output of a captured node at a step: whether all elements are zero (or False), how many are NaN or
    infinite, and whether no element is zero (or False)."""

    zero: bool
    bad: int
    full: bool


class _Flow(NamedTuple):
    """A graph, its captured outputs at a step, and the nodes of the backward pass with those that take
    numbers from it."""

    roles: Roles
    seen: dict[Slot, _Seen]
    backward: set[int]

    def gradients(self, inputs: list[Slot]) -> list[Slot]:
        """Inputs of a node that are gradients or computed from some; filled-in constants come last."""
        return sorted((place for place in inputs if place[0] in self.backward), key=self._is_filled)

    def _is_filled(self, place: Slot) -> bool:
        """Whether the program filled in an output, or the initial value of the loop argument that it
        forwards, as in a loop that sums a gradient."""
        op_type = self.roles.graph.op_type
        sources = _float_inputs(self.roles, place[0], ()) if op_type[place[0]] in _COPYING else [place]
        return all(op_type[row] in _FILLING for row, _ in sources)

    def zeros(self, places: list[Slot]) -> list[Slot]:
        """Outputs that are all zero."""
        return [place for place in places if place in self.seen and self.seen[place].zero]


def find_zero_origin(view: RunView, tensor: TensorRole, step: int) -> ZeroOrigin:
    """Finds where the zeros of a gradient begin at a step: backwards, the first node with an all-zero output
    and non-zero inputs from the backward pass. `unknown` if those inputs, or a factor, were not captured."""
    roles = view.roles(tensor.graph)
    backward = view.cached(f"backward flow of {tensor.graph}", lambda: _backward_flow(roles))
    flow = _Flow(roles, _seen_at(view, tensor.graph, step), backward)
    row = _walk(flow, tensor.row)
    name, op_type = roles.graph.names[row], roles.graph.op_type[row]
    reason, why, sure = _reason(flow, row)
    if not sure:
        why = f"{name} ({op_type}) is already zero; its inputs were not captured"
        return ZeroOrigin("unknown", why, f"{name}:0")
    # Nodes of the backward pass have the line that requested it, which does not help.
    line = "" if roles.is_backward(row) else source_of(view.run, tensor.graph, name)
    where = f"the zeros start in {name} ({op_type}{line and ', ' + line})"
    return ZeroOrigin(reason, where + (f": {why}" if why else ""), f"{name}:0")


def _backward_flow(roles: Roles) -> set[int]:
    """The backward pass and the nodes that take numbers from it, without the lists in which a forward loop
    stores values."""
    found, waiting = set[int](), [row for row in range(len(roles.graph)) if roles.is_backward(row)]
    while waiting:
        row = waiting.pop()
        if row not in found:
            found.add(row)
            slots = range(len(roles.graph.slot_texts(row)) or 1)
            numbers = [slot for slot in slots if _is_float(_dtype(roles, row, slot))]
            waiting += [user for slot in numbers for user in roles.consumers(row, slot)]
    return found


def _walk(flow: _Flow, row: int) -> int:
    """The node where the zeros of a node's output begin."""
    walked = set[int]()
    while row not in walked and len(walked) < _MAX_WALK:
        walked.add(row)
        inputs = flow.gradients(_float_inputs(flow.roles, row, flow.seen))
        zero = flow.zeros(inputs)
        if not zero or (flow.roles.graph.op_type[row] in SELECTS and _nonzero_gradients(flow, inputs)):
            break
        row = zero[0][0]
    return row


def _nonzero_gradients(flow: _Flow, inputs: list[Slot]) -> list[Slot]:
    """The gradients that are not zero, of those that a node chooses from."""
    return [place for place in inputs if place in flow.seen and not flow.seen[place].zero]


def _reason(flow: _Flow, row: int) -> tuple[str, str, bool]:
    """(reason, why, whether captured values prove it) for zeros that begin in a node."""
    op_type = flow.roles.graph.op_type[row]
    reason, why = next(((reason, why) for kinds, reason, why in _WHY if op_type in kinds), _OTHER)
    inputs = _float_inputs(flow.roles, row, flow.seen)
    fixed = _constant_zeros(flow, row, inputs)
    if fixed:
        return _OTHER[0], fixed, True
    zero, unseen = flow.zeros(inputs), [source for source in inputs if source not in flow.seen]
    if reason == "dead input" and zero:
        return _dead_factor(flow, zero, why)
    if reason == "dead input" or (op_type in _PRODUCTS and not zero and not unseen):
        return (*_vanished_product(flow, row, inputs), not unseen)
    # The zeros of a constant have no earlier source, and constants are never captured.
    sure = all(flow.roles.graph.op_type[source] == "Const" for source, _ in flow.gradients(unseen))
    if op_type in SELECTS:
        return reason, _why_chosen(flow, row, _nonzero_gradients(flow, flow.gradients(inputs))) or why, sure
    if op_type == "Relu6Grad" and _is_at_its_upper_end(flow, row):
        return "saturated activation", "the activation is stuck at 6, its maximum", sure
    if op_type in _SUMS and inputs and not zero:
        return "cancelled", "its terms are not zero, but they cancel", sure and not unseen
    return reason, why, sure


def _constant_zeros(flow: _Flow, row: int, inputs: list[Slot]) -> str:
    """Why a node is 0 at every step, whatever the activations are; empty if captured values decide."""
    graph = flow.roles.graph
    if graph.op_type[row] == "ZerosLike":
        return f"it is always 0{_second_derivative(flow.roles, row)}"
    gradients = [source for source, _ in flow.gradients(inputs)]
    if graph.op_type[row] in SELECTS or not gradients or not all(_is_zero(flow, each) for each in gradients):
        return ""
    what = f"its incoming gradient, {graph.names[gradients[0]]}, is constant 0"
    return what + _second_derivative(flow.roles, gradients[0])


def _is_zero(flow: _Flow, row: int) -> bool:
    """Whether a node is a constant of zeros: by its elements, or by the name that TensorFlow gives it."""
    if flow.roles.graph.op_type[row] != "Const":
        return False
    text = constant_text(flow.roles.attributes(row))
    elements = None if text is None else nested_list(text)
    return (
        _ZEROS.search(flow.roles.graph.names[row]) is not None if elements is None else not np.any(elements)
    )


def _second_derivative(roles: Roles, row: int) -> str:
    """The likely origin of zeros: TensorFlow creates them next to the gradient of a ReluGrad."""
    name, rows = roles.graph.names[row], roles.graph.rows
    scope = name.rpartition("/")[0]
    found = _TWICE.search(name) and any(f"{scope}/{kind}" in rows for kind in _RELU_GRADIENTS)
    return ", like the second derivative of ReLU" if found else ""


def _vanished_product(flow: _Flow, row: int, inputs: list[Slot]) -> tuple[str, str]:
    """(reason, why) for a product that is all zero although no factor is."""
    dtype = _dtype(flow.roles, row, 0)
    if any(flow.seen[source].full for source in inputs if source in flow.seen):
        reason = "underflow" if dtype == _UNDERFLOWING else "cancelled"
        where = f" in {dtype}" if dtype else ""
        why = "one factor has no zero and the other is not all zero, so the products underflow or cancel"
        return reason, why + where
    more = f", or their product underflows in {dtype}" if dtype == _UNDERFLOWING else ""
    return "mask", f"wherever one factor is not zero, another one is zero{more}"


def _why_chosen(flow: _Flow, row: int, nonzero: list[Slot]) -> str:
    """Why a selecting node returns zeros although some of its gradients are not zero; empty if all are."""
    names = flow.roles.graph.names
    for source, slot in nonzero:
        if flow.seen[source, slot].bad:
            what = counted(flow.seen[source, slot].bad, "NaN or infinite element")
            return f"{names[source]}:{slot} has {what}, replaced by 0"
    condition = next((place for *place, position in flow.roles.inputs(row) if position == 0), [-1, 0])
    seen = flow.seen.get((condition[0], condition[1]))
    always = "" if seen is None else "False" if seen.zero else "True" if seen.full else ""
    since = f", because {names[condition[0]]}:{condition[1]} is {always} everywhere" if always else ""
    return f"it selects 0 instead of {names[nonzero[0][0]]}:{nonzero[0][1]}{since}" if nonzero else ""


def _is_at_its_upper_end(flow: _Flow, row: int) -> bool:
    """Whether the output of a Relu6 that blocks its gradient has no zero: then all elements are at the upper
    end, 6."""
    outputs = [(source, slot) for source, slot, position in flow.roles.inputs(row) if position == 1]
    relu6 = [place for place in outputs if flow.roles.graph.op_type[place[0]] == "Relu6"]
    return any(place in flow.seen and flow.seen[place].full for place in relu6)


def _dead_factor(flow: _Flow, zero: list[Slot], why: str) -> tuple[str, str, bool]:
    if all(flow.roles.kind.get(source) == "weight" for source, _ in zero):
        variable = flow.roles.variable.get(zero[0][0], "the weights")
        return "zero weights", f"its other factor, {variable}, is zero", True
    return "dead input", why, True


def _float_inputs(roles: Roles, row: int, captured: Container[Slot]) -> list[Slot]:
    """The outputs whose numbers a node uses. Skips uncaptured nodes that only forward, lists of loops,
    and loops; shapes, axes and handles do not count."""
    found, met = dict[Slot, None](), set[Slot]()
    waiting = deque((source, slot) for source, slot, _ in roles.inputs(row))
    while waiting and len(met) < _MAX_WALK:
        source, slot = waiting.popleft()
        dtype = _dtype(roles, source, slot)
        if (source, slot) in met or not (_is_float(dtype) or dtype == _LIST):
            continue
        met.add((source, slot))
        further = _passed_through(roles, source, slot, dtype, captured)
        waiting += further
        if not further and dtype != _LIST:
            found[source, slot] = None
    return list(found)


def _passed_through(roles: Roles, row: int, slot: int, dtype: str, captured: Container[Slot]) -> list[Slot]:
    """The (row, slot) that an output only forwards; empty if the node computes its own numbers."""
    called = dataflow_of(roles.graph).called.get(row, ())
    if len(called) == 1:  # of branches, one alone was taken
        return dataflow_of(roles.graph).returned((row, slot))
    if roles.graph.op_type[row] == _POPPING and dtype != _LIST and (row, slot) not in captured:
        return [(source, behind) for source, behind, position in roles.inputs(row) if position == 0]
    kinds = _LISTING if dtype == _LIST else _COPYING
    if roles.graph.op_type[row] not in kinds or (dtype != _LIST and (row, slot) in captured):
        return []
    return [(source, behind) for source, behind, _ in roles.inputs(row)]


def _dtype(roles: Roles, row: int, slot: int) -> str:
    """The dtype of an output, empty if unknown."""
    texts = roles.graph.slot_texts(row)
    return texts[slot][0] if slot < len(texts) else ""


def _is_float(dtype: str) -> bool:
    return not dtype or is_floating(dtype)


def _seen_at(view: RunView, graph: str, step: int) -> dict[Slot, _Seen]:
    """The content of each captured output of a graph at a step."""

    def find() -> dict[Slot, _Seen]:
        rows = view.rows_at(step)
        zero = (rows["zero"] == rows["size"]) & (rows["size"] > 0)
        bad = rows["nan"] + rows["pos_inf"] + rows["neg_inf"]
        found: dict[Slot, _Seen] = {}
        columns = (rows.tensor, zero, bad, rows["zero"] == 0)
        for code, flag, count, full in zip(*(column.tolist() for column in columns), strict=True):
            tensor = view.tensors[code]
            if tensor.graph == graph and tensor.row >= 0:
                known = found.get((tensor.row, tensor.slot), _Seen(zero=True, bad=0, full=True))
                bad_now = max(known.bad, int(count))
                found[tensor.row, tensor.slot] = _Seen(known.zero and flag, bad_now, known.full and full)
        return found

    return view.cached(f"zeros of {graph} at {step}", find)
