"""Checkpoints of TF2 and TF1."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensortap.importers.errors import RefusedError
from tensortap.importers.importing import import_source
from tensortap.importers.tf_formats.checkpoints import assemble


def test_a_folder_of_checkpoints_is_a_run_with_steps(importing: Any, expected: Any) -> None:
    run = importing("checkpoints/tf2")

    assert set(run.tensors) == {"toy/w:0", "toy/steps:0", "half:0", "text:0"}
    assert list(run.steps) == [10, 20]
    np.testing.assert_array_equal(run.tensor("toy/w:0", step=20)[:], expected["w"])
    assert [int(np.asarray(run.tensor("toy/steps:0", step=step))) for step in (10, 20)] == [10, 20]


def test_bfloat16_and_text_come_back(importing: Any) -> None:
    run = importing("checkpoints/tf2/ckpt-10")  # by its prefix, which is no file

    assert run.tensor("half:0").dtype == "bfloat16"
    assert np.asarray(run.tensor("half:0")).astype(float).tolist() == [1.5, 2.5]
    texts = np.asarray(run.tensor("text:0")).tolist()
    assert texts in (["a", "longer"], [b"a", b"longer"])


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
def test_any_file_of_a_checkpoint_stands_for_it(importing: Any, suffix: str) -> None:
    assert len(importing(f"checkpoints/tf2/ckpt-10{suffix}").tensors) == 4


def test_the_graph_of_a_tf1_checkpoint_stands_for_it(importing: Any) -> None:
    assert importing("checkpoints/tf1/model.ckpt-100.meta").steps.tolist() == [100]


def test_tf1_checkpoints_and_their_partitioned_variables(importing: Any, expected: Any) -> None:
    run = importing("checkpoints/tf1")

    assert set(run.tensors) == {"layer/w:0", "parts:0"}
    assert list(run.steps) == [100]
    np.testing.assert_array_equal(run.tensor("layer/w:0")[:], expected["w"])
    parts = np.load(importing.artefacts / "checkpoints" / "parts.npy")
    np.testing.assert_array_equal(run.tensor("parts:0")[:], parts)


def test_variables_above_the_size_of_a_shard_are_put_together(importing: Any) -> None:
    run = importing("checkpoints/sliced")

    wide = np.arange(1200, dtype=np.float32).reshape(300, 4)
    np.testing.assert_array_equal(run.tensor("wide:0")[:], wide)
    assert not importing.notes
    assert len(list((importing.artefacts / "checkpoints" / "sliced").glob("*.data-*"))) > 2


@pytest.mark.parametrize("parts", [[(0, 2)], [(0, 2), (1, 2)], [(0, 2), (2, 2)], [(-1, 3)], [(0, 2), (0, 1)]])
def test_slices_that_do_not_fit_are_refused(parts: list[tuple[int, int]]) -> None:
    arrays = [(((start, length),), np.ones(length)) for start, length in parts]
    with pytest.raises(RefusedError, match="slice"):
        assemble((3,), np.dtype("f8"), arrays)


def test_damaged_bytes_of_a_tensor_are_noticed(artefacts: Path, tmp_path: Path) -> None:
    for suffix in (".index", ".data-00000-of-00001"):
        shutil.copy(artefacts / "checkpoints" / "tf1" / f"model.ckpt-100{suffix}", tmp_path / f"c-1{suffix}")
    for suffix in (".index", ".data-00000-of-00001"):
        shutil.copy(artefacts / "checkpoints" / "tf2" / f"ckpt-10{suffix}", tmp_path / f"c-2{suffix}")
    data = tmp_path / "c-1.data-00000-of-00001"
    flipped = bytearray(data.read_bytes())
    flipped[5] ^= 1
    data.write_bytes(flipped)

    found = import_source(tmp_path, tmp_path / "logs", "run")

    assert found.snapshots == 5, "all others are whole"
    assert "layer/w: Its bytes are damaged" in " ".join(found.notes)


def test_damaged_text_and_a_damaged_index_are_reported(artefacts: Path, tmp_path: Path) -> None:
    for name in ("ckpt-10", "ckpt-20"):
        for suffix in (".index", ".data-00000-of-00001"):
            shutil.copy(artefacts / "checkpoints" / "tf2" / f"{name}{suffix}", tmp_path)
    data, index = tmp_path / "ckpt-10.data-00000-of-00001", tmp_path / "ckpt-20.index"
    data.write_bytes(data.read_bytes().replace(b"longer", b"lonver"))
    index.write_bytes(index.read_bytes()[:-1])

    found = import_source(tmp_path, tmp_path / "logs", "run")

    assert found.snapshots == 3
    assert any("text: Its bytes are damaged" in note for note in found.notes)
    assert "Skipped: ckpt-20.index: it is not an index of a checkpoint, or is damaged." in found.notes


def test_a_missing_data_file_is_a_sentence(artefacts: Path, tmp_path: Path) -> None:
    shutil.copy(artefacts / "checkpoints" / "tf2" / "ckpt-10.index", tmp_path)
    with pytest.raises(Exception, match=r"ckpt-10\.data-00000-of-00001 is missing"):
        import_source(tmp_path / "ckpt-10.index", tmp_path / "logs")
