"""What-ifs as a JSON file beside the run, or in the user's data folder where the run cannot be written to."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, InvalidValueError
from tensortap.system.user_dirs import USER_DIRS

from .what_ifs import WhatIfs

FILE = "what-ifs.json"
MAX_BYTES = 4 << 20
_FORMAT = "tensortap what-ifs"


def read_what_ifs(source: Path) -> WhatIfs:
    """Those that were saved for a recording or bundle; none if there is no file.

    Raises:
        DamagedError: the file makes no sense.
    """
    return WhatIfs.of(_recordings(source).get(_key(source), {}))


def write_what_ifs(source: Path, what_ifs: WhatIfs) -> Path:
    """Saves them, beside those of other recordings of the run. Returns the file; nothing of the dump changes.

    Raises:
        DamagedError: the file that is there makes no sense, and is left as it is.
        InvalidValueError: they would be more than is read again; nothing is written.
        OSError: neither place can be written to.
    """
    recordings = _recordings(source) | {_key(source): what_ifs.as_record()}
    text = json.dumps({"format": _FORMAT, "version": 1, "recordings": recordings}, indent=1)
    if len(text.encode()) > MAX_BYTES:
        raise InvalidValueError(
            f"The what-ifs of the run take more than {MAX_BYTES:,} bytes.", "Drop some, or some changes."
        )
    beside, own = _places(source)
    try:
        return _write(beside, text)
    except OSError:
        return _write(own, text)


def _key(source: Path) -> str:
    return source.name


def _places(source: Path) -> tuple[Path, Path]:
    if source.is_file():
        beside, of = source.with_name(f"{source.name}.{FILE}"), source
    else:
        of = source.parent.parent
        beside = of / FILE
    digest = hashlib.sha256(str(of.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return beside, USER_DIRS.user_data_path / "what-ifs" / f"{digest}.json"


def _recordings(source: Path) -> dict[str, Any]:
    """By recording, from the file that was written last."""
    # A link could lead out of the log directory, and is none of ours: one is replaced, never written through.
    found = [path for path in _places(source) if path.is_file() and not path.is_symlink()]
    if not found:
        return {}
    path = max(found, key=lambda each: each.stat().st_mtime)
    if path.stat().st_size > MAX_BYTES:
        raise DamagedError(f"{path.name} is larger than {MAX_BYTES:,} bytes.", "Move it away.")
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path.name} is not JSON.", "Move it away.") from error
    recordings = record.get("recordings") if isinstance(record, dict) else None
    if not isinstance(recordings, dict) or record.get("format") != _FORMAT:
        raise DamagedError(f"{path.name} holds no what-ifs.", "Move it away.")
    return recordings


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        return temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
