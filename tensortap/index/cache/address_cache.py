"""What an address answered the last time: folders to list at once, and small files to use if unchanged.

Without it, each folder is listed after its parent, and each listing waits for an answer.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from tensortap.storage.uri import remote_of
from tensortap.system.user_dirs import is_own_folder

from .cache_folders import claim, run_folder, touch
from .container import ContainerError, read_container, write_container
from .saved_run import VERSION

_FILE = "address.index"
_MOST_FOLDERS = 64  # that are listed before it is known that they are needed


class AddressCache:
    """A file in the cache about one log directory; does nothing for those on a disk. Not thread-safe."""

    def __init__(self, cache: Path, logdir: Path) -> None:
        self._cache, self._logdir = cache, logdir
        self._folder = run_folder(cache, logdir, VERSION)
        self._remote = remote_of(logdir)
        self._stored: object = None

    def recall(self) -> None:
        """Lists the folders that were listed the last time, all at once, and takes over small files."""
        if self._remote is None or not is_own_folder(self._folder):
            return
        with contextlib.suppress(ContainerError, KeyError, TypeError, ValueError):
            about, arrays = read_container(self._folder / _FILE)
            small = {
                str(name): ((int(size), int(time), int(etag)), arrays[str(at)].tobytes())
                for at, (name, size, time, etag) in enumerate(about["files"])
            }
            self._remote[0].restore(small)
            self._remote[0].prefetch(map(str, about["folders"][:_MOST_FOLDERS]))
            touch(self._folder)

    def store(self) -> None:
        """Stores what is known now, if that differs and is possible."""
        if self._remote is None:
            return
        folders, small = self._remote[0].known()
        state = folders, {name: version for name, (version, _) in small.items()}
        if state == self._stored or not small:
            return
        self._stored = state
        about = {"folders": folders, "files": [[name, *version] for name, (version, _) in small.items()]}
        arrays = {str(at): np.frombuffer(data, np.uint8) for at, (_, data) in enumerate(small.values())}
        with contextlib.suppress(OSError):
            claim(self._cache, self._folder, self._logdir)
            write_container(self._folder / _FILE, about, arrays)
