"""Which ops a recorded call may hold: it came from a file, and running it must not reach anything else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensortap.dump import InvalidValueError

from . import tf_private
from .obstacles import NEXT_OPS, acts_on_variables

_CALLS = frozenset(
    {"StatefulPartitionedCall", "While", "If", "Case", "Assert", "CheckNumerics", "CheckNumericsV2"}
)
# Not stateful in TensorFlow's eyes, but they read files, run code, or reach other machines.
_OUTWARD = frozenset(
    {
        "DebugIdentity",
        "DebugIdentityV2",
        "DebugIdentityV3",
        "DebugNanCount",
        "DebugNumericSummary",
        "DebugNumericSummaryV2",
        "DecodeProtoV2",
        "EncodeProto",
        "MatchingFiles",
        "PyFuncStateless",
        "ReadFile",
        "RemoteCall",
        "Restore",
        "RestoreSlice",
        "RestoreV2",
        "SaveV2",
        "WriteFile",
    }
)
_WITHIN_THE_CALL = ("TensorArray", "Stack", "TensorList")


def check_allowed(definitions: Iterable[Any]) -> None:
    """Refuses functions with ops that reach files, the network, Python, or state outside of the call.

    Raises:
        InvalidValueError: names the first such op.
    """
    for definition in definitions:
        for node in definition.node_def:
            if not is_allowed(node.op):
                raise InvalidValueError(
                    f"The recording holds the op {node.op} (node {node.name[:120]!r}), which is not run.",
                    "Only ops that compute, and variables of the recording, are run again.",
                )


def is_allowed(op_type: str) -> bool:
    """Whether an op only computes, or acts on the variables and iterators that it is given."""
    if op_type in _OUTWARD or not tf_private.is_known(op_type):
        return False
    if not tf_private.is_stateful(op_type):
        return True
    if op_type in _CALLS or op_type in NEXT_OPS:
        return True
    return op_type.startswith(_WITHIN_THE_CALL) or acts_on_variables(op_type)
