"""Zip archives, bounded: what they would unpack to is checked before anything is."""

from __future__ import annotations

import contextlib
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from .errors import RefusedError
from .source_files import file_size, open_file

MAX_MEMBERS = 1_000_000
MAX_UNPACKED = 64 << 30  # bytes of all members
MAX_RATIO = 1_100  # deflate's own limit is 1,032 to 1: more is a lie
ZIP_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError, EOFError,
    ValueError, struct.error, OverflowError, IndexError, KeyError,
)  # fmt: skip


@contextlib.contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive whose members are stored or deflated, and not encrypted.

    Raises:
        RefusedError: it is damaged or beyond a limit.
    """
    with open_file(path) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (*ZIP_ERRORS, OSError) as error:
            raise RefusedError(f"{path.name} is no zip archive, or a damaged one: {error}") from error
        with archive:
            _check(archive, path.name, file_size(file))
            yield archive


def _check(archive: zipfile.ZipFile, what: str, length: int) -> None:
    members = archive.infolist()
    if sum(member.compress_size for member in members) > length:
        raise RefusedError(f"The members of {what} overlap: together they have more bytes than it.")
    if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_UNPACKED:
        raise RefusedError(f"{what} would unpack to more than 64 GiB or {MAX_MEMBERS:,} files.")
    for member in members:
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RefusedError(
                f"{what}: {member.filename[:100]!r} is encrypted, or neither stored nor deflated."
            )
        if member.header_offset < 0:
            raise RefusedError(f"{what}: {member.filename[:100]!r} begins before the archive.")
        if member.file_size > MAX_RATIO * member.compress_size + 1024:
            raise RefusedError(
                f"{what}: {member.filename[:100]!r} says that {member.compress_size:,} bytes unpack to "
                f"{member.file_size:,}, which is not possible."
            )
