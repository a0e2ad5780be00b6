"""Values kept in part: which elements, and that their summary is that of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dumped import Dumped
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.errors import DamagedError, InvalidValueError
from tensortap.core.sampling import Sample, SamplingMethod, split_sample, with_sample
from tensortap.dump.write.writer import DumpWriter

HOWS: list[SamplingMethod] = ["even", "random"]


@given(
    count=st.integers(1, 400), size=st.integers(0, 3000), how=st.sampled_from(HOWS), seed=st.integers(0, 9)
)
def test_positions_ascend_and_are_spread(count: int, size: int, how: SamplingMethod, seed: int) -> None:
    positions = Sample(count, how, seed).positions(size)
    assert len(positions) == min(count, size)
    assert (np.diff(positions) > 0).all()
    if len(positions):
        width = size / len(positions)
        assert (np.abs(positions - np.arange(len(positions)) * width) <= width).all()
        assert positions[-1] < size


def test_a_random_sample_is_the_same_everywhere() -> None:
    assert Sample(4, "random", 0).positions(1000).tolist() == Sample(4, "random", 0).positions(1000).tolist()
    assert Sample(4, "random", 1).positions(1000).tolist() != Sample(4, "random", 0).positions(1000).tolist()
    assert Sample(3).positions(1 << 40).tolist() == [0, 366503875925, 733007751850]


@pytest.mark.parametrize("how", HOWS)
def test_a_sampled_value_comes_back_with_the_summary_of_the_whole(
    tmp_path: Path, how: SamplingMethod
) -> None:
    array = np.arange(60_000, dtype=np.float32).reshape(200, 300)
    sample = Sample(1000, how, 5)
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("big", array, step=0, sample=sample)
        writer.log("zeros", np.zeros((100, 100), np.float32), step=0, sample=sample)
        writer.log("small", array[:2, :2], step=0, sample=sample)
        writer.log("text", np.array([b"a", b"bb", b"c"] * 700, object), step=0, sample=sample)

    dumped = Dumped(tmp_path / "r")
    (big,) = dumped.at("big:0")
    assert (big.shape, big.size, big.max) == ([200, 300], 60_000, 59_999)
    assert np.array_equal(big.value, array.reshape(-1)[sample.positions(array.size)])
    assert dumped.value("zeros:0").shape == (1000,)
    assert dumped.value("small:0").shape == (2, 2)
    assert dumped.value("text:0").shape == (1000,)


def test_the_codec_says_what_it_is() -> None:
    for sample in (None, Sample(7), Sample(7, "random", 3)):
        assert split_sample(with_sample("zstd:1048576", sample)) == (sample, "zstd:1048576")
    for codec in ("sample:", "sample:0:even+raw", "sample:9999999999:even+raw", "sample:5:odd+raw"):
        with pytest.raises(DamagedError):
            split_sample(codec)


def test_impossible_samples_are_refused() -> None:
    for arguments in ({"count": 0}, {"count": 1.5}, {"count": 3, "how": "all"}, {"count": 3, "seed": -1}):
        with pytest.raises(InvalidValueError):
            Sample(**arguments)  # type: ignore[arg-type]
