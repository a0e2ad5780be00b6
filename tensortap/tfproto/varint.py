"""Variable-length integers, seven bits a byte, the lowest first."""

from __future__ import annotations


def read_varint(data: bytes, at: int, end: int | None = None) -> tuple[int, int]:
    """(the number at `at`, where the next byte is).

    Args:
        end: where the data ends, if not at its own end.

    Raises:
        ValueError: it is cut off, or longer than 64 bits.
    """
    value = 0
    last = len(data) if end is None else end
    for shift in range(0, 70, 7):
        if at >= last:
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(f"a number is cut off or too long at byte {at}")
