"""Names of nodes and functions: the dump's, and a small one for eager operations."""

from __future__ import annotations

from tensortap.core.names import short_function_name, short_function_names, unique_node_names

__all__ = ["short_function_name", "short_function_names", "unique_node_names", "unused"]


def unused(name: str, taken: set[str]) -> str:
    """`name`, or `name_1`, `name_2`, … if that is taken."""
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate
