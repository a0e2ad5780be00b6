"""Files that commands write, also to addresses: made on the disk, then uploaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tensortap.core.errors import InvalidNameError, RemoteError
from tensortap.storage.filesystem import exists
from tensortap.storage.uri import is_remote, put_file, shown_path
from tensortap.system.temp_dirs import temporary_folder


@contextmanager
def to_be_written(target: Path) -> Iterator[Path]:
    """Where to write a file, or a folder of files, that is to lie at `target`; an address gets it at the end.

    Raises:
        InvalidNameError: there is something at the address. RemoteError: it cannot be looked at, or refuses.
    """
    if not is_remote(target):
        yield target
        return
    if exists(target):
        raise InvalidNameError(f"{shown_path(target)} exists.", "Remove it, or choose another name.")
    with temporary_folder() as folder:
        made = folder / target.name
        yield made
        for file in sorted(made.rglob("*")) if made.is_dir() else [made]:
            if file.is_file():
                _put(file, target / file.relative_to(made))


def _put(file: Path, target: Path) -> None:
    try:
        put_file(file, target)
    except OSError as error:
        raise RemoteError(
            f"{shown_path(target)}: {error.strerror}.", "Write to a disk, and copy it there."
        ) from None
