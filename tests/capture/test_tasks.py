"""Coroutines and generators that take turns in one thread have steps of their own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from dumped import Dumped
from small_models import BATCH, data, mlp

import tensortap
from tensortap.capture.errors import TapWarning
from tensortap.capture.pipeline.messages import Message, StepEnd
from tensortap.capture.pipeline.writer_thread import WriterThread
from tensortap.capture.recording.record_options import Record
from tensortap.capture.tap import Tap
from tensortap.capture.triggers.firing import TrainingStoppedError
from tensortap.capture.triggers.triggers import NonFinite
from tensortap.capture.watching.step_schedule import every
from tensortap.capture.watching.watch import Watch
from tensortap.dump.recording.recording_files import find_recordings, read_recording

ALL = Watch(steps=1, keep="value")


def doubled(folder: Path) -> dict[int, list[float]]:
    """What the node `double` computed, by step, in the order of visits."""
    found: dict[int, list[float]] = {}
    for tensor in tensortap.open(folder).runs["r"].find("double|Mul"):
        found.setdefault(int(tensor.step), []).append(float(tensor))
    return found


def log_in(tap: Tap) -> Any:
    """NaN of a negative number."""
    return tap.function(lambda x: tf.math.log(x, name="log"))


async def in_turn(tap: Tap, log: Any, steps: Iterable[int], bad: int) -> list[int]:
    """Steps of two calls that take turns; one is given a negative number. Returns those that were stopped."""
    stopped: list[int] = []

    async def step(number: int, turn: asyncio.Barrier) -> None:
        try:
            with tap.step(number):
                for value in (2.0, -1.0 if number == bad else 3.0):
                    await turn.wait()
                    log(tf.constant(value))
                await turn.wait()
        except TrainingStoppedError:
            stopped.append(number)

    numbers = list(steps)
    turn = asyncio.Barrier(len(numbers))
    await asyncio.gather(*(step(number, turn) for number in numbers))
    return stopped


def run(program: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine in a thread of its own: the one of a test may have an event loop, as by a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, program).result()


def double_in(tap: Tap) -> Any:
    return tap.function(lambda x: tf.multiply(x, 2.0, name="double"))


def test_coroutines_have_their_own_steps_and_samples(tmp_path: Path) -> None:
    async def serve(number: int, turn: asyncio.Barrier) -> None:
        tap.batch(ids=[number])
        await turn.wait()
        with tap.step(100 + number):
            await turn.wait()
            double(tf.constant(float(number)))
            await turn.wait()
            double(tf.constant(number + 0.5))
        assert not tap.in_step

    async def serve_all() -> None:
        turn = asyncio.Barrier(3)
        await asyncio.gather(*(serve(number, turn) for number in range(3)))

    with Tap(tmp_path / "r", ALL) as tap:
        double = double_in(tap)
        run(serve_all())
        double(tf.constant(7.0))
    assert doubled(tmp_path) == {0: [14.0], 100: [0.0, 1.0], 101: [2.0, 3.0], 102: [4.0, 5.0]}
    dumped = tensortap.open(tmp_path).runs["r"]
    assert [batch.ids for step in (100, 101, 102) for batch in dumped.batch(step)] == [["0"], ["1"], ["2"]]


def test_eager_coroutines_note_their_own_operations(tmp_path: Path) -> None:
    async def compute(number: int, turn: asyncio.Barrier) -> None:
        with tap.step(number), tap.eager():
            await turn.wait()
            _ = tf.constant(float(number)) * 2.0
            await turn.wait()

    async def compute_all() -> None:
        turn = asyncio.Barrier(3)
        await asyncio.gather(*(compute(number, turn) for number in range(3)))

    with Tap(tmp_path / "r", ALL) as tap:
        run(compute_all())
        _ = tf.constant(9.0) * 2.0
    assert doubled(tmp_path) == {0: [0.0], 1: [2.0], 2: [4.0]}


def test_what_is_started_in_a_step_belongs_to_it_until_it_ends(tmp_path: Path) -> None:
    async def report(ended: asyncio.Event) -> None:
        double(tf.constant(1.0))
        await ended.wait()
        double(tf.constant(2.0))

    async def serve() -> None:
        ended, begun = asyncio.Event(), asyncio.Event()
        with tap.step(5):
            task = asyncio.create_task(report(ended))
            asyncio.get_running_loop().call_soon(begun.set)  # behind the beginning of the task
            await begun.wait()
        ended.set()
        await task

    with Tap(tmp_path / "r", ALL) as tap:
        double = double_in(tap)
        run(serve())
    assert doubled(tmp_path) == {0: [4.0], 5: [2.0]}


def test_generators_end_in_any_order(tmp_path: Path) -> None:
    def stream(number: int) -> Iterator[None]:
        with tap.step(number):
            yield
            double(tf.constant(float(number)))
            yield

    with Tap(tmp_path / "r", ALL) as tap:
        double = double_in(tap)
        streams = [stream(number) for number in (10, 11)]
        for each in streams:
            next(each)
        streams[0].close()
        next(streams[1])
        streams[1].close()
        assert not tap.in_step
        double(tf.constant(3.0))
    assert doubled(tmp_path) == {0: [6.0], 11: [22.0]}


def test_a_step_that_ends_in_another_context_has_ended(tmp_path: Path) -> None:
    async def stream() -> AsyncIterator[None]:
        with tap.step(3):
            yield

    async def begin() -> None:
        await anext(aiter(stream()))  # and forgotten: the event loop closes it, in a task of its own
        gc.collect()

    with Tap(tmp_path / "r", ALL) as tap:
        double = double_in(tap)
        context = contextvars.copy_context()
        step = tap.step(4)
        context.run(step.__enter__)
        assert context.run(lambda: tap.in_step)
        step.__exit__(None, None, None)
        assert not context.run(lambda: tap.in_step)
        run(begin())
        double(tf.constant(3.0))
    assert Dumped(tmp_path / "r").steps == [0]


def test_an_eager_body_may_be_ended_by_another_thread(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", ALL) as tap, ThreadPoolExecutor(1) as pool:
        body = tap.eager()
        pool.submit(body.__enter__).result()
        pool.submit(lambda: tf.constant(1.0) * 2.0).result()
        body.__exit__(None, None, None)
        assert not pool.submit(lambda: tap.in_step).result()
        pool.submit(lambda: tf.constant(2.0) * 2.0).result()
    assert doubled(tmp_path) == {0: [2.0]}


def test_a_flight_recorder_holds_whole_steps_of_coroutines(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=[99]), on=NonFinite(), before=2, stop=True) as tap:
        log = log_in(tap)
        assert run(in_turn(tap, log, range(4), bad=-1)) == []
        assert run(in_turn(tap, log, range(4, 8), bad=6)) == [6]
    assert [(firing.step, firing.first_step) for firing in tap.fired] == [(6, 4)]
    rows = Dumped(tmp_path / "r").at("log:0")
    assert {(row.step, row.visit) for row in rows} == {
        (step, visit) for step in (4, 5, 6) for visit in (0, 1)
    }


def test_recordings_of_coroutines_wait_for_their_own_steps(tmp_path: Path) -> None:
    recorded = Record(on_trigger=True, before=1)
    with Tap(tmp_path / "r", Watch(steps=[99]), on=NonFinite(), record=recorded) as tap:
        log = log_in(tap)
        run(in_turn(tap, log, range(4), bad=2))
    kept = [read_recording(each.path) for each in find_recordings(tmp_path / "r")]
    assert sorted((each.step, each.call) for each in kept) == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_a_step_whose_end_had_no_room_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = WriterThread.put
    refused: list[Message] = []

    def refuse_first_end(writer_thread: WriterThread, message: Message) -> bool:
        if isinstance(message, StepEnd) and not refused:
            refused.append(message)
            return False
        return put(writer_thread, message)

    monkeypatch.setattr(WriterThread, "put", refuse_first_end)
    with Tap(tmp_path / "r", Watch(steps=[99]), on=NonFinite()) as tap:
        log = log_in(tap)
        for value in (-1.0, 1.0):
            log(tf.constant(value))
    assert [firing.step for firing in tap.fired] == [0]


def test_fits_in_two_threads_have_numbers_of_their_own_and_end_alone(tmp_path: Path) -> None:
    def fit(name: str, batches: int) -> int:
        model = mlp()
        x, y = data(batches)
        x[-1] = np.inf if name == "bad" else 1.0
        model.fit(x, y, batch_size=BATCH, shuffle=False, epochs=3, verbose=0, callbacks=[tap.callback()])
        return int(model.optimizer.iterations.numpy())

    watch = Watch(kinds=["output", "gradient"], steps=1)
    with (
        Tap(tmp_path / "r", watch, on=NonFinite(watch), stop="return") as tap,
        ThreadPoolExecutor(2) as pool,
    ):
        assert [*pool.map(fit, ("good", "bad"), (20, 4))] == [60, 4]
    assert tap.next_step == 64
    assert sorted(Dumped(tmp_path / "r").steps) == list(range(64))


def test_steps_around_calls_of_other_threads_are_reported(tmp_path: Path) -> None:
    """GIVEN a step whose functions run in a pool of threads THEN closing the tap says so."""
    double = tf.function(lambda x: x * 2.0)
    tap = Tap(tmp_path / "r", Watch(steps=1), record=every(1))
    with ThreadPoolExecutor(2) as pool, tap.step():
        assert [float(each) for each in pool.map(double, [tf.constant(1.0), tf.constant(2.0)])] == [2.0, 4.0]
    with pytest.warns(TapWarning, match=r"no function or op ran in the threads .* Enter tap.step\(\) in"):
        tap.close()
