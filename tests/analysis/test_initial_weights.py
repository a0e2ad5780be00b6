"""Kernels begin with a variance that fits their shape, whatever their layer is, or are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import Fed, X, findings_of, node, synthetic_run

from tensortap.analysis.rules.finding import Finding
from tensortap.core.records import Node

OF_W = node("gradient_tape/gw", "MatMul", "x", kind="gradient", of="first/kernel")
OF_V = node("gradient_tape/gv", "MatMul", "x", kind="gradient", of="last/kernel")
WIDE = np.tile(np.float32([-1, 1]), (16, 8))  # 16x16, of variance 1: 16 times what fits
FITS = WIDE / 4


def network(*, first: str = "MatMul", between: Sequence[Node] = (), taken: str = "w") -> tuple[Node, ...]:
    """Two layers, the first of which an op takes."""
    return (
        *(X, node("w", "ReadVariableOp", kind="weight", of="first/kernel"), *between),
        node("v", "ReadVariableOp", kind="weight", of="last/kernel"),
        *(node("h", first, "x", taken), node("y", "MatMul", "h", "v"), node("loss", "Sum", "y"), OF_W, OF_V),
    )


def reported(
    folder: Path,
    nodes: Sequence[Node],
    first: np.ndarray,
    *,
    last: np.ndarray = FITS,
    gradient: float = 1.0,
    later: np.ndarray | None = None,
) -> list[Finding]:
    fed: list[Fed] = []
    for step in range(4):
        of_w = first if later is None or not step else later
        fed += [("w", of_w, step), ("v", last, step)]
        fed += [(name, gradient * WIDE, step) for name in ("gradient_tape/gw", "gradient_tape/gv")]
    return findings_of("PoorWeightInit", synthetic_run(folder, nodes, fed))


@pytest.mark.parametrize(
    ("scale", "gradient", "ratio"),
    [
        (1, 1, [16]),
        (1 / 4, 1e-5, []),
        (1 / 2, 1, []),  # He
        (1 / 32, 1, []),  # 64 times too small, and none the worse for it
        (1 / 32, 1e-5, [64]),
        (1 / 64, 1, [256]),
    ],
)
def test_the_variance_is_what_the_shape_asks_for(
    tmp_path: Path, scale: float, gradient: float, ratio: list[float]
) -> None:
    found = reported(tmp_path, network(), scale * WIDE, gradient=gradient)
    assert [finding.evidence[0].value for finding in found] == ratio
    assert all("the expected value for shape 16×16 (0.0625)" in finding.text for finding in found)
    assert all(("gradients of first/kernel are" in finding.text) == (gradient < 1) for finding in found)


def test_what_is_reported_is_how_weights_began(tmp_path: Path) -> None:
    assert reported(tmp_path, network(), FITS, later=WIDE) == []


def test_several_are_reported_once_and_an_output_may_begin_near_0(tmp_path: Path) -> None:
    tiny = WIDE / 1024
    (both,) = reported(tmp_path / "both", network(), 2 * WIDE, last=WIDE)
    assert (both.layer, both.evidence[0].value, both.text.endswith("applies to 1 more kernel.")) == (
        "",
        64,
        True,
    )
    assert reported(tmp_path / "last", network(), FITS, last=tiny) == []
    (first,) = reported(tmp_path / "first", network(), tiny, last=tiny)
    assert "first/kernel" in first.text
    assert "more kernel" not in first.text


@pytest.mark.parametrize(
    ("nodes", "of", "found"),
    [
        (network(first="GatherV2"), WIDE, False),  # rows that are looked up
        (network(first="AddV2"), WIDE, False),  # positions
        (network(between=[node("s", "Mul", "w", "x")], taken="s"), WIDE, False),  # scaled at run time
        (network(between=[node("c", "Cast", "w")], taken="c"), WIDE, True),
        (network(), WIDE[0], False),  # no fans
        (network(), WIDE[:3, :4], False),  # too few
        (network(first="Conv2D"), np.tile(WIDE, (3, 3, 1, 1)), True),
        (network(first="DepthwiseConv2dNative"), np.tile(WIDE[:, :1] / 12, (3, 3, 1, 1)), False),
        (network(first="Einsum"), np.tile(WIDE[:, :, None] / 4, (1, 1, 4)), False),  # 16 in, 16 heads of 4
        (network(first="Einsum"), np.tile(WIDE[:, :, None] * 4, (1, 1, 4)), True),
    ],
)
def test_only_factors_of_products_have_fans(
    tmp_path: Path, nodes: Sequence[Node], of: np.ndarray, found: bool
) -> None:
    assert bool(reported(tmp_path, nodes, of)) == found


def test_what_is_frozen_was_made_by_no_initializer(tmp_path: Path) -> None:
    x, weight, *others = network()
    frozen = replace(weight, attributes=weight.attributes | {"tensortap.trainable": "false"})
    assert reported(tmp_path, (x, frozen, *others), WIDE) == []
