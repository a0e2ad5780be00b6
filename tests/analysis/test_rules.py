"""Rules on real models: healthy ones are left in peace, broken ones get the finding that names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis_runs import Get

from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.analysis.rules.muted_findings import MutedFindingsError, mute, mutes_of, unmute
from tensortap.analysis.rules.registry import all_rules
from tensortap.analysis.rules.rule import hits, rule
from tensortap.analysis.rules.runner import check_rules
from tensortap.analysis.rules.settings import Settings, SettingsError, parse_settings, read_settings
from tensortap.analysis.run_view.run_view import RunView

ELSEWHERE = (
    "LossInputMismatch",
    "SoftmaxAxis",
    "MaskSign",
    "BroadcastLoss",
    "TargetOutOfRange",
    "NegatedLoss",
    "LabelInInput",
    "HighDropout",
    "UnusedLayer",
    "ShrinkingWeights",
)  # test_intent.py, test_advice.py
HEALTHY = (
    *("healthy_cnn", "healthy_transformer", "healthy_lstm", "healthy_autoencoder", "healthy_mixture"),
    "healthy_layers",
)
BROKEN = {  # run -> findings that must be there: (rule, severity, part of the text)
    "dead_relu": [
        ("DeadRelu", "high", "hidden"),
        ("DeadGradient", "high", "ReluGrad"),
    ],
    "vanishing": [("VanishingGradient", "high", "deep0"), ("PoorWeightInit", "high", "variance")],
    "exploding_rnn": [("ExplodingGradient", "high", "recurrent_kernel")],
    "unnormalized": [("InputNotNormalized", "high", "mean"), ("SaturatedActivation", "high", "Tanh")],
    "frozen": [("UnchangedTensor", "low", "does not request its gradient.")],
    "wide_init": [
        ("PoorWeightInit", "medium", "odd/kernel is 1.01 at step 0, 32.3 times the expected value")
    ],
    "narrow_init": [
        ("PoorWeightInit", "medium", "odd/kernel is 1.01e-12 at step 0, 1/3.87e+09 of the expected value")
    ],
    "dies_late": [("DeadGradient", "high", "hidden/kernel is exactly 0 since step 16: ")],
    "cut_off": [("DeadGradient", "high", "low/kernel gets no gradient: model_1/rounded_1/Round (Round, ")],
    "high_rate": [
        ("LossNotDecreasing", "high", "grew"),
        ("LearningRate", "high", "20"),
        ("WeightUpdateRatio", "medium", "kernel"),
        ("LargeLoss", "medium", ""),
        ("LargeWeights", "low", ""),
    ],
    "float16_overflow": [("Float16Overflow", "high", ""), ("ExplodingTensor", "high", "float16")],
    "log_of_zero": [("ExplodingTensor", "high", "log(0)")],
    "overfit": [("Overfit", "medium", "above the training loss")],
    "overfit_epochs": [("Overfit", "medium", "The validation loss has risen from 1.")],
    "imbalanced": [("ClassImbalance", "medium", "22.3 times")],
    "subnormal": [("Subnormals", "low", "SigmoidGrad"), ("UnchangedTensor", "high", "although")],
    "absorbed": [("AbsorbedUpdate", "high", "100% of the updates of model/hidden/kernel")],
    "low_rate": [
        ("LearningRate", "high", "1e-08"),
        ("WeightUpdateRatio", "medium", "kernel"),
        ("UnchangedTensor", "high", "although it has a gradient"),
    ],
}


@pytest.mark.parametrize("run", HEALTHY)
def test_a_healthy_model_has_no_high_finding(run: str, run_named: Get) -> None:
    found = check_rules(run_named(run))
    assert [(f.rule, f.text) for f in found.findings if f.severity == "high"] == []
    assert found.failed == {}
    assert found.rules == len(all_rules())


@pytest.mark.parametrize("run", BROKEN)
def test_a_broken_model_gets_its_finding(run: str, run_named: Get) -> None:
    findings = check_rules(run_named(run)).findings
    for name, severity, text in BROKEN[run]:
        fitting = [f for f in findings if (f.rule, f.severity) == (name, severity) and text in f.text]
        assert fitting, (name, [(f.rule, f.severity, f.text) for f in findings])
        assert fitting[0].evidence
        assert fitting[0].source
        assert fitting[0].help


@pytest.mark.parametrize("run", HEALTHY)
def test_initializers_of_keras_fit_their_layers(run: str, run_named: Get) -> None:
    assert [f.text for f in check_rules(run_named(run)).findings if f.rule == "PoorWeightInit"] == []


def test_a_part_that_only_some_batches_use_is_not_dead(run_named: Get) -> None:
    findings = [f for f in check_rules(run_named("healthy_mixture")).findings if f.rule == "DeadGradient"]
    assert {(f.severity, f.layer.partition("/")[0]) for f in findings} == {
        ("low", f"expert{number}") for number in range(4)
    }
    assert all(f"at {f.steps} of 24 captured steps, but recovers" in f.text for f in findings)
    assert {f.rule for f in check_rules(run_named("healthy_mixture")).findings} == {"DeadGradient"}


def test_every_rule_has_a_model_that_breaks_it() -> None:
    broken = {name for found in BROKEN.values() for name, _, _ in found} | {
        "AllZero",
        "ReplicaDrift",
        "MissingWorker",
        "SlowWorker",
        *ELSEWHERE,
    }
    assert broken == {rule.name for rule in all_rules()}


def test_zeros_are_reported_where_no_other_rule_says_why(run_named: Get) -> None:
    run = run_named("dead_relu")
    assert not [f for f in check_rules(run).findings if f.rule == "AllZero" and f.severity == "high"]
    settings = Settings({"DeadGradient": {"enabled": False}, "DeadRelu": {"enabled": False}})
    found = [f for f in check_rules(run, settings).findings if f.rule == "AllZero"]
    assert found[0].severity == "high"
    assert found[0].text.startswith("The gradient of")


def test_the_worst_come_first(run_named: Get) -> None:
    severities = [finding.severity for finding in check_rules(run_named("high_rate")).findings]
    assert severities == sorted(severities, key=["high", "medium", "low"].index)


def test_a_file_changes_thresholds_adds_and_mutes(run_named: Get, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'mute = ["UnchangedTensor: frozen/bias"]\n'
        "[InputNotNormalized]\nenabled = false\n"
        "[LargeWeights]\nabs_max = 0.1\nseverity = 'medium'\n"
        '[BigLogits]\nwhere = "abs_max > 0.01"\nmatch = "logits"\nkind = "output"\nhelp = "Scale them."\n'
    )
    findings = check_rules(run_named("frozen"), read_settings(file)).findings
    by_rule = {finding.rule: finding for finding in findings if not finding.muted}
    assert "InputNotNormalized" not in by_rule
    assert by_rule["LargeWeights"].severity == "medium"
    assert by_rule["LargeWeights"].evidence[0].limit == 0.1
    assert by_rule["BigLogits"].help == "Scale them."
    muted = [finding.text for finding in findings if finding.muted]
    assert len(muted) == 1
    assert "frozen/bias" in muted[0]


def test_the_earlier_name_of_a_rule_still_applies(run_named: Get) -> None:
    run, old, new = run_named("unnormalized"), "InputNotNormalised", "InputNotNormalized"
    off = parse_settings({old: {"enabled": False}})
    off.check_names([old], all_rules())
    assert new not in {finding.rule for finding in check_rules(run, off).findings}
    found = check_rules(run, Settings(mute=[old])).findings
    assert [finding.muted for finding in found if finding.rule == new] == [True]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[NoSuchRule]\nx = 1\n", "no rule 'NoSuchRule'"),
        ("[LargeWeights]\nabs_mix = 1\n", "abs_mix"),
        ("[LargeWeights\n", "cannot be parsed"),
        ("mute = 3\n", "not a list"),
        ('mute = ["AllZero: ("]\n', "cannot be muted"),
        ("LargeWeights = 5\n", "is not a rule"),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=says) as caught:
        read_settings(file).apply(all_rules())
    assert caught.value.hint
    assert str(file) in caught.value.message
    if "NoSuchRule" not in text:
        return
    file.write_text(text.replace("NoSuchRule", "VanishingGradint"))
    with pytest.raises(SettingsError, match=r"Did you mean 'VanishingGradient'") as caught:
        read_settings(file).apply(all_rules())


def test_a_rule_in_a_few_lines_of_python(run_named: Get) -> None:
    @rule("Quiet", "an output that is small", thresholds={"abs_max": 1e9}, source="me")
    def quiet(view, limits):  # type: ignore[no-untyped-def]
        rows = view.rows(view.of_kind("output"))
        yield from hits(view, rows, rows["abs_max"] < limits["abs_max"], rows["abs_max"], "max |x|")

    found = check_rules(run_named("healthy_cnn"), rules=[quiet])
    assert {finding.rule for finding in found.findings} == {"Quiet"}
    assert found.findings[0].thresholds == {"abs_max": 1e9}


def test_a_rule_that_fails_hides_nothing(run_named: Get) -> None:
    @rule("Careless", "divides by 0")
    def careless(view, limits):  # type: ignore[no-untyped-def]
        yield 1 // 0

    found = check_rules(run_named("frozen"), rules=[careless, *all_rules()])
    assert "ZeroDivisionError" in found.failed["Careless"]
    assert found.findings


def test_muting_is_kept_outside_of_the_run(
    run_named: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORTAP_CONFIG_DIR", str(tmp_path / "config"))
    run = run_named("frozen")
    mute(run, "UnchangedTensor: kernel")
    assert mutes_of(run) == ["UnchangedTensor: kernel"]
    assert mutes_of(run_named("dead_relu")) == []
    findings = check_rules(run, Settings().muting(mutes_of(run))).findings
    assert {f.text.split()[0] for f in findings if f.muted} == {"model/frozen/kernel"}
    unmute(run, "UnchangedTensor: kernel")
    assert mutes_of(run) == []
    with pytest.raises(MutedFindingsError):
        unmute(run, "UnchangedTensor: kernel")


def test_the_ledger_says_why_a_gradient_is_zero(run_named: Get) -> None:
    dead = {entry.variable: entry for entry in dead_layer_ledger(run_named("dead_relu"))}
    assert dead["model/hidden/kernel"].reason == "dead activation"
    assert dead["model/logits/kernel"].reason == "dead input"
    assert dead["model/hidden/kernel"].zero_steps == dead["model/hidden/kernel"].steps == 12
    assert dead["model/logits/bias"].reason == ""
    findings = check_rules(run_named("cut_off")).findings
    assert {finding.severity for finding in findings if finding.layer == "model/frozen"} <= {"low"}
    assert not [f for f in findings if f.layer == "model/frozen" and f.rule == "DeadGradient"]
    frozen = {entry.variable: entry for entry in dead_layer_ledger(run_named("frozen"))}
    assert frozen["model/frozen/kernel"].reason == "disconnected"


def test_progress_is_reported_and_can_end_the_work(run_named: Get) -> None:
    reported: list[str] = []

    def stop_at_third(done: int, total: int, name: str) -> None:
        reported.append(name)
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_rules(run_named("frozen"), progress=stop_at_third)
    assert len(reported) == 3


def test_the_view_knows_kinds(run_named: Get) -> None:
    view = RunView(run_named("healthy_cnn"))
    assert len(view.of_kind("loss")) == 1
    kernels = {t.variable for t in view.of_kind("gradient") if t.is_kernel}
    assert kernels == {"model/conv1/kernel", "model/logits/kernel"}
