"""Training on disks that fail in every way and heal, or lose the run's directory: it goes on."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dumped import Dumped
from failing_disk import CUT, FOLDER, OPEN, RENAME, WRITE, run_on_failing_disk

# name -> (calls that fail, errno, most bytes at once, milliseconds a call takes)
FAULTS = {
    "ENOSPC": (WRITE, errno.ENOSPC, 0, 0),
    "EIO": (WRITE, errno.EIO, 0, 0),
    "EDQUOT": (WRITE, errno.EDQUOT, 0, 0),
    "EROFS": (WRITE | OPEN | FOLDER | RENAME, errno.EROFS, 0, 0),
    "ESTALE": (WRITE | OPEN, errno.ESTALE, 0, 0),
    "EMFILE": (OPEN | WRITE, errno.EMFILE, 0, 0),
    "cut": (WRITE | CUT, errno.ENOSPC, 0, 0),
    "short": (WRITE, 0, 1000, 0),
    "slow": (WRITE, 0, 0, 150),
}
NO_LOSS = ("short", "slow")
EVERY = (*FAULTS, "late", "removed")
BEFORE, DURING, AFTER = 3, 5, 3

PROGRAM = f"""
import json, shutil, sys
from pathlib import Path
import tensorflow as tf
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
from tensortap.capture.pipeline import batch_writer
from failing_disk import failing
batch_writer._RETRY_SECONDS = batch_writer._CHECK_SECONDS = 0.0
root, faults, result = Path(sys.argv[1]), json.loads(sys.argv[2]), {{}}

def train(tap, step, count):
    for _ in range(count):
        step(tf.ones([2000]))
    flushed = tap.flush()
    return flushed is not False

def tapped(name):
    tap = Tap(root / name, Watch("sum$", steps=1, keep="value"))
    return tap, tap.function(lambda x: tf.add(x, tf.random.stateless_normal([2000], [1, 2]), name="sum"))

for name, (calls, error, most, wait) in faults.items():
    tap, step = tapped(name)
    train(tap, step, {BEFORE})
    with failing(calls, error, most=most, wait=wait):
        train(tap, step, {DURING})
    train(tap, step, {AFTER})
    tap.close()
    result[name] = tap.dropped

tap, step = tapped("late")  # the disk fails from the beginning
with failing({OPEN | WRITE | FOLDER}, {errno.EROFS}):
    train(tap, step, {DURING})
train(tap, step, {AFTER})
tap.close()
result["late"] = tap.dropped

tap, step = tapped("removed")
train(tap, step, {BEFORE})
shutil.rmtree(root / "removed")
train(tap, step, {DURING})
tap.close()
result["removed"] = tap.dropped
print(json.dumps(result))
"""


@dataclass(frozen=True)
class Trained:
    """What the program left and said."""

    root: Path
    dropped: dict[str, int]
    stderr: str


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    root = tmp_path_factory.mktemp("failing") / "logs"
    done = run_on_failing_disk(PROGRAM, root, json.dumps(FAULTS))
    assert done.returncode == 0, done.stderr[-4000:]
    yield Trained(root, json.loads(done.stdout.splitlines()[-1]), done.stderr)


def complete(dumped: Dumped) -> set[int]:
    """The steps whose value is there, bit for bit readable."""
    return {row.step for row in dumped.rows if row.kept is not None and row.value.shape == (2000,)}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_acknowledged_stays_and_a_recovered_disk_takes_more(trained: Trained, fault: str) -> None:
    dumped = Dumped(trained.root / fault)
    steps = BEFORE + DURING + AFTER
    assert set(range(BEFORE)) <= complete(dumped)
    assert set(range(BEFORE + DURING, steps)) <= complete(dumped)
    assert len(dumped.rows) + dumped.dropped == steps, "what is not there is counted"
    assert dumped.dropped == trained.dropped[fault]
    if fault in NO_LOSS:
        assert complete(dumped) == set(range(steps))


def test_a_disk_that_fails_from_the_beginning_is_used_once_it_heals(trained: Trained) -> None:
    dumped = Dumped(trained.root / "late")
    assert complete(dumped) == set(range(DURING, DURING + AFTER))
    assert dumped.dropped == trained.dropped["late"] == DURING


def test_a_run_whose_directory_was_removed_counts_what_it_loses(trained: Trained) -> None:
    assert not (trained.root / "removed").exists(), "it is not made again behind the back of who removed it"
    assert trained.dropped["removed"] == DURING
    assert f"{DURING} snapshots of run 'removed' were dropped" in trained.stderr


def test_every_trouble_is_reported_once(trained: Trained) -> None:
    said = [
        line
        for line in trained.stderr.splitlines()
        if re.search("TapWarning.*(written|opened|removed)", line)
    ]
    reported = {fault: sum(f"'{fault}'" in line for line in said) for fault in EVERY}
    assert reported == {fault: int(fault not in NO_LOSS) for fault in EVERY}, trained.stderr


def test_the_loss_is_shown(trained: Trained) -> None:
    from small_dump import Api
    from werkzeug.test import Client

    from tensortap.server.app import create_app

    api = Api(Client(create_app(trained.root)))
    problems: Any = api.json(f"/api/runs/{api.run_id('late')}/problems")
    assert problems["dropped"] == DURING
