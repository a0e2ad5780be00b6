"""A log directory, for people: `tensortap.open`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensortap.core.errors import NotARunError, NotFoundError
from tensortap.core.text import counted, did_you_mean
from tensortap.importers.resolve import as_logdir
from tensortap.index.logdir_index import LogIndex
from tensortap.index.run_index import RunIndex
from tensortap.storage.filesystem import is_folder
from tensortap.storage.uri import path_of, shown_path

from .run import Run


def open_any(path: str | os.PathLike[str]) -> Log:
    """Open a log directory, a run in it, or any source that can be imported.

    Addresses that fsspec supports also work, e.g. `s3://bucket/logs` (docs/remote.md).

    Foreign formats (docs/import.md) are imported into the cache first.

    Example:
        ```python
        run = tensortap.open("logs").runs["numpy"]
        print(run.tensor("weights:0", step=0)[0])
        ```

    Raises:
        NotARunError: the directory does not exist. RemoteError: the address cannot be read.
        TensortapError: it could not be imported.
    """
    if not os.fspath(path):
        raise NotARunError("The path is empty.", 'Use "." for the current folder.')
    return open_logdir(as_logdir(path_of(path)))


def open_logdir(path: str | os.PathLike[str]) -> Log:
    """Opens a log directory, or one run in it, and reads it to its end.

    Raises:
        NotARunError: there is no such directory.
    """
    place = path_of(path)
    if not is_folder(place):
        raise NotARunError(
            f"There is no directory {shown_path(place)!r}.", "Pass a log directory or a run in it."
        )
    log = LogIndex(place)
    log.refresh()
    return Log(log)


class Log:
    """The runs below a log directory. `log.runs["exp1/baseline"]` is a run; `refresh()` reads new data.

    Example:
        ```python
        log = tensortap.open("logs")
        for name, run in log.runs.items():
            print(name, run.steps[-1])
        log.refresh()  # finds new runs and new steps
        ```
    """

    def __init__(self, index: LogIndex) -> None:
        self._index = index

    @property
    def runs(self) -> Runs:
        """The runs by name, newest first."""
        return Runs(self._index)

    def refresh(self) -> bool:
        """Find new runs and read new data of all runs. Returns whether anything changed."""
        return self._index.refresh()

    def view(self, *, height: int = 600, origins: Sequence[str] = ()) -> Any:
        """Show the page in a notebook; see `tensortap.notebook`."""
        from .notebook import view

        return view(self._index.logdirs, "", height, origins)

    def __repr__(self) -> str:
        return f"<log {self._index.name!r}: {self.runs!r}>"

    def _repr_html_(self) -> str:
        return self.runs._repr_html_()


class Runs(Mapping[str, Run]):
    """Runs by name, as of the last refresh."""

    def __init__(self, index: LogIndex) -> None:
        self._index = index

    def _ids(self) -> dict[str, str]:
        return {run.name: run.id for run in self._index.runs}

    def __getitem__(self, name: str) -> Run:
        ids = self._ids()
        if not isinstance(name, str):
            raise NotFoundError(
                f"Look up runs by name, not by {name!r}.", f"list(log.runs) gives {list(ids)[:5]}."
            )
        if name not in ids:
            hint = did_you_mean(name, list(ids), f"It has {counted(len(ids), 'run')}.")
            raise NotFoundError(f"No run {name!r}.", hint)
        return Run(self._index, ids[name], name)

    def __contains__(self, name: object) -> bool:
        return name in self._ids()

    def get(self, name: str, default: Any = None) -> Any:
        """A run, or the default for an unknown name."""
        ids = self._ids()
        return Run(self._index, ids[name], name) if name in ids else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids())

    def __len__(self) -> int:
        return len(self._ids())

    def __repr__(self) -> str:
        names = list(self._ids())
        shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
        return f"{len(names)} {'run' if len(names) == 1 else 'runs'}{': ' if names else ''}{shown}"

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        rows = list(map(_cells, self._index.runs))
        return notebook_repr.table(("run", "snapshots", "steps", "workers", "with NaN or Inf", ""), rows)


def _cells(found: RunIndex) -> tuple[object, ...]:
    run = found.overview()
    state = run.error or ("damaged" if found.damage else "live" if run.live else "")
    nonfinite = "unknown" if run.nonfinite is None else f"{run.nonfinite:,}"
    return run.name, f"{run.snapshots:,}", run.step_count, run.workers, nonfinite, state
