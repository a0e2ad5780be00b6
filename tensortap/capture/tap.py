"""The capture object for the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, overload

from tensortap.core.names import check_run_name
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.uri import shown_path

from . import tap_arguments
from .adapters.keras_callback import TapCallback, no_attribute, refuse_uncalled, warn_of_missing_names
from .adapters.tf_function import TappedFunction, TappedModel, tap_model
from .adapters.v1_session import TappedSession
from .batch_samples import Choose
from .capture_warnings import OneTimeWarnings
from .errors import TapClosedError, WatchError
from .pipeline.batch_writer import BatchWriter, DiskReserve
from .pipeline.writer_thread import Sink, WhenFull, WriterThread
from .recording.record_options import Record, record_of
from .recording.run_recordings import RunRecordings
from .run_info import environment, warn_of_earlier_job
from .step import UNRECORDED_OPS
from .tap_arguments import (
    Summarize,
    byte_count,
    check_choices,
    process_rank,
    run_directory,
    run_facts,
    seconds,
)
from .tap_state import TapOptions, TapState
from .tap_steps import TapSteps
from .tracing.keras_lines import note_lines
from .triggers.firing import Firing
from .triggers.flight_recorder import FlightRecorder
from .triggers.trigger_control import Stop, trigger_control
from .watching.step_schedule import Steps, is_whole_number
from .watching.watch import Watch, as_watches
from .watching.watch_file import WatchFile

note_lines()


class Tap:
    """Captures the tensors of a TensorFlow program into a run.

    One object for every way to run TensorFlow: `callback()` for `model.fit`, `function` for a custom
    training loop, `eager()` for code outside functions, `saved_model()` for a loaded model. A context
    manager. Without `with`, data are flushed when training ends, and the run is closed when the program
    exits.

    Capture never raises into the program. Unwatched steps run the original functions. Tensors that cannot be
    captured are skipped, with one `TapWarning`.

    Args:
        path: directory of the run: `Tap("logs/r")` writes the run `r` of the log directory `logs`; or a
            remote address, e.g. `Tap("s3://bucket/logs/r")` (docs/remote.md).
        watch: what to capture: one watch or several (`Watch(…) | Watch(…)`). The default is summaries of all
            nodes at every 10th step.
        sources: whether to embed the text of the user's source files.
        exact: capture from a shadow copy, which runs before each watched step on copies of the variables.
            Training then stays bit-identical in all cases, at the cost of a second run of each watched step.
            A function whose state cannot be copied is skipped with a warning. A function with random ops
            that have their own stream (`tf.random.normal`) runs as a copy at every step, with taps on the
            random numbers only.
        record: steps to record for replay: `Record(…)`, or steps as in `Watch`, e.g. `every(100)`. None, the
            default, or False: nothing.
        on: a trigger: `NonFinite()`, `LossSpike(10)`, a callable over the summaries of a step
            (`StepSummaries`), or several joined by `|`. It checks every step. When it fires, the values of
            that step and the reason (`Firing`) are written.
        before: steps to write before the step that fired: a `FlightRecorder` or a number.
        stop: stop training when a trigger fires. True raises a `TrainingStoppedError` at the end of the step
            (the only error that capture raises), `"return"` makes Keras' `fit` return; a custom loop can
            check `fired`. Each step then waits for its check.
        budget: maximum share of the step time for capture, e.g. 0.03. Watched steps beyond it are skipped or
            reduced (docs/how-to/keep-the-cost-low.md). Not with `on`.
        summarize: where to compute summaries of tensors without stored values: on the `"host"`, or with
            TensorFlow ops on the `"device"`, so that only kilobytes leave a GPU (docs/what-it-costs.md). Not
            with `on` or `record`, which need values.
        queue_bytes: maximum host memory of captured tensors that wait to be written.
        when_full: beyond it, `"wait"` up to `wait_seconds`, or `"drop"` immediately. Drops are counted.
        wait_seconds: see `when_full`.
        disk_reserve: minimum free disk space in bytes; below it no snapshots or recordings are written.
        close_seconds: how long `close` and the program exit wait for pending data.
        keep_last: keep the values of this number of last steps; summaries stay (docs/store.md). Local runs
            only, like `record`.
        max_bytes: keep at most this many bytes of values in the run, as for `keep_last`.
        rank: number of this process in a distributed job. None: from `TF_CONFIG`, Horovod, MPI, Slurm or
            torchrun (`RANK`).
        info: additional facts about the run, a JSON object.

    Example:
        ```python
        with tensortap.Tap("logs/first", tensortap.Watch(steps=10, keep="value")) as tap:
            model.fit(x, y, callbacks=[tap.callback()])
        ```

    Raises:
        InvalidNameError: the last part of `path` is not a valid run name.
        WatchError: `path` or another argument is invalid.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        watch: Watch | Sequence[Watch] = Watch(),  # noqa: B008  frozen
        *,
        sources: bool = True,
        exact: bool = False,
        record: Record | Steps | None = None,
        on: Any = None,
        before: FlightRecorder | int | None = None,
        stop: Stop = False,
        budget: float | None = None,
        summarize: Summarize = "host",
        queue_bytes: int = 512 << 20,
        when_full: WhenFull = "wait",
        wait_seconds: float = 30.0,
        disk_reserve: int = 256 << 20,
        close_seconds: float = 60.0,
        keep_last: int | None = None,
        max_bytes: int | None = None,
        rank: int | None = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.run_dir = run_directory(path)
        self.run = check_run_name(self.run_dir.name)
        options = record_of(record)
        limits = tap_arguments.limits(self.run_dir, options, keep_last, max_bytes)
        watches = as_watches(watch)
        share = tap_arguments.budget_share(budget, on)
        on_device = tap_arguments.summarizes_on_device(summarize, on=on, record=options)
        check_choices(when_full, sources=sources, exact=exact)
        limit = byte_count("queue_bytes", queue_bytes)
        rank = process_rank(rank)
        warnings = OneTimeWarnings(self.run)
        reserve = DiskReserve(byte_count("disk_reserve", disk_reserve), warnings)
        warn_of_earlier_job(self.run_dir, warnings)
        warn_of_missing_names(warnings)
        facts = {**environment(), **tap_arguments.capture_rules(watches, share), **run_facts(info)}
        patience = seconds("close_seconds", close_seconds)
        logdir, run = str(self.run_dir.parent), self.run

        def open_writer() -> DumpWriter:
            return DumpWriter(logdir, run, info=facts, rank=rank, upload_seconds=patience, **limits)

        def make_sink() -> Sink:
            writer = BatchWriter(open_writer, warnings, reserve)
            return writer if triggers is None else triggers.sink(writer)

        triggers = trigger_control(
            on, before, stop, run=run, run_dir=str(path), warnings=warnings, patience=patience
        )
        writer_thread = WriterThread(
            make_sink,
            queue_bytes=limit,
            when_full=when_full,
            wait_seconds=seconds("wait_seconds", wait_seconds),
        )
        recordings = None
        if options is not None:
            recordings = RunRecordings(
                self.run_dir,
                options,
                warnings,
                reserve,
                writer_thread.note_lost,
                patience,
                way="shadow" if exact else "in-place",
                sources=sources,
                info=facts,
            )
            if triggers is not None:
                triggers.settle = recordings.settle
            elif options.on_trigger:
                raise WatchError("Record(on_trigger=True) needs a trigger.", "Add on=NonFinite().")
        self._state = TapState(
            TapOptions(run, patience, share, sources, exact, on_device),
            watches,
            warnings,
            writer_thread,
            watch_file=WatchFile(self.run_dir, watches),
            triggers=triggers,
            recordings=recordings,
        )
        self._steps = TapSteps(self._state, max_bytes=limit)

    def __repr__(self) -> str:
        shown = self.watches[0] if len(self.watches) == 1 else list(self.watches)
        return f"Tap({shown_path(self.run_dir)!r}, watch={shown!r})"

    if not TYPE_CHECKING:  # which would take any name for one of its attributes

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def __enter__(self) -> Self:
        self._check_open()
        self._state.hold_call_hook()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def watches(self) -> tuple[Watch, ...]:
        """The current watches."""
        return self._state.watches.current

    @property
    def fired(self) -> tuple[Firing, ...]:
        """Firings of the triggers of `on=` so far, oldest first; with `stop=`, including the last step."""
        return () if self._state.triggers is None else self._state.triggers.fired

    @property
    def dropped(self) -> int:
        """Snapshots and recordings lost so far."""
        return self._state.writer_thread.dropped

    @property
    def closed(self) -> bool:
        """Whether the tap has been closed."""
        return self._state.closed

    @property
    def next_step(self) -> int:
        """Default number of the next step."""
        return self._state.numbers.next

    def flush(self) -> bool:
        """Wait until all captured tensors are committed. Returns False after `close_seconds`."""
        return self._state.flush()

    def close(self) -> None:
        """Writes all pending data and closes the run. A second call has no effect."""
        self._steps.close()

    def callback(self) -> TapCallback:
        """A Keras callback for `fit`, `evaluate` or `predict`: `model.fit(…, callbacks=[tap.callback()])`.

        A step is a batch. Steps are numbered from 0 across epochs and across several `fit` of one tap. With
        `steps_per_execution=k` a call has k steps (fewer at the end of the data). It is captured if one of
        them is watched, with the number of the first, and its batches are visits. Of the validation in
        `fit`, the first batch after an epoch with a watched step is captured.

        Raises:
            TapClosedError: the tap is closed.
        """
        self._check_open()
        return TapCallback(self._steps)

    # Keras reads these of `callbacks=[tap.callback]`, where the call was forgotten.
    callback.__dict__.update(async_safe=True, set_model=refuse_uncalled)

    @overload
    def function(self, function: Callable[..., Any], **options: Any) -> TappedFunction: ...

    @overload
    def function(
        self, function: None = None, **options: Any
    ) -> Callable[[Callable[..., Any]], TappedFunction]: ...

    def function(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """A tapped `tf.function`, with the same options; also a decorator. Each call is a step.

        Steps are counted from 0 per function. Inside `with tap.step(n): …`, that step is used. An existing
        `tf.function` is tapped unchanged. `tf.saved_model.save` saves the `tf.function`.

        Raises:
            TapClosedError: the tap is closed.
        """
        self._check_open()
        if function is None:
            return lambda decorated: self.function(decorated, **options)
        self._state.hold_call_hook()
        return TappedFunction(self._steps, function, options)

    @contextmanager
    def step(self, number: int | None = None) -> Iterator[int]:
        """Captures the functions that this thread calls in the body as one step; yields its number.

        Gradients computed by a tape outside a tapped function belong in the body as well. In an event loop
        the step belongs to this task and to tasks started in the body; other coroutines have their own
        steps.

        Args:
            number: the step, >= 0; counted by the tap by default.

        Raises:
            TapClosedError: the tap is closed.
            WatchError: it is not a number >= 0.
        """
        self._check_open()
        self._state.hold_call_hook()
        if number is not None and (not is_whole_number(number) or number >= 1 << 63):
            raise WatchError(f"step {number!r} is not valid.", "Steps are integers from 0 to 2^63 - 1.")
        with self._steps.step(number) as step:
            yield step.numbers.start

    @contextmanager
    def eager(self) -> Iterator[None]:
        """Captures every op that this thread runs in the body, inside and outside functions.

        The body is the next step of the tap. To set its number, use `with tap.step(n), tap.eager():`, or
        `with tap.step(n):` in the body. Nodes are named by layer, op type and order: `mlp/dense/MatMul`,
        `mlp/dense/MatMul_1`.

        Raises:
            TapClosedError: the tap is closed.
        """
        self._check_open()
        if not self.in_step:
            self._state.hold_call_hook()
        self._steps.leave_unrecorded(*UNRECORDED_OPS)
        with self._steps.eager():
            yield

    def saved_model(self, model: Any) -> TappedModel:
        """A SavedModel with tapped signatures; each call is a step.

        Args:
            model: its directory, or the result of `tf.saved_model.load`.

        Raises:
            TapClosedError: the tap is closed.
            OSError: the directory has no SavedModel.
        """
        self._check_open()
        self._state.hold_call_hook()
        return tap_model(self._steps, model)

    def session(self, session: Any) -> TappedSession:
        """A `tf.compat.v1.Session` (or MonitoredSession) with a tapped `run`. Each call is a step; all
        sessions of the tap share the numbering.

        Fed and computed tensors are captured, with one visit per loop iteration. To this end, ops named
        `tensortap/…` are added to the graph for watched tensors in version 1 loops and branches.
        `make_callable` and `partial_run` are not captured.

        Raises:
            TapClosedError: the tap is closed.
        """
        self._check_open()
        self._state.hold_call_hook()
        return TappedSession(self._steps, session)

    def batch(self, *, ids: Any = None, files: Any = None) -> None:
        """Record the samples of the current step of this thread, or else of its next step.

        Args:
            ids: ids of the samples: a list, array or tensor of numbers or text.
            files: names of their files: a list, array or tensor of text.

        Raises:
            WatchError: neither is given, or one is not a list.
        """
        self._state.samples.note(ids, files)

    def trace_batches(
        self, dataset: Any, ids: Choose | None = None, files: Choose | None = None, feed: Choose | None = None
    ) -> Any:
        """Return an equivalent dataset that records the samples of each step.

        Call it last, after `shuffle` and `batch`; only `prefetch` and `repeat` may follow. In a custom loop,
        each step uses the next batch.

        Args:
            dataset: a `tf.data.Dataset` of batches.
            ids: element -> a tensor of the samples' ids: `ids=lambda element: element["id"]`, or of tuples
                `ids=lambda pair: pair[0]`.
            files: element -> a tensor of their file names.
            feed: element -> the part for the model; the whole element by default.

        Raises:
            WatchError: there is nothing to record, or it is not a dataset.
        """
        return self._state.samples.trace(dataset, ids, files, feed)

    @property
    def in_step(self) -> bool:
        """Whether this thread is inside a step of this tap; in an event loop, whether this task is."""
        return self._steps.current is not None

    def _check_open(self) -> None:
        if self._state.closed:
            raise TapClosedError(
                f"The tap of run {self.run!r} is closed.", "Create a new tap, or close this one later."
            )
