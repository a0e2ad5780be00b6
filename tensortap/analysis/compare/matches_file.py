"""Matches edited by hand, in a small JSON file wherever the user keeps it; never in the dump."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tensortap.core.errors import InvalidValueError

VERSION = 1
MAX_BYTES = 16 << 20
_HINT = 'It looks like {"tensortap_matches": 1, "nodes": {"node in A": "node in B"}}.'


def read_matches(path: Path) -> dict[str, str]:
    """Node in A -> node in B.

    Raises:
        InvalidValueError: the file is no such file. OSError: it cannot be read.
    """
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise InvalidValueError(f"{path.name} has more than {MAX_BYTES >> 20} MiB.", _HINT)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"{path.name} is no JSON: {error}", _HINT) from None
    version = found.get("tensortap_matches") if isinstance(found, dict) else None
    if version != VERSION:
        raise InvalidValueError(f"{path.name} is no file of matches of version {VERSION}.", _HINT)
    nodes = found.get("nodes")
    if not isinstance(nodes, dict) or not all(isinstance(node, str) for node in nodes.values()):
        raise InvalidValueError(f'The "nodes" of {path.name} are no pairs of names.', _HINT)
    return nodes


def write_matches(path: Path, nodes: Mapping[str, str]) -> None:
    """Writes pairs that `read_matches` reads.

    Raises:
        OSError: the file cannot be written.
    """
    data = {"tensortap_matches": VERSION, "nodes": dict(nodes)}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
