"""`tap.callback()`: batches of `fit`, `evaluate` and `predict` as steps, and how many of them a call read."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tensortap.tf import internals

from ..capture_warnings import OneTimeWarnings, first_line
from ..errors import WatchError
from ..tap_steps import TapSteps
from ..tracing.layer_tracker import layer_paths

# What of Keras capture relies on without being promised it (owner in `keras`, names separated by spaces), by
# what is not captured where it is missing.
_RELIED_ON = {
    "batches of fit": ("Model", "make_train_function"),  # it sets `train_function`
    "batches of evaluate": ("Model", "make_test_function"),
    "batches of predict": ("Model", "make_predict_function"),
    "layers and their outputs": ("layers.Layer", "__call__"),
    "layers of functions traced earlier": ("layers.Layer", "_flatten_layers"),
    "gradients and updates by optimizers": ("optimizers.Optimizer", "apply"),
    "weights by name": ("Variable", "assign value path"),
}
# Keras names the functions that it makes for train_step, test_step and predict_step alike.
_STEP_FUNCTIONS = (
    "multi_step_on_iterator",
    "one_step_on_iterator",
    "one_step_on_data",
    "multi_step_on_data",
    "one_step_on_data_distributed",
)
_LOGS_EVERY_S = 0.25  # between logs of steps that are not captured
_DATA_ENDED = (StopIteration, tf.errors.OutOfRangeError)  # as Keras takes them


class _StepFunction:
    """Replaces a model's train (test, predict) function; runs it inside the announced step."""

    def __init__(self, original: Callable[..., Any], callback: TapCallback) -> None:
        self.original = original
        self.callback: TapCallback | None = callback  # None once it is over

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.callback is None:
            return self.original(*args, **kwargs)
        return self.callback.run_step(self.original, *args, **kwargs)


class TapCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Captures while Keras runs; installed when it begins, flushed when it ends.

    The model's train (test, predict) function is replaced by one that runs the original inside a step of
    the tap, so that nothing but it is captured, and put back at the end.
    """

    def __init__(self, steps: TapSteps) -> None:
        super().__init__()
        self._steps = steps
        self._running = ""  # the attribute of the model that is replaced
        self._validating = False  # whether its test function is, too
        self._begun: int | None = None  # the batch that Keras has announced, until it runs
        self._batch = 0  # that batch, by its number in the epoch
        self._batches = BatchCounter()
        self._epoch = 0
        self._last: int | None = None  # the last step that ran
        self._captured = False  # whether anything of it was
        self._to_validate: range | None = None  # steps of the epoch that were captured last, until validation
        self._logged = -math.inf  # when logs were noted last, by `time.monotonic`

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch
        self._to_validate = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._running == "train_function":
            self._note_logs("epoch", logs)

    def on_train_begin(self, logs: Any = None) -> None:
        self._start("train_function")

    def on_train_end(self, logs: Any = None) -> None:
        self._end("train_function")

    def on_test_begin(self, logs: Any = None) -> None:
        if self._running == "train_function" and not self._validating:
            self._validating = self._replace("test_function")
        else:
            self._start("test_function")

    def on_test_end(self, logs: Any = None) -> None:
        self._end_validation()
        self._end("test_function")

    def on_predict_begin(self, logs: Any = None) -> None:
        self._start("predict_function")

    def on_predict_end(self, logs: Any = None) -> None:
        self._end("predict_function")

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._batch_begins("train_function", batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._batch_ends("train_function", batch)
        self._note_batch("train_function", "train", logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._batch_begins("test_function", batch)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self._batch_ends("test_function", batch)
        self._note_batch("test_function", "test", logs)

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._batch_begins("predict_function", batch)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        self._batch_ends("predict_function", batch)

    def run_step(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Runs one batch; as a step, if Keras has announced it to this callback."""
        if self._validating:
            return self._validate(function, *args, **kwargs)
        announced, self._begun = self._begun, None
        if announced is None or self._steps.closed:
            return function(*args, **kwargs)
        source = next(iter(args), None)
        most = int(getattr(self.model, "steps_per_execution", 1))
        expected = self._batches.expected(source, most, (self.params or {}).get("steps") or -1)
        eager = self._steps.eager if getattr(self.model, "run_eagerly", False) else nullcontext
        try:
            with self._steps.step(None, expected, source, names=_names(self._running)) as step:
                try:
                    with eager():
                        outcome = function(*args, **kwargs)
                except _DATA_ENDED:
                    step.ran(0)
                    raise
                step.ran(self._batches.by_call(source, expected))
                self._last = step.numbers[-1] if len(step.numbers) else self._last
                self._captured = step.active
                self._to_validate = step.numbers if step.watched.written else self._to_validate
        except _DATA_ENDED:
            raise  # Keras continues with the next epoch
        except BaseException:
            # Keras does not say goodbye to callbacks when training fails.
            self._end(self._running)
            raise
        if step.stops_fit:
            self.model.stop_training = True
        return outcome

    def _validate(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Runs one batch of the validation in `fit`. The first batch after an epoch with a captured step
        belongs to the last training step, because it uses the weights after that step."""
        after, self._to_validate = self._to_validate, None
        try:
            if after is None or self._last is None or self._steps.closed:
                return function(*args, **kwargs)
            eager = self._steps.eager if getattr(self.model, "run_eagerly", False) else nullcontext
            with self._steps.step(self._last, names=_names("test_function"), after=after), eager():
                return function(*args, **kwargs)
        except _DATA_ENDED:
            raise
        except BaseException:
            self._end_validation()
            self._end(self._running)
            raise

    def _end_validation(self) -> None:
        if self._validating:
            self._validating = False
            self._restore("test_function")

    def _start(self, attribute: str) -> None:
        if self._running == attribute:
            self._end(attribute)  # it was left without an end, by an interrupt between two batches
        if self._running or self._steps.closed:
            return  # within another one
        if keras.backend.backend() != "tensorflow":
            self._steps.warn(
                "backend",
                f"nothing is captured: Keras runs on {keras.backend.backend()}",
                "Set KERAS_BACKEND=tensorflow before you import Keras.",
            )
            return
        if self._steps.current is not None:
            self._steps.warn(
                "batches",
                "fit, evaluate and predict were called inside a step, but each of their batches is "
                "a separate step",
                "Call them outside tap.step().",
            )
        self._running = attribute
        self._begun, self._batches = None, BatchCounter()
        self._last = self._to_validate = None
        self._steps.begin_training(self._layer_paths())
        self._replace(attribute)

    def _layer_paths(self) -> list[str]:
        try:
            return layer_paths(self.model)
        except Exception as error:  # a model may be of any class
            self._steps.warn(
                "layers",
                f"layers are not recorded: {type(error).__name__}: {first_line(error)}",
                "Training continues.",
            )
            return []

    def _end(self, attribute: str) -> None:
        if not attribute or self._running != attribute:
            return
        self._running = ""
        self._restore(attribute)
        self._steps.end_training()

    def _replace(self, attribute: str) -> bool:
        """Makes the model run one of its functions as steps; False if it has no such function."""
        original = _without_finished(getattr(self.model, attribute, None))
        if original is not None:
            setattr(self.model, attribute, _StepFunction(original, self))
        return original is not None

    def _restore(self, attribute: str) -> None:
        """Undoes `_replace`."""
        function = getattr(self.model, attribute, None)
        while isinstance(function, _StepFunction):
            if function.callback is self:
                function.callback = None
            function = function.original
        if function is not None:
            setattr(self.model, attribute, _without_finished(getattr(self.model, attribute)))

    def _batch_begins(self, attribute: str, batch: int) -> None:
        if self._running == attribute:
            self._begun = self._batch = batch

    def _batch_ends(self, attribute: str, batch: int) -> None:
        """A batch ends. `batch` is the number of the last one run; with `steps_per_execution` it differs from
        the one at the begin, and may count batches after the end of the data."""
        if self._running == attribute and self._begun is not None:  # it did not run here
            self._begun = None
            self._steps.skip(max(batch - self._batch, 0) + 1)

    def _note_batch(self, attribute: str, phase: str, logs: Any) -> None:
        """Records the logs of a batch: always if its step was captured, of others a few times per second."""
        if self._running == attribute and (self._captured or time.monotonic() - self._logged > _LOGS_EVERY_S):
            self._note_logs(phase, logs)

    def _note_logs(self, phase: str, logs: Any) -> None:
        if self._last is None or self._steps.closed:
            return
        self._logged = time.monotonic()
        try:
            values = dict(_numbers(logs or {}))
            rate = None if phase == "test" else _learning_rate(self.model)
            if rate is not None:
                values["learning_rate"] = rate
            facts = {"phase": phase, "epoch": self._epoch, "values": values}
            self._steps.note_logs(self._last, facts)
        except Exception as error:  # custom metrics may return anything
            self._steps.warn(
                "logs",
                f"loss and metrics are not recorded: the Keras logs cannot be read ({first_line(error)})",
                "Training continues. Return numbers from train_step.",
            )


def _names(attribute: str) -> dict[str, str]:
    """The graph name of a train (test, predict) function: `train_step`, as users know it."""
    return dict.fromkeys(_STEP_FUNCTIONS, attribute.replace("_function", "_step"))


def _numbers(logs: Mapping[str, Any]) -> Iterator[tuple[str, float | str]]:
    """The logs that are one number each; JSON has no NaN and infinity, so that these are text."""
    for name, value in logs.items():
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "fiub":
            number = float(array.reshape(()))
            yield str(name), number if math.isfinite(number) else str(number)


def _learning_rate(model: Any) -> float | None:
    rate = getattr(getattr(model, "optimizer", None), "learning_rate", None)
    # A mirrored variable is not a number, but has `numpy`, as a tensor.
    return None if rate is None else float(keras.ops.convert_to_tensor(rate).numpy())


def _without_finished(function: Any) -> Any:
    """The function without outer step functions that are over (another tap's may still be on top of them)."""
    while isinstance(function, _StepFunction) and function.callback is None:
        function = function.original
    return function


def no_attribute(tap: object, name: str) -> AttributeError:
    """The error for an attribute that a tap lacks; Keras may read one, assuming a callback."""
    wanted = ": pass callbacks=[tap.callback()] to Keras" if hasattr(TapCallback, name) else ""
    return AttributeError(f"'Tap' object has no attribute {name!r}{wanted}", name=name, obj=tap)


def refuse_uncalled(model: Any) -> None:
    """Raises WatchError: Keras calls `set_model` of `tap.callback`, given without parentheses."""
    raise WatchError("callbacks=[tap.callback] has no callback.", "Call it: callbacks=[tap.callback()].")


def warn_of_missing_names(warnings: OneTimeWarnings) -> None:
    """Warns about features that this version of Keras does not support; called when a tap is created."""
    missing = dict(_missing_names())
    if missing:
        warnings.warn(
            "keras",
            f"with Keras {keras.__version__} {', '.join(missing.values())} are not captured: it "
            f"lacks {', '.join(missing)}",
            "Training continues. Install another version of Keras or a newer tensortap.",
        )


def _missing_names() -> Iterator[tuple[str, str]]:
    """(missing name, consequence)"""
    if keras.backend.backend() != "tensorflow":
        return  # `TapCallback` warns that nothing is captured
    for what, (path, names) in _RELIED_ON.items():
        owner: object = keras
        for part in path.split("."):
            owner = getattr(owner, part, None)
        for name in names.split():
            if not hasattr(owner, name):
                yield f"keras.{path}.{name}", what
                break


class BatchCounter:
    """Counts the batches that calls of a model's train (test, predict) function draw from their iterator."""

    def __init__(self) -> None:
        self._iterator: Any = None
        self._left = -1  # batches; negative if that is unknown
        self._before = 0  # batches drawn from the iterator by earlier calls

    def expected(self, source: Any, most: int, epoch: int) -> int:
        """Batches that the next call draws, from 1 to `most`, if known.

        Args:
            source: its argument: an iterator, or batches that were already drawn.
            most: the model's `steps_per_execution`; taken where the size of the data is unknown.
            epoch: batches of an epoch, if Keras knows them; negative if it does not.
        """
        if most == 1:
            return 1
        if isinstance(source, list | tuple):
            return min(max(len(source), 1), most)
        if source is not self._iterator:
            self._iterator, self._left = source, _size_of(source, epoch)
            self._before = _batches_read(source) or 0
        return min(self._left, most) if self._left > 0 else most

    def by_call(self, source: Any, expected: int) -> int:
        """Number of batches that the call drew: by TensorFlow's count, or as expected if there is none."""
        if source is not self._iterator:
            return expected
        total = _batches_read(source)
        count = expected if total is None else total - self._before
        self._before += count
        self._left -= count
        return count


def _batches_read(iterator: Any) -> int | None:
    """Number of elements that an iterator has returned; None if it is not counted, as without autotuning."""
    try:
        with internals.not_recorded():
            model = tf.data.experimental.get_model_proto(internals.local_iterator(iterator))
        return int(model.nodes[model.output].num_elements)
    except Exception:
        return None


def _size_of(iterator: Any, epoch: int) -> int:
    """Number of batches of an iterator's dataset; negative if infinite or unknown."""
    try:
        with internals.not_recorded():
            datasets = list(internals.upstream_datasets(iterator))
            size, first = (int(datasets[at].cardinality()) for at in (0, -1))
    except Exception:  # an iterator of another kind, as those of distribution strategies
        return -1
    # Keras cuts arrays into batches behind Dataset.range(1), which hides how many there are.
    arrays = first == 1 and "Range" in type(datasets[-1]).__name__
    return epoch if arrays and size == tf.data.UNKNOWN_CARDINALITY else size
