"""NaN that one replica hands to the others in an all-reduce."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from synthetic_runs import node, synthetic_run

from tensortap.analysis.nonfinite.nan_report import nan_report


def test_an_all_reduced_infinity_is_that_of_another_replica(tmp_path: Path) -> None:
    nodes = [
        node("x", "Placeholder", kind="input"),
        node("Exp", "Exp", "x"),
        node("replica_1/Exp", "Neg", "x"),
        node("CollectiveReduceV2", "CollectiveReduceV2", "Exp"),
        node("CollectiveReduceV2_1", "CollectiveReduceV2", "replica_1/Exp"),
    ]
    x, infinite = np.float32([100, 0]), np.float32([np.inf, 1])
    values = (x, infinite, -x, infinite, infinite)
    fed = [(each.name, value, 0) for each, value in zip(nodes, values, strict=True)]
    report = nan_report(synthetic_run(tmp_path, nodes, fed))
    assert [origin.tensor for origin in report.origins] == ["Exp:0"]
    assert report.propagated == 2
