"""`.npz`: a zip of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipInfo

from tensortap.core.dtypes import Array

from ..errors import RefusedError
from ..zips import ZIP_ERRORS, open_zip
from .npy import read_npy
from .stored_array import StoredArray


def stored_arrays(path: Path) -> Iterator[StoredArray]:
    """The arrays under their names.

    Raises:
        RefusedError: it is no archive of arrays, or beyond a limit.
    """
    with open_zip(path) as archive:
        for member in archive.infolist():

            def load(member: ZipInfo = member) -> Array:  # not its name: several may have the same
                try:
                    with archive.open(member) as file:
                        return read_npy(file, member.file_size, member.filename)
                except ZIP_ERRORS as error:
                    raise RefusedError(f"It cannot be unpacked: {str(error)[:200]}") from error

            yield StoredArray(member.filename.removesuffix(".npy"), load)
