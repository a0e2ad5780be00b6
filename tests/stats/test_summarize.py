"""Summaries against a slow reference that is computed one element at a time."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from some_arrays import NUMBERS, ORDERS, Array, from_bits, in_order, numbers, numpy_type

from tensortap.core.errors import InvalidValueError
from tensortap.core.records import STATISTICS, Summary
from tensortap.stats import summarize as module
from tensortap.stats.summarize import summarize, warm_up

many = settings(max_examples=300)


def bucket(value: float) -> int:
    """The bucket of one finite non-zero number, by rounding it to float32 toward zero."""
    sign = 512 if value < 0 else 0
    magnitude = abs(value)
    if magnitude >= 2.0**128:
        return sign + 510
    with np.errstate(over="ignore"):
        narrow = np.float32(magnitude)
    if float(narrow) > magnitude:
        narrow = np.nextafter(narrow, np.float32(0))
    return sign + (int(narrow.view(np.uint32)) >> 22)


def exact(value: Any) -> float:
    """The float64 nearest to zero's side of a number: what its bucket is taken of."""
    nearest = float(value)
    if isinstance(value, int) and abs(int(nearest)) > abs(value):
        return math.nextafter(nearest, 0)
    return nearest


def elements(array: Array) -> list[Any]:
    """Python numbers; complex ones as moduli by the rule of FORMAT.md."""
    flat = array.reshape(-1)
    if array.dtype.kind in "iu":
        return flat.tolist()
    if array.dtype.kind != "c":
        with np.errstate(invalid="ignore"):
            return flat.astype(np.float64).tolist()
    found = []
    with np.errstate(invalid="ignore"):
        wide = flat.astype(np.complex128)
    for z in wide.tolist():
        both = (z.real, z.imag)
        if any(map(math.isnan, both)):
            found.append(math.nan)
        elif any(map(math.isinf, both)):
            found.append(math.inf)
        else:
            found.append(min(math.hypot(*both), float(np.finfo(np.float64).max)))
    return found


def check(array: Array, summary: Summary) -> None:
    """Compares a summary with sums and counts over Python numbers."""
    found = elements(array)
    finite = [value for value in found if math.isfinite(value)]
    part = {"complex64": np.float32, "complex128": np.float64}.get(array.dtype.name, array.dtype)
    whole = array.dtype.kind in "biu" or "int" in array.dtype.name
    tiny = 0.0 if whole else float(ml_dtypes.finfo(part).smallest_normal)
    assert summary.size == array.size
    assert summary.shape == array.shape
    assert summary.nan == sum(map(math.isnan, found))
    assert summary.pos_inf == found.count(math.inf)
    assert summary.neg_inf == found.count(-math.inf)
    assert summary.zero == sum(value == 0 for value in finite)
    assert summary.negative == sum(value < 0 for value in finite)
    assert summary.positive == sum(value > 0 for value in finite)
    assert summary.subnormal == sum(0 < abs(value) < tiny for value in finite)
    if array.dtype.kind != "c":  # a modulus may be rounded either way
        counts = Counter(bucket(exact(value)) for value in finite if value != 0)
        histogram = summary.histogram
        pairs = zip(histogram.bucket_id.tolist(), histogram.bucket_count.tolist(), strict=True)
        assert dict(pairs) == counts
    assert summary.histogram.total == summary.negative + summary.positive
    check_moments([float(value) for value in finite], summary)


def check_moments(finite: list[float], summary: Summary) -> None:
    if not finite:
        assert all(math.isnan(getattr(summary, name)) for name in STATISTICS)
        return
    close = {"rtol": 1e-12, "atol": 0}
    np.testing.assert_allclose(summary.min, min(finite), **close)
    np.testing.assert_allclose(summary.max, max(finite), **close)
    np.testing.assert_allclose(summary.abs_max, max(map(abs, finite)), **close)
    scale = max(map(abs, finite)) or 1.0
    scaled = [value / scale for value in finite]
    mean = math.fsum(scaled) / len(scaled)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in scaled) / len(scaled))
    l2 = math.sqrt(math.fsum(value * value for value in scaled))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(summary.mean, np.float64(mean) * scale, rtol=1e-12, atol=1e-14 * scale)
        np.testing.assert_allclose(summary.std, np.float64(std) * scale, rtol=1e-7, atol=1e-14 * scale)
        np.testing.assert_allclose(summary.l2, np.float64(l2) * scale, rtol=1e-9, atol=5e-324)


@many
@given(array=numbers(), order=st.sampled_from(ORDERS))
def test_any_bit_patterns(array: Array, order: str) -> None:
    check(array, summarize(in_order(array, order)))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("size", [1, 9, 700, 5003])
def test_every_dtype_at_every_size_that_takes_another_path(name: str, size: int) -> None:
    bits = np.random.default_rng(size).bytes(size * numpy_type(name).itemsize)
    array = from_bits(name, (size,), bits)
    check(array, summarize(array))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int16", "uint16"])
def test_short_dtypes_counted_by_code(name: str) -> None:
    array = from_bits(name, (70_001,), np.random.default_rng(3).bytes(140_002))
    check(array, summarize(array))


@many
@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=1, max_size=60))
def test_float32_with_specials(values: list[float]) -> None:
    array = np.array(values, np.float32)
    check(array, summarize(array))


def not_at_the_edge(value: float) -> bool:
    """Leaves out magnitudes whose norm may round to infinity."""
    return not 1e307 < abs(value) < math.inf


@many
@given(st.lists(st.one_of(st.floats(), st.floats(-1e300, 1e300)).filter(not_at_the_edge), max_size=60))
def test_float64_with_specials(values: list[float]) -> None:
    array = np.array(values, np.float64)
    check(array, summarize(array))


@many
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40))
def test_int64_up_to_its_limits(values: list[int]) -> None:
    array = np.array(values, np.int64)
    check(array, summarize(array))


@pytest.mark.parametrize("name", ["int64", "uint64", "int32", "uint32"])
def test_integers_next_to_bucket_edges(name: str) -> None:
    info = np.iinfo(name)
    edges = [scale << n for n in range(64) for scale in (2, 3)]
    near = {sign * edge + d for edge in edges for d in (-1, 0, 1) for sign in (-1, 1)}
    array = np.array([v for v in near if info.min <= v <= info.max], name)
    check(array, summarize(array))


def test_negative_zero_is_zero() -> None:
    for dtype in ("float16", "float32", "float64", "bfloat16"):
        summary = summarize(np.array([-0.0, 0.0, -0.0], numpy_type(dtype)))
        assert (summary.zero, summary.negative, summary.positive, summary.histogram.total) == (3, 0, 0, 0)


def test_subnormals_are_not_zeros() -> None:
    array = np.array([1e-45, -1e-45, 1e-40, 0.0, -0.0, 1.2e-38], np.float32)
    summary = summarize(array)
    assert (summary.subnormal, summary.zero, summary.positive, summary.negative) == (3, 2, 3, 1)
    assert summarize(np.array([5e-324, 1e-310, 1e-300])).subnormal == 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_with_and_without_nan_and_inf(dtype: str) -> None:
    array = np.random.default_rng(0).standard_normal(20_011).astype(dtype)
    array[0] = np.nan
    array[4_000:4_010] = np.inf
    array[9_000:14_000] = np.nan  # whole blocks of nothing else
    array[-1] = -np.inf
    check(array, summarize(array))
    check(array[9_000:14_000], summarize(array[9_000:14_000]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "int8", "float16"])
def test_more_elements_than_narrow_counters_hold(dtype: str) -> None:
    """Counters of 16 bits are emptied in time: two million equal elements, and one more."""
    array = np.full(2_000_003, 3, dtype)
    array[5] = 1
    summary = summarize(array)
    assert sorted(summary.histogram.bucket_count.tolist()) == [1, 2_000_002]
    assert summary.positive == array.size
    np.testing.assert_allclose(summary.mean, 3 - 2 / array.size, rtol=1e-14)


@pytest.mark.parametrize(("dtype", "mean", "noise"), [("float64", 1e8, 1e-3), ("float32", 1e4, 1e-2)])
def test_a_large_mean_does_not_drown_the_deviation(dtype: str, mean: float, noise: float) -> None:
    rng = np.random.default_rng(0)
    array = (mean + noise * rng.standard_normal(300_000)).astype(dtype)
    reference = array.astype(np.longdouble)
    np.testing.assert_allclose(summarize(array).std, float(reference.std()), rtol=1e-6)


def test_a_constant_has_no_deviation() -> None:
    for value in (0.1, 1e8, 1e-30):
        for dtype in ("float32", "float64"):
            summary = summarize(np.full(10_001, value, dtype))
            assert summary.std == pytest.approx(0, abs=1e-12 * value)
            assert summary.mean == pytest.approx(float(np.array(value, dtype)), rel=1e-14)


def test_an_outlier_first_does_not_spoil_the_rest() -> None:
    array = np.random.default_rng(0).standard_normal(100_000)
    array[0] = 1e6
    np.testing.assert_allclose(summarize(array).std, float(array.astype(np.longdouble).std()), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e300, 1.7e308, 1e-200, 5e-324, 1e145])
def test_squares_beyond_float64(scale: float) -> None:
    array = np.array([1.0, -1.0, 0.5, 1.0]) * scale
    check(array, summarize(array))


def test_complex_parts_that_are_not_finite() -> None:
    values = [complex(math.nan, math.inf), complex(math.inf, 1), complex(0, -math.inf), 3 + 4j, 0j]
    for dtype in (np.complex64, np.complex128):
        summary = summarize(np.array(values, dtype))
        counts = (summary.nan, summary.pos_inf, summary.neg_inf, summary.zero, summary.positive)
        assert counts == (1, 2, 0, 1, 1)
        assert (summary.min, summary.max, summary.negative) == (0, 5, 0)


def test_bool_counts_as_0_and_1() -> None:
    summary = summarize(np.array([True, False, True, True]))
    assert (summary.dtype, summary.zero, summary.positive, summary.mean) == ("bool", 1, 3, 0.75)
    assert summary.histogram.buckets() == [(1.0, 1.5, 3)]


def test_empty_and_text_have_sizes_only() -> None:
    for array, size in ((np.empty((0, 3)), 0), (np.array(["a", "b"]), 2)):
        summary = summarize(array)
        assert summary.size == size
        assert summary.histogram.total == 0
        assert all(math.isnan(getattr(summary, name)) for name in STATISTICS)


@many
@given(array=numbers())
def test_plain_numpy_finds_the_same(array: Array) -> None:
    """What is used where numba is missing."""
    summary = summarize(array)
    if array.size and array.dtype.kind != "c":
        measured = module.measure_in_numpy([array.reshape(-1)], module.smallest_normal(summary.dtype))
        assert measured.histogram == summary.histogram
        assert measured.subnormal == summary.subnormal
        assert measured[1:5] == (summary.nan, summary.pos_inf, summary.neg_inf, summary.zero)


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise module.CannotCompileError

    monkeypatch.setattr(module, "scratch", fail)
    for name in NUMBERS:
        bits = np.random.default_rng(5).bytes(333 * numpy_type(name).itemsize)
        array = from_bits(name, (333,), bits)
        check(array, summarize(array))


def test_warming_up_leaves_nothing_behind() -> None:
    warm_up()
    warm_up("float64", "bfloat16")
    assert summarize(np.full(3, 2.0, np.float32)).histogram.buckets() == [(2.0, 3.0, 3)]


def test_what_cannot_be_measured() -> None:
    with pytest.raises(InvalidValueError):
        summarize(np.array(["2024-01-01"], "datetime64[D]"))
