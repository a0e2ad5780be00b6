"""Reading a whole dump back in tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tensortap.core.errors import DamagedError
from tensortap.dump.format.frames import read_frame
from tensortap.dump.format.schema import SCHEMA_MESSAGE
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.read.stats_reader import StatsTail
from tensortap.dump.read.values_reader import read_value, value_ref
from tensortap.storage.files import FileReader


@dataclass
class DumpContents:
    """Everything the readers found in a log directory."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    values: dict[tuple[str, int, int], npt.NDArray[Any]] = field(default_factory=dict)  # (node, slot, seq)
    tails: list[StatsTail] = field(default_factory=list)
    bad_values: list[str] = field(default_factory=list)

    @property
    def damage(self) -> list[str]:
        return [sentence for tail in self.tails for sentence in tail.damage]


def read_all(logdir: Path) -> DumpContents:
    """Reads all rows and values of all runs below a log directory; each value's checksum is verified."""
    found = DumpContents()
    for _, path in find_runs(logdir):
        reader = RunReader(path)
        for worker in reader.workers():
            tail = reader.tail(worker.worker)
            found.tails.append(tail)
            for commit in tail.poll():
                for number, row in enumerate(commit.batch.to_pylist()):
                    found.rows.append(row | {"worker": worker.worker})
                    reference = value_ref(path, worker.worker, commit.batch, number)
                    if reference is not None:
                        try:
                            found.values[row["node"], row["slot"], row["seq"]] = read_value(reference)
                        except DamagedError as error:
                            found.bad_values.append(str(error))
    return found


def remove_commit(stats: Path, number: int) -> None:
    """Removes a whole commit from a statistics file, so that no trace of it is left there."""
    data, at = stats.read_bytes(), len(SCHEMA_MESSAGE)
    with FileReader(stats) as file:
        for _ in range(number):
            at = read_frame(file, at).end
        end = read_frame(file, at).end
    stats.write_bytes(data[:at] + data[end:])


def stats_files(logdir: Path) -> list[Path]:
    """All statistics files, by name."""
    return sorted(logdir.rglob("stats-*.arrows"))


def values_files(logdir: Path) -> list[Path]:
    """All values files, by name."""
    return sorted(logdir.rglob("values-*.safetensors"))
