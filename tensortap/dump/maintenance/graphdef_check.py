"""Checks that a GraphDef is whole: the file has no checksum, but its messages say how long they are."""

from __future__ import annotations

from collections.abc import Iterator

from tensortap.core.errors import DamagedError
from tensortap.tfproto.proto_classes import read_varint

from ..format.graphs import read_graph_def
from ..read.runs import RunReader

_FIXED = {1: 8, 5: 4}  # bytes of the wire types of fixed length
_BYTES = 2  # the wire type of what says its length


def check_graph_def(reader: RunReader, graph_id: str) -> None:
    """Reads the GraphDef of a graph, if it has one.

    Raises:
        DamagedError: it was cut, or is none.
    """
    try:
        data = read_graph_def(reader.path, graph_id)
    except FileNotFoundError:
        return
    for field, start, end in _fields(data, 0, len(data)):
        if field in (1, 2):  # a node, the library
            for _ in _fields(data, start, end):
                pass


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, begin, end) of the fields of a message."""
    while at < end:
        try:
            key, at = read_varint(data, at, end)
            start = at
            if key & 7 == _BYTES:
                length, start = read_varint(data, at, end)
                at = start + length
            elif key & 7 == 0:
                _, at = read_varint(data, at, end)
            else:
                at += _FIXED.get(key & 7, end)
        except ValueError as error:
            raise _damaged(at) from error
        if at > end or not key >> 3:
            raise _damaged(start)
        yield key >> 3, start, at


def _damaged(at: int) -> DamagedError:
    return DamagedError(f"Its GraphDef is cut or damaged at byte {at}.", "Copy the .pb file again.")
