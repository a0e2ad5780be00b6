"""Findings that the user muted, by run: a file in the user's configuration folder, never in the dump."""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from tensortap.core.errors import TensortapError
from tensortap.system.user_dirs import config_folder

_LOG = logging.getLogger(__name__)
FILE = "muted.json"
LOCK = "muted.lock"
MAX_BYTES = 1 << 20


class MutedFindingsError(TensortapError):
    """The file is damaged or full, or does not contain the entry to remove. The hint has the fix."""


class IdentifiedRun(Protocol):
    """Identity of a run, which stays the same when its folder is moved."""

    @property
    def name(self) -> str:
        """The run's name."""

    @property
    def created(self) -> float:
        """When it was created, in seconds since 1970."""


def mutes_of(run: IdentifiedRun) -> list[str]:
    """Mutes of a run: `Rule`, or `Rule: regular expression` for some of its tensors. Empty if
    the file is damaged: findings are shown all the same."""
    try:
        return _read().get(_key(run), [])
    except MutedFindingsError as error:
        _LOG.warning("%s %s", error.message, error.hint)
        return []
    except OSError as error:
        _LOG.warning("muted findings cannot be read: %s", error)
        return []


def mute(run: IdentifiedRun, entry: str) -> None:
    """Mutes a rule for a run.

    Args:
        entry: as `tensortap.analysis.rules.settings.check_mute` returns it.

    Raises:
        MutedFindingsError: the file is damaged, so that entries of other runs would be overwritten, or full.
        OSError: the file cannot be read or written.
    """
    with _locked():
        known = _read()
        mine = known.setdefault(_key(run), [])
        if entry not in mine:
            mine.append(entry)
            _write(known)


def unmute(run: IdentifiedRun, entry: str) -> None:
    """Removes an entry.

    Raises:
        MutedFindingsError: it is not muted, or the file is damaged.
        OSError: the file cannot be read or written.
    """
    with _locked():
        known = _read()
        mine = known.get(_key(run), [])
        if entry not in mine:
            raise MutedFindingsError(
                f"{entry!r} is not muted in this run.", f"Muted findings: {', '.join(mine) or 'none'}."
            )
        mine.remove(entry)
        _write({key: entries for key, entries in known.items() if entries})


def _key(run: IdentifiedRun) -> str:
    """The run wherever its folder is moved: its name and when it was created."""
    return f"{run.name}@{run.created:.6f}"


def _read() -> dict[str, list[str]]:
    """Key of a run -> its entries. Raises MutedFindingsError and OSError."""
    path = config_folder() / FILE
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:  # nothing was muted yet
        return {}
    try:
        found = json.loads(data) if len(data) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(mine, list) for mine in found.values()):
        raise MutedFindingsError(
            f"{path} is not a list of muted findings: it is damaged, or larger than {MAX_BYTES:,} bytes.",
            "Repair or move the file; then no findings are muted.",
        )
    return {key: [entry for entry in mine if isinstance(entry, str)] for key, mine in found.items()}


def _write(known: dict[str, list[str]]) -> None:
    folder = config_folder()
    text = json.dumps(known, indent=2)
    if len(text) > MAX_BYTES:
        raise MutedFindingsError(
            f"{folder / FILE} would be larger than {MAX_BYTES:,} bytes.",
            "Unmute findings of deleted runs, or mute by shorter patterns.",
        )
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=FILE, suffix=".tmp", delete=False) as file:
        written = Path(file.name)
        try:
            file.write(text)
            file.close()  # a full disk may raise only here
            written.replace(folder / FILE)
        except OSError:
            written.unlink(missing_ok=True)
            raise


@contextmanager
def _locked() -> Iterator[None]:
    """Serializes changes of several processes, so that none is lost. Not on Windows, or on disks without
    locks: there the last of two concurrent changes wins."""
    folder = config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("ab") as file:
        if sys.platform != "win32":
            import fcntl

            with suppress(OSError):  # the file system knows no locks
                fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed
        yield
