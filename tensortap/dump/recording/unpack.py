"""Unpacks a bundle into a run: copies its blobs piece by piece, and checks their hashes."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError

from .blobs import LARGE, SMALL, large_name
from .bundle import ZIP_ERRORS
from .recording_files import FOLDER, MANIFEST

_HASH = re.compile(r"[0-9a-f]{64}\Z")
_PIECE = 1 << 20
_MAX_STEP, _MAX_CALL = (1 << 63) - 1, 999_999_999


def unpack_bundle(archive: zipfile.ZipFile, manifest: Mapping[str, Any], run_dir: Path) -> None:
    """Adds the recording in an open bundle to a run, which nobody reads yet.

    What its members would unpack to is for the caller to limit.

    Args:
        manifest: as `read_bundle_manifest` gives it; that of the run, so that its `graph` may be another.

    Raises:
        DamagedError: its step is none, or bytes are missing or not those that were written.
        OSError: the disk refuses.
    """
    base = run_dir / FOLDER
    (base / LARGE).mkdir(parents=True, exist_ok=True)
    folder = base / _name(manifest)
    folder.mkdir()
    _copy(archive, SMALL, folder / SMALL)
    for digest in sorted(_large(manifest)):
        name = large_name(digest)
        if _copy(archive, f"{LARGE}/{name}", base / LARGE / name) != digest:
            raise DamagedError(f"{name} of the bundle fails its checksum.", "Copy the bundle again.")
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def _name(manifest: Mapping[str, Any]) -> str:
    """The folder of a recording tells its step and call."""
    step, call = manifest.get("step"), manifest.get("call")
    for number, most in ((step, _MAX_STEP), (call, _MAX_CALL)):
        if type(number) is not int or not 0 <= number <= most:
            raise DamagedError(
                f"The bundle is of step {step!r:.40} and call {call!r:.40}, which is not possible."
            )
    return f"{step}-{call}-{uuid.uuid4().hex[:8]}"


def _large(manifest: Mapping[str, Any]) -> set[str]:
    """Hashes of the blobs that have a file of their own."""
    return {
        digest
        for reference in _references(manifest)
        if reference.get("at") is None
        and isinstance(digest := reference["sha256"], str)
        and _HASH.match(digest)
    }


def _references(manifest: object) -> Iterator[dict[str, Any]]:
    waiting = [manifest]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if "sha256" in each:
                yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _copy(archive: zipfile.ZipFile, name: str, to: Path) -> str:
    """Unpacks a member; returns the hash of its bytes."""
    digest = hashlib.sha256()
    try:
        with archive.open(name) as member, to.open("xb") as file:
            while piece := member.read(_PIECE):
                digest.update(piece)
                file.write(piece)
    except ZIP_ERRORS as error:
        raise DamagedError(
            f"{name} of the bundle cannot be read: {error}.", "Copy the bundle again."
        ) from error
    return digest.hexdigest()
