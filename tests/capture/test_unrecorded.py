"""What `record=` cannot record says so: when it is asked for, and to whoever looks for the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture import Tap, TapWarning, every
from tensortap.capture.errors import WatchError
from tensortap.core.errors import NotFoundError
from tensortap.replay.locate import locate


def missing(run_dir: Path) -> list[str]:
    """Why recordings are missing, as the run says, and as whoever looks for one is told."""
    with pytest.raises(NotFoundError) as reported:
        locate(run_dir, None, None)
    texts = [event["text"] for event in Dumped(run_dir).events("unseen") if event.get("about") == "record"]
    assert reported.value.hint == " ".join(texts)
    return texts


def test_runs_of_a_session_say_that_they_are_not_recorded(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        doubled = tf.constant([1.0]) * 2.0
        with Tap(tmp_path / "r", record=every(1)) as tap:
            match = r"record=…\) does not record the runs of a session"
            with pytest.warns(TapWarning, match=match):
                tapped = tap.session(session)
            for _ in range(3):
                tapped.run(doubled)
    assert len(missing(tmp_path / "r")) == 1


def test_record_takes_false_for_nothing_and_asks_for_steps(tmp_path: Path) -> None:
    Tap(tmp_path / "r", record=False).close()
    with pytest.raises(WatchError, match=r"record=True does not say which steps.*record=every\(100\)"):
        Tap(tmp_path / "r", record=True)


def test_eager_code_says_that_it_is_not_recorded(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", record=every(1)) as tap:
        warned = pytest.warns(TapWarning, match="does not record ops outside functions")
        with warned, tap.eager():
            tf.square(tf.ones([2]))
    assert len(missing(tmp_path / "r")) == 1


def test_a_step_without_a_function_says_that_it_is_not_recorded(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", record=every(1)) as tap:
        match = "does not record ops outside functions"
        also = pytest.warns(TapWarning, match="ran ops outside functions only, which are not captured")
        with also, pytest.warns(TapWarning, match=match):
            for step in range(3):
                with tap.step(step):
                    tf.square(tf.ones([2]))
    assert len(missing(tmp_path / "r")) == 1


def test_a_function_that_cannot_be_recorded_says_so_wherever_it_is_looked_for(tmp_path: Path) -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)

    @tf.function
    def insert(key: Any) -> Any:
        table.insert(key, tf.constant([1], tf.int64))
        return table.lookup(key)

    warned = pytest.warns(TapWarning, match="cannot be recorded")
    with warned, Tap(tmp_path / "r", record=every(1)) as tap, tap.step(0):
        insert(tf.constant(["a"]))
    (text,) = missing(tmp_path / "r")
    assert "lookup table" in text
