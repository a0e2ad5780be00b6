"""NumPy, safetensors and Keras files: the same values under their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensortap.core.errors import InvalidNameError
from tensortap.importers.errors import RefusedError, UnknownFormatError
from tensortap.importers.importing import import_source

W = "w"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("arrays/one.npy", "one:0"),
        ("arrays/many.npz", "w:0"),
        ("arrays/all.safetensors", "w:0"),
        ("arrays/shards", "w:0"),
        ("arrays/shards/model.safetensors.index.json", "w:0"),
    ],
)
def test_an_array_comes_back_as_it_was(importing: Any, expected: Any, source: str, name: str) -> None:
    run = importing(source)

    tensor = run.tensor(name)
    assert tensor.dtype == "float32"
    np.testing.assert_array_equal(tensor[:], expected["w"])
    assert list(run.steps) == [0]
    assert not importing.notes


def test_all_arrays_of_a_file_are_there_text_too(importing: Any) -> None:
    run = importing("arrays/many.npz")

    assert set(run.tensors) == {"w:0", "text:0", "scalar:0"}
    assert np.asarray(run.tensor("scalar:0")) == 3
    assert np.asarray(run.tensor("text:0")).tolist() in (["a", "bc"], [b"a", b"bc"])


def test_shards_are_one_run(importing: Any, expected: Any) -> None:
    run = importing("arrays/shards")

    np.testing.assert_array_equal(run.tensor("v:0")[:], expected["w"] + 1)


def test_a_folder_is_read_by_node_and_step(importing: Any, expected: Any) -> None:
    run = importing("arrays/named")

    assert set(run.tensors) == {"dense/kernel:0", "loss:0"}
    assert list(run.steps) == [0, 5]
    np.testing.assert_array_equal(run.tensor("dense/kernel:0", step=5)[:], expected["w"] * 5)
    assert np.asarray(run.tensor("loss:0", step=5)) == 5


def test_files_of_a_folder_are_steps(importing: Any, expected: Any) -> None:
    run = importing("arrays/steps")

    assert list(run.steps) == [0, 5]
    np.testing.assert_array_equal(run.tensor("w:0", step=5)[:], expected["w"] * 5)


def test_pickled_objects_are_refused_with_the_way_out(importing: Any) -> None:
    with pytest.raises(RefusedError, match=r"Python objects.*astype"):
        importing("arrays/objects.npy")
    assert not list(importing.logdir.iterdir()), "a failed import leaves nothing"


def test_what_is_refused_in_a_folder_does_not_stop_the_rest(importing: Any) -> None:
    importing("arrays")

    assert "Python objects" in importing.notes
    assert {"run", "run/all", "run/many", "run/shards/model", "run/steps/state"} == set(importing.log.runs)


@pytest.mark.parametrize("source", ["keras/model.keras", "keras/model.weights.h5"])
def test_keras_weights_have_their_layers_names(importing: Any, artefacts: Path, source: str) -> None:
    run = importing(source)

    hidden = run.tensor("layers/hidden/vars/0:0")
    np.testing.assert_array_equal(hidden[:], np.load(artefacts / "keras" / "hidden.npy"))
    assert "optimizer/vars/1:0" in set(run.tensors)


def test_a_whole_model_in_hdf5_shows_its_datasets(importing: Any, artefacts: Path) -> None:
    run = importing("keras/whole.h5")

    kernel = run.tensor("model_weights/hidden/sequential/hidden/kernel:0")
    np.testing.assert_array_equal(kernel[:], np.load(artefacts / "keras" / "hidden.npy"))


@pytest.mark.parametrize("source", ["keras/shards/m.weights.json", "keras/shards"])
def test_keras_shards_are_read_by_their_index(importing: Any, artefacts: Path, source: str) -> None:
    assert len(list((artefacts / "keras" / "shards").glob("*.h5"))) > 1

    run = importing(source)

    assert list(run.steps) == [0] and list(importing.log.runs) == ["run"]
    hidden = np.load(artefacts / "keras" / "hidden.npy")
    np.testing.assert_array_equal(run.tensor("layers/hidden/vars/0:0")[:], hidden)


def test_bfloat16_weights_are_bfloat16(importing: Any) -> None:
    tensor = importing("keras/half.weights.h5").tensor("layers/half/vars/0:0")

    assert tensor.dtype == "bfloat16"
    assert np.abs(np.asarray(tensor).astype(np.float32)).max() > 0


def test_a_run_is_never_written_over(importing: Any) -> None:
    importing("arrays/one.npy")
    with pytest.raises(InvalidNameError, match="--run"):
        importing("arrays/one.npy")


def test_a_step_in_the_name_counts(tmp_path: Path, artefacts: Path) -> None:
    source = tmp_path / "weights-12.npz"
    source.write_bytes((artefacts / "arrays" / "many.npz").read_bytes())
    import_source(source, tmp_path / "logs")
    from tensortap.api.logdir import open_logdir

    assert list(open_logdir(tmp_path / "logs").runs["weights-12.npz"].steps) == [12]


def test_an_unknown_format_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(UnknownFormatError, match=r"docs/import\.md"):
        import_source(tmp_path / "a.txt", tmp_path / "logs")
    with pytest.raises(UnknownFormatError, match="does not exist"):
        import_source(tmp_path / "none", tmp_path / "logs")
    with pytest.raises(UnknownFormatError, match="npz"):
        import_source(tmp_path / "a.txt", tmp_path / "logs", format="nothing")
