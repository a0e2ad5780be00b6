"""The saved index of one run: loaded when the run is opened, written as the run grows."""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tensortap.core.dtypes import Array
from tensortap.core.errors import DamagedError
from tensortap.dump.format.run_files import RUN_FILE
from tensortap.dump.read.file_marks import FileFingerprints
from tensortap.dump.read.stats_reader import TailPosition
from tensortap.storage.files import crc32c_of_file
from tensortap.storage.filesystem import stat_path
from tensortap.system.user_dirs import is_own_folder

from ..catalog.catalog import Catalog
from ..catalog.packed_histograms import PackedError
from ..catalog.segments import Segment, Tail, freeze, segment_arrays
from ..catalog.step_totals import StepTally
from .cache_folders import claim, run_folder, sweep, touch
from .container import ContainerError, read_container, write_container

VERSION = 2
STATE = "state.index"
SEGMENT_ROWS = 1 << 18  # of one segment; twice as many are never held in memory with their histograms
HISTOGRAM_BYTES = 96 << 20  # a tail with more of them becomes a segment, however few its rows are
FEWEST = 4096  # minimum number of rows to save: reading them takes 20 ms
_GROWN = 4  # an index is saved again once it has grown by a quarter
_LONGEST = 10.0  # s that a run is read on without being saved: one that many look at may always have more
_ABANDONED = 3600.0  # s after which a file that the state does not name is removed

_LOG = logging.getLogger(__name__)


class SavedRun:
    """Saves a run's catalog. After a failure it stops for good, and the run is read without it.

    The dump is the truth: a loaded index must be made from exactly the bytes with which the statistics files
    begin.
    """

    def __init__(self, cache: Path, run_dir: Path) -> None:
        self._cache, self._run_dir = cache, run_dir
        self._folder = run_folder(cache, run_dir, VERSION)
        self._files: list[str] = []
        self._marks: dict[str, FileFingerprints] = {}
        self._swept = False
        self._rested = time.monotonic()  # since then nothing was saved

    def load(self, catalog: Catalog) -> dict[str, TailPosition]:
        """Fills an empty catalog, and returns how far each worker was read. A saved index that does not match
        is not loaded.

        Raises:
            ContainerError: there is nothing to load, or it does not fit the dump; the catalog may be half
                filled.
        """
        if not is_own_folder(self._folder):
            raise ContainerError("There is no saved index.")
        about, arrays = read_container(self._folder / STATE)
        try:
            if about["run"] != self._run_checksum():
                raise ContainerError("The run was replaced.")
            marks = {
                name: FileFingerprints(self._run_dir / name, w["files"])
                for name, w in about["workers"].items()
            }
            if not all(mark.hold() for mark in marks.values()):
                raise ContainerError("The dump has changed.")
            segments = [self._segment(name, first) for name, first in about["segments"]]
            restore_catalog(catalog, about["catalog"], arrays)
            if not _is_whole(segments, catalog.rows):
                raise ContainerError("Rows are missing.")
            positions = {name: _position(worker) for name, worker in about["workers"].items()}
        except (KeyError, TypeError, ValueError, OSError, DamagedError) as error:
            raise ContainerError(f"The state is invalid: {error}") from error
        catalog.parts.replace(segments)
        touch(self._folder)
        self._files, self._marks = [name for name, _ in about["segments"]], marks
        if any(mark.renewed for mark in marks.values()):
            with contextlib.suppress(OSError, DamagedError, ContainerError):  # the next to open it reads more
                self._write_state(catalog, positions, about["segments"])
        return positions

    def is_due(self, catalog: Catalog, more: bool) -> bool:
        """Whether it is time to save; `more`: there is more to read now, better saved together."""
        tail, segments = catalog.parts.tail, catalog.parts.segments
        if len(tail) >= SEGMENT_ROWS or tail.histogram_bytes >= HISTOGRAM_BYTES:
            return True
        partial = len(segments[-1]) if segments and _is_partial(segments[-1]) else 0
        waits = more and time.monotonic() - self._rested < _LONGEST
        return not waits and len(tail) >= max(FEWEST, partial // _GROWN)

    def save(self, catalog: Catalog, positions: Mapping[str, TailPosition]) -> bool:
        """Writes all rows that are not saved yet; returns False if that is not possible."""
        self._rested = time.monotonic()
        try:
            self._save(catalog, positions)
        except (OSError, DamagedError, ContainerError, PackedError) as error:
            _LOG.info("the index of %s is not saved: %s", self._run_dir.name, error)
            self.discard()
            return False
        return True

    def _save(self, catalog: Catalog, positions: Mapping[str, TailPosition]) -> None:
        if not self._swept:
            self._swept = True
            claim(self._cache, self._folder, self._run_dir)
            sweep(self._cache)
        segments, files = list(catalog.parts.segments), list(self._files)
        parts: list[Segment | Tail] = [catalog.parts.tail]
        replaced: list[str] = []
        if segments and _is_partial(segments[-1]):
            parts.insert(0, segments.pop())
            replaced = [files.pop()]
        name = f"rows-{parts[0].first}-{uuid.uuid4().hex[:12]}.index"
        write_container(self._folder / name, {}, freeze(parts), unchecked=("blocks",))
        segments.append(self._segment(name, parts[0].first))
        files.append(name)
        self._write_state(catalog, positions, list(zip(files, (s.first for s in segments), strict=True)))
        catalog.parts.replace(segments)
        self._files = files
        self._remove_others(replaced)

    def _write_state(
        self, catalog: Catalog, positions: Mapping[str, TailPosition], segments: list[tuple[str, int]]
    ) -> None:
        workers = {}
        for name, position in positions.items():
            marks = self._marks.setdefault(name, FileFingerprints(self._run_dir / name))
            workers[name] = {"position": asdict(position), "files": marks.update(position)}
        about, arrays = catalog_state(catalog)
        whole = {
            "run": self._run_checksum(),
            "workers": workers,
            "segments": segments,
            "catalog": about,
        }
        write_container(self._folder / STATE, whole, arrays)

    def discard(self) -> None:
        """Removes the saved index; the next process that opens the run reads the dump."""
        with contextlib.suppress(OSError):
            (self._folder / STATE).unlink()

    def _segment(self, name: str, first: int) -> Segment:
        if "/" in name or not name.startswith("rows-"):
            raise ContainerError("The name of a segment is invalid.")
        _, arrays = read_container(self._folder / name)
        missing = set(segment_arrays()) - arrays.keys()
        if missing:
            raise ContainerError(f"{name} has no {missing}.")
        return Segment(first, arrays)

    def _run_checksum(self) -> int:
        try:
            found = stat_path(self._run_dir / RUN_FILE)
        except FileNotFoundError:  # the run is read all the same
            return 0
        return crc32c_of_file(self._run_dir / RUN_FILE, found.size)

    def _remove_others(self, replaced: list[str]) -> None:
        """Removes replaced files, and old leftovers of other processes."""
        with contextlib.suppress(OSError):
            for path in self._folder.glob("rows-*"):
                if path.name in self._files:
                    continue
                with contextlib.suppress(OSError):
                    if path.name in replaced or time.time() - path.stat().st_mtime > _ABANDONED:
                        path.unlink()


def _is_partial(segment: Segment) -> bool:
    return len(segment) < SEGMENT_ROWS // 2


def _is_whole(segments: list[Segment], rows: int) -> bool:
    """Whether the segments have this number of rows without gaps."""
    stop = 0
    for segment in segments:
        if segment.first != stop:
            return False
        stop += len(segment)
    return stop == rows


def _position(worker: Mapping[str, Any]) -> TailPosition:
    position = dict(worker["position"])
    return TailPosition(**position | {"damage": tuple(position["damage"])})


def catalog_state(catalog: Catalog) -> tuple[dict[str, Any], dict[str, Array]]:
    """(JSON data, arrays) of a catalog."""
    about = {
        "rows": catalog.rows,
        "nonfinite": catalog.nonfinite,
        "partial": catalog.partial,
        "pruned": [[code, sorted(files)] for code, files in catalog.pruned.items()],
        "last_time": catalog.last_time,
        "strings": {name: table.values for name, table in catalog.string_tables.items()},
        "shapes": catalog.shapes.values,
        "graphs_with_steps": list(catalog.graph_steps.tallies),
    }
    arrays = {f"tensors/{name}": array for name, array in catalog.tensors.arrays().items()}
    arrays |= {f"steps/{name}": array for name, array in catalog.steps.arrays().items()}
    for graph, tally in catalog.graph_steps.tallies.items():
        arrays |= {f"steps of {graph}/{name}": array for name, array in tally.arrays().items()}
    arrays |= {f"places/{name}": column.view() for name, column in catalog.places.items()}
    arrays["worker_rows"] = catalog.worker_rows.totals(len(catalog.workers))
    return about, arrays


def restore_catalog(catalog: Catalog, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Restores the output of `catalog_state` into an empty catalog, without the rows.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    for name, table in catalog.string_tables.items():
        for text in about["strings"][name]:
            table.intern(text)
    catalog.shapes.restore([tuple(shape) for shape in about["shapes"]])
    catalog.tensors.restore(_below(arrays, "tensors"))
    catalog.steps.restore(_below(arrays, "steps"))
    tallies = {}
    for graph in about["graphs_with_steps"]:
        tallies[graph] = StepTally()
        tallies[graph].restore(_below(arrays, f"steps of {graph}"))
    catalog.graph_steps.restore(tallies)
    for name, column in catalog.places.items():
        column.extend(arrays[f"places/{name}"])
    catalog.worker_rows.restore(arrays["worker_rows"])
    catalog.nonfinite, catalog.last_time = about["nonfinite"], about["last_time"]
    catalog.partial = about["partial"]
    catalog.pruned = {int(code): frozenset(map(int, files)) for code, files in about["pruned"]}
    catalog.rows = about["rows"]


def _below(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    prefix = f"{name}/"
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
