"""What log directories are called where several of them are on show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath


def names_of(logdirs: Sequence[Path]) -> list[str]:
    """A name for each: its own, with as much of the path before it as tells it from the others, but no more:
    where they are is nobody else's business."""
    paths = [logdir.resolve() for logdir in logdirs]
    return [_shortest(path, set(paths) - {path}) for path in paths]


def _shortest(path: Path, others: set[Path]) -> str:
    for length in range(1, len(path.parts)):
        end = path.parts[-length:]
        if all(other.parts[-length:] != end for other in others):
            return PurePath(*end).as_posix()
    return path.as_posix()
