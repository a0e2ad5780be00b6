"""`Sample`: which elements of a huge value are stored, computed alike by writer and reader (FORMAT.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np

from .errors import DamagedError, InvalidValueError

SamplingMethod = Literal["even", "random"]

MAX_COUNT = 1 << 31
_CODEC = re.compile(r"sample:(\d{1,10}):(even|random:(\d{1,10}))\+")


@dataclass(frozen=True)
class Sample:
    """Stores at most `count` elements of a value; the summary covers the whole value.

    Args:
        count: maximum number of stored elements, in C order.
        how: `"even"`: evenly spaced; `"random"`: one drawn from each of `count` equal stretches.
        seed: of the random draw, from 0 to 2^32 - 1.

    Example:
        ```python
        tensortap.Watch(keep="value", sample=tensortap.Sample(10_000, "random", seed=1))
        ```

    Raises:
        InvalidValueError: an argument is not valid.
    """

    count: int
    how: SamplingMethod = "even"
    seed: int = 0

    def __post_init__(self) -> None:
        if not _is_number(self.count) or not 1 <= self.count <= MAX_COUNT:
            raise InvalidValueError(
                f"sample={self.count!r} is not a valid number of elements.",
                "Use an integer of at least 1.",
            )
        if self.how not in get_args(SamplingMethod):
            raise InvalidValueError(f"how={self.how!r} is unknown.", "Use 'even' or 'random'.")
        if not _is_number(self.seed) or not 0 <= self.seed < 1 << 32:
            raise InvalidValueError(f"seed={self.seed!r} is not valid.", "Use 0 to 2^32 - 1.")

    def kept(self, size: int) -> int:
        """Number of stored elements of a value of `size`."""
        return min(self.count, size)

    def positions(self, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Positions of the stored elements in the flattened value, ascending, int64."""
        kept = self.kept(size)
        numbers = np.arange(kept + 1, dtype=np.int64)
        # Position i is floor(i * size / kept), without a product that overflows.
        edges = numbers * (size // max(kept, 1)) + numbers * (size % max(kept, 1)) // max(kept, 1)
        if self.how == "even":
            return edges[:-1]
        widths = np.diff(edges).astype(np.uint64)
        return edges[:-1] + (_scrambled(self.seed, kept) % widths).astype(np.int64)


def _is_number(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _scrambled(seed: int, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """SplitMix64 (Steele, Lea, Flood 2014) of seed * 2^32 + i: the same on every machine and version."""
    state = (np.arange(count, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def with_sample(codec: str, sample: Sample | None) -> str:
    """The codec column of a value with `sample` stored: `sample:1000:even+raw`."""
    if sample is None:
        return codec
    how = "even" if sample.how == "even" else f"random:{sample.seed}"
    return f"sample:{sample.count}:{how}+{codec}"


def split_sample(codec: str) -> tuple[Sample | None, str]:
    """The inverse of `with_sample`.

    Raises:
        DamagedError: the codec claims to be a sample and is not one.
    """
    if not codec.startswith("sample:"):
        return None, codec
    match = _CODEC.match(codec)
    try:
        if match is None:
            raise InvalidValueError("It cannot be parsed.")
        how: SamplingMethod = "even" if match[2] == "even" else "random"
        return Sample(int(match[1]), how, int(match[3] or 0)), codec[match.end() :]
    except InvalidValueError as error:
        raise DamagedError(f"The codec {codec[:60]!r} is unknown.", "Upgrade tensortap.") from error
