"""Gradients that are made of one another count once: with and without a loss scale, clipped or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import TRAINING, Fed, findings_of, node, synthetic_run

from tensortap.analysis.dead_layers.ledger import dead_layer_ledger
from tensortap.analysis.rules.runner import check_rules
from tensortap.core.records import Node
from tensortap.index.run_index import RunIndex

SCALE = 2.0**15
SCALED = (
    *TRAINING[:4],
    node("w2", "ReadVariableOp", kind="weight", of="top/kernel"),
    node("product_2", "MatMul", "product", "w2"),
    node("scale", "ReadVariableOp", of="loss_scale_optimizer/dynamic_scale"),
    node("gradient_tape/half", "MatMul", "x", dtype="float16"),
    node("gradient_tape/g1", "Cast", "gradient_tape/half", kind="gradient", of="dense/kernel"),
    node("gradient_tape/g2", "MatMul", "x", kind="gradient", of="top/kernel"),
    node("cond/d1", "RealDiv", "gradient_tape/g1", "scale", kind="gradient", of="dense/kernel"),
    node("cond/d2", "RealDiv", "gradient_tape/g2", "scale", kind="gradient", of="top/kernel"),
)
ONES = np.ones(4, np.float32)


def scaled_run(folder: Path, steps: int = 12, overflows: int = 1) -> RunIndex:
    """Gradients of equal size at both layers; the first steps overflow and are skipped."""
    fed: list[Fed] = []
    for step in range(steps):
        lost = step < overflows
        half = np.float16([np.inf if lost else 1.0] * 4)
        fed += [("gradient_tape/half", half, step), ("gradient_tape/g1", half.astype(np.float32), step)]
        # What was captured first has the lower number: that of an order that no rule may depend on.
        fed += [] if lost else [("cond/d2", ONES / SCALE, step), ("cond/d1", ONES / SCALE, step)]
        fed += [("gradient_tape/g2", ONES * SCALE, step)]
    return synthetic_run(folder, SCALED, fed)


def test_a_loss_scale_makes_no_gradient_explode_or_vanish(tmp_path: Path) -> None:
    found = check_rules(scaled_run(tmp_path)).findings
    assert [(f.rule, f.text) for f in found if f.severity == "high"] == []


def test_the_ledger_has_each_variable_once(tmp_path: Path) -> None:
    entries = dead_layer_ledger(scaled_run(tmp_path))
    assert sorted(entry.tensor for entry in entries) == ["cond/d1:0", "cond/d2:0"]


@pytest.mark.parametrize(("overflows", "found"), [(2, 0), (11, 0), (40, 1)])
def test_steps_that_dynamic_loss_scaling_skips_are_no_overflow(
    tmp_path: Path, overflows: int, found: int
) -> None:
    run = scaled_run(tmp_path, 40, overflows)
    assert len(findings_of("Float16Overflow", run)) == found


def masked() -> tuple[Node, ...]:
    """A gradient in which NaN is replaced by 0, and which is clipped then."""
    nodes = (
        node("gradient_tape/g", "MatMul", "x"),
        node("finite", "IsFinite", "gradient_tape/g", dtype="bool"),
        node("zeros", "ZerosLike", "gradient_tape/g"),
        node("chosen", "SelectV2", "finite", "gradient_tape/g", "zeros"),
        node("limit", "Const"),
        node("clip/Minimum", "Minimum", "chosen", "limit"),
        node("clip", "Maximum", "clip/Minimum", "limit", kind="gradient", of="dense/kernel"),
    )
    return (*TRAINING[:4], *nodes)


def test_zeros_behind_the_tape_begin_where_nan_was_replaced(tmp_path: Path) -> None:
    zero = np.zeros(4, np.float32)
    fed: list[Fed] = [("gradient_tape/g", np.full(4, np.nan, np.float32), 0), ("limit", np.float32(1), 0)]
    fed += [(name, zero, 0) for name in ("zeros", "chosen", "clip/Minimum", "clip")]
    (entry,) = (e for e in dead_layer_ledger(synthetic_run(tmp_path, masked(), fed)) if e.zero_steps)
    assert (entry.reason, entry.begins) == ("mask", "chosen:0")
    assert "gradient_tape/g:0 has 4 NaN or infinite elements" in entry.why


def test_a_sum_that_cancels_is_reported_so(tmp_path: Path) -> None:
    nodes = (
        *TRAINING[:4],
        *(node(f"gradient_tape/{name}", "Neg", "x") for name in "ab"),
        node(
            "gradient_tape/sum", "AddN", "gradient_tape/a", "gradient_tape/b", kind="gradient", of="d/kernel"
        ),
    )
    fed = [("gradient_tape/a", ONES, 0), ("gradient_tape/b", -ONES, 0), ("gradient_tape/sum", ONES * 0, 0)]
    (entry,) = (e for e in dead_layer_ledger(synthetic_run(tmp_path, nodes, fed)) if e.zero_steps)
    assert entry.reason == "cancelled"
    assert "not captured" not in entry.why
