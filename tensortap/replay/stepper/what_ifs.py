"""What-ifs: named lists of changes to the tensors of one recorded call, with undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensortap.core.errors import DamagedError, NotFoundError, SelectionError

AS_RECORDED = ""
"""The name of the call without changes."""
MOST = 50
MOST_CHANGES = 500
_LONGEST_NAME = 60
_LONGEST_TEXT = 4096


@dataclass(frozen=True, slots=True)
class Change:
    """A tensor name, and an expression over it (docs/replay.md)."""

    tensor: str
    expression: str


@dataclass(slots=True)
class _Changes:
    made: list[Change] = field(default_factory=list)
    undone: list[Change] = field(default_factory=list)


class WhatIfs:
    """The what-ifs of one recorded call; one of them, or the call as it was recorded, is current."""

    def __init__(self) -> None:
        self.current = AS_RECORDED
        self._all: dict[str, _Changes] = {}

    @property
    def names(self) -> list[str]:
        """In the order in which they were begun."""
        return list(self._all)

    def changes(self, name: str | None = None) -> tuple[Change, ...]:
        """Those of one what-if, by default of the current one.

        Raises:
            NotFoundError: there is none of that name.
        """
        return tuple(self._of(self.current if name is None else name).made)

    def begin(self, name: str = "") -> str:
        """A new what-if, which starts with the current one's changes, and becomes current. Returns its name.

        Raises:
            SelectionError: the name is taken or not usable, or there are `MOST` already.
        """
        name = name or next(f"what-if {number}" for number in range(1, MOST + 2) if self._free(number))
        if name in self._all or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise SelectionError(
                f"{name[:80]!r} is no new name.", f"Up to {_LONGEST_NAME} printable characters."
            )
        if len(self._all) >= MOST:
            raise SelectionError(f"There are {MOST} what-ifs.", "Drop one.")
        self._all[name] = _Changes(list(self.changes()))
        self.current = name
        return name

    def choose(self, name: str) -> None:
        """Makes a what-if current; an empty name stands for the call as it was recorded."""
        self._of(name)
        self.current = name

    def drop(self, name: str) -> None:
        """Forgets a what-if."""
        self._of(name)
        self._all.pop(name, None)
        self.current = AS_RECORDED if self.current == name else self.current

    def change(self, tensor: str, expression: str) -> None:
        """Adds a change to the current what-if; begins one if the call is shown as it was recorded.

        Raises:
            SelectionError: it is too long, or there are `MOST_CHANGES` already.
        """
        if max(len(tensor), len(expression)) > _LONGEST_TEXT or not expression.strip():
            raise SelectionError("The change is empty or too long.", "Write it as in 'clip(x, -1, 1)'.")
        if self.current == AS_RECORDED:
            self.begin()
        current = self._of(self.current)
        if len(current.made) >= MOST_CHANGES:
            raise SelectionError(f"The what-if has {MOST_CHANGES} changes.", "Begin another one.")
        current.made.append(Change(tensor, expression.strip()))
        current.undone.clear()

    def discard_last_change(self, undone: Sequence[Change]) -> None:
        """Removes the current what-if's last change for good, as it could not be made; `undone` can be made
        again, as before it."""
        current = self._of(self.current)
        current.made.pop()
        current.undone[:] = undone

    @property
    def undone(self) -> tuple[Change, ...]:
        """The changes of the current what-if that `redo` makes, the next one last."""
        return tuple(self._of(self.current).undone)

    def undo(self) -> Change:
        """Takes the current what-if's last change back. Raises SelectionError if there is none."""
        return self._shift(back=True)

    def redo(self) -> Change:
        """Makes the change that was taken back last. Raises SelectionError if there is none."""
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
            DamagedError: it makes no sense. SelectionError: a name or a change is not possible.
        """
        found = cls()
        if not isinstance(record, Mapping):
            raise DamagedError("What-ifs are an object: a list of changes by name.")
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
            raise NotFoundError(f"There is no what-if {name[:80]!r}.", f"Known ones: {known}.")
        return self._all[name]

    def _shift(self, *, back: bool) -> Change:
        current = self._of(self.current)
        source, target = (current.made, current.undone) if back else (current.undone, current.made)
        if not source:
            raise SelectionError(f"There is nothing to {'undo' if back else 'redo'} here.")
        target.append(source.pop())
        return target[-1]
