"""Where stderr is full or closed and no warning can be printed, training goes on and losses are counted."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
import tensorflow as tf

from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch


class _Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def _raise(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("a program's own way to show warnings")


@contextmanager
def _stderr(stream: io.StringIO | None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("always")
        patch.setattr(sys, "stderr", stream)
        # What pytest records is shown, as it is outside of a test.
        patch.setattr(warnings, "showwarning", lambda *_, **__: print("warned", file=sys.stderr))
        yield


@contextmanager
def _closed() -> Iterator[None]:
    stream = io.StringIO()
    stream.close()
    with _stderr(stream):
        yield


@contextmanager
def _own_warnings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("always")
        patch.setattr(warnings, "showwarning", _raise)
        yield


WAYS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "full": lambda: _stderr(_Full()),
    "closed": _closed,
    "none": lambda: _stderr(None),
    "own": _own_warnings,
}


@pytest.mark.parametrize("way", WAYS)
def test_training_goes_on_and_losses_are_counted(tmp_path: Path, way: str) -> None:
    (tmp_path / "file").touch()
    with WAYS[way]():
        tap = Tap(tmp_path / "file" / "run", Watch("sum$", steps=1))
        step = tap.function(lambda x: tf.add(x, 1.0, name="sum"))
        results = [float(step(tf.zeros([]))) for _ in range(3)]
        tap.close()
    assert results == [1.0, 1.0, 1.0]
    assert tap.dropped == 3


def test_waiting_for_a_full_queue_does_not_end_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensortap.capture.pipeline.writer_thread._FIRST_REPORT", 0.0)
    with _stderr(_Full()):
        tap = Tap(tmp_path / "run", Watch("sum$", steps=1, keep="value"), queue_bytes=1)
        step = tap.function(lambda x: tf.add(x, 1.0, name="sum"))
        results = [float(step(tf.zeros([1000]))[0]) for _ in range(20)]
        tap.close()
    assert results == [1.0] * 20
    assert tap.dropped == 0
