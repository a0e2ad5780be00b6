"""A Keras model that is made by its own code goes on from a recorded step."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import recorded_programs
import small_models

from tensortap.capture.errors import TapWarning
from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.dump.recording.bundle import read_bundle, write_bundle
from tensortap.dump.recording.recording import Argument, Recording, array_hash
from tensortap.replay.locate import locate, open_recording
from tensortap.replay.restore_weights import restore_variables


@pytest.fixture(scope="module")
def recording(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    bundle = tmp_path_factory.mktemp("bundle") / "step.tapbundle"
    write_bundle(bundle, open_recording(locate(recordings / "cnn", 1, None)))
    return read_bundle(bundle)


def test_a_restored_model_makes_the_recorded_step(recording: Recording) -> None:
    model = small_models.cnn()
    left_over = restore_variables(recording, model)
    assert left_over == ["loss/total", "loss/count"]
    (batch,) = [argument.arrays for argument in recording.arguments if argument.kind == "iterator"]
    model.fit(*batch, batch_size=len(batch[0]), shuffle=False, verbose=0)
    after = {
        without_number(argument.name): recording.variable_hashes[number]
        for number, argument in enumerate(recording.arguments)
        if argument.kind == "variable"
    }
    variables = [*model.variables, *model.optimizer.variables]
    assert len(variables) > 20
    for variable in variables:
        path = without_number(variable.path)
        assert array_hash(np.asarray(variable)) == after[path], path


def without_number(path: str) -> str:
    """Without the number that Keras gives, which counts what this process made before."""
    return re.sub(r"^(adam|seed_generator)_\d+", r"\1", path)


def test_another_model_is_refused_and_left_as_it_was(recording: Recording) -> None:
    with pytest.raises(NotFoundError, match="variable"):
        restore_variables(recording, recorded_programs.rnn())
    given = keras.layers.Input((7,))
    wide = keras.Model(given, keras.layers.Dense(3, name="logits")(given))
    before = wide.get_weights()
    with pytest.raises(InvalidValueError, match=r"logits/kernel was recorded as float32 \[64, 3\]"):
        restore_variables(recording, wide)
    assert all(np.array_equal(one, other) for one, other in zip(before, wide.get_weights(), strict=True))


@pytest.mark.parametrize(
    ("recorded", "own"),
    [
        (["net/dense_1/kernel", "net/dense_2/kernel"], ["net/dense/kernel", "net/dense_1/kernel"]),
        (["net/dense_2/kernel", "net/dense_1/kernel"], ["net/dense_2/kernel", "net/dense_1/kernel"]),
        (["net/dense_5/kernel", "net_1/dense_6/kernel"], ["net/dense/kernel", "net_1/dense_1/kernel"]),
        (["net/w", "net/w"], ["net/w", "net/w"]),
        (["dense/kernel", "dense_1/kernel", "dense_2/kernel"], ["dense/kernel", "dense_1/kernel"]),
    ],
)
def test_layers_whose_numbers_start_elsewhere_are_not_swapped(recorded: list[str], own: list[str]) -> None:
    assert restored(recorded, own) == list(range(len(own)))


def test_a_layer_too_many_is_refused_whatever_its_number() -> None:
    with pytest.raises(NotFoundError, match="2 variables"):
        restored(["dense_1/kernel", "dense_2/kernel", "dense_3/kernel"], ["dense/kernel", "dense_1/kernel"])


def test_what_the_recording_lacks_is_named() -> None:
    with pytest.raises(NotFoundError, match=r"2 variables of the model: 'a/kernel', 'b/kernel'\."):
        restored(["c/kernel"], ["a/kernel", "b/kernel", "c/kernel"])


def test_seeds_that_the_step_does_not_read_are_left_alone() -> None:
    """GIVEN a GRU without dropout, whose seed no step reads WHEN a model is restored THEN it is left."""
    seeds = ["seed_generator/seed_generator_state", "seed_generator_1/seed_generator_state"]
    with pytest.warns(TapWarning, match="does not read them: 'seed_generator/seed_generator_state'"):
        assert restored(["w", seeds[1]], ["w", *seeds]) == [0, -1, 1]
    with pytest.warns(TapWarning, match="Unchanged"):  # which of both it was is not known
        assert restored(["w", "seed_generator_7/seed_generator_state"], ["w", *seeds]) == [0, -1, -1]


def restored(recorded: list[str], own: list[str]) -> list[float]:
    """What the model's variables are, when those that were recorded were 0, 1, 2, …"""
    arguments = tuple(
        Argument("variable", name, (np.float32([value]),), dtype="float32", shape=(1,))
        for value, name in enumerate(recorded)
    )
    variables = [keras.Variable([-1.0], name="w") for _ in own]
    paths = [
        SimpleNamespace(path=path, shape=(1,), dtype="float32", assign=variable.assign)
        for path, variable in zip(own, variables, strict=True)
    ]
    restore_variables(Recording("step", b"", arguments, 0), SimpleNamespace(variables=paths, optimizer=None))
    return [float(variable[0]) for variable in variables]
