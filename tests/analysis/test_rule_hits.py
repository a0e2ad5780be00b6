"""When rules fire, on runs of a few tensors: limits that are kept, long runs, steps that hold NaN."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from synthetic_runs import GRADIENT, TRAINING, WEIGHT, Fed, X, findings_of, node, synthetic_run

from tensortap.analysis.rules.runner import check_rules
from tensortap.analysis.rules.settings import Settings, parse_settings
from tensortap.cli.views.rules import print_findings
from tensortap.core.errors import TensortapError
from tensortap.core.records import Graph
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

RNG = np.random.default_rng(0)
PUSH = RNG.normal(size=8).astype(np.float32)
WEIGHTS = RNG.normal(size=64) * 0.1


def training(folder: Path, steps: range, *, loss: Any = None, weight: Any = None) -> Any:
    """A run with a gradient, and a loss and weight that are functions of the step."""
    fed: list[Fed] = []
    for step in steps:
        fed += [(GRADIENT.name, PUSH, step)]
        fed += [("loss", np.float32(loss(step)), step)] if loss else []
        fed += [("w", np.asarray(weight(step), np.float32), step)] if weight else []
    return synthetic_run(folder, TRAINING, fed)


@pytest.mark.parametrize(
    ("steps", "loss"),
    [
        (range(0, 20000, 400), lambda step: 10 * np.exp(-step / 2900)),
        (range(0, 12000, 240), lambda step: 2.0 - 0.9 * step / 12000),
    ],
)
def test_a_long_run_need_not_fall_by_more_than_all_of_it(tmp_path: Path, steps: range, loss: Any) -> None:
    assert findings_of("LossNotDecreasing", training(tmp_path, steps, loss=loss)) == []


def test_a_long_run_that_hardly_falls_is_reported(tmp_path: Path) -> None:
    found = findings_of(
        "LossNotDecreasing", training(tmp_path, range(0, 12000, 240), loss=lambda step: 2 - step * 1e-6)
    )
    assert [(f.severity, f.evidence[0].limit) for f in found] == [("high", 0.1)]


@pytest.mark.parametrize(("count", "severity"), [(10, "medium"), (40, "medium"), (90, "high")])
def test_a_loss_that_only_scatters_stayed(tmp_path: Path, count: int, severity: str) -> None:
    scatter = np.random.default_rng(3).normal(size=200) * 0.006
    run = training(tmp_path, range(0, count * 2, 2), loss=lambda step: 0.694 + scatter[step] + 1e-5 * step)
    (found,) = findings_of("LossNotDecreasing", run)
    assert found.severity == severity
    assert "The loss stayed" in found.text


def test_a_loss_that_explodes_grew(tmp_path: Path) -> None:
    run = training(tmp_path, range(12), loss=lambda step: 3.0 * 100**step)
    (found,) = findings_of("LossNotDecreasing", run)
    assert found.severity == "high"
    assert "The loss grew" in found.text


def test_one_of_several_losses_may_grow(tmp_path: Path) -> None:
    rival = node("rival/loss", "Mean", "x", kind="loss")
    marked = node("loss", "Sum", "product", kind="loss")
    nodes = [*(each for each in TRAINING if each.name != "loss"), marked, rival]
    fed: list[Fed] = [("loss", np.float32(1 + step / 40), step) for step in range(40)]
    fed += [(GRADIENT.name, PUSH, step) for step in range(40)]
    (found,) = findings_of("LossNotDecreasing", synthetic_run(tmp_path, nodes, fed))
    assert (found.severity, found.tensor) == ("low", "loss:0")
    assert found.text.startswith("The loss loss:0 grew")


def test_a_scaled_loss_is_not_the_loss(tmp_path: Path) -> None:
    loss, scaled = node("loss", "Sum", "product", kind="loss"), node("Mul_1", "Mul", "loss", "w", kind="loss")
    nodes = [*(each for each in TRAINING if each.name != "loss"), loss, scaled]
    fed: list[Fed] = [("Mul_1", np.float32(32768 * 2 ** (-step / 4)), step) for step in range(20)]
    fed += [("loss", np.float32(2 ** (-step / 4)), step) for step in range(20)]
    assert findings_of("LargeLoss", synthetic_run(tmp_path, nodes, fed)) == []


def test_slow_drift_is_change(tmp_path: Path) -> None:
    run = training(tmp_path, range(100), weight=lambda step: WEIGHTS * (1 + 8e-6) ** step)
    assert findings_of("UnchangedTensor", run) == []


def test_values_tell_what_statistics_do_not(tmp_path: Path) -> None:
    swapped = WEIGHTS.copy()
    swapped[[3, 7]] = swapped[[7, 3]]
    for name, last, keep in (
        ("moved", swapped, "value"),
        ("still", WEIGHTS, "value"),
        ("unseen", swapped, "summary"),
    ):
        held = [np.asarray(WEIGHTS if step < 5 else last, np.float32) for step in range(6)]
        fed: list[Fed] = [("w", value, step) for step, value in enumerate(held)]
        fed += [(GRADIENT.name, PUSH, step) for step in range(6)]
        found = findings_of("UnchangedTensor", synthetic_run(tmp_path / name, TRAINING, fed, keep))
        texts = [finding.text.partition(" at ")[0] for finding in found]
        assert (
            texts
            == {
                "moved": [],
                "still": ["dense/kernel is the same"],
                "unseen": ["dense/kernel has the same statistics"],
            }[name]
        )


def test_weights_that_freeze_later_are_reported_since_when(tmp_path: Path) -> None:
    run = training(tmp_path, range(40), weight=lambda step: WEIGHTS * (1 + 0.01 * min(step, 10)))
    (found,) = findings_of("UnchangedTensor", run)
    assert (found.severity, found.first_step, found.last_step, found.steps, found.of) == (
        "high",
        10,
        39,
        30,
        40,
    )
    assert "at 30 of 40 captured steps (10 to 39)" in found.text


def test_weights_that_rest_for_a_while_are_no_alarm(tmp_path: Path) -> None:
    run = training(tmp_path, range(40), weight=lambda step: WEIGHTS * (1 + 0.01 * max(step, 5)))
    assert [(f.severity, f.last_step) for f in findings_of("UnchangedTensor", run)] == [("low", 5)]


@pytest.mark.parametrize(("dtype", "cast", "severities"), [("uint8", True, ["high"]), ("int32", False, [])])
def test_pixels_of_whole_numbers_count_but_tokens_do_not(
    tmp_path: Path, dtype: str, cast: bool, severities: list[str]
) -> None:
    first = node("cast", "Cast", "x") if cast else node("cast", "ResourceGather", "x")
    layer = node("product", "MatMul", "cast")
    layer = type(layer)(**{name: getattr(layer, name) for name in layer.__slots__} | {"layer": "dense"})
    values = RNG.integers(0, 256, (64, 16)).astype(dtype)
    nodes = (node("x", "Placeholder", dtype=dtype, kind="input"), first, layer)
    run = synthetic_run(tmp_path, nodes, [("x", values, step) for step in range(3)])
    assert [found.severity for found in findings_of("InputNotNormalized", run)] == severities


def test_samples_and_severity_of_a_file_are_kept(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, TRAINING, [("x", RNG.normal(15, 5, size=(60, 4)).astype(np.float32), 0)])
    assert [f.severity for f in findings_of("InputNotNormalized", run)] == ["high"]
    for changes, severities in (
        ({"samples": 61}, []),
        ({"severity": "medium"}, ["medium"]),
        ({"far": 100.0}, ["low"]),
        ({"far": 100.0, "abs_mean": 20}, []),
    ):
        settings = parse_settings({"InputNotNormalized": changes})
        assert [f.severity for f in findings_of("InputNotNormalized", run, settings)] == severities


def test_a_step_of_nan_does_not_hide_dead_units(tmp_path: Path) -> None:
    dead = np.zeros((32, 10), np.float32)
    dead[:, :4] = RNG.random((32, 4)) + 0.1
    fed = [("relu", dead, step) for step in range(10)] + [("relu", np.full((32, 10), np.nan, np.float32), 10)]
    run = synthetic_run(tmp_path, (X, node("relu", "Relu", "x")), fed, keep="value")
    (found,) = findings_of("DeadRelu", run)
    assert (found.evidence[0].value, found.last_step) == (0.6, 9)


def test_a_relu_of_nan_is_not_dead(tmp_path: Path) -> None:
    """TensorFlow's ReLU gives 0 for NaN: the cause is where the NaN comes from."""
    made = [np.ones((32, 10), np.float32)] * 2 + [np.full((32, 10), np.nan, np.float32)] * 8
    fed: list[Fed] = [("product", value, step) for step, value in enumerate(made)]
    fed += [("relu", np.float32(value > 0), step) for step, value in enumerate(made)]
    program = (X, node("product", "Mul", "x", "x"), node("relu", "Relu", "product"))
    for keep in ("summary", "value"):
        run = synthetic_run(tmp_path, program, fed, name=keep, keep=keep)
        assert findings_of("DeadRelu", run) == []


@pytest.mark.parametrize(("captured", "made"), [("w", np.nan), ("w", 1.0), ("", 1.0)])
def test_zeros_of_a_relu_whose_input_was_not_captured(tmp_path: Path, captured: str, made: float) -> None:
    """NaN in what its input is computed from explains them; where nothing of that was captured, it might."""
    program = (X, node("w", "Const"), node("product", "MatMul", "x", "w"), node("relu", "Relu", "product"))
    fed: list[Fed] = [("relu", np.zeros((4, 8), np.float32), step) for step in range(4)]
    fed += [(captured, np.full((4, 8), made, np.float32), step) for step in range(4) if captured]
    found = findings_of("DeadRelu", synthetic_run(tmp_path, program, fed))
    assert ["Capture the input" in each.next_look for each in found] == (
        [] if made != 1.0 else [not captured]
    )


@pytest.mark.parametrize(("made", "found"), [(np.nan, []), (-1.0, ["flat:0", "pool:0", "relu:0"])])
def test_zeros_after_a_relu_of_nan_are_not_reported(tmp_path: Path, made: float, found: list[str]) -> None:
    program = (
        X,
        node("product", "Mul", "x", "x"),
        node("relu", "Relu", "product", kind="output"),
        node("pool", "MaxPool", "relu", kind="output"),
        node("flat", "Reshape", "pool", kind="output"),
    )
    fed: list[Fed] = [("product", np.full((4, 8), made, np.float32), step) for step in range(4)]
    fed += [(name, np.zeros((4, 8), np.float32), s) for name in ("relu", "pool", "flat") for s in range(4)]
    run = synthetic_run(tmp_path, program, fed)
    alone = parse_settings({"DeadRelu": {"enabled": False}})
    assert sorted(f.tensor for f in findings_of("AllZero", run, alone)) == found


def test_dead_units_are_reported_with_the_step_of_the_number(tmp_path: Path) -> None:
    """GIVEN 1 of 1,000 elements above 0 at step 3, 4 at the others, but 16 at the last one."""

    def relu(step: int) -> np.ndarray[Any, Any]:
        return np.float32(np.arange(1000) < {3: 1, 9: 16}.get(step, 4)).reshape(10, 100)

    program = (X, node("relu", "Relu", "x"))
    run = synthetic_run(tmp_path, program, [("relu", relu(step), step) for step in range(10)])
    (found,) = findings_of("DeadRelu", run)
    assert found.text == "Only 0.10% of the elements of relu:0 are above 0 at step 3."
    assert (found.steps, found.of) == (9, 10)
    assert found.evidence[0].limit == 0.005  # half of `active`, at which half of the units must be dead


def test_muted_findings_leave_room_and_what_is_skipped_is_reported(tmp_path: Path) -> None:
    """GIVEN 60 tensors that break a rule, the first 50 of them muted, the later ones newer."""
    nodes = [node(f"n{number:02}", "Mul") for number in range(60)]
    run = synthetic_run(tmp_path, nodes, [(f"n{n:02}", np.float32([3.3e38]), n) for n in range(60)])
    found = check_rules(run, parse_settings({"mute": ["Float16Overflow: n[0-4]"]}))
    seen = [finding.tensor for finding in found.findings if not finding.muted]
    assert seen == [f"n{number}:0" for number in range(59, 49, -1)]
    assert found.left_out == {"Float16Overflow": 10}
    assert check_rules(run, parse_settings({"Float16Overflow": {"enabled": False}})).left_out == {}


def test_updates_above_a_lower_limit_are_found_without_values(tmp_path: Path) -> None:
    run = synthetic_run(
        tmp_path, TRAINING, [("w", np.float32(WEIGHTS * 1.5**step), step) for step in range(5)]
    )
    assert findings_of("WeightUpdateRatio", run) == []
    found = findings_of("WeightUpdateRatio", run, parse_settings({"WeightUpdateRatio": {"largest": 0.1}}))
    assert [(f.steps, f.evidence[0].limit) for f in found] == [(4, 0.1)]


def test_visits_of_one_step_are_one_step(tmp_path: Path) -> None:
    zeros = [(GRADIENT.name, np.zeros(4, np.float32), step) for step in (0, 0, 0, 1)]
    run = synthetic_run(tmp_path, (X, GRADIENT), zeros)
    assert findings_of("AllZero", run) == []
    alone = {"AllZero": {"steps": 2, "severity": "low"}, "DeadGradient": {"enabled": False}}
    found = findings_of("AllZero", run, parse_settings(alone))
    assert [(f.severity, f.steps) for f in found] == [("low", 2)]


def test_sparse_gradients_vanish_by_their_mean(tmp_path: Path) -> None:
    """The root mean square is 1.6e-6, the mean of absolute values 5e-8."""
    sparse = np.zeros(10000, np.float32)
    sparse[:10] = 5e-5
    run = synthetic_run(tmp_path, (X, GRADIENT), [(GRADIENT.name, sparse, step) for step in range(4)])
    (found,) = findings_of("VanishingGradient", run)
    assert found.evidence[0].value == pytest.approx(5e-8)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64"])
def test_labels_are_counted_whatever_their_dtype(tmp_path: Path, dtype: str) -> None:
    labels = (np.arange(640) % 50 == 0).astype(dtype)
    assert [f.evidence[0].value for f in imbalance(tmp_path, labels, CROSS_ENTROPY)] == [
        pytest.approx(627 / 13)
    ]


def test_measured_targets_are_no_labels(tmp_path: Path) -> None:
    labels = np.where(np.arange(640) % 50 == 0, 2.0, 31.0).astype(np.float32)
    assert imbalance(tmp_path, labels, CROSS_ENTROPY) == []


def test_flags_that_scale_targets_are_no_labels(tmp_path: Path) -> None:
    """As the ends of episodes in the target of a Q value, and the actions whose values are gathered."""
    rare = np.arange(640) % 50 == 0
    scaled = node("future", "Mul", "y", "x"), node("error", "Sub", "future", "product")
    assert imbalance(tmp_path / "flags", rare.astype(np.float32), *scaled) == []
    chosen = node("chosen", "GatherV2", "product", "y"), node("log", "Log", "chosen")
    assert imbalance(tmp_path / "actions", rare.astype(np.int32), *chosen) == []


CROSS_ENTROPY = node("loss", "SparseSoftmaxCrossEntropyWithLogits", "product", "y")


def imbalance(folder: Path, labels: np.ndarray[Any, Any], *loss: Any) -> Any:
    product = node("product", "MatMul", "x")
    layer = type(product)(**{name: getattr(product, name) for name in product.__slots__} | {"layer": "dense"})
    target = node("y", "Placeholder", kind="input", dtype=str(labels.dtype))
    nodes = (X, target, layer, *loss)
    return findings_of("ClassImbalance", synthetic_run(folder, nodes, [("y", labels, 0)], keep="value"))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"where": "abs_max >>> 3"}, "Mine"),
        ({"where": "abs_max > 3", "match": "("}, "Mine"),
        ({"where": "abs_max > 3", "kind": "nonsense"}, "nonsense"),
        ({"where": "abs_max > 3", "share": True}, "share"),
    ],
)
def test_an_own_rule_that_cannot_work_is_refused_when_it_is_read(table: dict[str, Any], says: str) -> None:
    with pytest.raises(TensortapError, match=says):
        parse_settings({"Mine": table})


def test_an_own_rule_may_be_of_updates(tmp_path: Path) -> None:
    nodes = (X, WEIGHT, node("change", "Mul", "x", kind="update", of="dense/kernel"))
    run = synthetic_run(tmp_path, nodes, [("w", np.float32([9.0]), 0), ("change", np.float32([9.0]), 0)])
    mine = {"where": "abs_max > 3", "kind": "update"}
    assert [f.tensor for f in findings_of("Mine", run, parse_settings({"Mine": mine}))] == ["change:0"]


def test_an_own_rule_can_be_switched_off_and_its_severity_counts(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path, (X, WEIGHT), [("w", np.float32([9.0]), 0)])
    mine = {"where": "abs_max > 3", "severity": "high"}
    assert [f.severity for f in findings_of("Mine", run, parse_settings({"Mine": mine}))] == ["high"]
    assert parse_settings({"Mine": mine | {"enabled": False}}) == Settings({}, [], [])


def test_a_variable_of_several_graphs_is_reported_once(tmp_path: Path) -> None:
    """As the weights of a WGAN's critic, which its own step reads and the generator's, too."""
    with DumpWriter(tmp_path, run="made") as writer:
        for name, steps in (("critic", range(6)), ("generator", range(3))):
            graph = writer.graph(Graph(name, list(TRAINING)))
            for step in steps:
                for each, value in (("w", PUSH * 100), (GRADIENT.name, PUSH * 0)):
                    writer.log(each, value, step=step, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    found = check_rules(log.runs[0]).findings
    assert sorted((f.rule, f.steps) for f in found) == [
        *(("DeadGradient", 6), ("LargeWeights", 6)),
    ]
    without = check_rules(log.runs[0], parse_settings({"DeadGradient": {"enabled": False}})).findings
    assert ("AllZero", "high", 6) in [(f.rule, f.severity, f.steps) for f in without]


@pytest.mark.parametrize(
    ("layers", "shape", "times"),
    [
        (("critic/dense", "gan/critic/dense"), "[4]", 1),
        (("teacher/dense", "student/dense"), "[4]", 2),
        (("model/dense", "model/dense"), "[8]", 2),
    ],
)
def test_variables_of_one_path_in_different_models_are_distinguished(
    tmp_path: Path, layers: tuple[str, str], shape: str, times: int
) -> None:
    with DumpWriter(tmp_path, run="made") as writer:
        for name, layer, extent in zip("ab", layers, ("[4]", shape), strict=True):
            weight = replace(WEIGHT, layer=layer, output_shapes=[json.loads(extent)])
            graph = writer.graph(Graph(name, [TRAINING[0], weight, *TRAINING[2:]]))
            for step in range(6):
                for each, value in (("w", PUSH * 100), (GRADIENT.name, PUSH * 0)):
                    writer.log(each, value, step=step, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    found = check_rules(log.runs[0]).findings
    assert sorted(f.rule for f in found) == sorted(["DeadGradient", "LargeWeights"] * times)


def test_an_update_that_is_infinite_is_called_so(tmp_path: Path) -> None:
    fed = [("w", np.float32([1, 2, value]), step) for step, value in enumerate((1, 2, np.inf))]
    found = findings_of("WeightUpdateRatio", synthetic_run(tmp_path, TRAINING, fed, keep="value"))
    assert [f.text for f in found] == [
        "An update makes elements of dense/kernel infinite that were finite before."
    ]


def test_findings_come_the_worst_first_then_the_newest_then_in_data_flow_order(tmp_path: Path) -> None:
    names = [f"n{number}" for number in (3, 1, 2, 0)]
    nodes = [node(name, "Tanh", before) for before, name in zip(["x", *names], names, strict=False)]
    large = np.float16(65504)
    fed: list[Fed] = [(name, large, step) for step, name in ((1, "n0"), (0, "n1"), (0, "n2"), (0, "n3"))]
    run = synthetic_run(tmp_path, (X, *(replace(each, output_dtypes=["float16"]) for each in nodes)), fed)
    assert [f.node for f in findings_of("Float16Overflow", run)] == ["n0", "n3", "n1", "n2"]


def test_units_that_were_looked_at_in_kept_values_say_so(tmp_path: Path) -> None:
    value = np.where(np.arange(8) < 3, 1.0, 0.0) * np.ones((16, 8))
    fed = [("relu", value.astype(np.float32), step) for step in range(20)]
    run = synthetic_run(tmp_path, (X, node("relu", "Relu", "x", kind="output")), fed, keep="value")
    (found,) = findings_of("DeadRelu", run)
    assert (found.steps, found.of, found.looked_at) == (8, 8, "checked values, of 20 stored")
    assert found.severity == "medium"  # three of eight are active
    out = io.StringIO()
    print_findings("made", check_rules(run), Console(file=out, width=200), muted=False)
    assert "(8 of 8 checked values, of 20 stored)" in out.getvalue()


def test_few_samples_prove_no_dead_units(tmp_path: Path) -> None:
    """Of four samples at two steps a unit that is active in one of fifty may miss all."""
    value = np.where(np.arange(8) < 3, 1.0, 0.0) * np.ones((4, 8))
    fed = [("relu", value.astype(np.float32), step) for step in range(2)]
    run = synthetic_run(tmp_path, (X, node("relu", "Relu", "x", kind="output")), fed, keep="value")
    assert findings_of("DeadRelu", run) == []


@pytest.mark.parametrize(("gradient", "times"), [(PUSH, 1), (np.float32([np.inf] * 8), 0)])
def test_weights_rest_while_gradients_are_infinite(tmp_path: Path, gradient: Any, times: int) -> None:
    """A loss scale that is still too large: such steps are skipped."""
    fed: list[Fed] = [(GRADIENT.name, gradient, step) for step in range(6)]
    fed += [("w", np.asarray(WEIGHTS, np.float32), step) for step in range(6)]
    assert len(findings_of("UnchangedTensor", synthetic_run(tmp_path, TRAINING, fed))) == times


def test_variables_declared_as_constant_may_rest(tmp_path: Path) -> None:
    marks = {"tensortap.trainable": "false", "tensortap.constant": "true"}
    constant = replace(WEIGHT, attributes={**WEIGHT.attributes, **marks})
    other = replace(GRADIENT, attributes={**GRADIENT.attributes, "tensortap.variable": "other"})
    still = [("w", np.ones((4, 4), np.float32), step) for step in range(6)]
    fed: list[Fed] = [(GRADIENT.name, PUSH, step) for step in range(6)]
    for weight, times in ((constant, 0), (WEIGHT, 1)):
        run = synthetic_run(tmp_path / str(times), (weight, other), [*fed, *still])
        assert len(findings_of("UnchangedTensor", run)) == times


def test_a_negated_mask_is_no_overflow(tmp_path: Path) -> None:
    masked = np.float32([np.finfo(np.float32).max, 0.5, -1.0])
    run = synthetic_run(
        tmp_path, (X, node("gradient_tape/Neg", "Neg", "x")), [("gradient_tape/Neg", masked, 0)]
    )
    assert findings_of("Float16Overflow", run) == []


def test_of_two_graphs_of_a_variable_the_worse_story_is_reported(tmp_path: Path) -> None:
    """One graph trains the weights, another one only reads them, and oftener."""
    rng, still = np.random.default_rng(0), np.ones((4, 4), np.float32)
    reading = (WEIGHT, replace(GRADIENT, attributes={**GRADIENT.attributes, "tensortap.variable": "other"}))
    with DumpWriter(tmp_path, run="made") as writer:
        for nodes, steps in ((TRAINING, range(0, 20, 2)), (reading, range(20))):
            graph = writer.graph(Graph("step", list(nodes)))
            for step in steps:
                writer.log("w", still, step=step, graph=graph)
                writer.log(GRADIENT.name, rng.normal(size=(4, 4)), step=step, graph=graph)
    log = LogIndex(tmp_path)
    log.refresh()
    (found,) = findings_of("UnchangedTensor", log.runs[0])
    assert (found.severity, found.of) == ("high", 10)
    assert "although it has a gradient" in found.text


@pytest.mark.parametrize(
    ("target", "online", "updated", "found"),
    [
        ("rests", "moves", ("online",), []),
        ("rests", "rests", ("online",), ["online/w:0"]),
        ("rests", "rests", ("online", "target"), []),  # nobody knows whose gradient it is
    ],
)
def test_of_two_networks_of_one_path_the_trained_one_is_looked_at(
    tmp_path: Path, target: str, online: str, updated: tuple[str, ...], found: list[str]
) -> None:
    """As those of a DQN that one function makes: Keras gives the variables of both the same path."""
    names = {"target": target, "online": online}
    nodes = [X, GRADIENT, node("q", "MatMul", "x", "online/w"), node("loss", "Sum", "q")]
    for name in names:
        nodes += [node(f"{name}/handle", "_Arg", dtype="resource", of="dense/kernel")]
        nodes += [node(f"{name}/w", "ReadVariableOp", f"{name}/handle", kind="weight", of="dense/kernel")]
    nodes += [node(f"{name}/a", "AssignSubVariableOp", f"{name}/handle", GRADIENT.name) for name in updated]
    fed: list[Fed] = [(GRADIENT.name, PUSH, step) for step in range(12)]
    for name, what in names.items():
        fed += [(f"{name}/w", PUSH * (step if what == "moves" else 1), step) for step in range(12)]
    assert [f.tensor for f in findings_of("UnchangedTensor", synthetic_run(tmp_path, nodes, fed))] == found


def test_the_evidence_of_percent_zeros_is_in_percent(tmp_path: Path) -> None:
    zeros = [(GRADIENT.name, np.zeros(4, np.float32), step) for step in range(4)]
    found = check_rules(
        synthetic_run(tmp_path, (X, GRADIENT), zeros), parse_settings({"DeadGradient": {"enabled": False}})
    )
    out = io.StringIO()
    print_findings("made", found, Console(file=out, width=200), muted=False)
    assert "step 0: % zeros 100 % (threshold 100 %)" in out.getvalue()


def test_small_gradients_of_one_branch_are_low_where_an_embedding_gets_its_own(tmp_path: Path) -> None:
    """The queries of an attention, the first kernel of a small transformer."""
    nodes = (
        X,
        node("t", "ReadVariableOp", kind="weight", of="embedding/embeddings"),
        node("rows", "GatherV2", "t", "x"),
        node("w", "ReadVariableOp", kind="weight", of="query/kernel"),
        node("queries", "MatMul", "rows", "w"),
        node("v", "ReadVariableOp", kind="weight", of="head/kernel"),
        node("product", "MatMul", "queries", "v"),
        node("loss", "Sum", "product"),
        node("gradient_tape/rows", "MatMul", "x", kind="gradient", of="embedding/embeddings"),
        node("gradient_tape/w", "MatMul", "x", kind="gradient", of="query/kernel"),
        node("gradient_tape/v", "MatMul", "x", kind="gradient", of="head/kernel"),
    )
    size = {"gradient_tape/rows": 1e-3, "gradient_tape/w": 1e-6, "gradient_tape/v": 1.0, "loss": 1.0}
    fed = [
        (each.name, np.full(4 if each.name != "loss" else (), size.get(each.name, 0.5), np.float32), step)
        for step in range(4)
        for each in nodes
    ]
    run = synthetic_run(tmp_path, nodes, fed)
    (found,) = findings_of("VanishingGradient", run)
    assert found.severity == "low" and "embedding/embeddings, of an earlier layer" in found.text
