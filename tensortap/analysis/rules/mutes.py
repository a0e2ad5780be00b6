"""Findings that a user muted for a run: kept in the user's configuration folder, never in the dump."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from platformdirs import user_config_path

from tensortap.index.run_index import RunIndex

from .settings import Settings, SettingsError, check_mute

_LOG = logging.getLogger(__name__)
FILE = "muted.json"
LOCK = "muted.lock"
MAX_BYTES = 1 << 20


def config_folder() -> Path:
    """`TENSORTAP_CONFIG_DIR`, or `tensortap` in the place where this system keeps users' configuration."""
    chosen = os.environ.get("TENSORTAP_CONFIG_DIR")
    if chosen:
        return Path(chosen)
    return user_config_path("tensortap", appauthor=False, roaming=True)


def with_mutes(run: RunIndex, settings: Settings) -> Settings:
    """Settings, with what is muted for a run."""
    return replace(settings, mute=[*settings.mute, *mutes_of(run)])


def mutes_of(run: RunIndex) -> list[str]:
    """What is muted for a run: `Rule`, or `Rule: regular expression` for some of its tensors. Nothing, where
    the file is spoilt: what is wrong with a run is shown all the same."""
    try:
        return _read().get(_key(run), [])
    except SettingsError as error:
        _LOG.warning("%s %s", error.message, error.hint)
        return []
    except OSError as error:
        _LOG.warning("what is muted cannot be read: %s", error)
        return []


def mute(run: RunIndex, entry: str) -> None:
    """Mutes a rule for a run.

    Raises:
        SettingsError: its pattern is no regular expression, or the file is spoilt: what it may hold of other
            runs is not overwritten; or the file is full. OSError: the file cannot be read or written.
    """
    check_mute(entry)
    with _alone():
        known = _read()
        mine = known.setdefault(_key(run), [])
        if entry not in mine:
            mine.append(entry)
            _write(known)


def unmute(run: RunIndex, entry: str) -> None:
    """Takes an entry back.

    Raises:
        SettingsError: it is not muted, or the file is spoilt. OSError: the file cannot be read or written.
    """
    with _alone():
        known = _read()
        mine = known.get(_key(run), [])
        if entry not in mine:
            raise SettingsError(
                f"{entry!r} is not muted in this run.", f"Muted are: {', '.join(mine) or 'none'}."
            )
        mine.remove(entry)
        _write({key: entries for key, entries in known.items() if entries})


def _key(run: RunIndex) -> str:
    """The run wherever its folder is moved: its name and when it was created."""
    return f"{run.name}@{run.created:.6f}"


def _read() -> dict[str, list[str]]:
    """Key of a run -> its entries. Raises SettingsError and OSError."""
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
        raise SettingsError(
            f"{path} does not hold what was muted: it is spoilt, or larger than {MAX_BYTES:,} bytes.",
            "Mend it, or move it away; then nothing is muted.",
        )
    return {key: [entry for entry in mine if isinstance(entry, str)] for key, mine in found.items()}


def _write(known: dict[str, list[str]]) -> None:
    folder = config_folder()
    text = json.dumps(known, indent=2)
    if len(text) > MAX_BYTES:
        raise SettingsError(
            f"{folder / FILE} would be larger than {MAX_BYTES:,} bytes.",
            "Take back what is muted in runs that are gone, or mute by shorter patterns.",
        )
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=FILE, suffix=".tmp", delete=False) as file:
        written = Path(file.name)
        try:
            file.write(text)
            file.close()  # a full disk may say so no earlier
            written.replace(folder / FILE)
        except OSError:
            written.unlink(missing_ok=True)
            raise


@contextmanager
def _alone() -> Iterator[None]:
    """Changes of several processes follow each other, so that none is lost; not on Windows, and on disks
    without locks: there, of two at once the last one counts."""
    folder = config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("ab") as file:
        if sys.platform != "win32":
            import fcntl

            with suppress(OSError):  # the file system knows no locks
                fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed
        yield
