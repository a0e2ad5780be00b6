"""The output of importers: runs that appear when complete, within limits, with notes."""

from __future__ import annotations

import contextlib
import math
import re
import shutil
import uuid
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tensortap.core.errors import InvalidNameError, InvalidValueError
from tensortap.core.names import MAX_RUN_DEPTH, check_run_name, is_inside_run
from tensortap.core.progress import Notice
from tensortap.core.records import COUNTS, Graph, Summary
from tensortap.core.text import counted
from tensortap.dump.recording.bundle import unpack_bundle
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.files import publish_json, read_json

from .cache_lock import FolderLease, remove_unused
from .errors import RefusedError

MAX_TENSOR = 4 << 30  # bytes of one array
MAX_EXTENTS = 64  # of a shape, as NumPy has it
_MAX_STRIDE = (1 << 63) - 1  # bytes that NumPy counts an extent of 0 as 1 for
MAX_TENSORS = 10_000_000  # snapshots of one import
MAX_NOTES = 50  # sentences; what comes later is counted
_MAX_PART = 190  # letters of a folder of a run's name: ten less than there may be


@dataclass
class Imported:
    """Result of an import: the runs' names, counts, and sentences about refused or partial data."""

    format: str
    runs: list[str] = field(default_factory=list)
    snapshots: int = 0
    graphs: int = 0
    recordings: int = 0
    notes: list[str] = field(default_factory=list)


class RunBuilder:
    """A run, and runs below it, being made. Its folder is hidden until `finish`.

    Args:
        logdir: the log directory.
        run: name of the run.
        format: the source's format, for `run.json`.
        source: the source's name, for `run.json`.
        progress: called with a line of text now and then.
        record_command: whether `run.json` holds the command that imported it.
    """

    def __init__(
        self,
        logdir: Path,
        run: str,
        format: str,
        source: str,
        progress: Notice,
        *,
        record_command: bool = True,
    ) -> None:
        self.run = check_run_name(run)
        self.logdir = logdir
        self.place = logdir / run
        if self.place.exists():
            raise InvalidNameError(
                f"{str(self.place)!r} already exists.", "Choose a name with --run, or remove the run."
            )
        self._hidden = logdir / f".importing-{uuid.uuid4().hex[:12]}"
        self.imported = Imported(format)
        self.progress = progress
        self._use: FolderLease | None = None
        self._info = {"imported from": source, "format": format}
        self._records_command = record_command
        self._more_notes: Counter[str] = Counter()
        self.graph_ids: set[tuple[str, str]] = set()
        self.facts: dict[str, str] = {}  # for the info of `run.json`
        self._names = {"": self.run}  # by their keys in the source
        self._taken = {self.run}
        self._alike: Counter[str] = Counter()  # runs that would have one name

    def writer(self, below: str = "") -> RunWriter:
        """A writer for the run, or for a run of this name below it; each call is a separate worker.

        Names that are invalid for a run are changed, with a note.

        Raises:
            InvalidNameError: the run's name leaves no room for runs below it.
        """
        if self._use is None:
            self._begin()
        name = self._names.get(below) or self._new_name(below)
        if name not in self.imported.runs:
            self.imported.runs.append(name)
        return RunWriter(self, DumpWriter(self._hidden, run=name, info=self._info), below)

    def _new_name(self, below: str) -> str:
        room = MAX_RUN_DEPTH - 1 - self.run.count("/")
        if not room:
            raise InvalidNameError(
                f"The source has several runs, and {self.run[:120]!r} already has {MAX_RUN_DEPTH} folders.",
                "Use --run to choose a name with fewer folders.",
            )
        plain = name = f"{self.run}/{run_name_of(below, room)}"
        while name in self._taken:
            self._alike[plain] += 1
            name = f"{plain}-{self._alike[plain] + 1}"
        self._taken.add(name)
        if name != f"{self.run}/{below}":
            self.note(f"{below[:200]!r} in the source is imported as the run {name!r}.", "runs renamed")
        self._names[below] = name
        return name

    def _begin(self) -> None:
        """Creates the hidden folder; removes those of killed imports."""
        for left in self.logdir.glob(".importing-*"):
            remove_unused(left)
        self._hidden.mkdir(parents=True)
        self._use = FolderLease(self._hidden)

    def note(self, sentence: str, kind: str = "") -> None:
        """Remembers a sentence for the user; of one `kind` the first three, the others are counted."""
        if sentence in self.imported.notes:
            return
        self._more_notes[kind or sentence] += 1
        if self._more_notes[kind or sentence] <= (3 if kind else 1) and len(self.imported.notes) < MAX_NOTES:
            self.imported.notes.append(sentence)

    def finish(self) -> Imported:
        """Writes the notes into `run.json` and makes the runs visible.

        Raises:
            RefusedError: nothing was found in the source.
        """
        found = self.imported
        if not (found.snapshots or found.graphs or found.recordings):
            because = " ".join(self.imported.notes)
            raise RefusedError("The source has no readable tensors or graphs.", because)
        for kind, count in self._more_notes.items():
            if count > 3 and kind not in self.imported.notes:
                self.imported.notes.append(f"{count - 3:,} more: {kind}.")
        for name in self.imported.runs:
            self._write_notes(self._hidden / name / "run.json")
        self.place.parent.mkdir(parents=True, exist_ok=True)
        (self._hidden / self.run).rename(self.place)
        self.abandon()
        return self.imported

    def abandon(self) -> None:
        """Removes unfinished runs."""
        if self._use is not None:
            self._use.end()
            self._use = None
        shutil.rmtree(self._hidden, ignore_errors=True)

    def _write_notes(self, path: Path) -> None:
        record = read_json(path)
        record["info"] |= self.facts
        if not self._records_command:
            record["info"].pop("command", None)
        if self.imported.notes:
            record["info"]["notes"] = " ".join(self.imported.notes)
        publish_json(path, record)


class RunWriter:
    """Writes one imported run, counting and within limits. A context manager."""

    def __init__(self, builder: RunBuilder, writer: DumpWriter, below: str) -> None:
        self._builder = builder
        self._writer = writer
        self._below = f"{below}: " if below else ""

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self._writer.close()

    def note(self, sentence: str, kind: str = "") -> None:
        """A sentence for the user about refused or partial data."""
        self._builder.note(sentence, kind)

    def fact(self, name: str, text: str) -> None:
        """Add a fact about the whole source to the info of `run.json`."""
        self._builder.facts[name] = text

    def not_counted(self, *names: str) -> None:
        """Some of the source's snapshots lack these counts (FORMAT.md)."""
        missing = {*filter(None, self._builder.facts.get("not counted", "").split(", ")), *names}
        self.fact(
            "not counted", ", ".join(name for name in ("size", *COUNTS, "nonfinite") if name in missing)
        )

    def progress(self, text: str) -> None:
        """Shows how far the import is."""
        self._builder.progress(text)

    def graph(self, graph: Graph) -> str:
        """Writes a graph; returns its id."""
        graph_id = self._writer.graph(graph)
        self._builder.graph_ids.add((self._below, graph_id))
        self._builder.imported.graphs = len(self._builder.graph_ids)
        return graph_id

    def recording(self, bundle: zipfile.ZipFile, manifest: Mapping[str, Any]) -> None:
        """Adds the recording in an open bundle. Raises DamagedError, OSError: see `unpack_bundle`."""
        unpack_bundle(bundle, manifest, self._writer.run_dir)
        self._builder.imported.recordings += 1

    def log(self, name: str, array: Any, *, step: int, **where: Any) -> bool:
        """Dumps one snapshot with its value. An array that cannot be dumped is skipped, with a note."""
        with self._place(name, step):
            if np.asarray(array).nbytes > MAX_TENSOR:
                raise InvalidValueError(f"It takes {np.asarray(array).nbytes:,} bytes; the limit is 4 GiB.")
            self._writer.log(name, array, step=step, keep="value", **where)
            return True
        return False

    def log_summary(self, name: str, summary: Summary, *, step: int, **where: Any) -> bool:
        """Dumps one snapshot with only a summary."""
        with self._place(name, step):
            self._writer.log_summary(name, summary, step=step, **where)
            return True
        return False

    @contextlib.contextmanager
    def _place(self, name: str, step: int) -> Iterator[None]:
        imported = self._builder.imported
        if imported.snapshots >= MAX_TENSORS:
            raise RefusedError(f"The source has more than {MAX_TENSORS:,} snapshots, the limit.")
        try:
            yield
        except (InvalidValueError, InvalidNameError) as error:
            self.note(f"Skipped: {self._below}{name[:200]} at step {step}: {error}", "tensors skipped")
            return
        imported.snapshots += 1
        if imported.snapshots % 20 == 1:
            self.progress(f"{counted(imported.snapshots, 'snapshot')}, step {step}: {name}")


def run_name_of(text: str, room: int = MAX_RUN_DEPTH) -> str:
    """A run name of at most `room` folders, as close to a file's name or path as their rules allow."""
    parts = [part for part in map(_part, text.split("/")) if part]
    if len(parts) > room:
        parts[room - 1 :] = [_part("-".join(parts[room - 1 :]))]
    return "/".join(parts) or "run"


def _part(text: str) -> str:
    part = re.sub(r"[\\\x00-\x1f\x7f]", "_", text).strip()[:_MAX_PART].strip(" .")
    return f"{part}_" if is_inside_run(part) else part


def check_array_size(shape: tuple[int, ...], itemsize: int, what: str) -> int:
    """Bytes of an array, before it is allocated.

    Raises:
        RefusedError: an extent is negative, there are more than 64, or it takes more than 4 GiB.
    """
    if len(shape) > MAX_EXTENTS or any(extent < 0 for extent in shape):
        raise RefusedError(f"{what} has the shape {str(shape)[:100]}, which is not valid.")
    size = math.prod(shape) * itemsize
    if math.prod(shape) * max(itemsize, 1) > MAX_TENSOR:
        raise RefusedError(f"{what} takes {size:,} bytes; the limit is 4 GiB.")
    if math.prod(extent or 1 for extent in shape) * max(itemsize, 1) > _MAX_STRIDE:
        raise RefusedError(f"{what} is empty, but its shape {str(shape)[:100]} exceeds the limit of NumPy.")
    return size
