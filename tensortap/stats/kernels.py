"""One-pass statistics, compiled by numba. Imported with the first array that is measured: numba takes 0.4 s.

All kernels add to one accumulator, an int64 array of `ACC_SIZE`: `BUCKETS` counts by id, then the counts
`FINITE` … `NAN`, then from `MOMENTS` on the float64 bits of mean, m2 (sum of squared deviations), minimum and
maximum.

float32 is measured from its bit patterns, in blocks that stay in the first-level cache. The histogram comes
first: it is bound by arithmetic, so the block's memory arrives while it runs. Its counters are eight tables
of 16 bits (neighbours often hit one bucket, and a counter is busy for some cycles), at a stride that is not a
multiple of 4 KiB (which would make loads wait for unrelated stores). Minimum and maximum are taken of ordered
integers, as float comparisons do not vectorize; NaN and Inf show in them, and blocks with some are read
twice. Everything else is measured as float64, whose bucket ids are computed for a block and then counted
in the same way. Of numbers of 8 and 16 bits it is counted which occur; their statistics follow from that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from tensortap.core.histogram import BUCKETS, TOP

F = TypeVar("F", bound=Callable[..., Any])

# Division by zero gives NaN, as in NumPy; kernels are not called from C.
_KERNEL = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Helpers are not called from Python either; compiling the entry would take longer than the helper.
_HELPER = _KERNEL | {"no_cpython_wrapper": True}
_REORDER = {"reassoc", "nsz", "contract", "arcp"}

_njit: Any = numba.njit  # its types lack the options above


def compile_kernel(signature: Any, function: F, *, keep: bool) -> F:
    """Compiles an entry point for one signature; with `keep`, the code is read from, or put on, the disk."""
    compiled: F = _njit(signature, cache=keep, **_KERNEL)(function)
    return compiled


def helper(function: F) -> F:
    """For functions that only kernels call."""
    compiled: F = _njit(**_HELPER)(function)
    return compiled


def fast_helper(function: F) -> F:
    """A helper with sums that may be reordered, for vectorization. NaN and Inf keep their meaning."""
    compiled: F = _njit(fastmath=_REORDER, **_HELPER)(function)
    return compiled


FINITE, POS_ZERO, NEG_ZERO, SUBNORMAL, POS_INF, NEG_INF, NAN = range(BUCKETS, BUCKETS + 7)
MOMENTS = BUCKETS + 8
ACC_SIZE = BUCKETS + 12

_BLOCK, _STRIDE = 2048, 1056  # elements of a block; entries from one table to the next
_FOLD = 250 * _BLOCK  # elements after which the tables are emptied: an eighth of them fits into 16 bits
_T1, _T2, _T3, _T4, _T5, _T6, _T7 = (np.uint64(_STRIDE * i) for i in range(1, 8))
_I0, _I1, _I2, _I3, _I4 = (np.uint64(i) for i in range(5))  # unsigned: numba would allow for negative indices
_ONE = np.uint16(1)
_TEN_BITS = np.uint64(1023)
_U16, _U22, _U32, _U48, _U53, _U54 = (np.uint64(n) for n in (16, 22, 32, 48, 53, 54))
_INF32, _MAG32, _MIN32 = np.int32(0x7F800000), np.int32(0x7FFFFFFF), np.int32(-0x80000000)
_SIGN32 = np.int32(31)
_INF64, _MAG64 = np.int64(0x7FF0000000000000), np.int64(0x7FFFFFFFFFFFFFFF)
_MIN64 = np.int64(-0x8000000000000000)
_SAFE, _LARGEST = 1e-290, float(np.finfo(np.float64).max)  # squares beyond them have lost bits
_TINY64 = np.int64(0x0010000000000000)
_HIGH = np.uint64(0xFFFF_FFFF_FFFF_F800)  # the 53 highest of 64 bits


@helper
def _tally_words(words: Any, tables: Any) -> None:
    """Counts the top 10 bits of float32 patterns, two to a uint64; the number of words is a multiple of 4."""
    for i in range(_I0, np.uint64(words.size), _I4):
        a, b, c, d = words[i], words[i + _I1], words[i + _I2], words[i + _I3]
        tables[(a >> _U22) & _TEN_BITS] += _ONE
        tables[_T1 + (a >> _U54)] += _ONE
        tables[_T2 + ((b >> _U22) & _TEN_BITS)] += _ONE
        tables[_T3 + (b >> _U54)] += _ONE
        tables[_T4 + ((c >> _U22) & _TEN_BITS)] += _ONE
        tables[_T5 + (c >> _U54)] += _ONE
        tables[_T6 + ((d >> _U22) & _TEN_BITS)] += _ONE
        tables[_T7 + (d >> _U54)] += _ONE


@helper
def _tally_ids(words: Any, tables: Any) -> None:
    """Counts bucket ids, four uint16 in each uint64; the number of words is even."""
    mask = np.uint64(0xFFFF)
    for i in range(_I0, np.uint64(words.size), _I2):
        a, b = words[i], words[i + _I1]
        tables[a & mask] += _ONE
        tables[_T1 + ((a >> _U16) & mask)] += _ONE
        tables[_T2 + ((a >> _U32) & mask)] += _ONE
        tables[_T3 + (a >> _U48)] += _ONE
        tables[_T4 + (b & mask)] += _ONE
        tables[_T5 + ((b >> _U16) & mask)] += _ONE
        tables[_T6 + ((b >> _U32) & mask)] += _ONE
        tables[_T7 + (b >> _U48)] += _ONE


@helper
def _fold(tables: Any, acc: Any) -> None:
    """Adds the eight tables to the accumulator and clears them."""
    for i in range(BUCKETS):
        total = np.int64(0)
        for table in range(8):
            total += np.int64(tables[table * _STRIDE + i])
            tables[table * _STRIDE + i] = 0
        acc[i] += total


@helper
def _get(acc: Any, moment: int) -> float:
    return np.int64(acc[MOMENTS + moment]).view(np.float64)


@helper
def _put(acc: Any, moment: int, value: float) -> None:
    acc[MOMENTS + moment] = np.float64(value).view(np.int64)


@helper
def _add_block(
    acc: Any, count: int, shift: float, total: float, squares: float, low: float, high: float
) -> float:
    """Adds a block's sums about `shift` by Chan's formula; returns the block's mean: the next one's shift."""
    mean = shift + total / count
    m2 = max(squares - total * total / count, 0.0)
    before = acc[FINITE]
    after = before + count
    delta = mean - _get(acc, 0)
    _put(acc, 0, _get(acc, 0) + delta * count / after)
    _put(acc, 1, _get(acc, 1) + m2 + delta * delta * before * count / after)
    _put(acc, 2, min(_get(acc, 2), low))
    _put(acc, 3, max(_get(acc, 3), high))
    acc[FINITE] = after
    return mean


@helper
def _range32(bits: Any) -> Any:
    """(positive zeros, negative zeros, smallest, largest ordered pattern) of float32 patterns."""
    zeros, negative_zeros = np.int32(0), np.int32(0)
    low, high = _MAG32, _MIN32
    for i in range(bits.size):
        b = bits[i]
        zeros = np.int32(zeros + np.int32(b == np.int32(0)))
        negative_zeros = np.int32(negative_zeros + np.int32(b == _MIN32))
        key = np.int32(b ^ np.int32((b >> _SIGN32) & _MAG32))
        low, high = min(low, key), max(high, key)
    return zeros, negative_zeros, low, high


@fast_helper
def _sums(values: Any, shift: float) -> Any:
    """Sum and sum of squares, in float64, about `shift`."""
    total, squares = 0.0, 0.0
    for i in range(values.size):
        d = np.float64(values[i]) - shift
        total += d
        squares += d * d
    return total, squares


@helper
def _careful_block(values: Any, acc: Any, shift: float) -> float:
    """Moments of a block with NaN or Inf, and their counts."""
    nan, pos_inf, neg_inf = np.int64(0), np.int64(0), np.int64(0)
    for i in range(_I0, np.uint64(values.size)):
        nan += np.int64(values[i] != values[i])
        pos_inf += np.int64(values[i] == np.inf)
        neg_inf += np.int64(values[i] == -np.inf)
    acc[NAN] += nan
    acc[POS_INF] += pos_inf
    acc[NEG_INF] += neg_inf
    count = values.size - nan - pos_inf - neg_inf
    if count == 0:
        return shift
    total, squares, low, high = 0.0, 0.0, np.inf, -np.inf
    for i in range(_I0, np.uint64(values.size)):
        value = np.float64(values[i])
        if abs(value) < np.inf:
            total += value - shift
            squares += (value - shift) * (value - shift)
            low, high = min(low, value), max(high, value)
    return _add_block(acc, count, shift, total, squares, low, high)


@helper
def first_finite(values: Any) -> float:
    for i in range(values.size):
        value = np.float64(values[i])
        if np.isfinite(value):
            return value
    return 0.0


@helper
def _block32(values: Any, bits: Any, acc: Any, shift: float) -> float:
    """Everything but the histogram, of one block of float32."""
    zeros, negative_zeros, low, high = _range32(bits)
    acc[POS_ZERO] += zeros
    acc[NEG_ZERO] += negative_zeros
    if high >= _INF32 or low <= np.int32(_INF32 ^ np.int32(-1)):
        return _careful_block(values, acc, shift)
    smallest = np.int32(low ^ ((low >> _SIGN32) & _MAG32)).view(np.float32)
    largest = np.int32(high ^ ((high >> _SIGN32) & _MAG32)).view(np.float32)
    total, squares = _sums(values, shift)
    return _add_block(acc, values.size, shift, total, squares, np.float64(smallest), np.float64(largest))


def scan_float32(values: Any, bits: Any, words: Any, acc: Any) -> None:
    """Adds float32 elements.

    `bits` are the same as int32, `words` the first 8 * n as uint64; the others are counted one by one.
    (Views are made by the caller: numba needs a second to compile a change of dtype.)
    """
    shift = first_finite(values)
    whole = 2 * words.size
    if whole:
        tables = np.zeros(8 * _STRIDE, np.uint16)
        for start in range(0, whole, _BLOCK):
            stop = min(start + _BLOCK, whole)
            _tally_words(words[start >> 1 : stop >> 1], tables)
            shift = _block32(values[start:stop], bits[start:stop], acc, shift)
            if start % _FOLD == _FOLD - _BLOCK:
                _fold(tables, acc)
        _fold(tables, acc)
    for i in range(whole, values.size):
        acc[np.uint32(bits[i]) >> np.uint32(22)] += 1
    if whole < values.size:
        _block32(values[whole:], bits[whole:], acc, shift)
    for top in (TOP, BUCKETS // 2 + TOP):  # where NaN and Inf were tallied; no finite float32 falls there
        acc[top] = 0
        acc[top + 1] = 0


@helper
def range64(bits: Any, ids: Any) -> Any:
    """Writes bucket ids of float64 patterns; returns zeros (+, -), subnormals, the key range."""
    zeros, negative_zeros, subnormals = np.int64(0), np.int64(0), np.int64(0)
    low, high = _MAG64, _MIN64
    for i in range(bits.size):
        b = bits[i]
        m = b & _MAG64
        zeros += np.int64(b == 0)
        negative_zeros += np.int64(b == _MIN64)
        subnormals += np.int64(m < _TINY64)
        key = b ^ ((b >> np.int64(63)) & _MAG64)
        low, high = min(low, key), max(high, key)
        # Exponent and first mantissa bit, rebased by 896; t = 0 and 1 are both float32's subnormal bucket 1.
        t = (m >> np.int64(51)) - np.int64(1792)
        bucket = max(t, np.int64(0)) + np.int64(t == 0)
        bucket = min(bucket, np.int64(TOP)) + np.int64(m >= _INF64)  # 511: not finite, forgotten by `finish`
        ids[i] = np.uint16(bucket + ((b >> np.int64(63)) & np.int64(512)))
    return zeros, negative_zeros, subnormals - zeros - negative_zeros, low, high


@helper
def _count64(values: Any, acc: Any, tables: Any, ids: Any) -> Any:
    """Histogram and counts of one block of float64; returns the smallest and largest key."""
    zeros, negative_zeros, subnormals, low, high = range64(values.view(np.int64), ids)
    acc[POS_ZERO] += zeros
    acc[NEG_ZERO] += negative_zeros
    acc[SUBNORMAL] += subnormals
    whole = values.size & ~7
    _tally_ids(ids[:whole].view(np.uint64), tables)
    for i in range(whole, values.size):
        acc[ids[i]] += 1
    return low, high


@helper
def block64(values: Any, acc: Any, low: Any, high: Any, shift: float) -> float:
    """Moments of one block of float64, from its smallest and largest key."""
    if high >= _INF64 or low <= (_INF64 ^ np.int64(-1)):
        return _careful_block(values, acc, shift)
    smallest = np.int64(low ^ ((low >> np.int64(63)) & _MAG64)).view(np.float64)
    largest = np.int64(high ^ ((high >> np.int64(63)) & _MAG64)).view(np.float64)
    total, squares = _sums(values, shift)
    return _add_block(acc, values.size, shift, total, squares, smallest, largest)


def scan_float64(values: Any, acc: Any) -> None:
    """Adds float64 elements."""
    tables = np.zeros(8 * _STRIDE, np.uint16)
    ids = np.empty(_BLOCK, np.uint16)
    shift = first_finite(values)
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        low, high = _count64(block, acc, tables, ids)
        shift = block64(block, acc, low, high, shift)
        if start % _FOLD == _FOLD - _BLOCK:
            _fold(tables, acc)
    _fold(tables, acc)


def scan_integer(values: Any, acc: Any) -> None:
    """Adds 32- or 64-bit integers: sums use the nearest float64, bucket ids the one toward zero."""
    tables = np.zeros(8 * _STRIDE, np.uint16)
    ids = np.empty(_BLOCK, np.uint16)
    wide = np.empty(_BLOCK, np.float64)
    exact = np.empty(_BLOCK, np.float64)
    shift = np.float64(values[0]) if values.size else 0.0
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        size = block.size
        low, high = block[0], block[0]
        for i in range(size):
            value = block[i]
            low, high = min(low, value), max(high, value)
            magnitude = np.uint64(value) if value >= 0 else np.uint64(0) - np.uint64(value)
            truncated = np.float64(magnitude & _HIGH) if magnitude >> _U53 else np.float64(magnitude)
            wide[i] = np.float64(value)
            exact[i] = truncated if value >= 0 else -truncated
        _count64(exact[:size], acc, tables, ids)
        total, squares = _sums(wide[:size], shift)
        shift = _add_block(acc, size, shift, total, squares, np.float64(low), np.float64(high))
        if start % _FOLD == _FOLD - _BLOCK:
            _fold(tables, acc)
    _fold(tables, acc)


@helper
def _modulus(real: float, imag: float) -> float:
    """NaN if either part is NaN, else infinite if either is; the largest float64 where it would overflow."""
    squares = real * real + imag * imag
    if _SAFE < squares < 1 / _SAFE:
        return math.sqrt(squares)
    if real != real or imag != imag:
        return np.nan
    if abs(real) == np.inf or abs(imag) == np.inf:
        return np.inf
    return min(math.hypot(real, imag), _LARGEST)


def scan_complex(parts: Any, acc: Any) -> None:
    """Adds the moduli of complex numbers, given as alternating real and imaginary parts, float32 or
    float64."""
    tables = np.zeros(8 * _STRIDE, np.uint16)
    ids = np.empty(_BLOCK, np.uint16)
    moduli = np.empty(_BLOCK, np.float64)
    shift = 0.0
    for start in range(0, parts.size, 2 * _BLOCK):
        block = parts[start : start + 2 * _BLOCK]
        size = block.size // 2
        for i in range(size):
            moduli[i] = _modulus(np.float64(block[2 * i]), np.float64(block[2 * i + 1]))
        if start == 0:
            shift = first_finite(moduli[:size])
        low, high = _count64(moduli[:size], acc, tables, ids)
        shift = block64(moduli[:size], acc, low, high, shift)
        if start % (2 * _FOLD) == 2 * (_FOLD - _BLOCK):
            _fold(tables, acc)
    _fold(tables, acc)


def add_codes(counts: Any, values: Any, ids: Any, acc: Any) -> None:
    """Adds numbers from a table: `counts[c]` times the float64 `values[c]`, in bucket `ids[c]`."""
    total, lost, n, low, high = 0.0, 0.0, 0, np.inf, -np.inf
    for code in range(counts.size):
        count, value = counts[code], values[code]
        if count == 0:
            continue
        if np.isnan(value):
            acc[NAN] += count
        elif np.isinf(value):
            acc[POS_INF if value > 0 else NEG_INF] += count
        else:
            acc[POS_ZERO] += count if value == 0 else 0
            acc[ids[code]] += count
            n += count
            low, high = min(low, value), max(high, value)
            term = value * count - lost  # compensated: codes ascend, so the sum first grows and then cancels
            after = total + term
            lost = (after - total) - term
            total = after
    if n:
        mean, squares = total / n, 0.0
        for code in range(counts.size):
            if counts[code] and np.isfinite(values[code]):
                squares += (values[code] - mean) * (values[code] - mean) * counts[code]
        _add_block(acc, n, mean, 0.0, squares, low, high)


def finish(acc: Any, tiny_id: int, ids: Any, counts: Any, result: Any) -> int:
    """Derives statistics from the histogram, and empties the accumulator for the next array.

    Args:
        acc: the accumulator of the other kernels.
        tiny_id: bucket id of the smallest normal number; -1 if subnormals were counted one by one.
        ids, counts: uint16[BUCKETS] and int64[BUCKETS] that receive the non-empty buckets.
        result: int64[12] that receives nan, +inf, -inf, zero, negative, positive, subnormal, finite, and the
            moments' bits.

    Returns:
        The number of non-empty buckets.
    """
    half = BUCKETS // 2
    acc[0] -= acc[POS_ZERO]
    acc[half] -= acc[NEG_ZERO]
    negative, subnormal, used = 0, 0, 0
    for i in range(BUCKETS):
        magnitude = i & (half - 1)
        count = acc[i]
        if count and magnitude <= TOP:
            negative += count if i >= half else 0
            subnormal += count if magnitude < tiny_id else 0
            ids[used] = i
            counts[used] = count
            used += 1
    zero = acc[POS_ZERO] + acc[NEG_ZERO]
    result[0], result[1], result[2], result[3] = acc[NAN], acc[POS_INF], acc[NEG_INF], zero
    result[4], result[5] = negative, acc[FINITE] - zero - negative
    result[6] = acc[SUBNORMAL] if tiny_id < 0 else subnormal
    result[7] = acc[FINITE]
    for i in range(4):
        result[8 + i] = acc[MOMENTS + i]
    for i in range(ACC_SIZE):
        acc[i] = 0
    _put(acc, 2, np.inf)
    _put(acc, 3, -np.inf)
    return used


# Several tables, filled in turn, as for float32; their strides keep them from sharing addresses modulo 4 KiB.
_BYTE_STRIDE, _SHORT_STRIDE = 288, 65568
_MANY = 1 << 30  # words after which counters of 32 bits are emptied


@helper
def _gather(tables: Any, stride: int, counts: Any) -> None:
    """Sums the counts of several tables, `stride` apart, into one."""
    for table in range(tables.size // stride):
        for code in range(counts.size):
            counts[code] += np.int64(tables[stride * table + code])
            tables[stride * table + code] = 0


def count_bytes(codes: Any, counts: Any) -> None:
    """Adds up how often each uint8 occurs; `counts` is int64[256]."""
    tables = np.zeros(8 * _BYTE_STRIDE, np.uint32)
    words = codes[: codes.size & ~7].view(np.uint64)
    for start in range(0, words.size, _MANY):
        part = words[start : start + _MANY]
        for i in range(np.uint64(0), np.uint64(part.size)):
            word = part[i]
            for table in range(8):
                code = (word >> np.uint64(8 * table)) & np.uint64(0xFF)
                tables[np.uint64(_BYTE_STRIDE * table) + code] += np.uint32(1)
        _gather(tables, _BYTE_STRIDE, counts)
    for i in range(8 * words.size, codes.size):
        counts[codes[i]] += 1


def count_shorts(codes: Any, counts: Any) -> None:
    """Adds up how often each uint16 occurs; `counts` is int64[65536]."""
    tables = np.zeros(4 * _SHORT_STRIDE, np.uint32)
    words = codes[: codes.size & ~3].view(np.uint64)
    for start in range(0, words.size, _MANY):
        part = words[start : start + _MANY]
        for i in range(np.uint64(0), np.uint64(part.size)):
            word = part[i]
            for table in range(4):
                code = (word >> np.uint64(16 * table)) & np.uint64(0xFFFF)
                tables[np.uint64(_SHORT_STRIDE * table) + code] += np.uint32(1)
        _gather(tables, _SHORT_STRIDE, counts)
    for i in range(4 * words.size, codes.size):
        counts[codes[i]] += 1


def pack_nonzero(items: Any, bitmap: Any, kept: Any) -> int:
    """Copies the items that are not zero, and sets a bit for each, without a branch.

    Args:
        items: unsigned integers.
        bitmap: uint8[ceil(items / 8)] that receives the bits, the lowest first.
        kept: as `items`, with room for one more; receives the items that are not zero.

    Returns:
        How many there are.
    """
    found = np.uint64(0)
    for byte in range(np.uint64(bitmap.size)):
        start = np.uint64(8) * byte
        bits = np.uint64(0)
        for bit in range(min(np.uint64(8), np.uint64(items.size) - start)):
            item = items[start + bit]
            some = np.uint64(item != 0)
            kept[found] = item
            found += some
            bits |= some << bit
        bitmap[byte] = bits
    return int(found)
