"""What-ifs: named lists of changes to the tensors of one recorded call, with undo, and their file.

The file is JSON beside the run, or in the user's data folder where the run cannot be written to.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, InvalidValueError, NotFoundError, SelectionError
from tensortap.system.user_dirs import USER_DIRS

AS_RECORDED = ""
"""The name of the call without changes."""
MOST = 50
MOST_CHANGES = 500
_LONGEST_NAME = 60
_LONGEST_TEXT = 4096
FILE = "what-ifs.json"
MAX_BYTES = 4 << 20
_FORMAT = "tensortap what-ifs"


@dataclass(frozen=True, slots=True)
class TensorChange:
    """A tensor name, and an expression over it (docs/replay.md)."""

    tensor: str
    expression: str


@dataclass(slots=True)
class _Changes:
    made: list[TensorChange] = field(default_factory=list)
    undone: list[TensorChange] = field(default_factory=list)


class WhatIfs:
    """The what-ifs of one recorded call; one of them, or the recorded call, is current."""

    def __init__(self) -> None:
        self.current = AS_RECORDED
        self._all: dict[str, _Changes] = {}

    @property
    def names(self) -> list[str]:
        """Names of the what-ifs, in the order in which they were begun."""
        return list(self._all)

    def changes(self, name: str | None = None) -> tuple[TensorChange, ...]:
        """Changes of a what-if, by default the current one.

        Raises:
            NotFoundError: the name does not exist.
        """
        return tuple(self._of(self.current if name is None else name).made)

    def begin(self, name: str = "") -> str:
        """Creates a what-if with the current one's changes and makes it current. Returns its name.

        Raises:
            SelectionError: the name is taken or not usable, or there are `MOST` already.
        """
        name = name or next(f"what-if {number}" for number in range(1, MOST + 2) if self._free(number))
        if name in self._all or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise SelectionError(
                f"{name[:80]!r} is not a valid new name.",
                f"Use up to {_LONGEST_NAME} printable characters, and an unused name.",
            )
        if len(self._all) >= MOST:
            raise SelectionError(f"The limit of {MOST} what-ifs is reached.", "Drop one.")
        self._all[name] = _Changes(list(self.changes()))
        self.current = name
        return name

    def choose(self, name: str) -> None:
        """Makes a what-if current; an empty name selects the recorded call."""
        self._of(name)
        self.current = name

    def drop(self, name: str) -> None:
        """Deletes a what-if."""
        self._of(name)
        self._all.pop(name, None)
        self.current = AS_RECORDED if self.current == name else self.current

    def change(self, tensor: str, expression: str) -> None:
        """Adds a change to the current what-if; creates one if the recorded call is current.

        Raises:
            SelectionError: it is too long, or there are `MOST_CHANGES` already.
        """
        if max(len(tensor), len(expression)) > _LONGEST_TEXT or not expression.strip():
            raise SelectionError(
                "The change is empty or too long.", "Use an expression such as 'clip(x, -1, 1)'."
            )
        if self.current == AS_RECORDED:
            self.begin()
        current = self._of(self.current)
        if len(current.made) >= MOST_CHANGES:
            raise SelectionError(
                f"The what-if already has {MOST_CHANGES} changes, the limit.", "Start another what-if."
            )
        current.made.append(TensorChange(tensor, expression.strip()))
        current.undone.clear()

    def discard_last_change(self, undone: Sequence[TensorChange]) -> None:
        """Removes the last change of the current what-if because it failed; `undone` stays as it was before
        it."""
        current = self._of(self.current)
        current.made.pop()
        current.undone[:] = undone

    @property
    def undone(self) -> tuple[TensorChange, ...]:
        """The undone changes of the current what-if; `redo` applies the last one."""
        return tuple(self._of(self.current).undone)

    def undo(self) -> TensorChange:
        """Undoes the last change of the current what-if. Raises SelectionError if there is none."""
        return self._shift(back=True)

    def redo(self) -> TensorChange:
        """Redoes the change undone last. Raises SelectionError if there is none."""
        return self._shift(back=False)

    def as_record(self) -> dict[str, list[list[str]]]:
        """For JSON: the changes of each what-if."""
        return {
            name: [[change.tensor, change.expression] for change in changes.made]
            for name, changes in self._all.items()
        }

    @classmethod
    def of(cls, record: Any) -> WhatIfs:
        """The inverse of `as_record`.

        Raises:
            DamagedError: it is invalid. SelectionError: a name or a change is not valid.
        """
        found = cls()
        if not isinstance(record, Mapping):
            raise DamagedError("What-ifs must be an object: a list of changes for each name.")
        for name, changes in record.items():
            found.current = AS_RECORDED
            found.begin(str(name))
            for change in changes if isinstance(changes, list) else [None]:
                if not isinstance(change, list) or len(change) != 2:
                    raise DamagedError(f"A change of {str(name)[:80]!r} is not a tensor and an expression.")
                found.change(str(change[0]), str(change[1]))
        found.current = AS_RECORDED
        return found

    def _free(self, number: int) -> bool:
        return f"what-if {number}" not in self._all

    def _of(self, name: str) -> _Changes:
        if name == AS_RECORDED:
            return _Changes()
        if name not in self._all:
            known = ", ".join(self._all) or "none"
            raise NotFoundError(f"No what-if {name[:80]!r}.", f"Valid names: {known}.")
        return self._all[name]

    def _shift(self, *, back: bool) -> TensorChange:
        current = self._of(self.current)
        source, target = (current.made, current.undone) if back else (current.undone, current.made)
        if not source:
            raise SelectionError(f"Nothing to {'undo' if back else 'redo'}.")
        target.append(source.pop())
        return target[-1]


def read_what_ifs(source: Path) -> WhatIfs:
    """What-ifs saved for a recording or bundle; empty if there is no file.

    Raises:
        DamagedError: the file is invalid.
    """
    return WhatIfs.of(_recordings(source).get(_key(source), {}))


def write_what_ifs(source: Path, what_ifs: WhatIfs) -> Path:
    """Saves them next to those of the run's other recordings. Returns the file; the dump is unchanged.

    Raises:
        DamagedError: the existing file is invalid; it is not changed.
        InvalidValueError: they would be more than is read again; nothing is written.
        OSError: neither place can be written to.
    """
    recordings = _recordings(source) | {_key(source): what_ifs.as_record()}
    text = json.dumps({"format": _FORMAT, "version": 1, "recordings": recordings}, indent=1)
    if len(text.encode()) > MAX_BYTES:
        raise InvalidValueError(
            f"The what-ifs of the run take more than {MAX_BYTES:,} bytes.", "Delete some what-ifs or changes."
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
    # A link could lead out of the log directory, and is not ours: it is replaced, never written through.
    found = [path for path in _places(source) if path.is_file() and not path.is_symlink()]
    if not found:
        return {}
    path = max(found, key=lambda each: each.stat().st_mtime)
    if path.stat().st_size > MAX_BYTES:
        raise DamagedError(f"{path.name} is larger than {MAX_BYTES:,} bytes.", "Move or delete the file.")
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path.name} is not JSON.", "Move or delete the file.") from error
    recordings = record.get("recordings") if isinstance(record, dict) else None
    if not isinstance(recordings, dict) or record.get("format") != _FORMAT:
        raise DamagedError(f"{path.name} has no what-ifs.", "Move or delete the file.")
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
