"""What a tap is made with is checked when it is made."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tensortap.capture.errors import TapWarning, WatchError
from tensortap.capture.tap import Tap
from tensortap.capture.tap_arguments import job_rank
from tensortap.capture.triggers.triggers import LossSpike, NonFinite
from tensortap.capture.watching.watch import Watch
from tensortap.dump.write.writer import DumpWriter


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"queue_bytes": -1}, "queue_bytes=-1 is not a number of bytes.*512 << 20"),
        ({"queue_bytes": 1e9}, "is not a number of bytes"),
        ({"disk_reserve": "x"}, "disk_reserve='x' is not a number of bytes"),
        ({"wait_seconds": -1}, "wait_seconds=-1 is not a valid wait time.*wait_seconds=30"),
        ({"wait_seconds": math.inf}, "wait_seconds=inf is not a valid wait time"),
        ({"close_seconds": -1}, "close_seconds=-1 is not a valid wait time"),
        ({"close_seconds": math.nan}, "close_seconds=nan"),
        ({"rank": "a"}, "rank='a' is not a process number.*at least 0"),
        ({"rank": -1}, "rank=-1"),
        ({"rank": True}, "rank=True"),
        ({"rank": 1 << 20}, "rank=1048576 .*below 1048576"),
        ({"budget": 3}, "budget=3 is not a share of a step's time.*budget=0.03"),
        ({"budget": True}, "budget=True is not a share"),
        ({"budget": 0.1, "on": NonFinite()}, "budget= cannot be combined with on="),
        ({"exact": "no"}, "exact='no' is neither True nor False.*exact=True or False"),
        ({"sources": 1}, "sources=1 is neither True nor False"),
        ({"info": {1: 2}}, "info=.1: 2. is not a JSON object.*'lr'"),
        ({"info": {"a": {(1, 2): 3}}}, "is not a JSON object"),
        ({"info": "x"}, "info='x' is not a JSON object"),
        ({"path": None}, r"Tap\(None\) does not name a run.*'logs/first'"),
        ({"path": ""}, r"Tap\(''\) does not name a run"),
        ({"path": b"logs/r"}, "does not name a run"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WatchError, match=message):
        Tap(**({"path": tmp_path / "r"} | arguments))
    assert list(tmp_path.iterdir()) == []


def test_numpy_numbers_will_do(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {
        "rank": np.int64(3),
        "queue_bytes": np.int32(99),
        "wait_seconds": np.float32(1),
        "exact": np.True_,
    }
    with Tap(tmp_path / "r", **numbers) as tap:
        assert tap.dropped == 0


def test_a_tap_that_keras_is_given_says_what_to_give(tmp_path: Path) -> None:
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    asked = r"callbacks=\[tap\.callback\(\)\]"
    with Tap(tmp_path / "r") as tap:
        for given, error in ((tap, AttributeError), (tap.callback, WatchError)):
            with pytest.raises(error, match=asked):
                model.fit(np.ones((2, 2)), np.ones((2, 1)), verbose=0, callbacks=[given])
    with pytest.raises(AttributeError, match=r"no attribute 'watchs'$"):
        tap.watchs  # type: ignore[attr-defined]  # noqa: B018


def test_a_run_that_an_earlier_job_closed_is_reported(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        Tap(tmp_path / "r", Watch(steps=[9])).close()  # another worker of the same job: nothing to say
        writer.log("x:0", np.ones(2), step=0)
    with pytest.warns(TapWarning, match="already exists, closed by"):
        Tap(tmp_path / "r", Watch(steps=[9])).close()


def test_what_is_no_step_session_or_function(tmp_path: Path) -> None:
    with Tap(tmp_path / "r", Watch(steps=[9])) as tap:
        for wrong in ("a", -1, 1.5):
            with pytest.raises(WatchError, match="are integers"), tap.step(wrong):
                pass
        for wrong in (None, "x"):
            with pytest.raises(WatchError, match="is not a session"):
                tap.session(wrong)
        with pytest.raises(WatchError, match="is not a function"):
            tap.function(3)


def test_of_several_triggers_the_one_that_fired_is_named(tmp_path: Path) -> None:
    import tensorflow as tf

    tap = Tap(tmp_path / "r", Watch(steps=[9]), on=NonFinite() | LossSpike(20))

    @tap.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    step(tf.constant([1.0]))
    step(tf.constant([-1.0]))
    tap.flush()
    assert [fired.trigger for fired in tap.fired] == ["NonFinite()"]
    tap.close()


_CLUSTER = '{"cluster": {"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "%s", "index": %s}}'


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, None),
        ({"TF_CONFIG": _CLUSTER % ("chief", 0)}, 0),
        ({"TF_CONFIG": _CLUSTER % ("worker", 1)}, 2),
        ({"TF_CONFIG": _CLUSTER % ("worker", '"1"')}, 2),
        ({"TF_CONFIG": _CLUSTER % ("evaluator", 0), "RANK": "3"}, None),
        ({"TF_CONFIG": _CLUSTER % ("worker", -5)}, None),
        ({"TF_CONFIG": "{broken", "RANK": "3"}, 3),
        ({"TF_CONFIG": "[]", "RANK": "3"}, 3),
        ({"TF_CONFIG": "{}", "SLURM_PROCID": "17", "RANK": "3"}, 17),
        ({"OMPI_COMM_WORLD_RANK": "255"}, 255),
        ({"HOROVOD_RANK": "5", "OMPI_COMM_WORLD_RANK": "6"}, 5),
        ({"PMI_RANK": "12"}, 12),
        ({"RANK": "major"}, None),
        ({"RANK": "-1"}, None),
        ({"RANK": "9" * 20}, None),
        ({"RANK": "1048576"}, None),
        ({"RANK": "1048575"}, 1048575),
    ],
)
def test_a_launcher_tells_the_rank(environment: dict[str, str], rank: int | None) -> None:
    assert job_rank(environment) == rank


def test_a_given_rank_wins_over_the_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "7")
    for path, given, expected in ((tmp_path / "own", 2, 2), (tmp_path / "found", None, 7)):
        with Tap(path, rank=given) as tap, tap.eager():
            tf.add(1.0, 1.0)
        (worker,) = path.glob("*/worker.json")
        assert json.loads(worker.read_text())["rank"] == expected
