"""What is logged is what is read: every dtype, shape and memory order, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from some_arrays import NUMBERS, ORDERS, Array, from_bits, in_order, numbers, numpy_type, same_bits

from tensortap.core.dtypes import dtype_name, itemsize, numpy_dtype
from tensortap.dump.write.writer import DumpWriter

many = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(arrays=st.lists(st.tuples(numbers(), st.sampled_from(ORDERS)), min_size=1, max_size=20))
def test_numbers_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, arrays: list[tuple[Array, str]]
) -> None:
    logdir = tmp_path_factory.mktemp("dump")
    with DumpWriter(logdir) as writer:
        for step, (array, order) in enumerate(arrays):
            writer.log("x", in_order(array, order), step=step)
    found = read_all(logdir)
    assert found.damage == []
    assert len(found.values) == len(arrays)
    for (_, _, seq), value in found.values.items():
        assert same_bits(value, arrays[seq][0])
        assert found.rows[seq]["shape"] == list(arrays[seq][0].shape)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(7, 400), (3, 0, 2), (1025,)])
def test_large_and_empty_values_of_every_dtype(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape)) * numpy_type(name).itemsize
    array = from_bits(name, shape, np.random.default_rng(1).bytes(size))
    zeros = np.zeros(shape, numpy_type(name))
    with DumpWriter(tmp_path) as writer:
        writer.log("random", array, step=0)
        writer.log("zeros", zeros, step=0)
    found = read_all(tmp_path)
    assert same_bits(found.values["random", 0, 0], array)
    assert same_bits(found.values["zeros", 0, 1], zeros)
    assert {row["dtype"] for row in found.rows} == {name}


texts = st.one_of(st.text(max_size=30), st.binary(max_size=30), st.text(min_size=300, max_size=2000))


@many
@given(items=st.lists(texts, min_size=1, max_size=6))
def test_text_comes_back_as_bytes(tmp_path_factory: pytest.TempPathFactory, items: list[str | bytes]) -> None:
    logdir = tmp_path_factory.mktemp("dump")
    array = np.empty((len(items), 1), object)
    array[:, 0] = items
    with DumpWriter(logdir) as writer:
        summary = writer.log("s", array, step=0)
    assert (summary.dtype, summary.size, summary.positive) == ("string", len(items), 0)
    (value,) = read_all(logdir).values.values()
    assert value.shape == (len(items), 1)
    expected = [i if isinstance(i, bytes) else i.encode("utf-8", "surrogatepass") for i in items]
    assert value[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array(["a", "bcd", ""]), [b"a", b"bcd", b""]),
        (np.array([b"a", b"bcd"]), [b"a", b"bcd"]),
        (np.array(["x", "ü"], np.dtypes.StringDType()), [b"x", "ü".encode()]),
        (np.array([], "U3"), []),
        (np.empty(0, object), []),
        (["plain", "list"], [b"plain", b"list"]),
    ],
)
def test_all_kinds_of_text_arrays(tmp_path: Path, array: Any, expected: list[bytes]) -> None:
    with DumpWriter(tmp_path) as writer:
        writer.log("s", array, step=0)
    (value,) = read_all(tmp_path).values.values()
    assert value.tolist() == expected


def test_a_text_scalar(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as writer:
        writer.log("s", "hello", step=0)
    (value,) = read_all(tmp_path).values.values()
    assert value.shape == ()
    assert value.item() == b"hello"


def test_scalars_and_lists(tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as writer:
        writer.log("f", 1.5, step=0)
        writer.log("i", [[1, 2], [3, 4]], step=0)
        writer.log("g", np.float32(2), step=0)
    values = read_all(tmp_path).values
    assert values["f", 0, 0] == np.float64(1.5)
    assert values["i", 0, 1].tolist() == [[1, 2], [3, 4]]
    assert same_bits(values["g", 0, 2], np.array(2, np.float32))


@pytest.mark.parametrize("name", NUMBERS)
def test_names_and_dtypes_lead_to_each_other(name: str) -> None:
    assert numpy_dtype(name) == numpy_type(name)
    assert dtype_name(numpy_type(name)) == name
    assert itemsize(name) == numpy_type(name).itemsize
