"""A run, for people."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from tensortap.core.errors import IncompleteWarning, NotARunError, SelectionError
from tensortap.core.text import counted, did_you_mean
from tensortap.index.graph.graph_index import GraphIndex
from tensortap.index.graph_store import GraphOverview
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import Filters, find_rows
from tensortap.index.query.step_range import step_from_end
from tensortap.index.query.tensor_lookup import find_snapshot
from tensortap.index.run_events import RunEvent, StepBatch
from tensortap.index.run_index import RunIndex
from tensortap.index.series.histograms import HistogramSeries, histograms
from tensortap.index.series.history import history
from tensortap.index.series.worker_grid import WorkerGrid, worker_grid
from tensortap.index.worker_follower import WorkerStatus

from .plots import Kind, histograms_figure
from .table import Table, cell_text
from .tensor import Tensor, Tensors

_NO_TEXT = ("nonfinite", "kept", "visit")
_PYTHON_NAMES = {"match": "nodes", "steps": "step"}  # names of `Filters` that are others in `Run.find`

_FACTS = ("host", "command", "python")  # of a run's info, in a notebook


class Run:
    """One run of a log directory; `refresh()` reads new data.

    Example:
        ```python
        run = tensortap.open("logs").runs["numpy"]
        print(run.steps, run.tensors)
        means = run.history("weights:0")["mean"]  # float64, one per snapshot
        assert len(run.find(where="nan > 0")) == 0
        ```

    Raises:
        NotARunError: on access, if nothing of the run can be read.
    """

    def __init__(self, log: LogIndex, run_id: str, name: str) -> None:
        self._log, self._id = log, run_id
        self.name = name

    @property
    def _index(self) -> RunIndex:
        run = self._log.run(self._id)
        if run.error is not None and not run.catalog.rows:
            raise NotARunError(run.error)
        return run

    def refresh(self) -> bool:
        """Read new data. Returns whether anything changed."""
        return self._log.refresh()

    @property
    def info(self) -> dict[str, Any]:
        """Facts about the run: host, command, versions."""
        return dict(self._index.info)

    @property
    def steps(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Steps with snapshots, ascending."""
        return self._index.steps.step

    @property
    def tensors(self) -> list[str]:
        """Names of the captured tensors, ascending."""
        return list(self._index.tensors)

    @property
    def graphs(self) -> list[GraphOverview]:
        """The graphs with their counts, most snapshots first; `-` has the snapshots without a graph."""
        return self._index.graphs

    def graph(self, graph_id: str | None = None) -> GraphIndex:
        """Nodes, edges and display paths of a graph. The default is the graph with the most snapshots.

        Raises:
            NotFoundError: there is no such graph.
        """
        index = self._index
        return index.graph(graph_id if graph_id is not None else next((g.id for g in index.graphs), "-"))

    @property
    def workers(self) -> list[WorkerStatus]:
        """The processes that wrote the run."""
        return self._index.workers

    @property
    def events(self) -> list[RunEvent]:
        """Events of the run by time: fired triggers, changed capture rules."""
        return self._index.events.events()

    def batch(self, step: int) -> list[StepBatch]:
        """Samples of a step, one entry per worker and call; empty if they were not recorded."""
        return self._index.events.batches(step)

    def steps_of(self, *, id: object = None, file: object = None) -> list[int]:
        """Steps whose batch has a sample, or samples of a file; ascending.

        Raises:
            NotFoundError: samples were not recorded.
        """
        as_text = [None if each is None else str(each) for each in (id, file)]
        return self._index.events.steps_of(id=as_text[0], file=as_text[1])

    def tensor(
        self,
        name: str,
        step: int | None = None,
        *,
        visit: int | None = None,
        worker: str | None = None,
        graph: str | None = None,
    ) -> Tensor:
        """One snapshot.

        Args:
            name: tensor name, `node:slot`; the default slot is 0.
            step: optional if there is only one; negative numbers count from the last.
            visit: needed where the tensor has several there.
            worker: needed where the tensor has several there.
            graph: needed where the tensor has several there.

        Raises:
            NotFoundError: there is none; the hint names close ones.
            AmbiguousError: several fit; the hint says how to choose.
            SelectionError: an argument has the wrong type.
        """
        index = self._index
        check_name(name)
        check_texts(worker=worker, graph=graph)
        at, nth = check_integer("step", step), check_integer("visit", visit)
        found = find_snapshot(index, name, step=at, visit=nth, worker=worker, graph=graph, strict=True)
        return Tensor(index, found)

    def history(
        self, name: str, *, steps: object = None, worker: str | None = None, graph: str | None = None
    ) -> Table:
        """Statistics of a tensor over steps, one row per snapshot, ordered by step, visit, worker.

        Args:
            steps: `"3:10"`, `slice(3, 10)`, a step, … (all by default).

        Raises:
            NotFoundError: the tensor was not captured. SelectionError: `steps` is invalid.
        """
        check_name(name)
        check_texts(worker=worker, graph=graph)
        found = history(self._index, name, graph=graph, worker=worker, steps=steps)
        return Table(found.columns, f"{found.tensor}: ")

    def by_worker(
        self, name: str, statistic: str = "mean", *, steps: object = None, graph: str | None = None
    ) -> WorkerGrid:
        """A statistic of a tensor on each worker at each step, workers that differ from the others first.

        Example:
            grid = run.by_worker("dense/kernel", "l2", steps="700:")
            grid.rank[0], grid.first_differing[0]  # the worker that leaves the others, and when
            grid.value  # [workers, steps]

        Args:
            statistic: a statistic, a count, or `zero_share`, `nan_share`, `inf_share`.
            steps: as in `history`.

        Raises:
            NotFoundError: the tensor was not captured. SelectionError: `steps` or `statistic` is invalid.
        """
        check_name(name)
        check_texts(statistic=statistic, graph=graph)
        return worker_grid(self._index, name, statistic, graph=graph, steps=steps, limit=None)

    def histograms(self, name: str, **options: Any) -> Histograms:
        """Histograms of a tensor over steps, with common edges. `plot()` draws them.

        Args:
            options: those of `tensortap.index.series.histograms`.

        Raises:
            NotFoundError: the tensor was not captured. SelectionError: an option is invalid.
        """
        check_name(name)
        check_texts(**{key: options[key] for key in ("worker", "graph", "scale") if key in options})
        return Histograms.of(histograms(self._index, name, **{"limit": None, **options}))

    def find(
        self, nodes: str | None = None, *, step: object = None, where: str | None = None, **filters: Any
    ) -> Tensors:
        """Find snapshots, ordered by step.

        Args:
            nodes: regular expression (RE2) for tensor names.
            step: a step or a range of steps, as in `history`; a negative one counts from the run's last.
            where: `"nan > 0"`, `"abs_max >= 1e4 and step < 100"`.
            filters: fields of `tensortap.index.query.search.Filters`: graph (`-`: none), worker, node,
                tensor, op_type, layer, dtype, visit, and the booleans nonfinite (has NaN or infinity;
                `False`: certainly has none) and kept (has a stored value).

        Raises:
            SelectionError: the pattern, condition or range is invalid, or the filter is unknown.
            NotFoundError: the step, graph or worker does not exist.
        """
        check_texts(nodes=nodes, where=where)
        check_filters_of(filters)
        index = self._index
        if isinstance(step, (int, np.integer)) and step < 0:
            step = step_from_end("The run", self.steps.tolist(), int(step))
        rows = find_rows(index, Filters(match=nodes, steps=step, where=where, **filters))
        return Tensors(index, rows[np.argsort(index.catalog.column("step", rows), kind="stable")])

    @property
    def damage(self) -> list[str]:
        """Sentences about data that are damaged, or were not written to their end by a worker that stopped,
        and are missing in all results; graphs are included once they are read. `tensortap check` verifies
        everything."""
        return list(self._index.missing_data)

    def sql(self, query: str) -> Table:
        """Run a SELECT in DuckDB's dialect over the run's statistics.

        Tables: `snapshots` and `histograms` (one row per snapshot), `by_step` (one row per tensor and step,
        with workers and iterations merged), `by_tensor` (all steps merged) and `workers`. Compacted data are
        read from `compact/`, newer data from the run itself, so compact large runs first.

        Warns with `IncompleteWarning` about data that cannot be read and are missing in the answer.

        Raises:
            SelectionError: it is not a valid SELECT. DamagedError: a compacted file is damaged.
        """
        from tensortap.compact.queries import query_run

        check_texts(query=query)
        damage: list[str] = []
        found = query_run(self._index.path, query, damage.extend)
        for sentence in damage:
            warnings.warn(f"{self.name}: {sentence}", IncompleteWarning, stacklevel=2)
        columns = {name: found.column(at).to_pylist() for at, name in enumerate(found.column_names)}
        return Table(columns, shown=list(columns))

    def __repr__(self) -> str:
        index = self._log.run(self._id)
        if index.error is not None:
            return f"<run {self.name!r}: {index.error}>"
        steps = self.steps
        span = _span(steps)
        bad = f", {index.catalog.nonfinite:,} with NaN or Inf" if index.catalog.nonfinite else ""
        bad += ", damaged" if index.damage else ""
        counts = f"{counted(len(index.tensors), 'tensor')}, {counted(index.catalog.rows, 'snapshot')}"
        return f"<run {self.name!r}: {counts}{span}{bad}>"

    def view(self, *, height: int = 600, origins: Sequence[str] = ()) -> Any:
        """Show the page in a notebook, at this run; see `tensortap.notebook`."""
        from .notebook import view

        return view(self._log.logdirs, self._id, height, origins)

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        index = self._log.run(self._id)
        if index.error is not None:
            return notebook_repr.code(repr(self))
        facts: list[tuple[str, object]] = [("graphs", len(index.graphs)), ("workers", len(self.workers))]
        facts += [(name, cell_text(index.info[name])[:200]) for name in _FACTS if name in index.info]
        steps = index.steps
        nonfinite = np.maximum(steps.nan, steps.inf)
        return notebook_repr.run(repr(self)[1:-1], facts, steps.step, steps.snapshots, nonfinite)


def _span(steps: np.ndarray[Any, np.dtype[np.int64]]) -> str:
    if len(steps) == 0:
        return ""
    return f", steps {steps[0]} to {steps[-1]}" if len(steps) > 1 else f", step {steps[0]}"


class Histograms(HistogramSeries):
    """`HistogramSeries` (see its attributes) that draws itself."""

    @classmethod
    def of(cls, series: HistogramSeries) -> Histograms:
        """The histograms of a series, with a method that plots them."""
        return cls(**{field.name: getattr(series, field.name) for field in fields(series)})

    def plot(self, kind: Kind = "heatmap") -> Any:
        """A plotly figure: `heatmap` (steps × values) or `ridgeline`.

        Raises:
            ImportError: plotly is not installed. InvalidValueError: the argument has the wrong type.
            NotFoundError: no value is finite.
        """
        return histograms_figure(self, kind)

    def __repr__(self) -> str:
        bins = max(len(self.edges) - 1, 0)
        return f"<histograms of {self.tensor!r}: {len(self.step):,} rows, {bins} bins>"

    def _repr_html_(self) -> str:
        from tensortap.html import notebook_repr

        return notebook_repr.histograms(repr(self), self.step, self.edges, self.counts)


def check_texts(**values: object) -> None:
    """Raises SelectionError: one of them is neither a text nor None."""
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise SelectionError(f"{name}={value!r:.80} is not a string.", f"Put it in quotes: {name}='…'.")


def check_name(name: object) -> None:
    """Raises SelectionError: the name of a tensor is not a string."""
    if not isinstance(name, str):
        raise SelectionError(
            f"{name!r:.80} is not a tensor name.", "Use a string; run.tensors lists the names."
        )


def check_integer(name: str, value: Any) -> int | None:
    """An integer, or None. Raises SelectionError: it is something else."""
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        hint = f"Use an integer, e.g. {name}=3" + ("; -1 is the last." if name == "step" else ".")
        raise SelectionError(f"{name}={value!r:.80} is not an integer.", hint) from None


def check_filters_of(filters: Mapping[str, object]) -> None:
    """Raises SelectionError: the filter does not exist, or has an invalid value."""
    known = sorted(_PYTHON_NAMES.get(field.name, field.name) for field in fields(Filters))
    for name, value in filters.items():
        if name not in known:
            hint = did_you_mean(name, known, f"Use one of {', '.join(known)}.")
            if name in _PYTHON_NAMES:
                hint = f"Use {_PYTHON_NAMES[name]}=…, e.g. find('relu', step='3:10')."
            raise SelectionError(f"Unknown filter {name!r:.80}.", hint)
        if name in ("nonfinite", "kept") and not isinstance(value, bool):
            raise SelectionError(f"{name}={value!r:.80} is not True or False.", f"Use {name}=True or False.")
    check_integer("visit", filters.get("visit"))
    check_texts(**{name: value for name, value in filters.items() if name not in _NO_TEXT})
