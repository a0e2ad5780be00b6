"""Variable-length integers, seven bits a byte, the lowest first."""

from __future__ import annotations

from .refused import RefusedError


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(the number at `at`, where the next byte is).

    Raises:
        RefusedError: it is cut off, or longer than 64 bits.
    """
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise RefusedError("A number is cut off or too long: the file is damaged.")
