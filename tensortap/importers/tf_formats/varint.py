"""Variable-length integers of files that may be damaged."""

from __future__ import annotations

from tensortap.tfproto.varint import read_varint as read_number

from ..errors import RefusedError


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(the number at `at`, where the next byte is).

    Raises:
        RefusedError: it is cut off, or longer than 64 bits.
    """
    try:
        return read_number(data, at)
    except ValueError as error:
        raise RefusedError("A number is cut off or too long: the file is damaged.") from error
