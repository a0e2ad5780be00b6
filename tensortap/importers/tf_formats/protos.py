"""TensorFlow's messages and record files for importers: damaged ones are refused or noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from google.protobuf.message import DecodeError

from tensortap.tfproto.proto_classes import MAX_MESSAGE, Message, new_message
from tensortap.tfproto.proto_classes import read_varint as read_number
from tensortap.tfproto.tfrecord import read_records

from ..errors import RefusedError
from ..safe_io import file_size, open_file


def parse(kind: str, data: bytes, what: str) -> Message:
    """The message of that kind in `data`.

    Raises:
        RefusedError: it is not one, or larger than 1 GiB; the sentence calls it `what`.
    """
    if len(data) > MAX_MESSAGE:
        raise RefusedError(f"{what} takes {len(data):,} bytes; the limit of one message is 1 GiB.")
    message = new_message(kind)
    try:
        message.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"{what} is damaged: it does not parse as a {kind}.") from error
    return message


def records(path: Path, note: Callable[[str], None]) -> Iterator[bytes]:
    """The records of a TFRecord file; calls `note` about damage. Raises RefusedError, OSError."""
    with open_file(path) as file:
        yield from read_records(file, file_size(file), path.name, note)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(the number at `at`, where the next byte is).

    Raises:
        RefusedError: it is truncated, or longer than 64 bits.
    """
    try:
        return read_number(data, at)
    except ValueError as error:
        raise RefusedError("A number is truncated or too long: the file is damaged.") from error
