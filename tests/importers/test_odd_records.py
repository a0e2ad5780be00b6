"""One bad record among good ones: it is left out, with a note, and the good ones come."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy_format
from tf_messages import (
    COMPLEX64,
    DOUBLE,
    STRING,
    old_histogram_event,
    scalar,
    tensor_event,
    tensor_proto,
    write_events,
    write_tfdbg1,
)

from tensortap.api.logdir import open_logdir
from tensortap.api.run import Run
from tensortap.core.errors import InvalidValueError
from tensortap.importers.importing import import_source
from tensortap.importers.partial_summary import spread_histogram
from tensortap.importers.run_builder import Imported
from tensortap.tfproto.tensor_proto import tensor_array

HUGE = (0, 2**62, 2**62)
ODD_EVENTS = {
    "a histogram without buckets": lambda: old_histogram_event([], [], num=3.0),
    "counts without edges": lambda: old_histogram_event([1.0], [1.0, 2.0]),
    "a histogram of text": lambda: tensor_event((2, 3), "histograms", dtype=STRING, string_val=[b"a"] * 6),
    "counts beyond numbers": lambda: tensor_event(
        (3000, 3), "histograms", dtype=DOUBLE, double_val=[1, 1, 2**53 - 1] * 3000
    ),
    "endless counts": lambda: old_histogram_event([float("inf")], [1.0], max=1.0),
    "extents beyond bytes": lambda: tensor_event(HUGE),
    "extents below none": lambda: tensor_event((-3, 2), float_val=[1.0]),
}


def imported(source: Path, logdir: Path) -> tuple[Imported, Run]:
    found = import_source(source, logdir, "run")
    return found, open_logdir(logdir).runs["run"]


@pytest.mark.parametrize("odd", ODD_EVENTS)
def test_an_odd_event_takes_no_other_along(tmp_path: Path, odd: str) -> None:
    made = ODD_EVENTS[odd]()
    made.summary.value.add(tag="beside").simple_value = 2.0  # in the same event
    source = write_events(tmp_path / "tb", scalar(0), made, scalar(1))

    found, run = imported(source, tmp_path / "logs")

    names = {tensor.name: tensor.step for tensor in run.find()}
    assert names["loss:0"] == 1 and "beside:0" in names
    if odd != "a histogram of text":  # which is text
        assert "odd:0" not in names
        assert "Skipped: odd" in " ".join(found.notes)


def test_a_histogram_of_text_is_text(tmp_path: Path) -> None:
    source = write_events(tmp_path / "tb", ODD_EVENTS["a histogram of text"]())

    _, run = imported(source, tmp_path / "logs")

    assert np.asarray(run.tensor("odd:0")).shape == (2, 3)


def test_extents_beyond_bytes_are_refused_though_there_are_no_elements() -> None:
    with pytest.raises(InvalidValueError, match="4 GiB"):
        tensor_array(tensor_proto(HUGE))
    assert tensor_array(tensor_proto((0, 7))).shape == (0, 7)


def test_tfdbg1_leaves_out_what_is_odd_and_names_its_devices(tmp_path: Path) -> None:
    tensors = {"good": tensor_proto((2,), float_val=[1.0, 2.0]), "odd": tensor_proto(HUGE)}
    source = write_tfdbg1(tmp_path, tensors, "device_XLA_GPU_1")

    found, run = imported(source, tmp_path / "logs")

    (tensor,) = run.find()
    assert tensor.name == "good:0"
    assert tensor.device == "/job:localhost/replica:0/task:0/device:XLA_GPU:1"
    assert "odd_0_DebugIdentity" in " ".join(found.notes)


def test_tfdbg1_summaries_have_shapes_that_fit(tmp_path: Path) -> None:
    facts = [1, 6, 0, 0, 1, 2, 3, 0, -1, 2, 0.5, 0.1, 1, 2]  # 6 elements
    shapes = {"good": [2, 3], "wrong": [77, 88], "long": [1] * 63 + [2, 3], "huge": [2.0**52] * 3}
    tensors = {
        name: tensor_proto((14 + len(shape),), DOUBLE, double_val=[*facts, *shape])
        for name, shape in shapes.items()
    }
    source = write_tfdbg1(tmp_path, tensors, op="DebugNumericSummary")

    found, run = imported(source, tmp_path / "logs")

    assert [(tensor.name, tensor.shape) for tensor in run.find()] == [("good:0", (2, 3))]
    assert found.snapshots == 1


@pytest.mark.parametrize("op", ["DebugNumericSummary", "DebugNanCount"])
def test_tfdbg1_measurements_that_are_no_real_numbers_are_skipped_with_a_reason(
    tmp_path: Path, op: str
) -> None:
    tensors = {
        "good": tensor_proto((1,), DOUBLE, double_val=[2]),
        "complex": tensor_proto((1,), COMPLEX64, scomplex_val=[1.0, 2.0]),
        "text": tensor_proto((1,), STRING, string_val=[b"nan"]),
    }
    facts = [1, 1, 0, 0, 0, 0, 1, 0, 2, 2, 2, 0, 1, 1, 1]
    if op == "DebugNumericSummary":
        tensors["good"] = tensor_proto((15,), DOUBLE, double_val=facts)

    found, run = imported(write_tfdbg1(tmp_path, tensors, op=op), tmp_path / "logs")

    assert [tensor.name for tensor in run.find()] == ["good:0"]
    notes = " ".join(found.notes)
    assert f"What {op} measured has complex64 instead of real numbers." in notes
    assert f"What {op} measured has string instead of real numbers." in notes


def test_hdf5_with_odd_attributes_keeps_its_other_datasets(tmp_path: Path) -> None:
    import h5py

    odd = ["O", "string", "99999999999999999999f4", "i4,f4", "bfloat16", b"\xff", 7]
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["good"] = np.ones(3, np.float32)
        for number, attribute in enumerate(odd):
            file.create_dataset(f"odd{number}", data=np.zeros(4, "V8")).attrs["dtype"] = attribute

    found, run = imported(tmp_path / "w.h5", tmp_path / "logs")

    assert [tensor.name for tensor in run.find()] == ["good:0"]
    assert "Skipped: odd0" in " ".join(found.notes)


def _write(archive: zipfile.ZipFile, number: float) -> None:
    with archive.open("a.npy", "w") as member:
        npy_format.write_array(member, np.full(3, number))


def test_arrays_of_one_name_in_an_npz_keep_their_own_values(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        _write(archive, 1.0)
        with pytest.warns(UserWarning, match="Duplicate"):
            _write(archive, 2.0)

    _, run = imported(tmp_path / "twice.npz", tmp_path / "logs")

    values = [np.asarray(run.tensor("a:0", step=0, visit=visit))[0] for visit in range(2)]
    assert values == [1, 2]


def test_buckets_of_tiny_and_huge_numbers_are_spread_without_a_warning() -> None:
    tiny = np.array([5e-324, -1e-310])
    huge = np.array([1e308, 1.7e308])

    histogram, zeros = spread_histogram(tiny, huge, np.array([10.0, 7.0]))

    assert histogram.total + zeros == 17
    assert spread_histogram(np.array([-5e-324]), np.array([5e-324]), np.array([4.0]))[0].total == 4
