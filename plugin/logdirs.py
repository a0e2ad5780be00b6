"""TensorBoard's `--logdir` and `--logdir_spec` as local directories."""

from __future__ import annotations

import re

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")


def local_logdirs(logdir: str | None, logdir_spec: str | None) -> list[str]:
    """The directories that can be read: `logdir`, or those of a spec `name:path,path2`.

    Remote ones (`gs://…`) are left out: they are read by `tensortap serve`, with the keys of who starts it.
    """
    paths = [logdir] if logdir else [_path(part) for part in (logdir_spec or "").split(",")]
    return [path for path in paths if path and not _REMOTE.match(path)]


def _path(part: str) -> str:
    """`"name:path"` -> `"path"`; a drive (`C:\\logs`) and an address (`gs://…`) are no names."""
    name, colon, path = part.strip().partition(":")
    if (
        not colon
        or path.startswith("//")
        or (len(name) == 1 and path.startswith(("\\", "/")) and name.isupper())
    ):
        return part.strip()
    return path
