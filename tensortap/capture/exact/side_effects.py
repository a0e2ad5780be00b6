"""Reasons why a function cannot run twice, once as a shadow: state that cannot be copied, effects on the
world outside."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tensortap.tf import internals
from tensortap.tf.function_library import TracedFunction
from tensortap.tf.random_ops import RANDOM_OPS

# They act on variables only, and the shadow is given copies of these; generators of random numbers are
# variables, too.
_ON_VARIABLES = frozenset(
    {
        "ReadVariableOp",
        "AssignVariableOp",
        "AssignAddVariableOp",
        "AssignSubVariableOp",
        "VarIsInitializedOp",
        "VariableShape",
        "RngReadAndSkip",
        "RngSkip",
        "StatefulRandomBinomial",
        "StatefulStandardNormal",
        "StatefulStandardNormalV2",
        "StatefulTruncatedNormal",
        "StatefulUniform",
        "StatefulUniformFullInt",
        "StatefulUniformInt",
    }
)
_ON_VARIABLES_PREFIXES = (
    "ResourceApply",
    "ResourceSparseApply",
    "ResourceScatter",
    "ResourceGather",
    "ResourceStridedSliceAssign",
    "ResourceCountUpTo",
)
_READING = frozenset(
    {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp", "VariableShape"}
)
# TensorFlow calls them stateful, but running them twice changes nothing.
_REPEATABLE = frozenset(
    {
        "Assert",
        "CheckNumerics",
        "CheckNumericsV2",
        "Empty",
        "LookupTableExportV2",
        "LookupTableFindV2",
        "LookupTableSizeV2",
        "MatchingFiles",
        "NcclAllReduce",
        "ReadFile",
        "RestoreV2",
        "StatefulPartitionedCall",
        "While",
        "If",
        "Case",
        "Timestamp",
        "_Arg",
    }
)
_REPEATABLE_PREFIXES = ("TensorArray", "Stack")  # created and deleted within the call
NEXT_OPS = frozenset({"IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional"})
"""They draw from an iterator; the shadow is given one of its own."""

MUTED = frozenset(
    {
        "PrintV2",
        "FlushSummaryWriter",
        "WriteAudioSummary",
        "WriteGraphSummary",
        "WriteHistogramSummary",
        "WriteImageSummary",
        "WriteRawProtoSummary",
        "WriteScalarSummary",
        "WriteSummary",
    }
)
"""Their only effect is what they print or write; the shadow leaves it to the step itself."""

_REASONS = {
    **dict.fromkeys(RANDOM_OPS, "draws random numbers from an op with its own state"),
    **dict.fromkeys(("PyFunc", "EagerPyFunc"), "calls Python code, whose effects cannot be undone"),
    "VarHandleOp": "looks up a variable by name",
    "LookupTableInsertV2": "changes a lookup table",
    "LookupTableImportV2": "changes a lookup table",
    "LookupTableRemoveV2": "changes a lookup table",
}


def find_side_effect(functions: Mapping[str, TracedFunction], repeatable: Collection[str] = ()) -> str:
    """Why a function cannot have a shadow: `it changes a lookup table (node …)`; empty if it can.

    Args:
        repeatable: further op types that may run twice.
    """
    for function in functions.values():
        for node in function.definition.node_def:
            reason = "" if node.op in repeatable else _reason(node.op)
            if reason:
                return f"it {reason} (node {node.name!r}, {node.op})"
    return ""


def iterator_draw(functions: Mapping[str, TracedFunction]) -> str:
    """The effect of drawing from an iterator, which cannot be undone; empty without a draw."""
    for function in functions.values():
        for node in function.definition.node_def:
            if node.op in NEXT_OPS:
                return f"it already took an element from an iterator (node {node.name!r})"
    return ""


def acts_on_variables(op_type: str) -> bool:
    """Whether a stateful op only reads or changes the variables that it gets."""
    return op_type in _ON_VARIABLES or op_type.startswith(_ON_VARIABLES_PREFIXES)


def changes_variables(functions: Mapping[str, TracedFunction]) -> bool:
    """Whether one of the functions does more with variables than to read them."""
    ops = {node.op for function in functions.values() for node in function.definition.node_def}
    return any(acts_on_variables(op) and op not in _READING for op in ops)


def _reason(op_type: str) -> str:
    if op_type in _REASONS:
        return _REASONS[op_type]
    if not internals.is_stateful(op_type) or op_type in _REPEATABLE | NEXT_OPS | MUTED:
        return ""
    if acts_on_variables(op_type) or op_type.startswith(_REPEATABLE_PREFIXES):
        return ""
    if "Dataset" in op_type or "Iterator" in op_type:
        return "iterates over a dataset inside the function"
    if op_type.startswith("Collective"):
        return "exchanges tensors with other processes" if internals.has_cluster() else ""
    return "changes something that cannot be copied"
