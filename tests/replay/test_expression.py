"""Expressions of overrides: what they mean, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tensortap.__main__ import main
from tensortap.core.errors import SelectionError
from tensortap.replay.execution.expression_grammar import FUNCTION_NAMES
from tensortap.replay.execution.tensor_expression import FUNCTIONS, parse_change

X = np.array([[-2.0, np.nan, 0.5], [np.inf, 3.0, -np.inf]], np.float32)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x", X),
        ("clip(x, -1, 1)", np.clip(X, -1, 1)),
        ("where(isnan(x), 0, x)", np.where(np.isnan(X), np.float32(0), X)),
        ("where(isfinite(x), x, 0)", np.where(np.isfinite(X), X, np.float32(0))),
        ("x * 0.5 - 1", X * np.float32(0.5) - 1),
        ("-x", -X),
        ("put(x, (0, 2), 1.5)", np.array([[-2, np.nan, 1.5], [np.inf, 3, -np.inf]], np.float32)),
        ("put(x, (0, 2), nan)", np.array([[-2, np.nan, np.nan], [np.inf, 3, -np.inf]], np.float32)),
        ("0", np.zeros_like(X)),
        ("inf", np.full_like(X, np.inf)),
        ("zeros_like(x)", np.zeros_like(X)),
        ("where(x > 1, 1, where(x < -1, -1, x))", np.array([[-1, np.nan, 0.5], [1, 1, -1]], np.float32)),
        ("nan_to_num(x)", np.nan_to_num(X)),
        ("cast(x, 'float16')", X.astype(np.float16).astype(np.float32)),
    ],
)
def test_what_expressions_mean(text: str, wanted: np.ndarray) -> None:
    found = parse_change(text)(tf.constant(X)).numpy()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("text", ["put(x, 0, 1)", "put(x, (0, 0, 0), 1)"])
def test_an_element_has_an_index_for_each_axis(text: str) -> None:
    with pytest.raises(ValueError, match=r"shape \[2, 3\] needs 2 indices, not \(0"):
        parse_change(text)(tf.constant(X))


@pytest.mark.parametrize(
    "text",
    [
        "x * 9 ** 9 ** 9 ** 9",
        "x * 1" + "0" * 400,
        "1 / 0",
        "'a' * 1000000000",
        "(0,) * 1000000000",
        "'%1000000000d' % 1",
        "x + 'a'",
    ],
)
def test_numbers_beyond_all_bounds_are_refused_at_once(text: str) -> None:
    with pytest.raises(SelectionError):
        parse_change(text)(tf.constant(X))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "y",
        "abs",
        "x.shape",
        "x[0]",
        "[1]",
        "lambda: 1",
        "__import__('os')",
        "open('a')",
        "clip(x, a=1)",
        "x if 1 else 2",
        "(x := 1)",
        "1 < x < 2",
        "f'{x}'",
        "x @ x",
        "1e999",
        "x" + " + x" * 200,
        "import os",
        "x; x",
        "await x",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(SelectionError) as error:
        parse_change(text)
    assert error.value.hint


@given(st.text(alphabet="xabsclipwhere(),.+-*/%<>=! 0123456789'_[]{}:", max_size=40))
def test_no_text_does_anything_but_compute(text: str) -> None:
    try:
        change = parse_change(text)
    except SelectionError:
        return
    try:
        change(tf.constant([1.0, 2.0]))
    except Exception as error:  # what TensorFlow makes of wrong arguments
        assert not isinstance(error, NameError | AttributeError | KeyError)


def test_every_function_is_documented() -> None:
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "replay.md").read_text()
    assert [name for name in FUNCTIONS if f"{name}" not in text] == []


def test_the_grammar_knows_each_function() -> None:
    assert frozenset(FUNCTIONS) == FUNCTION_NAMES


def test_a_command_refuses_an_expression_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = ["--override", "a:0=x * 2", "--override", 'b:0=__import__("os")']
    assert main(["replay", str(tmp_path), *changes]) == 1  # nor is the run looked for, which is not there
    assert "is not allowed in '__import__" in capsys.readouterr().err
