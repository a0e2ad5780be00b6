"""Births in the backward pass: gradients that the program replaces, and the forward op to be mended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from made_runs import X, made_run, node

from tensortap.analysis import nan_report

CLIPPED = (  # sqrt at 0, and a select that throws the gradient away before it is applied
    X,
    node("root", "Sqrt", "x"),
    node("loss", "Sum", "root"),
    node("gradient_tape/SqrtGrad", "SqrtGrad", "root", "ones"),
    node("ones", "Const"),
    node("gradient_tape/sum", "MatMul", "x", "gradient_tape/SqrtGrad"),
    node("finite", "IsFinite", "gradient_tape/sum", dtype="bool"),
    node("kept", "SelectV2", "finite", "gradient_tape/sum", "zeros"),
    node("zeros", "Const"),
    node("clipped", "Maximum", "kept", "zeros", kind="gradient", of="dense/kernel"),
)


def test_a_gradient_of_nan_that_the_program_replaces_is_not_harmless(tmp_path: Path) -> None:
    nan, inf = np.nan, np.inf
    held = {"x": [0, 4], "root": [0, 2], "loss": 2, "gradient_tape/SqrtGrad": [inf, 0.25]}
    held |= {"gradient_tape/sum": [nan, nan], "finite": [False, False], "kept": [0, 0], "clipped": [0, 0]}
    fed = [
        (name, np.array(value, bool if name == "finite" else np.float32), 0) for name, value in held.items()
    ]
    report = nan_report(made_run(tmp_path, CLIPPED, fed))
    assert [birth.tensor for birth in report.births] == ["gradient_tape/SqrtGrad:0", "gradient_tape/sum:0"]
    assert report.births[0].ends.gradients == ["gradient_tape/sum:0"]
    assert [link.tensor for link in report.chain] == ["gradient_tape/SqrtGrad:0", "gradient_tape/sum:0"]
    assert any(
        note.startswith("kept (SelectV2) puts other numbers in place of what is not finite in the gradient")
        for note in report.notes
    )
