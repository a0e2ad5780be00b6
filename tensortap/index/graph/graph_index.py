"""One graph, ready to draw and query: nodes as columns, display paths, edges, data flow order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tensortap.core.dtypes import Int32s
from tensortap.core.errors import NotFoundError
from tensortap.core.records import LayerCall
from tensortap.core.text import did_you_mean

from ..catalog.columns import Coded, StringTable, Texts
from .edges import build_edges, data_flow_order, parse_input, parse_inputs, program_order
from .scope_paths import display_paths

# tf.GradientTape: gradient_tape/<forward node>/<op>; tf.gradients: gradients/<forward node>_grad/<op>.
_TAPE = re.compile(r"(?:(?P<above>.+)/)?gradient_tape(?:_\d+)?/(?P<rest>.+)\Z")
_SYMBOLIC = re.compile(r"(?:(?P<above>.+)/)?gradients(?:_\d+)?/(?P<rest>.+)_grad(?:_\d+)?/[^/]+\Z")

# TensorFlow's names for arguments that capture a tensor without one: an eager one, or one of a SavedModel.
_UNKNOWN = re.compile(r"(?:^|/)unknown(?:_\d+)?\Z")

_LOOP_OPS = ("NextIteration", "RefNextIteration")


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """The node that calls a function (None for a root), the `role` of the function, and the function of that
    node (`parent`)."""

    caller: str | None
    role: str
    parent: str


class GraphIndex:
    """Nodes in the order of the dump; nodes that only occur in snapshots are appended with empty columns.
    Immutable.

    Attributes:
        edges: the edges. recorded: number of nodes in the dump.
        damage: why these are only the captured nodes, a sentence; empty if the graph was read, or never
            recorded.

    Args:
        table: nodes from `RunReader.graph_table`; None for a graph that was not recorded.
        about: its other results.
        captured: names of the captured nodes.
        slots_of: (dtype, shape as JSON) of a captured node's output slots, if known. Called only for nodes
            that are not in the table.

    Example:
        ```python
        graph = tensortap.open("logs").runs["recorded"].graph()
        row = next(row for row in range(len(graph)) if graph.op_type[row] == "MatMul")
        print(graph.names[row], graph.layer[row])
        ```
    """

    def __init__(
        self,
        graph_id: str,
        table: pa.RecordBatch | None,
        about: Mapping[str, Any],
        captured: Collection[str],
        slots_of: Callable[[str], Sequence[tuple[str, str]]],
    ) -> None:
        self.id = graph_id
        self.name = str(about.get("name") or graph_id)
        self.way = str(about.get("way") or "")
        self.about = about
        self.table = table
        self.damage = "" if table is not None else str(about.get("damage") or "")
        self.recorded = 0 if table is None else table.num_rows
        recorded = pa.array([], pa.string()) if table is None else table.column("name")
        listed = pa.array([], pa.list_(pa.string())) if table is None else table.column("inputs")
        inputs = parse_inputs(listed)
        self._found = rows_of_names(recorded, captured, inputs.nodes)
        extra = self._found.names[self.recorded :].to_pylist()
        self._extra_slots = [slots_of(name) for name in extra]
        functions = about.get("functions", {})
        self.edges = build_edges(inputs, self._found.asked, functions, self.rows if functions else {})

    def __len__(self) -> int:
        return len(self._found.names)

    def __repr__(self) -> str:
        return f"<graph {self.id!r}: {len(self):,} nodes>"

    @cached_property
    def names(self) -> list[str]:
        """Node names by row."""
        names: list[str] = self._found.names.to_pylist()
        return names

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row of each name; for equal names the first."""
        rows: dict[str, int] = {}
        # backwards: the first of equal names stays
        rows.update(zip(reversed(self.names), range(len(self) - 1, -1, -1), strict=True))
        return rows

    def row(self, node: str) -> int:
        """Row of a node.

        Raises:
            NotFoundError: the graph has no such node.
        """
        row = self.rows.get(node)
        if row is None:
            hint = did_you_mean(
                node, self.names, "Node names are case-sensitive; remove ':slot' from the end."
            )
            raise NotFoundError(f"The graph {self.id!r} has no node {node[:200]!r}.", hint)
        return row

    @cached_property
    def op_type(self) -> Coded:
        """Op types; empty if unknown."""
        return self._coded("op_type")

    @cached_property
    def device(self) -> Coded:
        """Requested devices; empty without one."""
        return self._coded("device")

    @cached_property
    def layer(self) -> Coded:
        """Paths of the Keras layers; empty without one."""
        return self._coded("layer")

    @cached_property
    def function(self) -> Coded:
        """Names of the functions of the nodes."""
        return self._coded("function")

    @cached_property
    def dtype(self) -> Coded:
        """Logical dtypes of output slot 0; empty if unknown or without output."""
        return self._first_slot("output_dtypes", 0)

    @cached_property
    def shape(self) -> Coded:
        """Shapes of output slot 0, as text (see `shape_text`)."""
        texts = self._first_slot("output_shapes", 1)
        return Coded(texts.codes, [shape_text(text) for text in texts.values])

    @cached_property
    def kind(self) -> Coded:
        """Role of each node in the model (`weight`, `gradient`, `loss`, …); empty if unknown."""
        return self._noted("tensortap.kind")

    @cached_property
    def variable(self) -> Coded:
        """Path of the variable that each node reads, updates or computes the gradient of; empty without
        one."""
        return self._noted("tensortap.variable")

    @cached_property
    def frozen_variables(self) -> list[str]:
        """Paths of weights whose gradients are not requested."""
        noted = self._notes.values()
        return sorted(
            {note["tensortap.variable"] for note in noted if note.get("tensortap.trainable") == "false"}
        )

    @cached_property
    def replicas(self) -> dict[int, int]:
        """Row -> replica of a distribution strategy, if there are several."""
        noted = {row: note.get("tensortap.replica", "") for row, note in self._notes.items()}
        return {row: int(replica) for row, replica in noted.items() if replica.isdecimal()}

    @cached_property
    def layer_calls(self) -> list[LayerCall]:
        """One call of each recorded Keras layer, by path: their common facts."""
        calls: dict[str, LayerCall] = {}
        for call in self.about.get("layers", ()):
            calls.setdefault(call.path, call)
        return list(calls.values())

    def returned(self, function: str) -> list[tuple[int, int]]:
        """Row and output slot of each tensor that a function returns; -1 for an unknown node."""
        outputs = self.about.get("functions", {})[function]["outputs"]
        return [parse_input(output, self.rows)[:2] for output in outputs]

    @cached_property
    def name_texts(self) -> Texts:
        """The names, as sent to clients."""
        return Texts.of_column(self._found.names)

    @cached_property
    def path_texts(self) -> Texts:
        """The display paths, as sent to clients; the same object as the names if they are equal."""
        return self.name_texts if self._paths_are_names else Texts.of(self.paths)

    @cached_property
    def slots(self) -> Int32s:
        """Number of outputs of each node."""
        known = [] if self.table is None else self.table.column("output_dtypes").value_lengths().to_numpy()
        return np.concatenate((known, [len(slots) for slots in self._extra_slots])).astype(np.int32)

    @cached_property
    def functions(self) -> dict[str, FunctionInfo]:
        """The functions of the graph by name."""
        functions = self.about.get("functions", {}).items()
        return {name: FunctionInfo(f["caller"], f["role"], f["parent"]) for name, f in functions}

    @cached_property
    def _variables(self) -> set[int]:
        """Rows of the arguments that are variables' handles."""
        ops, dtypes = self.op_type, self.dtype
        if "_Arg" not in ops.values or "resource" not in dtypes.values:
            return set()
        is_argument = np.asarray(ops.codes) == ops.values.index("_Arg")
        is_handle = np.asarray(dtypes.codes) == dtypes.values.index("resource")
        return set(np.flatnonzero(is_argument & is_handle).tolist())

    @cached_property
    def _paths_are_names(self) -> bool:
        """Whether the display paths are the names."""
        return not self.about.get("functions") and self._found.distinct and not self._variables

    @cached_property
    def paths(self) -> list[str]:
        """Display paths (see `display_paths`)."""
        if self._paths_are_names:
            return self.names
        functions = self.about.get("functions", {})
        return display_paths(
            self.names,
            self.function.to_list(),
            functions,
            self.rows,
            self._variables,
            self._known_names,
        )

    @cached_property
    def _known_names(self) -> dict[int, str]:
        """Row -> better name of arguments. One called `unknown`, `unknown_0` … has the path of its variable,
        else the name of the passed tensor's node. `…_resource` has the path of its variable."""
        found: dict[int, str] = {}
        for row in np.flatnonzero(self.op_type.where("_Arg".__eq__)).tolist():
            variable = self._notes.get(row, {}).get("tensortap.variable", "")
            if _UNKNOWN.search(self.names[row]) is None:
                if variable and self.names[row].endswith("_resource"):
                    found[row] = variable
                continue
            passed = ((self.cell("inputs", row) or [""])[0]).partition(":")[0]
            known = variable or found.get(self.rows.get(passed, -1), passed)
            if known:
                found[row] = known
        return found

    @cached_property
    def order(self) -> Int32s:
        """Position of each node in data flow order."""
        return data_flow_order(len(self), self.edges, self._loops_back)

    @cached_property
    def program_order(self) -> Int32s:
        """Position of each node in the data flow order that is closest to the program's."""
        return program_order(len(self), self.edges, self._loops_back)

    @property
    def _loops_back(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        loops = [i for i, op_type in enumerate(self.op_type.values) if op_type in _LOOP_OPS]
        return np.isin(self.op_type.codes, loops)

    def slot_texts(self, row: int) -> list[tuple[str, str]]:
        """(logical dtype, shape as JSON) of each output slot of a node."""
        if row >= self.recorded:
            return list(self._extra_slots[row - self.recorded])
        dtypes, shapes = self.cell("output_dtypes", row), self.cell("output_shapes", row)
        return list(zip_longest(dtypes, shapes[: len(dtypes)], fillvalue=""))

    def cell(self, column: str, row: int) -> Any:
        """Cell of a column for a recorded node; None for others."""
        return (
            self.table.column(column)[row].as_py() if self.table is not None and row < self.recorded else None
        )

    @cached_property
    def _notes(self) -> dict[int, dict[str, str]]:
        """Row -> attributes, of the nodes about which the tap noted anything."""
        if self.table is None:
            return {}
        column = self.table.column("attributes")
        rows = np.flatnonzero(pc.match_substring(column, '"tensortap.').to_numpy(zero_copy_only=False))
        return {row: parse_attributes(column[row].as_py()) for row in rows.tolist()}

    def _noted(self, attribute: str) -> Coded:
        table = StringTable()
        codes = np.full(len(self), table.intern(""), np.int32)
        for row, note in self._notes.items():
            codes[row] = table.intern(note.get(attribute, ""))
        return Coded(codes, table.values)

    def _coded(self, column: str) -> Coded:
        table = StringTable()
        recorded = [] if self.table is None else [table.encode(self.table.column(column))]
        extra = [table.intern("")] * len(self._extra_slots) if self._extra_slots else []
        return Coded(np.concatenate((*recorded, extra)).astype(np.int32), table.values)

    def _first_slot(self, column: str, place: int) -> Coded:
        """A list column's first entries; `place` is the position of the same fact in `slot_texts`."""
        table = StringTable()
        nothing = table.intern("")
        codes = np.full(len(self), nothing, np.int32)
        if self.table is not None:
            lists = self.table.column(column)
            filled = np.flatnonzero(lists.value_lengths().to_numpy())
            first = lists.values.take(pa.array(lists.offsets.to_numpy()[filled]))
            codes[filled] = table.encode(first)
        for row, slots in enumerate(self._extra_slots, self.recorded):
            codes[row] = table.intern(slots[0][place]) if slots else nothing
        return Coded(codes, table.values)


def parse_attributes(text: str | None) -> dict[str, str]:
    """A node's attributes from its JSON; empty if it is not an object."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def shape_text(text: str) -> str:
    """`[32,null,10]` -> `32×?×10`; `[]` -> `scalar`; unknown rank or no shape -> empty."""
    try:
        shape = json.loads(text) if text else None
    except (ValueError, RecursionError):
        shape = None
    if not isinstance(shape, list):
        return ""
    return "×".join("?" if extent is None else str(extent) for extent in shape) or "scalar"


@dataclass(frozen=True, slots=True)
class NameRows:
    """Rows of a graph's nodes: the recorded ones, then the captured ones that were not recorded.

    Attributes:
        names: name of each row.
        distinct: whether no two rows have the same name.
        asked: row of each requested name, the first of equal ones; -1 if there is none.
    """

    names: pa.StringArray
    distinct: bool
    asked: Int32s


def rows_of_names(recorded: pa.StringArray, captured: Collection[str], asked: pa.StringArray) -> NameRows:
    """Adds captured nodes to the recorded ones, and finds the rows of names."""
    known = pa.array(captured, pa.string())
    count, stop = len(recorded), len(recorded) + len(known)
    codes = pa.concat_arrays([recorded, known, asked]).dictionary_encode().indices.to_numpy()
    row_of = np.full(int(codes.max(initial=-1)) + 1, -1, np.int32)
    row_of[codes[:count][::-1]] = np.arange(count - 1, -1, -1)  # backwards: the first of equal names stays
    distinct = count == np.count_nonzero(row_of >= 0)
    new = np.flatnonzero(row_of[codes[count:stop]] < 0)
    new = new[np.sort(np.unique(codes[count:stop][new], return_index=True)[1])]
    row_of[codes[count:stop][new]] = np.arange(count, count + len(new))
    names = pa.concat_arrays([recorded, known.take(pa.array(new))]) if len(new) else recorded
    return NameRows(names, distinct, row_of[codes[stop:]])


def forward_node(name: str, nodes: Container[str]) -> str | None:
    """The node whose gradient `name` computes a part of, if it is in the graph; None for other nodes.

    `gradient_tape/dense/MatMul/MatMul_1` -> `dense/MatMul`; `gradients/dense/Relu_grad/ReluGrad` ->
    `dense/Relu`.
    """
    match = _TAPE.match(name) or _SYMBOLIC.match(name)
    if match is None:
        return None
    parts = match["rest"].split("/")
    for length in range(len(parts), 0, -1):
        candidate = "/".join(parts[:length])
        within = f"{match['above']}/{candidate}" if match["above"] else candidate
        for found in (within, candidate):
            if found in nodes:
                return found
    return None
