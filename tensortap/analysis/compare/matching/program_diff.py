"""How two programs differ at a node: constants, attributes, and nodes that only one of them has."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensortap.core.text import shortened
from tensortap.index.graph.graph_index import GraphIndex, forward_node
from tensortap.index.query.node_detail import FrameDetail

from ...model_graph.call_dataflow import dataflow_of
from ...model_graph.op_types import VARIABLE_READS, constant_text, nested_list, ops
from ...model_graph.roles import Slot, roles_of
from ..metrics.distances import RTOL
from .node_matching import Matching

Frames = Callable[[str, str], FrameDetail | None]  # (side, node) -> the line that made it
# Attributes that add nothing: dtypes are compared by themselves.
_IGNORED = ("T", "dtype", "Tin", "Tout", "DstT", "SrcT", "container", "shared_name")
_PYTHON = ops("PyFunc PyFuncStateless EagerPyFunc")  # their token only counts the functions of a process
_NARROW: dict[str, Callable[[str], np.floating[Any]]] = {"float32": np.float32, "float16": np.float16}
_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")
_COMMUTATIVE = ops("Add AddV2 AddN Mul Maximum Minimum")
_STOPS = ops("StopGradient PreventGradient")
_LONGEST_READ = 10_000  # maximum length of a text that is searched for numbers
_LONGEST = 60  # characters of a value that is quoted
_MOST_NAMED = 2  # inputs of a side in one sentence
_MAX_PATH = 10_000  # nodes that only one side has, followed up from one place


def own_differences(matching: Matching, row: int) -> list[str]:
    """Sentences on a node of A and its partner: constants they take, attributes."""
    return [*_constants(matching, row), *_attributes(matching, row, matching.partner[row])]


def _rewired(matching: Matching, row: int, frame: Frames) -> list[str]:
    """Sentence on inputs that are other nodes of the other side, or in another order, though both sides have
    all these nodes. Constants and casts are compared elsewhere."""
    a, b, partner = matching.a, matching.b, matching.partner
    in_a, in_b = _unconverted_inputs(a, row), _unconverted_inputs(b, partner[row])
    if _keys(a, in_a, partner.get) == _keys(b, in_b, lambda source: source):
        return []
    of_a, of_b = numbering(matching)
    keys_a, keys_b = _keys(a, in_a, of_a.__getitem__), _keys(b, in_b, of_b.__getitem__)
    only_a = [slot for slot, key in zip(in_a, keys_a, strict=True) if key and key not in keys_b]
    only_b = [slot for slot, key in zip(in_b, keys_b, strict=True) if key and key not in keys_a]
    if not only_a and not only_b and not _is_order_free(matching, row) and len(keys_a) == len(keys_b):
        moved = [at for at, key in enumerate(keys_a) if key != keys_b[at]]
        only_a, only_b = [in_a[at] for at in moved], [in_b[at] for at in moved]
    named = [_listed(a, only_a, "A", frame), _listed(b, only_b, "B", frame)]
    if only_a and only_b:
        begin = "Its input is" if len(only_a) == len(only_b) == 1 else "Its inputs are"
        return [f"{begin} {named[0]} in A, and {named[1]} in B."]
    return [f"It takes {text} in {side} only." for side, text in zip("AB", named, strict=True) if text]


def _unconverted_inputs(graph: GraphIndex, row: int) -> list[Slot]:
    """The inputs of a node in order; for a cast, what it converts."""
    found = []
    for source, slot, position in roles_of(graph).inputs(row):
        while graph.op_type[source] == "Cast" and (taken := roles_of(graph).inputs(source)):
            source, slot, _ = taken[0]
        if position >= 0:
            found.append((source, slot))
    return found


def _keys(
    graph: GraphIndex, slots: list[Slot], number: Callable[[int], int | None]
) -> list[tuple[int | None, int] | None]:
    """What identifies each tensor on both sides; None for any constant."""
    return [None if graph.op_type[source] == "Const" else (number(source), slot) for source, slot in slots]


def _is_order_free(matching: Matching, row: int) -> bool:
    """Whether the order of the inputs does not matter: sums, products, calls, pairs of different ops."""
    op_type = matching.a.op_type[row]
    other = matching.b.op_type[matching.partner[row]]
    return op_type in _COMMUTATIVE or op_type != other or row in dataflow_of(matching.a).called


def _listed(graph: GraphIndex, slots: list[Slot], side: str, frame: Frames) -> str:
    """The first tensors of a list, with their lines; the output is named if it isn't the first."""
    texts = [
        f"{f'output {slot} of ' if slot else ''}{_located(graph, source, side, frame)}"
        for source, slot in slots[:_MOST_NAMED]
    ]
    return " and ".join(texts) + (", …" if len(slots) > _MOST_NAMED else "")


def _constants(matching: Matching, row: int) -> list[str]:
    found = []
    for source in dict.fromkeys(source for source, _, _ in roles_of(matching.a).inputs(row)):
        partner = matching.partner.get(source)
        if partner is not None:
            found += [f"The {text}." for text in _changed_constant(matching, source, partner)]
    return found


def _changed_constant(matching: Matching, row: int, partner: int) -> list[str]:
    a, b = matching.a, matching.b
    if a.op_type[row] != "Const":
        return []
    left, right = constant_text(roles_of(a).attributes(row)), constant_text(roles_of(b).attributes(partner))
    if left is None or right is None or left == right:
        return []
    if _only_rounded((left, right), (a.dtype[row], b.dtype[partner])):
        return []
    in_a, in_b = _as_written(left, a.dtype[row]), _as_written(right, b.dtype[partner])
    return [f"constant {a.names[row]} is {in_a} in A, {in_b} in B"]


def _only_rounded(texts: tuple[str, str], dtypes: tuple[str, str]) -> bool:
    """Whether two constants of different dtypes are one number, rounded to each."""
    if dtypes[0] == dtypes[1] or not all(dtype in RTOL for dtype in dtypes):
        return False
    left, right = (nested_list(text) for text in texts)
    try:
        return bool(np.allclose(left, right, max(RTOL[dtype] for dtype in dtypes), 0))
    except (ValueError, TypeError):  # cut short, or not numbers
        return False


def _attributes(matching: Matching, row: int, partner: int) -> list[str]:
    left, right = roles_of(matching.a).attributes(row), roles_of(matching.b).attributes(partner)
    ignored = (*_IGNORED, "token") if matching.a.op_type[row] in _PYTHON else _IGNORED
    return [
        f"Its attribute {name} is {_as_written(left[name])} in A, {_as_written(right[name])} in B."
        for name in sorted(left.keys() & right.keys())
        if left[name] != right[name] and not name.startswith(("_", "tensortap.")) and name not in ignored
    ]


def first_change(matching: Matching, frame: Frames) -> str:
    """Where the programs begin to differ in data flow order, if no captured tensor of the step shows it: a
    constant, an attribute, or a node of one side only ("head/StopGradient (StopGradient, model.py:14), which
    only B has"). Empty if they are equal."""
    a, order = matching.a, matching.a.order
    found = [
        (_first_use(a, row), text)
        for row, partner in matching.partner.items()
        if not roles_of(a).is_backward(row)
        for text in _changes(matching, row, partner)
    ]
    if matching.unmatched_a() or matching.unmatched_b():
        of_a, of_b = numbering(matching)
        only_a = _OneSidedNodes(a, matching.partner, of_a, set(of_b))
        only_b = _OneSidedNodes(matching.b, matching.matched_b, of_b, set(of_a))
        back = {partner: row for row, partner in matching.partner.items()}
        for side, only, to_a in (("A", only_a, lambda row: row), ("B", only_b, back.__getitem__)):
            for row in only.first_extra_nodes():
                taken = [to_a(source) for source, _, _ in roles_of(only.graph).inputs(row)]
                text = _only_there(only.graph, row, side, frame)
                found.append((max(float(order[each]) for each in taken) + 0.5, text))
    return min(found, default=(0.0, ""))[1]


def _only_there(graph: GraphIndex, row: int, side: str, frame: Frames) -> str:
    return f"{_located(graph, row, side, frame)}, which only {side} has"


def _located(graph: GraphIndex, row: int, side: str, frame: Frames) -> str:
    line = frame(side, graph.names[row])
    where = "" if line is None else f", {line.file.rpartition('/')[2]}:{line.line}"
    return f"{graph.names[row]} ({graph.op_type[row]}{where})"


def gradient_cut(matching: Matching, row: int, frame: Frames) -> str:
    """The op that stops gradients in one program only ("head/StopGradient (StopGradient, model.py:14), which
    only B has"), if a node of A computes a gradient from nodes of one side only; else empty."""
    if not roles_of(matching.a).is_backward(row) or not any(_alone(matching, row)[2:]):
        return ""
    sides = (("A", matching.a, matching.partner), ("B", matching.b, matching.matched_b))
    cuts = [
        (int(graph.order[cut]), _only_there(graph, cut, side, frame))
        for side, graph, known in sides
        for cut in range(len(graph))
        if cut not in known and graph.op_type[cut] in _STOPS and _is_downstream(matching, side, cut, row)
    ]
    return min(cuts, default=(0, ""))[1]


def _is_downstream(matching: Matching, side: str, cut: int, gradient: int) -> bool:
    """Whether the output of a stopping op would reach a gradient of A: in the forward pass, the op or layer
    of that gradient feeds it."""
    graph = matching.a if side == "A" else matching.b
    row = gradient if side == "A" else matching.partner[gradient]
    forward = forward_node(graph.names[row], graph.rows)
    own = graph.rows.get(forward or "", -1)
    layer = graph.layer[row]
    seen, waiting = {cut}, [cut]
    while waiting and len(seen) < _MAX_PATH:
        for source, _, _ in roles_of(graph).inputs(waiting.pop()):
            if source == own or (layer and graph.layer[source] == layer):
                return True
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return False


def _changes(matching: Matching, row: int, partner: int) -> list[str]:
    if matching.a.op_type[row] == "Const":
        return [f"the {text}" for text in _changed_constant(matching, row, partner)]
    node = _node(matching.a, row)
    return [f"{node}: its{text[3:-1]}" for text in _attributes(matching, row, partner)]


def _first_use(graph: GraphIndex, row: int) -> float:
    users = [user for user in roles_of(graph).consumers(row) if not roles_of(graph).is_backward(user)]
    return float(min((graph.order[user] for user in users), default=graph.order[row]))


def untrained(matching: Matching) -> str:
    """A sentence on variables that both read and only one of them trains; empty without any."""
    a, b = roles_of(matching.a), roles_of(matching.b)
    common = a.reads.keys() & b.reads.keys()
    for side, one, other in (("B", a, b), ("A", b, a)):
        paths = sorted((one.trained.keys() - other.trained.keys()) & common)
        if paths and other.trained:
            more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
            return f"{side} computes no gradient of {', '.join(paths[:2])}{more}."
    return ""


def extra_layer(matching: Matching, row: int) -> str:
    """The layer that only one side has, if an input of a node of A or of its partner begins in one ("the
    layer net/noise, which only B has"); else empty."""
    only_a, only_b, in_a, in_b = _alone(matching, row)
    if bool(in_a) == bool(in_b):
        return ""
    has, only, new, other = ("B", only_b, in_b, matching.a) if in_b else ("A", only_a, in_a, matching.b)
    layer = only.layer(new[0])
    if not layer or layer in other.layer.values or _renamed(matching, layer, has):
        return ""
    return f"the layer {layer}, which only {has} has"


def _renamed(matching: Matching, layer: str, side: str) -> bool:
    """Whether nodes of a layer of one side have partners in a layer that only the other side knows."""
    pairs = matching.partner.items() if side == "A" else ((b, a) for a, b in matching.partner.items())
    graph, other = (matching.a, matching.b) if side == "A" else (matching.b, matching.a)
    own = {"", *graph.layer.values}
    return any(graph.layer[row] == layer and other.layer[partner] not in own for row, partner in pairs)


def _alone(matching: Matching, row: int) -> tuple[_OneSidedNodes, _OneSidedNodes, list[int], list[int]]:
    """Nodes of A only and of B only, and the unmatched inputs of a matched pair."""
    a, b = matching.a, matching.b
    lacking = _lacking(a, row, matching.partner) or _lacking(b, matching.partner[row], matching.matched_b)
    of_a, of_b = numbering(matching) if lacking else ([], [])
    only_a = _OneSidedNodes(a, matching.partner, of_a, set(of_b))
    only_b = _OneSidedNodes(b, matching.matched_b, of_b, set(of_a))
    if not lacking:
        return only_a, only_b, [], []
    return only_a, only_b, only_a.unmatched_inputs(row), only_b.unmatched_inputs(matching.partner[row])


def input_differences(matching: Matching, row: int, frame: Frames) -> list[str]:
    """Sentence on the inputs of a node that its partner does not take: those that only one side has, and
    where they begin; else one that is another node."""
    a, b = matching.a, matching.b
    only_a, only_b, in_a, in_b = _alone(matching, row)
    if not in_a and not in_b:
        return _rewired(matching, row, frame)
    has, only, new = ("B", only_b, in_b[0]) if in_b else ("A", only_a, in_a[0])
    text = f"Its input {_node(only.graph, new)} "
    if in_a and in_b and a.names[in_a[0]] == b.names[new]:
        text += f"is computed differently in {has}"
    elif in_a and in_b:
        text += f"in B is {_node(a, in_a[0])} in A"
    else:
        text += f"exists only in {has}"
    begins = only.first_extra_ancestor(new)
    if begins != new:
        text += f", starting at {_variable(only.graph, begins) or _node(only.graph, begins)}"
    line = frame(has, only.graph.names[begins])
    return [text + ("." if line is None else f": {line.file.rpartition('/')[2]}:{line.line}.")]


@dataclass(frozen=True, slots=True)
class _OneSidedNodes:
    """Nodes of one side without a partner. `known`: rows with a partner; `numbers`: see `numbering`;
    `others`: nodes of the other side."""

    graph: GraphIndex
    known: Collection[int]
    numbers: list[int]
    others: set[int]

    def unmatched_inputs(self, row: int) -> list[int]:
        """The inputs of a node that the other side does not have."""
        return [
            source
            for source in _lacking(self.graph, row, self.known)
            if self.numbers[source] not in self.others
        ]

    def first_extra_nodes(self) -> list[int]:
        """Nodes of the forward pass and the update that only this side has, though all that they take is
        there on the other side, too."""
        roles, found = roles_of(self.graph), []
        for row in range(len(self.graph)):
            if row in self.known or self.numbers[row] in self.others or roles.is_backward(row):
                continue
            if self.graph.op_type[row] in VARIABLE_READS or roles.is_update(row):
                continue  # of a variable that only this side trains
            taken = [source for source, _, position in roles.inputs(row) if position >= 0]
            if taken and all(source in self.known for source in taken):
                found.append(row)
        return found

    def first_extra_ancestor(self, row: int) -> int:
        """The earliest of these nodes among the unbroken chain of ancestors of a node."""
        return self._unmatched_chain(row)[0]

    def layer(self, row: int) -> str:
        """The layer where the chain begins; handles of variables have none."""
        return next((layer for each in self._unmatched_chain(row) if (layer := self.graph.layer[each])), "")

    def _unmatched_chain(self, row: int) -> list[int]:
        """The unbroken chain of these nodes among the ancestors of a node, in data flow order."""
        seen, waiting = {row}, [row]
        while waiting and len(seen) < _MAX_PATH:
            more = [source for source in self.unmatched_inputs(waiting.pop()) if source not in seen]
            seen.update(more)
            waiting += more
        return sorted(seen, key=lambda row: int(self.graph.order[row]))


def _lacking(graph: GraphIndex, row: int, known: Collection[int]) -> list[int]:
    """Inputs of a node that have no partner on the other side."""
    taken = dict.fromkeys(source for source, _, _ in roles_of(graph).inputs(row))
    return [row for row in taken if row not in known and graph.op_type[row] not in ("Cast", "Const")]


def _node(graph: GraphIndex, row: int) -> str:
    return f"{graph.names[row]} ({graph.op_type[row]})"


def _variable(graph: GraphIndex, row: int) -> str:
    """The variable that a node is, or has the handle of: `the variable dense/bias`; empty for others."""
    paths = roles_of(graph).variable
    handle = graph.op_type[row] in ("_Arg", "VarHandleOp", "Placeholder")
    readers = roles_of(graph).consumers(row) if handle else []
    path = next((paths[each] for each in (row, *readers) if each in paths), "")
    return f"the variable {path}" if path else ""


def _as_written(text: str, dtype: str = "float32") -> str:
    """Numbers with as few digits as distinguish them in their dtype (attributes are float32), as in source
    code: `9.999999747378752e-06` is 1e-05. Long texts are cut."""
    narrow = _NARROW.get(dtype)
    if narrow is not None and len(text) <= _LONGEST_READ:
        text = _FLOAT.sub(lambda found: str(narrow(found.group())), text)
    return shortened(text, _LONGEST)


Key = tuple[object, ...]


def numbering(matching: Matching) -> tuple[list[int], list[int]]:
    """The value number of each node of A and of B (Cocke 1970). A node of B has the number of its partner; a
    constant has one for its elements, if the dump has them."""
    known: dict[Key, int] = {}
    back = {partner: row for row, partner in matching.partner.items()}
    of_a = _numbers(matching.a, known, lambda row: None)
    return of_a, _numbers(matching.b, known, lambda row: of_a[back[row]] if row in back else None)


def _numbers(graph: GraphIndex, known: dict[Key, int], partner: Callable[[int], int | None]) -> list[int]:
    numbers = [-1] * len(graph)
    roles = roles_of(graph)
    for row in sorted(range(len(graph)), key=graph.order.tolist().__getitem__):
        op_type = graph.op_type[row]
        text = constant_text(roles.attributes(row)) if op_type == "Const" else None
        paired = partner(row) if text is None else None
        if paired is not None:
            numbers[row] = paired
            continue
        taken = tuple((numbers[source], slot) for source, slot, _ in roles.inputs(row))
        unknown = not taken or any(number < 0 for number, _ in taken)  # a loop's body takes what follows it
        key = (op_type, graph.dtype[row], text or taken) if text or not unknown else (id(graph), row)
        numbers[row] = known.setdefault(key, len(known))
    return numbers
