"""Steps from the names of files, and the names that layers of Keras have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tf_messages import scalar, write_events

from tensortap.api.logdir import open_logdir
from tensortap.importers.arrays.stored_array import stem_of, step_in, without_step
from tensortap.importers.importing import import_source, notes_on_other_formats
from tensortap.importers.registry import BY_NAME


@pytest.mark.parametrize(
    ("name", "series", "step"),
    [
        ("weights.01-0.98.keras", "weights", 1),  # as the documentation of Keras has it
        ("weights.02-0.97.weights.h5", "weights", 2),
        ("w-03-val_loss=0.98.h5", "w", 3),
        ("weights.05--0.12.keras", "weights", 5),
        ("ep001.keras", "", 1),
        ("state_epoch3.npz", "state", 3),
        ("ckpt12.npz", "", 12),
        ("model.ckpt-100.npz", "model.ckpt", 100),
        ("m-12-00001-of-00002.safetensors", "m", 12),
        ("m-00001-of-00002.safetensors", "m", None),
        ("m-12.safetensors.index.json", "m", 12),
        ("globalstep100.npz", "global", 100),
        ("resnet50.npz", "resnet50", None),
        ("keep3.npz", "keep3", None),
        ("model_v2.5.npz", "model_v2.5", None),
    ],
)
def test_names_tell_series_and_step(name: str, series: str, step: int | None) -> None:
    assert (step_in(stem_of(name)), without_step(stem_of(name))) == (step, series)


@pytest.mark.parametrize(
    "names",
    [
        ["weights.01-0.98.npz", "weights.02-0.98.npz", "weights.03-0.97.npz"],
        ["ep001.npz", "ep002.npz", "ep003.npz"],
        ["checkpoint-1/w.npz", "checkpoint-2/w.npz", "checkpoint-3/w.npz"],
    ],
)
def test_checkpoints_of_a_folder_are_the_steps_of_one_run(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        np.savez(tmp_path / "c" / name, w=np.ones(2))

    found = import_source(tmp_path / "c", tmp_path / "logs", "run")

    assert found.runs == ["run"]
    assert list(open_logdir(tmp_path / "logs").runs["run"].steps) == [1, 2, 3]


def test_formats_of_one_step_are_runs_of_their_own(tmp_path: Path) -> None:
    """Or a tensor would have two visits of the step, and nothing would tell which is of which file."""
    source = tmp_path / "c"
    source.mkdir()
    for step in (1, 2):
        np.savez(source / f"net-{step}.npz", w=np.full(2, step))
        save_file({"w": np.full(2, -step)}, source / f"net-{step}.safetensors")

    found = import_source(source, tmp_path / "logs", "run")

    runs = open_logdir(tmp_path / "logs").runs
    assert sorted(found.runs) == ["run/net.npz", "run/net.safetensors"]
    for run, sign in (("run/net.npz", 1), ("run/net.safetensors", -1)):
        tensors = runs[run].find()
        assert [(t.step, t.visit, int(np.asarray(t)[0])) for t in tensors] == [(1, 0, sign), (2, 0, 2 * sign)]


def test_layers_of_models_in_models_have_their_own_names(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "m.weights.h5", "w") as file:
        file["layers/sequential/layers/dense/vars/0"] = np.ones(2)
        file["layers/dense/vars/0"] = np.ones(3)
        file["layers/odd/vars/0"] = np.ones(4)
        file["optimizer/vars/0"] = np.ones(5)
        names = {
            "layers/sequential/vars": "inner",
            "layers/sequential/layers/dense/vars": "first",
            "layers/dense/vars": "dense",
            "layers/odd/vars": "../odd",
            "optimizer/vars": "adam",
        }
        for place, name in names.items():
            file.require_group(place).attrs["name"] = name

    import_source(tmp_path / "m.weights.h5", tmp_path / "logs", "run")

    shapes = {tensor.name: tensor.shape for tensor in open_logdir(tmp_path / "logs").runs["run"].find()}
    assert shapes == {
        "layers/inner/layers/first/vars/0:0": (2,),
        "layers/dense/vars/0:0": (3,),
        "layers/odd/vars/0:0": (4,),
        "optimizer/vars/0:0": (5,),
    }


def test_what_else_lies_in_a_folder_is_reported(tmp_path: Path) -> None:
    source = write_events(tmp_path / "mix", scalar())
    for name in ("deep/a.npy", "deep/b.npz", "saved/saved_model.pb", "saved/fingerprint.pb", "readme.txt"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(b"x")

    found = import_source(source, tmp_path / "logs")

    notes = " ".join(found.notes)
    assert "2 files with arrays (deep/a.npy, …)" in notes
    assert "1 file with a SavedModel (saved/saved_model.pb)" in notes
    assert "events" not in notes and "fingerprint" not in notes and "readme" not in notes


def test_folders_of_one_format_have_nothing_else(tmp_path: Path) -> None:
    for format, files in {
        "checkpoint": ["ckpt-1.index", "ckpt-1.data-00000-of-00001", "checkpoint"],
        "folder": ["a.npy", "b/c.h5"],
        "saved_model": ["saved_model.pb", "variables/variables.index", "fingerprint.pb"],
        "tfdbg2": ["tfdbg_events.1.metadata", "tfdbg_events.1.execution"],
        "safetensors_shards": ["m.safetensors.index.json", "m1.safetensors"],
    }.items():
        for name in files:
            (tmp_path / format / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / format / name).write_bytes(b"")
        assert list(notes_on_other_formats(tmp_path / format, BY_NAME[format])) == []
    (tmp_path / "checkpoint" / "older").mkdir()
    (tmp_path / "checkpoint" / "older" / "ckpt-0.index").write_bytes(b"")
    (sentence,) = notes_on_other_formats(tmp_path / "checkpoint", BY_NAME["checkpoint"])
    assert "1 file of TensorFlow's checkpoints (older/ckpt-0.index)" in sentence
