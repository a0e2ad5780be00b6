"""Reads the FlatBuffers header of an Arrow message, to check it before Arrow decodes it.

Arrow allocates the sizes in a message. This reads the sizes first and checks every offset.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tensortap.core.errors import DamagedError

RECORD_BATCH = 3  # MessageHeader.RecordBatch in Arrow's Message.fbs
_U8, _U16, _U32, _I32, _I64 = map(struct.Struct, ("<B", "<H", "<I", "<i", "<q"))
_PAIR = struct.Struct("<qq")
_MAX_ITEMS = 10_000  # buffers of one record batch, custom metadata entries


@dataclass(frozen=True, slots=True)
class Message:
    """The metadata of one encapsulated message.

    `nodes` are (length, null count) of each column and its children, in order. `buffers` are (offset, length)
    in the body; `compressed` tells whether each starts with its decoded length.
    """

    kind: int
    body_length: int
    rows: int
    nodes: tuple[tuple[int, int], ...]
    buffers: tuple[tuple[int, int], ...]
    compressed: bool
    custom: dict[bytes, bytes]


def parse_message(data: bytes) -> Message:
    """Reads the FlatBuffer of a message.

    Raises:
        DamagedError: an offset leads outside, or a number is invalid.
    """
    try:
        return _message(_Table(data, _unpack(data, _U32, 0)))
    except (struct.error, IndexError) as error:
        raise DamagedError("The metadata of a message is invalid.") from error


def _unpack(data: bytes, form: struct.Struct, at: int) -> int:
    if at < 0:
        raise IndexError(at)
    found: int = form.unpack_from(data, at)[0]
    return found


class _Table:
    """A FlatBuffers table: field number -> position, by way of its vtable."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at
        self._vtable = at - _unpack(data, _I32, at)
        self._size = _unpack(data, _U16, self._vtable)

    def field(self, number: int) -> int | None:
        slot = 4 + 2 * number
        if slot + 2 > self._size:
            return None
        offset = _unpack(self.data, _U16, self._vtable + slot)
        return self.at + offset if offset else None

    def scalar(self, number: int, form: struct.Struct) -> int:
        at = self.field(number)
        return 0 if at is None else _unpack(self.data, form, at)

    def follow(self, number: int) -> int | None:
        at = self.field(number)
        return None if at is None else at + _unpack(self.data, _U32, at)

    def table(self, number: int) -> _Table | None:
        at = self.follow(number)
        return None if at is None else _Table(self.data, at)

    def vector(self, number: int) -> tuple[int, int]:
        """(position of the first item, number of items)."""
        at = self.follow(number)
        if at is None:
            return 0, 0
        count = _unpack(self.data, _U32, at)
        if count > _MAX_ITEMS:
            raise IndexError(count)
        return at + 4, count

    def pairs(self, number: int) -> tuple[tuple[int, int], ...]:
        """A vector of structs of two int64."""
        start, count = self.vector(number)
        if start + 16 * count > len(self.data):
            raise IndexError(count)
        return tuple(_PAIR.iter_unpack(self.data[start : start + 16 * count]))

    def text(self, number: int) -> bytes:
        start, count = self.vector(number)
        if start + count > len(self.data):
            raise IndexError(count)
        return self.data[start : start + count]


def _message(table: _Table) -> Message:
    kind = table.scalar(1, _U8)
    batch = table.table(2) if kind == RECORD_BATCH else None
    return Message(
        kind=kind,
        body_length=table.scalar(3, _I64),
        rows=batch.scalar(0, _I64) if batch is not None else 0,
        nodes=batch.pairs(1) if batch is not None else (),
        buffers=batch.pairs(2) if batch is not None else (),
        compressed=batch is not None and batch.field(3) is not None,
        custom=_custom(table),
    )


def _custom(table: _Table) -> dict[bytes, bytes]:
    start, count = table.vector(4)
    found = {}
    for i in range(count):
        at = start + 4 * i
        pair = _Table(table.data, at + _unpack(table.data, _U32, at))
        found[pair.text(0)] = pair.text(1)
    return found
