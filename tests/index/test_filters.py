"""Conditions, patterns and ranges of steps: parsed, bounded, refused with a hint."""

from __future__ import annotations

import json
import operator
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.core.deadline import time_limit
from tensortap.core.errors import LimitError, SelectionError
from tensortap.index.query.filter_expressions import match_names
from tensortap.index.query.filter_parser import parse_predicate
from tensortap.index.query.step_range import StepRange, parse_steps

COLUMNS = {
    "nan": np.array([0, 2, 0, 1], np.int8),
    "pos_inf": np.array([0, 0, 100, 0], np.int8),
    "neg_inf": np.array([0, 0, 100, 0], np.int8),
    "max": np.array([1.0, np.nan, np.inf, 1e5]),
    "step": np.array([0, 1, 2, 3]),
    "zero": np.array([950, 50, 0, 10]),
    "size": np.array([1000, 100, 600_000, 10]),
}
TEXTS = {"op": ["Relu", "MatMul", "Relu", "Log"], "layer": ["a/b", "", "a", "c"]}
OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Rows:
    def number(self, field):
        return COLUMNS[field]

    def unknown(self, field):
        return None

    def text(self, field, fits):
        return fits(TEXTS[field])


def selected(text):
    return parse_predicate(text).mask(Rows())


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("nan > 0", [1, 3]),
        ("nan>0 and step>=2", [3]),
        ("nan > 0 or inf > 0", [1, 2, 3]),
        ("step = 0 or step == 3 and nan > 0", [0, 3]),
        ("inf == 200", [2]),  # beyond int8, in which the counts are held
        ("nonfinite != 0", [1, 2, 3]),
        ("max == inf", [2]),
        ("max >= 1e4", [2, 3]),
        ("max < nan", []),
        ("(nan > 0)", [1, 3]),
        ("(nan > 0 or step == 0) and not step == 3", [0, 1]),
        ("not (nan > 0 or step = 0)", [2]),
        ("((step)) + 1 > 3", [3]),
        ("nan / (step + 1) > 0.5", [1]),
        ("step - 2 * step <= -2", [2, 3]),
        ("pos_inf * pos_inf == 10000", [2]),  # int8 would wrap
        ("op == 'Relu'", [0, 2]),
        ('op != "Relu" and step > 1', [3]),
        ("op ~ '^(Mat|L)'", [1, 3]),
        ("layer !~ 'a' or nan > 1", [1, 3]),
        ("2 > 1", [0, 1, 2, 3]),
    ],
)
def test_a_condition_selects_rows(text, rows):
    assert np.flatnonzero(selected(text)).tolist() == rows


CASES = json.loads((Path(__file__).parent / "filter_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"])
def test_conditions_are_read_or_refused_with_the_reason(case):
    if "rows" in case:
        assert np.flatnonzero(selected(case["text"])).tolist() == case["rows"]
        return
    with pytest.raises(SelectionError) as refused:
        parse_predicate(case["text"])
    assert case["error"] in str(refused.value)


@given(st.sampled_from(list(OPERATORS)), st.floats(allow_nan=False))
def test_comparisons_mean_what_they_say(comparison, number):
    mask = selected(f"max {comparison} {number!r}")
    assert mask.tolist() == OPERATORS[comparison](COLUMNS["max"], number).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "max",
        "nan >",
        "> 0",
        "nan > 0 and",
        "nan > x",
        "foo > 0",
        "nan > 0; import os",
        "__class__ > 0",
        "(nan > 0",
        "nan > 0)",
        "op == Relu",
        "op > 'Relu'",
        "op ~ '('",
        "op == 'Relu",
        "nan > 'a'",
        "not",
        "1 2",
        "nan > 1e",
        "(" * 100 + "nan" + ")" * 100 + " > 0",
    ],
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(SelectionError) as error:
        parse_predicate(text)
    assert error.value.hint


@given(st.text(alphabet="nastep ()<>=~'\"+-*/0123.eandorint!", max_size=60))
def test_any_text_is_a_condition_or_refused(text):
    try:
        mask = selected(text)
    except (SelectionError, KeyError):  # KeyError: a column that these rows lack
        return
    assert mask.dtype == np.bool_
    assert mask.shape == (4,)


def test_long_conditions_and_patterns_are_refused():
    with pytest.raises(SelectionError, match="longer than"):
        parse_predicate("nan > 0 and " * 100 + "nan > 0")
    with pytest.raises(SelectionError, match="longer than"):
        match_names("a" * 1000, ["a"])


def test_patterns_are_searched_in_names():
    names = ["dense/Relu:0", "dense/MatMul:0", "π/日本:0", "line\nbreak:0"]
    assert match_names("^dense/(Relu|Add)", names).tolist() == [True, False, False, False]
    assert match_names("日", names).tolist() == [False, False, True, False]
    assert match_names("", names).all()
    assert match_names("x", []).tolist() == []
    many = [f"{'n' * 300}{number}" for number in range(1000)]
    assert np.flatnonzero(match_names("n7[0-9]*1$", many)).tolist() == [
        n for n in range(1000) if re.search("^7[0-9]*1$", str(n))
    ]


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "(?=a)", r"(a)\1", "a{100000}"])
def test_patterns_that_cannot_be_matched_in_linear_time_are_refused(pattern):
    with pytest.raises(SelectionError, match="is not a regular expression"):
        match_names(pattern, ["aaa"])


def test_a_catastrophic_pattern_is_harmless():
    start = time.monotonic()
    assert not match_names(r"^(a+)+$", ["a" * 4000 + "!"] * 100).any()
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (None, StepRange()),
        (7, StepRange(7, 8)),
        ("7", StepRange(7, 8)),
        ("3:10", StepRange(3, 10)),
        ("3:", StepRange(first=3)),
        (" : 10 ", StepRange(stop=10)),
        (":", StepRange()),
        (slice(3, 10), StepRange(3, 10)),
        (range(3, 10), StepRange(3, 10)),
        ((3, None), StepRange(first=3)),
        (np.int64(4), StepRange(4, 5)),
        (StepRange(1, 2), StepRange(1, 2)),
    ],
)
def test_ranges_of_steps(steps, expected):
    assert parse_steps(steps) == expected


@pytest.mark.parametrize("steps", ["a", "1:2:3", "-1", "", "1.5", 1.5, slice(0, 9, 2), ("a", 1), [1, 2, 3]])
def test_what_is_no_range_of_steps_is_refused(steps):
    with pytest.raises(SelectionError):
        parse_steps(steps)


class PartlyUnknown(Rows):
    """The NaN of the first two rows were not counted."""

    def unknown(self, field):
        return np.array([True, True, False, False]) if field == "nan" else None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("nan >= 0", [2, 3]),
        ("not nan >= 0", []),
        ("not (nan > 0)", [2]),
        ("nonfinite >= 0", [2, 3]),
        ("nan == 0 or step == 0", [0, 2]),
        ("not (nan > 0 and step == 9)", [0, 1, 2, 3]),
        ("not (nan > 0 or step == 9)", [2]),
        ("nan / 2 >= 0 and op != 'Log'", [2]),
        ("not op == 'Log'", [0, 1, 2]),
    ],
)
def test_a_condition_on_what_is_not_known_is_neither_true_nor_false(text, rows):
    assert np.flatnonzero(parse_predicate(text).mask(PartlyUnknown())).tolist() == rows


def test_a_pattern_of_many_repetitions_ends_with_the_time_of_the_request() -> None:
    names = [f"{'scope/' * 600}{number}" for number in range(2000)]  # a second and more for 20 of them
    with time_limit(0.1), pytest.raises(LimitError, match=r"more than 0.1 s.*") as refused:
        match_names(".{0,500}.{0,500}z", names)
    assert "a simpler pattern" in refused.value.hint
