"""Of a loop with many iterations a step keeps the first, the last and every k-th."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from dumped import Dumped

from tensortap.capture import NonFinite, Watch, WatchError
from tensortap.capture.pipeline import visit_budget
from tensortap.capture.tap import Tap


def looped(run_dir: Path, iterations: int, bad: int = -1, **options: Any) -> list[int]:
    """The visits that a step keeps of a node in a loop, which makes an infinity in iteration `bad`."""

    @tf.function
    def program(x: Any) -> Any:
        for i in tf.range(iterations):
            factor = tf.math.log(tf.where(tf.equal(i, bad), 0.0, 2.7))
            x = tf.multiply(x, factor, name="next")
        return x

    watch = options.pop("watch", Watch(steps=1))
    with Tap(run_dir, watch, **options) as tap, tap.step(0):
        program(tf.ones([3]))
    return sorted({row.visit for row in Dumped(run_dir).rows if row.name.endswith("next:0")})


def test_the_first_the_last_and_every_kth_iteration_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits = looped(tmp_path / "r", 500)
    assert visits == [*range(0, 500, 64), 499]
    said = capsys.readouterr().err
    (event,) = Dumped(tmp_path / "r").events("unseen")
    assert "Use Watch(visits=None) for all" in event["text"]
    node = re.search(r"the node (\S+) runs more", said)
    assert node, said
    assert event["text"].startswith(f"The node {node[1]} runs more than 10 times")  # its case is kept


@pytest.mark.parametrize(
    ("iterations", "visits", "kept"),
    [
        (32, 32, [*range(32)]),
        (33, 32, [*range(0, 33, 2)]),
        (40, None, [*range(40)]),
        (100, 5, [0, 32, 64, 96, 99]),
        (100, 2, [0, 99]),
        (1, 2, [0]),
    ],
)
def test_visits_say_how_many(tmp_path: Path, iterations: int, visits: int | None, kept: list[int]) -> None:
    found = looped(tmp_path / "r", iterations, watch=Watch(steps=1, visits=visits))
    assert found == kept


def test_the_most_that_any_watch_asks_for_is_kept(tmp_path: Path) -> None:
    watch = Watch(steps=1, visits=5) | Watch(nodes="next", steps=1, visits=None)
    assert looped(tmp_path / "r", 50, watch=watch) == [*range(50)]
    others = {row.visit for row in Dumped(tmp_path / "r").rows if row.name.endswith("Log:0")}
    assert len(others) == 5


def test_where_an_infinity_comes_first_is_kept(tmp_path: Path) -> None:
    assert looped(tmp_path / "r", 500, bad=77) == sorted([*range(0, 500, 64), 77, 499])


def test_where_an_infinity_comes_first_is_kept_before_visits_are_skipped(tmp_path: Path) -> None:
    assert looped(tmp_path / "r", 500, bad=18) == sorted([*range(0, 500, 64), 18, 499])


def test_a_trigger_examines_all_visits_and_writes_them_when_it_fires(tmp_path: Path) -> None:
    watch = Watch(steps=1, visits=4)
    assert looped(tmp_path / "r", 100, bad=50, watch=watch, on=NonFinite()) == [*range(100)]
    (fired,) = Dumped(tmp_path / "r").events("trigger")
    assert fired["op_type"] == "Log"


def test_calls_of_one_step_count_too(tmp_path: Path) -> None:
    @tf.function
    def act(x: Any) -> Any:
        return tf.multiply(x, 0.5, name="half")

    with Tap(tmp_path / "r", Watch(steps=1, visits=6)) as tap, tap.step(0):
        x = tf.ones([2])
        for _ in range(50):
            x = act(x)
    kept = [row.visit for row in Dumped(tmp_path / "r").rows if row.name.endswith("half:0")]
    assert kept == [0, 16, 32, 48, 49]


def test_large_tensors_do_not_wait_for_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_budget, "_MAX_HELD", 100)
    visits = looped(tmp_path / "r", 1000)
    assert visits[:5] == [*range(5)]
    assert visits[-1] == 999
    assert 6 < len(visits) <= 10


def test_a_session_keeps_as_many(tmp_path: Path) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.disable_control_flow_v2()
        try:
            end = v1.while_loop(
                lambda i, _: i < 100,
                lambda i, x: (i + 1, tf.multiply(x, 0.9, name="shrunk")),
                [0, tf.ones([2])],
            )
        finally:
            v1.enable_control_flow_v2()
        with v1.Session() as session, Tap(tmp_path / "r", Watch(nodes="shrunk", steps=1, visits=6)) as tap:
            tap.session(session).run(end)
    rows = [row for row in Dumped(tmp_path / "r").rows if row.name.endswith("shrunk:0")]
    assert [row.visit for row in rows] == [0, 32, 64, 96, 99]


@pytest.mark.parametrize("visits", [1, 0, -3, True, "all", 2.5])
def test_what_is_no_number_of_visits_is_refused(visits: Any) -> None:
    with pytest.raises(WatchError, match="visits="):
        Watch(visits=visits)


def test_visits_survive_json() -> None:
    for visits in (None, 2, 10, 100):
        watch = Watch(visits=visits)
        assert Watch.from_json(watch.to_json()) == watch
    assert Watch.from_json('{"rules": [{"visits": null}]}') == Watch(visits=None)
    assert "visits" not in Watch().to_json()
