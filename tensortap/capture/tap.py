"""The capture object: what the user holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, overload

from tensortap.core.names import check_run_name
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.uri import shown_path

from . import tap_arguments
from .adapters.keras_callback import TapCallback, no_attribute, warn_of_missing_names
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
from .watching.step_schedule import Steps
from .watching.watch import Watch
from .watching.watch_file import WatchFile

note_lines()


class Tap:
    """Captures the tensors of a TensorFlow program into a run.

    One object for every way to run TensorFlow: `callback()` for `model.fit`, `function` for a training
    loop of your own, `eager()` for code outside of functions, `saved_model()` for a loaded model. A
    context manager; without `with`, everything is flushed when training ends and closed when the program
    does.

    Capturing never raises into the program and never changes what steps compute that are not watched:
    these run the untouched functions. What cannot be captured is skipped, and said once as a `TapWarning`.

    Args:
        path: directory of the run: `Tap("logs/r")` writes the run `r` of the log directory `logs`; or its
            address, as in `Tap("s3://bucket/logs/r")` (docs/remote.md).
        watch: what to keep, one watch or several (`Watch(…) | Watch(…)`); by default summaries of all nodes
            at every 10th step.
        sources: whether the graph embeds the text of the user's own source files.
        exact: whether the untouched function makes every step, and a tapped copy of it runs before, as a
            shadow, on copies of the variables. Then no bit of the training can change, whatever is
            watched, for the price of a second run of each watched step. A function with state that cannot
            be copied is not captured, and named. Of one that draws by ops with their own random streams
            (`tf.random.normal`) a copy makes every step; only what it draws is tapped in it.
        record: steps of which everything is kept that they need to run again: `Record(…)`, or just steps as
            in `Watch`, `every(100)`. Not by default.
        on: a trigger: `NonFinite()`, `LossSpike(10)`, a callable over the summaries of a step
            (`StepSummaries`), or several joined by `|`. It looks at every step; when it fires, the values of
            that step are written, and the dump says why (`Firing`).
        before: steps before the one that fired to write as well: a `FlightRecorder`, or their number.
        stop: ends training when a trigger fires: True by a `TrainingStoppedError` at the end of the step (the
            one exception to the rule above), `"return"` by having Keras' `fit` return; a loop of your own
            looks at `fired`. Each step then waits until it was checked.
        budget: share of the time of the steps that capture may take, as 0.03: of the steps that `watch` wants
            only as many are captured as fit (docs/how-to/keep-the-cost-low.md). Not with `on`.
        summarize: where tensors are summarized whose values are not kept: on the `"host"`, or on the
            `"device"` that computes them, by ops of TensorFlow, so that kilobytes leave a GPU and not the
            tensors (docs/what-it-costs.md). Not with `on` or `record`, which need values.
        queue_bytes: host memory that captured tensors may take while they wait to be written.
        when_full: `"wait"` (up to `wait_seconds`) when they take more, or `"drop"` at once. Drops are
            counted.
        wait_seconds: see `when_full`.
        disk_reserve: bytes of free disk space that are left alone: below that neither snapshots nor
            recordings are written.
        close_seconds: how long `close` and the end of the program wait for what is still to be written.
        keep_last: keep the values of so many steps, the last ones: old values go first, summaries stay
            (docs/store.md). Not at an address, and neither is `record`.
        max_bytes: keep so many bytes of values in the run; the rest as for `keep_last`.
        rank: number of this process in a distributed job; None takes it from `TF_CONFIG`, Horovod, MPI,
            Slurm or torchrun (`RANK`), where one of these started the process.
        info: free facts for the run, a JSON object.

    Example:
        ```python
        with tensortap.Tap("logs/first", tensortap.Watch(steps=10, keep="value")) as tap:
            model.fit(x, y, callbacks=[tap.callback()])
        ```

    Raises:
        InvalidNameError: the last part of `path` cannot be the name of a run.
        WatchError: `path` is empty or no path, or another argument is invalid.
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
        limits = tap_arguments.limits(self.run_dir, record, keep_last, max_bytes)
        watches = tap_arguments.watches(watch)
        share = tap_arguments.budget_share(budget, on)
        on_device = tap_arguments.summarizes_on_device(summarize, on=on, record=record)
        check_choices(when_full, sources=sources, exact=exact)
        limit = byte_count("queue_bytes", queue_bytes)
        rank = process_rank(rank)
        warnings = OneTimeWarnings(self.run)
        reserve = DiskReserve(byte_count("disk_reserve", disk_reserve), warnings)
        warn_of_earlier_job(self.run_dir, warnings)
        warn_of_missing_names(warnings)
        facts = {**environment(), "watch": [repr(each) for each in watches], **run_facts(info)}
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
        options = record_of(record)
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
        """Firings of the triggers of `on=` so far, oldest first; with `stop=`, in the last step, too."""
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
        """The number that the next step gets if it is not given one."""
        return self._state.numbers.next

    def flush(self) -> bool:
        """Waits until all that was captured is committed; False if that took more than `close_seconds`."""
        return self._state.flush()

    def close(self) -> None:
        """Writes what is left and closes the run. A second call does nothing."""
        self._steps.close()

    def callback(self) -> TapCallback:
        """A Keras callback for `fit`, `evaluate` or `predict`: `model.fit(…, callbacks=[tap.callback()])`.

        A step is a batch; steps are numbered from 0 and go on across epochs, and across several `fit` of
        one tap. With `steps_per_execution=k` a call makes k steps (fewer at the end of the data); it is
        captured if one of them is watched, under the number of the first, and its batches are visits.
        Validation inside `fit` is not captured.

        Raises:
            TapClosedError: the tap is closed.
        """
        self._check_open()
        return TapCallback(self._steps)

    @overload
    def function(self, function: Callable[..., Any], **options: Any) -> TappedFunction: ...

    @overload
    def function(
        self, function: None = None, **options: Any
    ) -> Callable[[Callable[..., Any]], TappedFunction]: ...

    def function(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Like `tf.function` (whose options it takes), tapped; also a decorator. Each call is a step.

        A function counts its own steps from 0. Inside `with tap.step(n): …` that step is taken instead.
        What is already a `tf.function` is tapped as it is. `tf.saved_model.save` saves the `tf.function`.

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

        Gradients that a tape computes outside of a tapped function belong in the body, too. In an event loop
        the body is that of this task and of those that are started in it, as long as it lasts: coroutines
        that take turns have steps of their own.

        Args:
            number: the step, >= 0; counted by the tap if left out.

        Raises:
            TapClosedError: the tap is closed.
            WatchError: it is no number from 0.
        """
        self._check_open()
        self._state.hold_call_hook()
        if number is not None and (not isinstance(number, Integral) or not 0 <= number < 1 << 63):
            raise WatchError(
                f"step {number!r} is not possible.", "Steps are whole numbers from 0 to 2^63 - 1."
            )
        with self._steps.step(number) as step:
            yield step.numbers.start

    @contextmanager
    def eager(self) -> Iterator[None]:
        """Captures every op that this thread runs in the body, inside of functions and outside.

        The body is one step, the tap's next; `with tap.step(n), tap.eager():` says which, and so does
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
        """A SavedModel whose signatures are tapped: each call of one is a step.

        Args:
            model: its directory, or what `tf.saved_model.load` returned.

        Raises:
            TapClosedError: the tap is closed.
            OSError: there is no SavedModel.
        """
        self._check_open()
        self._state.hold_call_hook()
        return tap_model(self._steps, model)

    def session(self, session: Any) -> TappedSession:
        """A `tf.compat.v1.Session` (or MonitoredSession) whose `run` is tapped: each call of it is a step,
        numbered on through all sessions of the tap.

        What a run is fed and computes is captured, with one visit for each iteration of a loop. For that,
        ops named `tensortap/…` are added to the graph beside watched tensors inside of version 1 loops and
        branches. `make_callable` and `partial_run` are not captured.

        Raises:
            TapClosedError: the tap is closed.
        """
        self._check_open()
        self._state.hold_call_hook()
        return TappedSession(self._steps, session)

    def batch(self, *, ids: Any = None, files: Any = None) -> None:
        """Notes which samples feed the step that this thread is in, or else its next one.

        Args:
            ids: ids of the samples: a list, array or tensor of numbers or text.
            files: names of the files they come from, likewise.

        Raises:
            WatchError: neither is given, or one is no list.
        """
        self._state.samples.note(ids, files)

    def trace_batches(
        self, dataset: Any, ids: Choose | None = None, files: Choose | None = None, feed: Choose | None = None
    ) -> Any:
        """A dataset that is trained on as the given one, and notes which samples feed each step.

        Call it last, behind `shuffle` and `batch`; `prefetch` and `repeat` may follow. In a loop of your own
        each step is taken to use the next batch.

        Args:
            dataset: a `tf.data.Dataset` of batches.
            ids: element -> a tensor of the samples' ids: `ids=lambda element: element["id"]`, or of tuples
                `ids=lambda pair: pair[0]`.
            files: element -> a tensor of the files they come from.
            feed: element -> what of it goes on to the model; all of it by default.

        Raises:
            WatchError: nothing is to be noted, or it is no dataset.
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
