"""Checks every value of a worker, and reports the lost ones in a few lines a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tensortap.core.errors import DamagedError, ValuePrunedError
from tensortap.core.names import tensor_name
from tensortap.core.text import counted
from tensortap.storage.filesystem import exists

from ..read.values_reader import read_value, value_ref

_MAX_SENTENCES = 5  # lost values of a file that are told one by one


class ValueCheck:
    """The values of one worker, checked row by row."""

    def __init__(self, run_dir: Path, worker: str) -> None:
        self.values = 0
        self.value_bytes = 0
        self.pruned = 0
        self._run_dir, self._worker = run_dir, worker
        self._lost: Counter[int] = Counter()  # by values file; -1: of those in rows
        self._sentences: dict[int, list[str]] = {}
        self._missing: dict[int, str] = {}

    def check(self, batch: Any, row: int) -> None:
        """Reads the value of a row, if one is kept."""
        file = batch.column("value_file")[row].as_py()
        try:
            ref = value_ref(self._run_dir, self._worker, batch, row)
            if ref is None:
                return
            read_value(ref)
        except ValuePrunedError:
            self.pruned += 1
            return
        except (DamagedError, OSError) as error:
            self._lose(batch, row, file, error)
            return
        self.values += 1
        self.value_bytes += ref.length

    def _lose(self, batch: Any, row: int, file: int, error: Exception) -> None:
        self._lost[file] += 1
        if self._lost[file] == 1 and file >= 0 and not exists(self._path(file)):
            self._missing[file] = str(error)
        if self._lost[file] > _MAX_SENTENCES or file in self._missing:
            return
        node, slot, step, offset = (
            batch.column(name)[row].as_py() for name in ("node", "slot", "step", "value_offset")
        )
        where = f"{self._path(file).name}, byte {offset:,}" if file >= 0 else "in its row"
        what = f"the value of {tensor_name(node, slot)} at step {step} ({where}) is lost. {error}"
        self._sentences.setdefault(file, []).append(what)

    def _path(self, file: int) -> Path:
        return self._run_dir / self._worker / f"values-{file:06d}.safetensors"

    def damage(self) -> list[str]:
        """Sentences about what is lost, by file."""
        found = []
        for file, count in sorted(self._lost.items()):
            if file in self._missing:
                found.append(f"{counted(count, 'value')} lost. {self._missing[file]}")
                continue
            found += self._sentences[file]
            if count > _MAX_SENTENCES:
                where = f"in {self._path(file).name}" if file >= 0 else "in rows"
                found.append(f"… and {counted(count - _MAX_SENTENCES, 'value')} more {where}.")
        return found
