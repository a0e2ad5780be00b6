"""TFRecord files: records framed by their length, both with checksums."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from ..source_files import file_size, open_file
from .leveldb_table import masked_crc32c
from .protos import MAX_MESSAGE

_HEAD, _TAIL = struct.Struct("<QI"), struct.Struct("<I")


def records(path: Path, note: Callable[[str], None]) -> Iterator[bytes]:
    """The records up to the end, or up to the first that is cut off or damaged, which is noted."""
    with open_file(path) as file:
        size, at, count = file_size(file), 0, 0
        while at < size:
            head = file.read(_HEAD.size)
            length, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, None)
            if checksum is None:
                note(f"{path.name} ends in a record that is cut off: {count:,} whole records were read.")
                return
            if masked_crc32c(head[:8]) != checksum or length > MAX_MESSAGE:
                note(f"{path.name} is damaged behind record {count:,}: what follows cannot be found.")
                return
            if at + _HEAD.size + length + _TAIL.size > size:
                note(f"{path.name} ends in a record that is cut off: {count:,} whole records were read.")
                return
            data, tail = file.read(length), file.read(_TAIL.size)
            at += _HEAD.size + length + _TAIL.size
            count += 1
            if len(tail) != _TAIL.size or masked_crc32c(data) != _TAIL.unpack(tail)[0]:
                note(f"{path.name}: record {count:,} is damaged and was left out.")
                continue
            yield data
