"""Layers that are frozen: at random numbers that is reported, with pretrained ones it is as it should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensortap.analysis.rules.runner import check_rules
from tensortap.index.logdir_index import LogIndex

keras = pytest.importorskip("keras")
np = pytest.importorskip("numpy")

INITIALIZERS = ["GlorotUniform", "GlorotNormal", "HeUniform", "HeNormal", "LecunUniform", "LecunNormal"]


def test_what_is_frozen_at_random_numbers_is_told_from_what_is_pretrained(tmp_path: Path) -> None:
    from tensortap.capture import Tap, Watch

    keras.utils.set_random_seed(4)
    x, y = np.random.rand(64, 12, 12, 8).astype("f4"), np.random.randint(0, 3, 64)
    inputs = value = keras.Input((12, 12, 8))
    for at, name in enumerate(INITIALIZERS):
        filters = 8 + 8 * (at % 2 == 0)  # another fan-out than fan-in: else Lecun is Glorot
        conv = keras.layers.Conv2D(
            filters, 3, kernel_initializer=name, trainable=False, padding="same", name=name
        )
        value = keras.layers.LayerNormalization()(conv(value))
    value = keras.layers.Flatten()(keras.layers.AveragePooling2D(3)(value))
    small = keras.layers.Dense(24, trainable=False, name="pretrained")
    scaled = keras.layers.Dense(24, trainable=False, name="scaled")
    value = keras.layers.LayerNormalization()(scaled(small(value)))
    model = keras.Model(inputs, keras.layers.Dense(3, name="head")(value))
    kernel, bias = small.get_weights()
    small.set_weights([kernel + np.random.normal(size=kernel.shape) * 0.1 * kernel.std(), bias])
    scaled.set_weights([scaled.get_weights()[0] * 1.3, bias])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    with Tap(tmp_path / "r", Watch(steps=1, kinds=("weight", "gradient", "loss"))) as tap:
        model.fit(x, y, batch_size=16, verbose=0, callbacks=[tap.callback()])

    log = LogIndex(tmp_path)
    log.refresh()
    found = {
        finding.variable.removesuffix("/kernel"): finding
        for finding in check_rules(log.runs[0]).findings
        if finding.rule == "UnchangedTensor" and finding.variable.endswith("kernel")
    }
    for name in INITIALIZERS:
        assert (found[name].severity, (f"like random ones from {name}.") in found[name].text) == (
            "medium",
            True,
        ), name
        assert "copy its weights" in found[name].help
    assert {name: found[name].severity for name in ("pretrained", "scaled")} == {
        "pretrained": "low",
        "scaled": "low",
    }
    assert "head" not in found


@pytest.mark.parametrize(("trained", "severity"), [(True, "high"), (False, "medium")])
def test_a_frozen_random_layer_after_trained_ones_is_severe(
    tmp_path: Path, trained: bool, severity: str
) -> None:
    """They get their gradient from random numbers, like a generator whose critic is never trained."""
    from tensortap.capture import Tap, Watch

    keras.utils.set_random_seed(4)
    first = keras.layers.Dense(32, trainable=trained, name="first")
    frozen = keras.layers.Dense(40, trainable=False, name="frozen")
    model = keras.Sequential([keras.Input((32,)), first, frozen, keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, jit_compile=False)
    x, y = np.random.rand(48, 32).astype("f4"), np.random.randint(0, 2, 48)
    with Tap(tmp_path / "r", Watch(steps=1, kinds=("weight", "gradient", "loss"))) as tap:
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[tap.callback()])
    log = LogIndex(tmp_path)
    log.refresh()
    (found,) = (each for each in check_rules(log.runs[0]).findings if "frozen/kernel" in each.variable)
    assert (found.severity, "get their gradient through it" in found.text) == (severity, trained)


def test_a_copy_and_a_pretrained_layer_are_not_said_to_be_random(tmp_path: Path) -> None:
    """A target network is set now and then; a layer with a trained bias has been trained."""
    from tensortap.capture import Tap, Watch

    keras.utils.set_random_seed(4)
    copied = keras.layers.Dense(32, trainable=False, name="copied")
    pretrained = keras.layers.Dense(32, trainable=False, name="pretrained")
    model = keras.Sequential([keras.Input((32,)), copied, pretrained, keras.layers.Dense(2)])
    pretrained.bias.assign(np.full(32, 0.1, "f4"))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    x, y = np.random.rand(48, 32).astype("f4"), np.random.randint(0, 2, 48)
    with Tap(tmp_path / "r", Watch(steps=1, kinds=("weight", "gradient", "loss"))) as tap:
        for scale in (1.0, 1.5):
            copied.kernel.assign(copied.kernel * scale)
            model.fit(x, y, batch_size=8, verbose=0, callbacks=[tap.callback()])
    log = LogIndex(tmp_path)
    log.refresh()
    findings = [each for each in check_rules(log.runs[0]).findings if each.variable.endswith("kernel")]
    found = {each.layer.split("/")[-1]: (each.severity, "random" in each.text) for each in findings}
    assert found["pretrained"] == ("low", False)
    assert "copied" not in found


def test_a_frozen_random_layer_comes_before_the_loss_that_stays(tmp_path: Path) -> None:
    from tensortap.capture import Tap, Watch

    keras.utils.set_random_seed(4)
    x, y = np.random.rand(16, 32).astype("f4"), np.random.randint(0, 2, 16)
    frozen = keras.layers.Dense(40, trainable=False, name="frozen")
    model = keras.Sequential([keras.Input((32,)), frozen, keras.layers.Dense(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1e-5), loss, jit_compile=False)
    with Tap(tmp_path / "r", Watch(steps=1, kinds=("weight", "gradient", "loss"))) as tap:
        model.fit(x, y, epochs=110, verbose=0, callbacks=[tap.callback()])
    log = LogIndex(tmp_path)
    log.refresh()
    high = [finding for finding in check_rules(log.runs[0]).findings if finding.severity == "high"]
    assert [finding.rule for finding in high] == ["UnchangedTensor", "LossNotDecreasing"]
    assert high[0].variable.endswith("frozen/kernel")
